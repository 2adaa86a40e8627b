/* SPDX-License-Identifier: Apache-2.0 */
/* See measure.h. timed.c times the loops, budget.c decides what fits into the time budget; this file determines the
 * order and writes the log. */
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "budget.h"
#include "fail.h"
#include "memory.h"
#include "methods.h"
#include "probe.h"
#include "progress.h"
#include "timed.h"

/* The state of the whole measurement. */
struct state {
    struct run *run;
    const struct request *request;
    struct loops *loops;
    int *order;                            /* scratch memory of pattern_layout() */
    struct known known[MEMORY_KINDS];      /* by the first kind of a pattern */
    int64_t (*first_loop_length)[METHODS]; /* of each pattern; 0 until it is known */
    struct pace pace;
    bool has_warned; /* that the time budget is too small */
};

/* A pattern that is being measured. */
struct measured {
    int repetition, number; /* from 1; from 0 */
    struct exchange exchange;
    struct course courses[METHODS];
    struct allowance allowance;
    double loops_start_seconds, loops_seconds; /* of the run; in timed loops and their untimed exchanges */
    struct summary *summary;
};

static struct known *known_of(struct state *state, const struct measured *measured)
{
    return &state->known[measured->exchange.pattern->memory[0]];
}

static void log_result(struct log *log, const char *kind, const struct measured *measured, int method, int64_t bytes,
                       int64_t loop_length, const struct result *result)
{
    if (log)
        log_write(log, kind,
                  loop_json(measured->repetition, measured->exchange.pattern, method, bytes, loop_length, result));
}

static void log_reduction(struct log *log, const char *loops, const struct measured *measured, int64_t bytes,
                          const struct decision *decision)
{
    json_t *running = json_array();
    for (int m = 0; m < METHODS; m++)
        if (decision->loop_length[m] > 0)
            json_array_append_new(running, json_string(methods[m].name));
    log_write(log, "budget",
              OBJECT(field_int("repetition", measured->repetition), field_text("loops", loops),
                     field_text("pattern", measured->exchange.pattern->name), field_int("message_bytes", bytes),
                     field_text("reduced_to", reduction_names[decision->reduction]), field_json("methods", running),
                     field_real("elapsed_seconds", measured->allowance.run_seconds + measured->allowance.used_seconds),
                     field_real("estimate_seconds", decision->estimate_seconds)));
}

static void log_stop(struct log *log, const struct measured *measured, int64_t bytes, double elapsed_seconds,
                     double needed_budget_seconds)
{
    if (!log)
        return;
    json_t *fields =
        OBJECT(field_int("repetition", measured->repetition), field_text("pattern", measured->exchange.pattern->name),
               field_int("message_bytes", bytes), field_real("elapsed_seconds", elapsed_seconds));
    if (needed_budget_seconds > 0)
        object_add(fields, field_real("needed_budget_seconds", needed_budget_seconds));
    log_write(log, "stop", fields);
}

/* For the person at the terminal, on rank 0, once; and again if the run therefore ends. */
static void warn_of_budget(struct state *state, const struct decision *decision)
{
    const bool ends = decision->stops && decision->needed_budget_seconds > 0;
    if (state->run->rank != 0 || !(ends || (decision->is_too_small && !state->has_warned)))
        return;
    state->has_warned = true;
    progress_end();
    fprintf(stderr, "%s: a time budget of about %.0f s is needed here: %s %g s\n", state->run->program->name,
            ceil(decision->needed_budget_seconds),
            ends ? "the run stops, without a score, because it cannot yield one in time with"
                 : "the run takes longer than its",
            state->request->time_budget_seconds);
}

/* The requested length, unless such loops would take longer than a message length's part of the pattern's time: on
 * thousands of processes an exchange may take milliseconds. Determined by single exchanges, the best of several,
 * because some may be disturbed. */
