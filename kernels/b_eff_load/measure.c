/* SPDX-License-Identifier: Apache-2.0 */
/* See measure.h. Phases of a pattern follow each other within a fraction of a second, so that a disturbance of the
 * machine strikes those with load and those without it alike. Load begins before the first exchange of its phase and
 * ends after the last one; all messages that begin and end it are outside of timed regions. */
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fail.h"
#include "file_load.h"
#include "generators.h"
#include "kinds.h"
#include "latency.h"
#include "loop.h"
#include "memory.h"
#include "methods.h"
#include "peers.h"
#include "progress.h"
#include "timed.h"

enum { WITHOUT = LOAD_KINDS, STATES };                  /* a state: a kind of load, or none */
static const double longest_first_loop_seconds = 20e-3; /* at the shortest message length */
static const double longest_run = 1.75;                 /* of the time budget; then the first repetition ends as well */

/* For the table at the terminal. */
struct sums {
    double exchanges, seconds, bytes, largest_seconds, load_bytes, load_seconds;
};

struct state {
    const struct run *run;
    const struct request *request;
    const struct load *load;
    struct file_load files; /* of the load io */
    struct loops loops;
    int *order; /* scratch memory of pattern_layout() */
    double *each_seconds;
    struct latency *latency;
    struct sums sums[STATES];
};

/* One pattern in one state. */
struct phase {
    int repetition, pattern, number; /* from 1; from 0; from 0 */
    int state;
    struct exchange exchange; /* of the victims */
};

/* --- a phase on the victims --------------------------------------------------------------------------------------- */

/* `exchanges` are the times of its exchanges, NULL without. */
static void log_loop(const struct state *state, const char *kind, const struct phase *phase, int64_t bytes,
                     int64_t loop_length, const struct result *result, json_t *exchanges)
{
    if (!state->run->log)
        return;
    json_t *fields = loop_json(phase->repetition, &state->request->pattern[phase->pattern], METHOD_NONBLOCKING, bytes,
                               loop_length, result);
    json_object_update_new(fields,
                           OBJECT(field_int("phase", phase->number),
                                  field_text("load", phase->state == WITHOUT ? NULL : load_kind_names[phase->state]),
                                  field_json("exchanges", exchanges ? exchanges : json_null())));
    log_write(state->run->log, kind, fields);
}

/* The times of all exchanges of the last loop, on all processes. */
static json_t *exchanges_json(const struct state *state, const struct phase *phase, int64_t loop_length)
{
    latency_clear(state->latency);
    for (int64_t i = 0; phase->exchange.transfers > 0 && i < loop_length; i++)
        latency_add(state->latency, state->each_seconds[i]);
    latency_gather(state->latency, state->load->measured);
    return state->run->log ? latency_json(state->latency) : NULL;
}

static void count(struct state *state, const struct phase *phase, int64_t loop_length, int length,
                  const struct result *result)
{
    struct sums *sums = &state->sums[phase->state];
    const struct pattern *pattern = &state->request->pattern[phase->pattern];
    const double bytes = (double)(state->request->length[length] * pattern->messages_per_exchange * loop_length);
    sums->exchanges += length == 0 ? (double)loop_length : 0;
    sums->seconds += length == 0 ? result->elapsed_seconds : 0;
    sums->bytes += length == LENGTHS - 1 ? bytes : 0;
    sums->largest_seconds += length == LENGTHS - 1 ? result->elapsed_seconds : 0;
}

static struct result time_length(struct state *state, struct phase *phase, int length, int64_t loop_length)
{
    const bool each = length == 0 || length == LENGTHS - 1;
    const int64_t bytes = state->request->length[length];
    const struct result result =
        time_loop(&state->loops, &phase->exchange, &methods[METHOD_NONBLOCKING], bytes, loop_length);
    log_loop(state, "loaded", phase, bytes, loop_length, &result,
             each ? exchanges_json(state, phase, loop_length) : NULL);
    count(state, phase, loop_length, length, &result);
    return result;
}

