/* SPDX-License-Identifier: Apache-2.0 */
/* See pairwise.h. The loops are those of timed.c, by nonblocking messages. */
#include "pairwise.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "confirmation.h"
#include "fail.h"
#include "matchings.h"
#include "memory.h"
#include "methods.h"
#include "node_groups.h"
#include "pairwise_loop.h"
#include "suspects.h"
#include "tails.h"

enum {
    MOST_NODES_ALL_LENGTHS = 16384,
    MOST_NODES_ALL_PAIRS = 4096,
    MOST_RANKS_EACH = 16384
}; /* keeps the log small (docs/log.md) */
enum { EACH_MATCHING = 4, MOST_NODES_REPEATED = 4 };
static const double reserved_share = 0.05; /* of the time budget */

/* A simulated node is as fast as its platform says: only planted slow ones could be found. */
enum { MATCHINGS = COFFEECUP_SIMULATED ? 0 : 16 };
const struct pairwise_choices default_matchings = {.matchings = MATCHINGS};

/* Of L_max, of the geometric mean of 4096 byte and L_max, and of 4096 byte: some milliseconds in common networks. */
static const struct {
    int length, loop_length;
} lengths[PAIRWISE_LENGTHS] = {{FIXED_LENGTHS - 1, 300}, {(FIXED_LENGTHS + LENGTHS) / 2 - 1, 30}, {LENGTHS - 1, 3}};

enum {
    PATTERN_LOOP = 1, /* a slow process delays only its neighbours */
    MOST_SETS = 4,
    ONE_PER_NODE_PARTS = 4,
    TAILS_PARTS = 4
};

static const char *const direction_names[DIRECTIONS] = {"both", "up", "down"};

enum scope { ALL, WITHIN, ACROSS, NO_SCOPE };
static const char *const scope_names[] = {"all", "within", "across", NULL};

/* Loops that are left out together if there is no time for them. */
struct set {
    const char *loops;
    bool one_per_node;
    enum scope scope; /* of matchings, else NO_SCOPE */
    int units;        /* matchings, suspects or patterns */
    int parts;        /* of the time that is left; what it does not use is left to later sets */
    void (*measure)(struct pairwise_state *, const struct set *, int unit);
};

/* --- the plan ----------------------------------------------------------------------------------------------------- */

/* Few nodes have few different matchings. */
static int matchings_of(int nodes, int64_t requested)
{
    const int different = EACH_MATCHING * tournament_rounds(nodes);
    if (nodes < 2)
        return 0;
    return nodes <= MOST_NODES_REPEATED && requested > different ? different : (int)requested;
}

struct pairwise pairwise_begin(const struct run *run, const struct pairwise_choices *choices, struct request *request)
{
    struct pairwise plan = {.nodes = nodes_find(run->machine.leader), .all_pairs = choices->all_pairs};
    struct nodes *nodes = &plan.nodes;
    if (choices->groups)
        plan.groups = nodes_read_groups(nodes, choices->groups, run->machine.hosts);
    plan.matchings = matchings_of(nodes->count, choices->matchings);
    if (plan.all_pairs && (plan.matchings == 0 || nodes->count > MOST_NODES_ALL_PAIRS))
        refuse("--all-pairs requires 2 to %d nodes and --matchings of at least 1; this run has %d nodes and "
               "--matchings %" PRId64,
               MOST_NODES_ALL_PAIRS, nodes->count, choices->matchings);
    for (int i = nodes->count > MOST_NODES_ALL_LENGTHS ? PAIRWISE_LENGTHS - 1 : 0; i < PAIRWISE_LENGTHS; i++) {
        const int64_t most = request->longest_loop_length;
        plan.length[plan.lengths] = request->length[lengths[i].length];
        plan.loop_length[plan.lengths++] = lengths[i].loop_length < most ? lengths[i].loop_length : most;
    }
    plan.by_node = nodes->first[nodes->count] > MOST_RANKS_EACH;
    request->reserved_seconds = plan.matchings > 0 ? reserved_share * request->time_budget_seconds : 0;
    return plan;
}