static int64_t try_first_loop_length(struct state *state, struct measured *measured, int method, double most_seconds)
{
    const struct request *request = state->request;
    double shortest = INFINITY;
    if (request->first_loop_length == 1 || request->longest_loop_length == 1)
        return 1;
    for (int i = 0; i < TRIAL_LOOPS; i++) {
        const struct result result =
            time_loop(state->loops, &measured->exchange, &methods[method], request->length[0], 1);
        log_result(state->run->log, "trial", measured, method, request->length[0], 1, &result);
        shortest = fmin(shortest, result.elapsed_seconds);
    }
    return limit_loop_length(request->first_loop_length, shortest, most_seconds);
}

static void begin_courses(struct state *state, struct measured *measured)
{
    int64_t *first_loop_length = state->first_loop_length[measured->number];
    int running = 0;
    for (int m = 0; m < METHODS; m++)
        running += measured->courses[m].runs = can_run(state->request, measured->exchange.pattern, m);
    for (int m = 0; m < METHODS; m++) {
        if (measured->courses[m].runs && first_loop_length[m] == 0)
            first_loop_length[m] =
                try_first_loop_length(state, measured, m, measured->allowance.share_seconds / LENGTHS / running);
        measured->courses[m].first_loop_length = first_loop_length[m];
    }
}

/* Adds the result to the method's course and to the shortest times of all patterns. */
static void follow(struct state *state, struct measured *measured, int method, int length, int64_t loop_length,
                   const struct result *result)
{
    const int64_t bytes = state->request->length[length];
    const double seconds = result->elapsed_seconds / (double)loop_length;
    struct course *course = &measured->courses[method];
    double *known = &known_of(state, measured)->exchange_seconds[method][length];
    trend_add(&course->trend, (double)bytes, seconds);
    course->best_bandwidth = (double)(bytes * measured->exchange.pattern->messages_per_exchange) / seconds;
    *known = *known > 0 ? fmin(*known, seconds) : seconds;
    measured->loops_seconds += seconds * (double)(loop_length + 1);
}

static void summarize(struct summary *summary, const struct course *course, int length)
{
    const double seconds = course->trend.seconds[1];
    if (length == 0 && (summary->shortest_exchange_seconds == 0 || seconds < summary->shortest_exchange_seconds))
        summary->shortest_exchange_seconds = seconds;
    if (length == LENGTHS - 1)
        summary->largest_bandwidth = fmax(summary->largest_bandwidth, course->best_bandwidth);
}

/* Measures all methods of the decision at one length. */
static void measure_length(struct state *state, struct measured *measured, int length, const struct decision *decision)
{
    const int64_t bytes = state->request->length[length];
    for (int m = 0; m < METHODS; m++) {
        const int64_t loop_length = decision->loop_length[m];
        measured->courses[m].best_bandwidth = 0;
        if (loop_length == 0)
            continue;
        const struct result result = time_loop(state->loops, &measured->exchange, &methods[m], bytes, loop_length);
        log_result(state->run->log, "measurement", measured, m, bytes, loop_length, &result);
        follow(state, measured, m, length, loop_length, &result);
        summarize(measured->summary, &measured->courses[m], length);
    }
}

/* Rank 0 decides for all; the log records what is left out. */
static struct decision agree_on_decision(struct state *state, struct measured *measured, const char *loops, int length,
                                         struct decision decision)
{
    MPI_CHECK(MPI_Bcast(&decision, sizeof decision, MPI_BYTE, 0, MPI_COMM_WORLD));
    if (state->run->log && !decision.stops && decision.reduction != RUN_ALL_METHODS)
        log_reduction(state->run->log, loops, measured, state->request->length[length], &decision);
    return decision;
}

/* Loops of 300 exchanges are short for latencies: rings and the ping-pong have longer ones, which do not enter b_eff.
 */
static void measure_latency(struct state *state, struct measured *measured)
{
    measured->allowance.used_seconds = run_elapsed_seconds(state->run) - measured->allowance.run_seconds;
    const struct decision decision = agree_on_decision(
        state, measured, "latency", 0,
        decide_latency(state->request, measured->courses, known_of(state, measured), &measured->allowance));
    for (int m = 0; m < METHODS; m++) {
        if (decision.loop_length[m] == 0)
            continue;
        const struct result result = time_loop(state->loops, &measured->exchange, &methods[m],
                                               state->request->length[0], decision.loop_length[m]);
        log_result(state->run->log, "latency", measured, m, state->request->length[0], decision.loop_length[m],
                   &result);
        measured->loops_seconds += result.elapsed_seconds;
    }
}

