/* See measure.h. Loops are timed in timed.c, what fits into the time is decided in budget.c; here is the order of
 * things, and what was measured is written down. */
#include "measure.h"

#include <math.h>
#include <stdlib.h>

#include "budget.h"
#include "fail.h"
#include "methods.h"
#include "progress.h"
#include "timed.h"

/* Everything that lives as long as the measurement. */
struct state {
    struct run *run;
    const struct request *request;
    struct loops loops;
    int *order; /* scratch memory of pattern_layout() */
    struct progress progress;
};

bool can_run(const struct request *request, const struct pattern *pattern, int method)
{
    return request->methods >> method & 1 && methods[method].applies(pattern);
}

static void log_result(struct log *log, const struct pattern *pattern, const struct method *method, int64_t bytes,
                       int64_t loop_length, const struct result *result)
{
    json_t *elapsed = json_array(), *fastest = json_array();
    for (int r = 0; r < result->repetitions; r++) {
        json_array_append_new(elapsed, json_real(result->elapsed_seconds[r]));
        json_array_append_new(fastest, json_real(result->fastest_seconds[r]));
    }
    log_write(log, "measurement",
              json_pack("{s:s, s:s, s:I, s:I, s:o, s:o}", "pattern", pattern->name, "method", method->name,
                        "message_bytes", (json_int_t)bytes, "loop_length", (json_int_t)loop_length, "elapsed_seconds",
                        elapsed, "fastest_seconds", fastest));
}

/* The asked-for length, unless such loops would take more than a length's part of the pattern's time: on thousands of
 * processes an exchange may take milliseconds. Tried with single exchanges, the best of some: one may be disturbed. */
static int64_t try_first_loop_length(struct state *state, struct exchange *exchange, int method, double most_seconds)
{
    const struct request *request = state->request;
    if (request->first_loop_length == 1 || request->longest_loop_length == 1)
        return 1;
    const struct result result = time_loops(&state->loops, exchange, &methods[method], request->length[0], 1, REPETITIONS);
    return limit_loop_length(request->first_loop_length, shortest(&result), most_seconds / REPETITIONS);
}

static void begin_courses(struct state *state, struct exchange *exchange, double share_seconds,
                          struct course courses[METHODS])
{
    int running = 0;
    for (int m = 0; m < METHODS; m++)
        running += courses[m].runs = can_run(state->request, exchange->pattern, m);
    for (int m = 0; m < METHODS; m++)
        if (courses[m].runs)
            courses[m].first_loop_length =
                try_first_loop_length(state, exchange, m, share_seconds / LENGTHS / running);
}

/* Adds the result to the method's course. Returns the seconds of the loops and their untimed exchanges. */
static double follow(struct course *course, const struct pattern *pattern, int64_t bytes, int64_t loop_length,
                     const struct result *result)
{
    const double seconds = shortest(result) / (double)loop_length;
    trend_add(&course->trend, (double)bytes, seconds);
    course->best_bandwidth = (double)(bytes * pattern->messages_per_exchange) / seconds;
    return seconds * (double)(loop_length + 1) * result->repetitions;
}

static void summarize(struct summary *summary, const struct course *course, int length)
{
    const double seconds = course->trend.seconds[1];
    if (length == 0 && (summary->shortest_exchange_seconds == 0 || seconds < summary->shortest_exchange_seconds))
        summary->shortest_exchange_seconds = seconds;
    if (length == LENGTHS - 1)
        summary->largest_bandwidth = fmax(summary->largest_bandwidth, course->best_bandwidth);
}

/* All methods that the decision leaves, at one length. Returns the seconds of their loops. */
static double measure_length(struct state *state, struct exchange *exchange, struct course courses[METHODS], int length,
                             const struct decision *decision, struct summary *summary)
{
    const int64_t bytes = state->request->length[length];
    const int repetitions = repetitions_under((enum reduction)decision->reduction, state->request);
    double timed = 0;
    for (int m = 0; m < METHODS; m++) {
        const int64_t loop_length = decision->loop_length[m];
        courses[m].best_bandwidth = 0;
        if (loop_length == 0)
            continue;
        const struct result result = time_loops(&state->loops, exchange, &methods[m], bytes, loop_length, repetitions);
        if (state->run->log)
            log_result(state->run->log, exchange->pattern, &methods[m], bytes, loop_length, &result);
        timed += follow(&courses[m], exchange->pattern, bytes, loop_length, &result);
        summarize(summary, &courses[m], length);
    }
    return timed;
}

static void measure_pattern(struct state *state, int number, struct summary *summary)
{
    const struct request *request = state->request;
    const struct pattern *pattern = &request->pattern[number];
    struct run *run = state->run;
    const double start = run_elapsed_seconds(run);
    const int patterns_left = request->patterns - number;
    const double share = fmax(request->time_budget_seconds - start, 0) / patterns_left;
    struct course courses[METHODS] = {{0}};
    struct exchange exchange = exchange_open(pattern, request->seed, state->order);
    begin_courses(state, &exchange, share, courses);

    const double loops_start = run_elapsed_seconds(run);
    struct allowance allowance = {.share_seconds = share, .overhead_factor = 1};
    double timed = 0;
    for (int k = 0; k < LENGTHS; k++) {
        const double elapsed = run_elapsed_seconds(run);
        double estimate = 0;
        allowance.used_seconds = elapsed - start;
        struct decision decision = decide(request, courses, k, &allowance, &estimate);
        MPI_CHECK(MPI_Bcast(&decision, sizeof decision / sizeof(int64_t), MPI_INT64_T, 0, MPI_COMM_WORLD));
        if (decision.reduction != RUN_ALL_METHODS && run->log)
            log_reduction(run->log, pattern, request->length[k], &decision, elapsed,
                          start + (elapsed - start + estimate) * patterns_left);
        timed += measure_length(state, &exchange, courses, k, &decision, summary);
        allowance.overhead_factor = fmax(1, (run_elapsed_seconds(run) - loops_start) / timed);
        if (run->rank == 0)
            progress_show(&state->progress, (number + (k + 1.0) / LENGTHS) / request->patterns,
                          run_elapsed_seconds(run), pattern->name);
    }
    exchange_close(&exchange);
}

static void log_data_check(struct state *state)
{
    int64_t mine[2] = {state->loops.received_bytes, state->loops.checked_bytes}, all[2];
    MPI_CHECK(MPI_Reduce(mine, all, 2, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD));
    if (state->run->log)
        log_write(state->run->log, "data_check",
                  json_pack("{s:I, s:I, s:i}", "received_bytes", (json_int_t)all[0], "checked_bytes",
                            (json_int_t)all[1], "wrong_bytes", 0));
}

void measure(struct run *run, const struct request *request, struct summary *summaries)
{
    struct state state = {.run = run, .request = request, .loops = loops_begin(run, request->length[LENGTHS - 1])};
    state.order = malloc((size_t)run->ranks * sizeof *state.order);
    if (!state.order)
        fail("out of memory for the order of %d ranks", run->ranks);
    state.progress = progress_begin(run->program->name);
    for (int p = 0; p < request->patterns; p++)
        measure_pattern(&state, p, &summaries[p]);
    if (run->rank == 0)
        progress_end(&state.progress);
    log_data_check(&state);
    free(state.order);
    loops_end(&state.loops);
}