json_t *pairwise_json(const struct pairwise *pairwise, const struct request *request)
{
    json_t *length = json_array(), *loop_length = json_array();
    for (int i = 0; i < pairwise->lengths; i++) {
        json_array_append_new(length, json_integer(pairwise->length[i]));
        json_array_append_new(loop_length, json_integer(pairwise->loop_length[i]));
    }
    return OBJECT(
        field_int("count", pairwise->matchings), field_json("lengths", length), field_json("loop_lengths", loop_length),
        field_text("resolution", pairwise->by_node ? "node" : "process"),
        field_json("groups", pairwise->groups ? pairwise->groups : json_null()),
        field_bool("all_pairs", pairwise->all_pairs), field_real("reserved_seconds", request->reserved_seconds));
}

void pairwise_end(struct pairwise *pairwise)
{
    nodes_free(&pairwise->nodes);
}

/* --- the records -------------------------------------------------------------------------------------------------- */

/* The times of the first process of each node, of all processes, or of the slowest process of each node. */
static json_t *seconds_json(const struct pairwise_state *state, bool one_per_node)
{
    json_t *list = json_array();
    for (int rank = 0; !one_per_node && !state->plan->by_node && rank < state->run->ranks; rank++)
        json_array_append_new(list, pairwise_seconds(state->seconds[rank]));
    for (int node = 0; (one_per_node || state->plan->by_node) && node < state->nodes->count; node++)
        json_array_append_new(list, pairwise_seconds(pairwise_slowest(state, node)));
    return list;
}

static void log_left_out(const struct pairwise_state *state, const struct set *set, int measured)
{
    if (state->run->log)
        log_write(state->run->log, "matchings_left_out",
                  OBJECT(field_text("loops", set->loops), field_text("scope", scope_names[set->scope]),
                         field_int("measured", measured),
                         field_real("elapsed_seconds", run_elapsed_seconds(state->run))));
}

static json_t *pair_json(const struct pairwise_state *state, bool one_per_node, int64_t bytes, int64_t loop_length)
{
    return OBJECT(field_int("message_bytes", bytes), field_int("loop_length", loop_length),
                  field_json("partners", list_of_ints(state->partner, state->nodes->count)),
                  field_json("seconds", seconds_json(state, one_per_node)));
}

/* --- matchings, patterns, all pairs ------------------------------------------------------------------------------- */

static void log_matching(const struct pairwise_state *state, const struct set *set, int matching,
                         enum direction direction, int length)
{
    if (!state->seconds)
        return;
    json_t *fields = OBJECT(field_text("processes", set->loops), field_text("scope", scope_names[set->scope]),
                            field_int("matching", matching), field_text("direction", direction_names[direction]));
    json_t *pairs = pair_json(state, set->one_per_node, state->plan->length[length], state->plan->loop_length[length]);
    json_object_update_new(fields, pairs);
    log_write_rounded(state->run->log, "matching", fields);
}

/* Pairs inside groups tell most of nodes: there is nothing else between them. */
static bool is_screened(const struct pairwise_state *state, const struct set *set)
{
    return set->scope != ACROSS || state->nodes->groups == state->nodes->count;
}

/* Adds a matching to those by which suspects are chosen. */
static void screen(struct pairwise_state *state, const struct set *set, int matching)
{
    const int nodes = state->nodes->count;
    if (!state->seconds || !is_screened(state, set))
        return;
    double *of_node = allocate((size_t)nodes, sizeof *of_node);
    for (int node = 0; node < nodes; node++)
        of_node[node] = pairwise_slowest(state, node);
    compare_pairs(nodes, state->partner, of_node, state->ratio + (size_t)matching * (size_t)nodes);
    free(of_node);
}

static void match(struct pairwise_state *state, const struct set *set, int matching)
{
    (set->scope == ACROSS ? match_across : match_within)(state->nodes->count, state->nodes->group, state->request->seed,
                                                         matching, state->partner);
}