/* Of a single exchange, by which the length of the first loop is chosen. */
static double try_exchange(struct state *state, struct phase *phase)
{
    const int64_t bytes = state->request->length[0];
    const struct result result = time_loop(&state->loops, &phase->exchange, &methods[METHOD_NONBLOCKING], bytes, 1);
    log_loop(state, "loaded_trial", phase, bytes, 1, &result, NULL);
    return result.elapsed_seconds;
}

/* Rank 0 decides for all victims. */
static int64_t agree_on_loop_length(const struct state *state, int64_t loop_length)
{
    MPI_CHECK(MPI_Bcast(&loop_length, 1, MPI_INT64_T, 0, state->load->measured));
    return loop_length;
}

static void measure_lengths(struct state *state, struct phase *phase)
{
    const struct request *request = state->request;
    const int64_t most = request->longest_loop_length;
    const int64_t wanted = request->first_loop_length < most ? request->first_loop_length : most;
    struct trend trend = {0};
    int64_t loop_length = wanted;
    if (wanted > 1)
        loop_length = limit_loop_length(wanted, try_exchange(state, phase), longest_first_loop_seconds);
    for (int k = 0; k < LENGTHS; k++) {
        const int64_t bytes = request->length[k];
        if (k > 0)
            loop_length = choose_loop_length(trend_predict(&trend, (double)bytes), most);
        loop_length = agree_on_loop_length(state, loop_length);
        const struct result result = time_length(state, phase, k, loop_length);
        trend_add(&trend, (double)bytes, result.elapsed_seconds / (double)loop_length);
    }
}

/* --- a phase ------------------------------------------------------------------------------------------------------ */

/* Each of the generating nodes in turn has the root of an incast or a broadcast. */
static int root_of(const struct load *load, const struct phase *phase, int patterns)
{
    const int node = ((phase->repetition - 1) * patterns + phase->pattern) % load->generating_nodes;
    int process = 0;
    while (load->generating_node[process] != node)
        process++;
    return process;
}

static int rank_of_generator(const struct load *load, int process)
{
    int rank = 0;
    while (load->is_victim[load->nodes->of_rank[rank]] || process-- > 0)
        rank++;
    return rank;
}

/* What all generating processes moved, from the traffic of this one; zeros on the victims. */
static void log_load(struct state *state, const struct phase *phase, int root, const struct traffic *mine)
{
    const struct totals totals = load_totals(mine);
    const bool rooted = phase->state == LOAD_INCAST || phase->state == LOAD_BROADCAST, files = phase->state == LOAD_IO;
    state->sums[phase->state].load_bytes += (double)(totals.received_bytes + (files ? totals.sent_bytes : 0));
    state->sums[phase->state].load_seconds += totals.longest_seconds;
    if (!state->run->log)
        return;
    json_t *fields = OBJECT(
        field_int("repetition", phase->repetition), field_text("pattern", state->request->pattern[phase->pattern].name),
        field_int("phase", phase->number), field_text("load", load_kind_names[phase->state]),
        field_json("root", rooted ? json_integer(rank_of_generator(state->load, root)) : json_null()));
    json_object_update_new(fields, load_totals_json(&totals));
    if (files)
        json_object_set_new(fields, "cached_bytes", json_integer(totals.cached_bytes));
    log_write(state->run->log, "load", fields);
}

