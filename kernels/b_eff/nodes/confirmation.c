/* SPDX-License-Identifier: Apache-2.0 */
/* See confirmation.h. */
#include "confirmation.h"

#include <math.h>

#include "fail.h"
#include "matchings.h"

enum { PAIRS = 3 };

/* A suspect is slow in a round if it reaches less than this share of the bandwidth of good nodes. The rounds end when a
 * sign test at 1/64 shows that it is slow in most: so many are needed if it was fast in none, one, two, ... of them. */
static const double slower = 0.95;
static const int needed[] = {6, 10, 13, 16, 18, 21, 24, 26, 29, 31};

static json_t *suspect_json(const struct suspect *suspect)
{
    return OBJECT(field_int("node", suspect->node), field_real("ratio", suspect->ratio),
                  field_json("good", list_of_ints(suspect->with, suspect->good)));
}

int choose_suspects(struct pairwise_state *state)
{
    const struct nodes *nodes = state->nodes;
    int compared = 0;
    if (state->seconds) {
        const int found = list_suspects(nodes->count, state->level, nodes->group, state->suspect);
        json_t *list = json_array();
        for (int i = 0; i < found; i++) {
            json_array_append_new(list, suspect_json(&state->suspect[i]));
            if (state->suspect[i].good > 0)
                state->suspect[compared++] = state->suspect[i];
        }
        log_write_rounded(state->run->log, "suspects", OBJECT(field_json("suspects", list)));
    }
    MPI_CHECK(MPI_Bcast(&compared, 1, MPI_INT, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Bcast(state->suspect, sizeof state->suspect, MPI_BYTE, 0, MPI_COMM_WORLD));
    return compared;
}

static json_t *seconds_of_pair(const struct pairwise_state *state, const int pair[2], bool one_per_node)
{
    const struct nodes *nodes = state->nodes;
    json_t *list = json_array();
    for (int i = 0; i < 2; i++) {
        const int first = nodes->first[pair[i]], all = nodes->first[pair[i] + 1] - first;
        for (int place = 0; place < (one_per_node ? 1 : all); place++)
            json_array_append_new(list, pairwise_seconds(state->seconds[nodes->rank[first + place]]));
    }
    return list;
}

/* Rank 0: the geometric mean over the processes of a pair of the time of the slower one of each process and its
 * counterpart. */
static double time_of_pair(const struct pairwise_state *state, const int pair[2], bool one_per_node)
{
    const int *first = state->nodes->first, *rank = state->nodes->rank, a = first[pair[0]], b = first[pair[1]];
    const int of_a = first[pair[0] + 1] - a, of_b = first[pair[1] + 1] - b;
    const int processes = one_per_node ? 1 : of_a < of_b ? of_a : of_b;
    double sum = 0;
    for (int i = 0; i < processes; i++)
        sum += log(fmax(state->seconds[rank[a + i]], state->seconds[rank[b + i]]));
    return exp(sum / processes);
}

/* Returns the time on rank 0, elsewhere 1. */
static double measure_pair(struct pairwise_state *state, int suspect, int repetition, bool one_per_node,
                           const int pair[2])
{
    const int64_t l_max = state->request->length[LENGTHS - 1];
    const int64_t loop_length = state->plan->loop_length[state->plan->lengths - 1];
    for (int node = 0; node < state->nodes->count; node++)
        state->partner[node] = node == pair[0] ? pair[1] : node == pair[1] ? pair[0] : NO_PARTNER;
    struct exchange exchange = pairwise_exchange(state, one_per_node, BOTH);
    pairwise_time(state, &exchange, l_max, loop_length);
    if (!state->seconds)
        return 1;
    log_write_rounded(state->run->log, "confirmation",
                      OBJECT(field_int("suspect", suspect), field_int("repetition", repetition),
                             field_text("processes", one_per_node ? "one_per_node" : "all"),
                             field_json("pair", list_of_ints(pair, 2)), field_int("message_bytes", l_max),
                             field_int("loop_length", loop_length),
                             field_json("seconds", seconds_of_pair(state, pair, one_per_node))));
    return time_of_pair(state, pair, one_per_node);
}

/* Whether the suspect is slower with each good node than these are with each other; on rank 0. */
static bool is_slow(struct pairwise_state *state, const struct suspect *suspect, int round)
{
    const int pairs[PAIRS][2] = {
        {suspect->node, suspect->with[0]}, {suspect->node, suspect->with[1]}, {suspect->with[0], suspect->with[1]}};
    const int kinds = state->nodes->largest_node > 1 ? 2 : 1; /* one process per node, all of them */
    double ratio = 1, seconds[PAIRS];
    for (int kind = 0; kind < kinds; kind++) {
        for (int i = 0; i < PAIRS; i++)
            seconds[i] = measure_pair(state, suspect->node, round, kind == 0, pairs[i]);
        ratio *= seconds[2] / fmin(seconds[0], seconds[1]);
    }
    return pow(ratio, 1.0 / kinds) < slower;
}

void measure_suspect(struct pairwise_state *state, int number)
{
    const size_t most_fast = sizeof needed / sizeof *needed - 1;
    size_t fast = 0;
    int goes_on = true;
    for (int round = 1; goes_on; round++) {
        fast += !is_slow(state, &state->suspect[number], round);
        goes_on = round < needed[fast <= most_fast ? fast : 0] && run_elapsed_seconds(state->run) < state->end_seconds;
        MPI_CHECK(MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
}