/* Updates the times before each decision. */
static void count_time(struct state *state, struct measured *measured)
{
    const double elapsed = run_elapsed_seconds(state->run);
    measured->allowance.used_seconds = elapsed - measured->allowance.run_seconds;
    if (measured->loops_seconds > 0)
        measured->allowance.overhead_factor =
            fmax(1, (elapsed - measured->loops_start_seconds) / measured->loops_seconds);
}

static void show_progress(struct state *state, const struct measured *measured, int length)
{
    const struct request *request = state->request;
    const double patterns =
        (measured->repetition - 1) * request->patterns + measured->number + (length + 1.0) / LENGTHS;
    run_follow(state->run);
    progress_show(patterns / (request->repetitions * request->patterns), run_elapsed_seconds(state->run),
                  measured->exchange.pattern->name);
}

/* False if the run has exceeded its time. */
static bool measure_lengths(struct state *state, struct measured *measured)
{
    const struct request *request = state->request;
    const enum pattern_group group = measured->exchange.pattern->group;
    for (int k = 0; k < LENGTHS; k++) {
        count_time(state, measured);
        const struct decision decision =
            agree_on_decision(state, measured, "bandwidth", k,
                              decide(request, measured->courses, known_of(state, measured), k, &measured->allowance));
        warn_of_budget(state, &decision);
        if (decision.stops) {
            log_stop(state->run->log, measured, request->length[k], run_elapsed_seconds(state->run),
                     decision.needed_budget_seconds);
            return false;
        }
        measure_length(state, measured, k, &decision);
        if (k == 0 && (group == GROUP_RING || group == GROUP_PING_PONG))
            measure_latency(state, measured);
        show_progress(state, measured, k);
    }
    return true;
}

/* Adds a pattern that is complete. */
static void keep_pace(struct pace *pace, double seconds)
{
    pace->fastest_seconds = pace->complete ? fmin(pace->fastest_seconds, seconds) : seconds;
    pace->total_seconds += seconds;
    pace->complete++;
    pace->left--;
}

static bool measure_pattern(struct state *state, int repetition, int number, struct summary *summary)
{
    const struct request *request = state->request;
    const double start = run_elapsed_seconds(state->run);
    const double end = request->time_budget_seconds - request->reserved_seconds;
    const int left = (request->repetitions - repetition + 1) * request->patterns - number;
    struct measured measured = {
        .repetition = repetition,
        .number = number,
        .exchange = exchange_open(&request->pattern[number], MPI_COMM_WORLD, request->seed, state->order),
        .allowance = {.run_seconds = start,
                      .share_seconds = fmax(end - start, 0) / left,
                      .overhead_factor = 1,
                      .patterns_left = left,
                      .may_leave_out = repetition > 1,
                      .pace = &state->pace},
        .summary = summary};
    begin_courses(state, &measured);
    measured.loops_start_seconds = run_elapsed_seconds(state->run);
    const bool in_time = measure_lengths(state, &measured);
    exchange_close(&measured.exchange);
    if (in_time && state->pace.left > 0)
        keep_pace(&state->pace, run_elapsed_seconds(state->run) - start);
    return in_time;
}

bool measure(struct run *run, const struct request *request, struct loops *loops, struct summary *summaries)
{
    struct state state = {.run = run, .request = request, .loops = loops};
    state.order = allocate((size_t)run->ranks, sizeof *state.order);
    state.first_loop_length = allocate((size_t)request->patterns, sizeof *state.first_loop_length);
    while (state.pace.left < request->patterns && request->pattern[state.pace.left].averaged)
        state.pace.left++; /* they come first */
    bool in_time = true;
    for (int repetition = 1; in_time && repetition <= request->repetitions; repetition++) {
        probe_nodes(run, &loops->buffers, repetition);
        for (int p = 0; in_time && p < request->patterns; p++)
            in_time = measure_pattern(&state, repetition, p, &summaries[p]);
    }
    progress_end();
    free(state.first_loop_length);
    free(state.order);
    return in_time;
}