static void measure_phase(struct state *state, struct phase *phase)
{
    const struct load *load = state->load;
    const bool loaded = phase->state != WITHOUT, victim = load->measured != MPI_COMM_NULL;
    const int64_t l_max = state->request->length[LENGTHS - 1];
    const int root = loaded ? root_of(load, phase, state->request->patterns) : 0;
    struct traffic traffic = {0};
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    if (victim) {
        if (loaded && state->run->rank == 0)
            await_generators(load);
        MPI_CHECK(MPI_Barrier(load->measured));
        measure_lengths(state, phase);
        MPI_CHECK(MPI_Barrier(load->measured));
        if (loaded && state->run->rank == 0)
            stop_generators(load);
        peers_arrive(); /* generators may take long to end a load */
    } else if (phase->state == LOAD_IO) {
        traffic = file_load_generate(&state->files, load);
    } else if (loaded) {
        traffic = generate(load, (enum load_kind)phase->state, root, &state->loops, load_message_bytes(l_max));
    }
    if (phase->state == LOAD_IO)
        load_stop_on_reason(&traffic);
    if (loaded)
        log_load(state, phase, root, &traffic);
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

/* Without load, with a kind, without, with the next kind, ..., without. */
static void measure_pattern(struct state *state, int repetition, int pattern)
{
    const struct request *request = state->request;
    const bool victim = state->load->measured != MPI_COMM_NULL;
    struct phase phase = {.repetition = repetition, .pattern = pattern, .state = WITHOUT};
    if (victim) {
        phase.exchange = exchange_open(&request->pattern[pattern], state->load->measured, request->seed, state->order);
        phase.exchange.each_seconds = state->each_seconds;
    }
    measure_phase(state, &phase);
    for (int kind = 0; kind < LOAD_KINDS; kind++)
        for (int loaded = 1; state->load->kinds >> kind & 1 && loaded >= 0; loaded--) {
            phase.number++;
            phase.state = loaded ? kind : WITHOUT;
            measure_phase(state, &phase);
        }
    if (victim)
        exchange_close(&phase.exchange);
}

/* The first repetition may take longer than the budget, as in b_eff; others end before. */
static bool has_time(const struct state *state, int repetition, int pattern, double longest_seconds)
{
    const double budget = state->request->time_budget_seconds, elapsed = run_elapsed_seconds(state->run);
    int fits = repetition == 1 ? elapsed <= longest_run * budget : elapsed + longest_seconds <= budget;
    MPI_CHECK(MPI_Bcast(&fits, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (!fits && state->run->log)
        log_write(
            state->run->log, "stop",
            OBJECT(field_int("repetition", repetition), field_text("pattern", state->request->pattern[pattern].name),
                   field_int("message_bytes", state->request->length[0]), field_real("elapsed_seconds", elapsed)));
    return fits;
}

static void print_table(const struct state *state)
{
    printf("%-12s %18s %20s %20s\n", "load", "1 byte [us]", "L_max [MByte/s]", "load [MByte/s]");
    for (int s = 0; s < STATES; s++) {
        const struct sums *sums = &state->sums[s];
        if (sums->exchanges > 0)
            printf("%-12s %18.2f %20.0f %20.0f\n", s == WITHOUT ? "none" : load_kind_names[s],
                   1e6 * sums->seconds / sums->exchanges, 1e-6 * sums->bytes / sums->largest_seconds,
                   s == WITHOUT ? 0 : 1e-6 * sums->load_bytes / sums->load_seconds);
    }
    printf("Time of one exchange of 1 byte and accumulated bandwidth of the victims at L_max = %lld byte, over all "
           "patterns;\nbytes that the load's processes received, or wrote and read.\n",
           (long long)state->request->length[LENGTHS - 1]);
}

void measure(struct run *run, const struct request *request, const struct load *load)
{
    struct state state = {
        .run = run,
        .request = request,
        .load = load,
        .files = {.name = load_kind_names[LOAD_IO], .writes = true, .reads = true, .file_bytes = FILE_LOAD_BYTES},
        .loops = loops_begin(run, &request->memories, request->length[LENGTHS - 1])};
    state.order = allocate((size_t)run->ranks, sizeof *state.order);
    state.each_seconds = allocate((size_t)request->longest_loop_length, sizeof *state.each_seconds);
    state.latency = allocate(1, sizeof *state.latency);
    double longest = 0;
    bool in_time = true;
    const int units = request->repetitions * request->patterns;
    for (int unit = 0; in_time && unit < units; unit++) {
        const int repetition = unit / request->patterns + 1, pattern = unit % request->patterns;
        const double start = run_elapsed_seconds(run);
        in_time = has_time(&state, repetition, pattern, longest);
        if (in_time)
            measure_pattern(&state, repetition, pattern);
        longest = fmax(longest, run_elapsed_seconds(run) - start);
        progress_show((unit + 1.0) / units, run_elapsed_seconds(run), request->pattern[pattern].name);
    }
    progress_end();
    if (run->rank == 0)
        print_table(&state);
    free(state.latency);
    free(state.each_seconds);
    free(state.order);
    loops_end(&state.loops);
}