static void measure_matching(struct pairwise_state *state, const struct set *set, int matching)
{
    const struct pairwise *plan = state->plan;
    match(state, set, matching);
    for (int length = 0; length < plan->lengths; length++)
        for (int direction = 0; direction < DIRECTIONS; direction++) {
            struct exchange exchange = pairwise_exchange(state, set->one_per_node, (enum direction)direction);
            const double seconds = pairwise_time(state, &exchange, plan->length[length], plan->loop_length[length]);
            if (set->one_per_node && length == plan->lengths - 1)
                state->longest_seconds = fmax(state->longest_seconds, seconds);
            if (direction == BOTH && length == plan->lengths - 1)
                screen(state, set, matching);
            log_matching(state, set, matching, (enum direction)direction, length);
        }
}

static void measure_round_trips(struct pairwise_state *state, const struct set *set, int matching)
{
    match(state, set, matching);
    measure_tails(state, scope_names[set->scope], matching);
}

/* The averaged patterns come first in the list. */
static void measure_pattern(struct pairwise_state *state, const struct set *set, int number)
{
    const struct request *request = state->request;
    const int64_t l_max = request->length[LENGTHS - 1];
    struct exchange exchange = exchange_open(&request->pattern[number], MPI_COMM_WORLD, request->seed, state->order);
    pairwise_time(state, &exchange, l_max, PATTERN_LOOP);
    exchange_close(&exchange);
    if (state->seconds)
        log_write_rounded(state->run->log, "pattern_processes",
                          OBJECT(field_text("pattern", request->pattern[number].name),
                                 field_int("message_bytes", l_max), field_int("loop_length", PATTERN_LOOP),
                                 field_json("seconds", seconds_json(state, set->one_per_node))));
}

/* Each set has a share of the time that is left. Rank 0 decides whether another unit fits into it. Returns how
 * many did. */
static int measure_set(struct pairwise_state *state, const struct set *set)
{
    const double start = run_elapsed_seconds(state->run);
    const double share = (state->end_seconds - start) * set->parts / state->parts_left;
    double longest = 0, now = start;
    state->parts_left -= set->parts;
    int unit = 0;
    for (; unit < set->units; unit++) {
        int fits = share > 0 && now - start + longest <= share;
        MPI_CHECK(MPI_Bcast(&fits, 1, MPI_INT, 0, MPI_COMM_WORLD));
        if (!fits)
            break;
        set->measure(state, set, unit);
        const double before = now;
        now = run_elapsed_seconds(state->run);
        longest = fmax(longest, now - before);
    }
    if (unit < set->units)
        log_left_out(state, set, unit);
    return unit;
}

/* A group file may name one group, or one for each node. */
static bool has_pairs(const struct nodes *nodes, enum scope scope)
{
    if (scope == ACROSS)
        return nodes->groups > 1;
    return nodes->groups < nodes->count && (scope == WITHIN) == nodes->named;
}

/* In the order of measuring: first what is cheapest. */
static int list_sets(const struct pairwise_state *state, struct set sets[])
{
    const struct nodes *nodes = state->nodes;
    int count = 0;
    for (int all = 0; all <= (nodes->largest_node > 1); all++)
        for (int scope = ALL; scope < NO_SCOPE; scope++)
            if (has_pairs(nodes, (enum scope)scope))
                sets[count++] = (struct set){all ? "all" : "one_per_node",
                                             !all,
                                             (enum scope)scope,
                                             state->plan->matchings,
                                             all ? 1 : ONE_PER_NODE_PARTS,
                                             measure_matching};
    return count;
}

static void measure_matchings(struct pairwise_state *state)
{
    struct set sets[MOST_SETS];
    const int count = list_sets(state, sets);
    state->parts_left = 2; /* confirmation; tails with patterns */
    for (int i = 0; i < count; i++)
        state->parts_left += sets[i].parts;
    for (int i = 0; i < count; i++) {
        const int measured = measure_set(state, &sets[i]);
        if (state->seconds && is_screened(state, &sets[i]))
            raise_levels(state->nodes->count, measured, state->ratio, state->level);
    }
}

static void confirm(struct pairwise_state *state, const struct set *set, int number)
{
    (void)set;
    measure_suspect(state, number);
}

static void measure_suspects(struct pairwise_state *state)
{
    const int suspects = choose_suspects(state);
    measure_set(state, &(struct set){"confirmation", true, NO_SCOPE, suspects, 1, confirm});
}

/* In the matchings that come first. */
static void measure_all_tails(struct pairwise_state *state)
{
    struct set sets[MOST_SETS];
    const bool all_lengths = state->plan->lengths == PAIRWISE_LENGTHS;
    list_sets(state, sets);
    sets[0].loops = "tails";
    sets[0].units = all_lengths && state->request->longest_loop_length >= TAIL_LOOP ? state->plan->matchings : 0;
    sets[0].parts = TAILS_PARTS;
    sets[0].measure = measure_round_trips;
    state->parts_left = TAILS_PARTS + 1; /* patterns */
    measure_set(state, &sets[0]);
}

static void measure_patterns(struct pairwise_state *state)
{
    int patterns = 0;
    while (patterns < state->request->patterns && state->request->pattern[patterns].averaged)
        patterns++;
    measure_set(state, &(struct set){"patterns", false, NO_SCOPE, patterns, 1, measure_pattern});
}

/* Not limited by the time budget, because it was requested; the log and standard output state how long it takes. */
static void measure_all_pairs(struct pairwise_state *state)
{
    const int nodes = state->nodes->count, rounds = tournament_rounds(nodes);
    const int64_t l_max = state->request->length[LENGTHS - 1];
    const int64_t loop_length = state->plan->loop_length[state->plan->lengths - 1];
    const double estimate = rounds * state->longest_seconds;
    if (state->run->log) {
        printf("All pairs of %d nodes, %d rounds: about %.3g s in addition to the time budget.\n", nodes, rounds,
               estimate);
        log_write(state->run->log, "all_pairs",
                  OBJECT(field_int("rounds", rounds), field_real("estimate_seconds", estimate)));
    }
    for (int round = 0; round < rounds; round++) {
        for (int node = 0; node < nodes; node++)
            state->partner[node] = tournament_partner(nodes, round, node);
        struct exchange exchange = pairwise_exchange(state, true, BOTH);
        pairwise_time(state, &exchange, l_max, loop_length);
        if (!state->seconds)
            continue;
        json_t *fields = pair_json(state, true, l_max, loop_length);
        object_add(fields, field_int("round", round));
        log_write_rounded(state->run->log, "pair", fields);
    }
}

void pairwise_measure(const struct run *run, const struct request *request, const struct pairwise *pairwise,
                      struct loops *loops)
{
    const struct nodes *nodes = &pairwise->nodes;
    const double start = run_elapsed_seconds(run);
    struct pairwise_state state = {
        .run = run,
        .request = request,
        .plan = pairwise,
        .matching = {.name = "matching", .memory = {request->memories.first, request->memories.first}},
        .nodes = nodes,
        .loops = loops,
        .end_seconds = fmax(request->time_budget_seconds, start + request->reserved_seconds)};
    if (pairwise->matchings == 0)
        return;
    state.order = allocate((size_t)run->ranks, sizeof *state.order);
    while (nodes->rank[nodes->first[nodes->of_rank[run->rank]] + state.place] != run->rank)
        state.place++;
    state.partner = allocate((size_t)nodes->count, sizeof *state.partner);
    state.seconds = run->rank == 0 ? allocate((size_t)run->ranks, sizeof *state.seconds) : NULL;
    if (run->rank == 0) {
        state.ratio = allocate((size_t)nodes->count * (size_t)state.plan->matchings, sizeof *state.ratio);
        state.level = allocate((size_t)nodes->count, sizeof *state.level);
        for (int node = 0; node < nodes->count; node++)
            state.level[node] = NAN;
    }
    measure_matchings(&state);
    measure_suspects(&state);
    measure_all_tails(&state);
    measure_patterns(&state);
    if (pairwise->all_pairs)
        measure_all_pairs(&state);
    free(state.level);
    free(state.ratio);
    free(state.seconds);
    free(state.partner);
    free(state.order);
}
