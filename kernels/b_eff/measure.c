/* See measure.h. The timed region is timed_loop(); all else in this file prepares it, checks what it received or
 * decides what comes next. */
#include "measure.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "agreement.h"
#include "data.h"
#include "fail.h"
#include "loop.h"
#include "memory.h"
#include "methods.h"
#include "progress.h"

enum {
    BUFFER_LENGTHS = 8,       /* buffers hold this many messages of L_max (three dimensions need six at once) */
    ALIGNMENT = 64,           /* of messages that are at least a cache line long */
    SHIFTS = 1024,            /* see next_walk() */
    WRONG_TEXT_LENGTH = 256
};

struct buffers {
    size_t bytes;      /* through which places walk */
    size_t send_bytes; /* `bytes` and room for the shifts */
    char *send, *receive;
};

/* Everything that lives as long as the measurement. */
struct state {
    struct run *run;
    const struct request *request;
    struct buffers buffers;
    size_t next_place; /* where the next loop begins */
    long loops;        /* timed so far, the same on all ranks */
    int64_t received_bytes, checked_bytes; /* of this rank */
    int *order;        /* scratch memory of pattern_layout() */
    struct progress progress;
};

/* One pattern and method: the course of its loops over the lengths. */
struct course {
    bool runs; /* asked for and applicable */
    int64_t first_loop_length;
    struct trend trend;
    double best_bandwidth; /* messages' bytes per second at the previous length; 0 if it did not run there */
};

struct result {
    int repetitions;
    double elapsed_seconds[REPETITIONS], fastest_seconds[REPETITIONS];
};

int64_t walk_buffer_bytes(int64_t l_max)
{
    return BUFFER_LENGTHS * ((l_max + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

bool can_run(const struct request *request, const struct pattern *pattern, int method)
{
    return request->methods >> method & 1 && methods[method].applies(pattern);
}

/* --- the walk through the buffers ---------------------------------------------------------------------------------- */

/* Messages keep their natural alignment, up to a cache line. */
static size_t message_stride(int64_t bytes)
{
    size_t alignment = 1;
    while (alignment < ALIGNMENT && (int64_t)alignment < bytes)
        alignment *= 2;
    return ((size_t)bytes + alignment - 1) / alignment * alignment;
}

/* The places of the next loop: they go on where the last loop ended, or start over at the beginning if they do not fit
 * behind it. The send position is shifted by another cache line for each loop: what is received at a given place then
 * differs from loop to loop, and a message that never arrived is not mistaken for the one of an earlier loop. */
static struct walk next_walk(struct state *state, const struct exchange *exchange, int64_t bytes, int64_t exchanges,
                             long most_places)
{
    struct walk walk = {.bytes = (int)bytes, .stride = message_stride(bytes)};
    walk.step = walk.stride * (size_t)exchange->slots;
    size_t start = (state->next_place + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (start + walk.step * (size_t)exchanges > state->buffers.bytes)
        start = 0;
    const long fitting = (long)((state->buffers.bytes - start) / walk.step);
    walk.places = exchanges < fitting ? (long)exchanges : fitting;
    if (most_places && walk.places > most_places)
        walk.places = most_places;
    walk.receive = state->buffers.receive + start;
    walk.send = state->buffers.send + start + (size_t)(state->loops % SHIFTS) * ALIGNMENT;
    state->next_place = start + walk.step * (size_t)walk.places;
    return walk;
}

/* --- the timed region ----------------------------------------------------------------------------------------------- */

static inline void run_exchange(const struct method *method, struct exchange *exchange, const struct walk *walk,
                                long place)
{
    for (int s = 0; s < exchange->stages; s++)
        method->exchange(&exchange->stage[s], walk, place);
}

static double timed_loop(const struct method *method, struct exchange *exchange, const struct walk *walk,
                         int64_t loop_length)
{
    long place = 0;
    run_exchange(method, exchange, walk, place); /* untimed */
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    const double start = MPI_Wtime();
    for (int64_t i = 0; i < loop_length; i++) {
        place = place + 1 < walk->places ? place + 1 : 0;
        run_exchange(method, exchange, walk, place);
    }
    return MPI_Wtime() - start;
}

/* --- checking what was received ------------------------------------------------------------------------------------- */

/* Counts wrong bytes in what the last walk left in the receive buffer and describes the first of them in `text`. */
static size_t check_received(struct state *state, const struct exchange *exchange, const struct walk *walk,
                             char text[WRONG_TEXT_LENGTH])
{
    size_t wrong = 0;
    for (int s = 0; s < exchange->stages; s++) {
        for (int j = 0; j < exchange->stage[s].transfers; j++) {
            const int source = exchange->source[s][j];
            for (long place = 0; source != MPI_PROC_NULL && place < walk->places; place++) {
                const size_t offset = (size_t)place * walk->step + (size_t)j * walk->stride;
                size_t first;
                const size_t count = data_count_wrong(walk->receive + offset, (size_t)walk->bytes, (uint32_t)source,
                                                      (uint64_t)(walk->send + offset - state->buffers.send), &first);
                if (count > 0 && wrong == 0)
                    snprintf(text, WRONG_TEXT_LENGTH, "rank %d received a wrong byte from rank %d at offset %zu",
                             state->run->rank, source, first);
                wrong += count;
                state->checked_bytes += walk->bytes;
            }
        }
    }
    return wrong;
}

static int64_t messages_to_receive(const struct exchange *exchange)
{
    int64_t messages = 0;
    for (int s = 0; s < exchange->stages; s++)
        for (int j = 0; j < exchange->stage[s].transfers; j++)
            messages += exchange->source[s][j] != MPI_PROC_NULL;
    return messages;
}

/* All ranks end the run together if one of them received a wrong byte; the lowest such rank says where. */
static void stop_if_wrong(struct state *state, const struct exchange *exchange, const struct method *method,
                          const struct walk *walk)
{
    char text[WRONG_TEXT_LENGTH] = "";
    const size_t wrong = check_received(state, exchange, walk, text);
    const int mine = wrong > 0 ? state->run->rank : state->run->ranks;
    int first;
    MPI_CHECK(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (first == state->run->ranks)
        return;
    MPI_CHECK(MPI_Bcast(text, WRONG_TEXT_LENGTH, MPI_CHAR, first, MPI_COMM_WORLD));
    fail_together("data check: pattern %s, method %s, message length %d byte: %s; the MPI library or the network "
                  "corrupts messages",
                  exchange->pattern->name, method->name, walk->bytes, text);
}

/* --- one pattern, length and method --------------------------------------------------------------------------------- */

static struct result measure_method(struct state *state, struct exchange *exchange, const struct method *method,
                                    int64_t bytes, int64_t loop_length, int repetitions)
{
    struct result result = {.repetitions = repetitions};
    for (int r = 0; r < repetitions; r++) {
        const struct walk walk = next_walk(state, exchange, bytes, loop_length + 1, method->most_places);
        for (int s = 0; s < exchange->stages; s++)
            method->prepare(&exchange->stage[s], &walk);
        const double elapsed = timed_loop(method, exchange, &walk, loop_length);
        for (int s = 0; s < exchange->stages; s++)
            method->clean(&exchange->stage[s], &walk);

        const struct spread spread = agree_on_times_of_part(MPI_COMM_WORLD, elapsed, exchange->stages > 0);
        result.elapsed_seconds[r] = spread.slowest;
        result.fastest_seconds[r] = spread.fastest;
        if (buffers_hold_data)
            stop_if_wrong(state, exchange, method, &walk);
        state->received_bytes += messages_to_receive(exchange) * bytes * (loop_length + 1);
        state->loops++;
    }
    return result;
}

static double shortest(const struct result *result)
{
    double seconds = result->elapsed_seconds[0];
    for (int r = 1; r < result->repetitions; r++)
        seconds = fmin(seconds, result->elapsed_seconds[r]);
    return fmax(seconds, MPI_Wtick()); /* a loop below the clock's resolution took at most that */
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

/* --- what still fits into the budget -------------------------------------------------------------------------------- */

/* Rank 0's decision about a pattern at one length. */
struct decision {
    int64_t reduction;
    int64_t loop_length[METHODS]; /* 0: this method does not run */
};

static bool any_averaged(const struct course courses[METHODS])
{
    for (int m = 0; m < METHODS; m++)
        if (courses[m].runs && methods[m].averaged)
            return true;
    return false;
}

/* Of the methods that enter b_eff; of all where a pattern has no such method. */
static int best_method(const struct course courses[METHODS])
{
    const bool averaged_only = any_averaged(courses);
    int best = -1;
    for (int m = 0; m < METHODS; m++)
        if (courses[m].runs && (methods[m].averaged || !averaged_only) &&
            (best < 0 || courses[m].best_bandwidth > courses[best].best_bandwidth))
            best = m;
    return best;
}

/* Reported methods are left out first, but a pattern that has no other method keeps them. */
static bool runs_under(enum reduction reduction, const struct course courses[METHODS], int method)
{
    if (!courses[method].runs)
        return false;
    if (reduction == RUN_ALL_METHODS)
        return true;
    if (reduction == RUN_AVERAGED_METHODS)
        return methods[method].averaged || !any_averaged(courses);
    return method == best_method(courses);
}

static int repetitions_under(enum reduction reduction, const struct request *request)
{
    return reduction == RUN_BEST_METHOD_ONCE ? 1 : request->repetitions;
}

static int64_t loop_length_of(const struct request *request, const struct course *course, int method, int64_t bytes)
{
    const int64_t longest = request->longest_loop_length, places = methods[method].most_places;
    const int64_t most = places && places - 1 < longest ? places - 1 : longest;
    return choose_loop_length(&course->trend, (double)bytes, course->first_loop_length, most);
}

/* Seconds that a length will take: the loops and their untimed exchanges, times what came on top of them before. */
static double cost_seconds(const struct request *request, const struct course courses[METHODS],
                           enum reduction reduction, int64_t bytes, double overhead_factor)
{
    double seconds = 0;
    for (int m = 0; m < METHODS; m++)
        if (runs_under(reduction, courses, m))
            seconds += (double)(loop_length_of(request, &courses[m], m, bytes) + 1) *
                       trend_predict(&courses[m].trend, (double)bytes);
    return seconds * repetitions_under(reduction, request) * overhead_factor;
}

static struct decision decide(const struct state *state, const struct course courses[METHODS], int length,
                              double pattern_seconds, double share_seconds, double overhead_factor,
                              double *estimate_seconds)
{
    const struct request *request = state->request;
    double cost[REDUCTIONS], reserve = 0;
    for (int r = 0; r < REDUCTIONS; r++)
        cost[r] = cost_seconds(request, courses, (enum reduction)r, request->length[length], overhead_factor);
    *estimate_seconds = cost[RUN_ALL_METHODS];
    for (int longer = length + 1; longer < LENGTHS; longer++) {
        /* short lengths say little about long ones: take it that loops adapt and so take as long as now */
        const int64_t bytes = request->length[length < FIXED_LENGTHS ? length : longer];
        reserve += cost_seconds(request, courses, RUN_BEST_METHOD_ONCE, bytes, overhead_factor);
        *estimate_seconds += cost_seconds(request, courses, RUN_ALL_METHODS, bytes, overhead_factor);
    }
    struct decision decision = {
        .reduction = choose_reduction(cost, reserve, share_seconds - pattern_seconds)};
    if (length == 0) /* no method is the best one yet */
        decision.reduction = RUN_ALL_METHODS;
    for (int m = 0; m < METHODS; m++)
        if (runs_under((enum reduction)decision.reduction, courses, m))
            decision.loop_length[m] = loop_length_of(request, &courses[m], m, request->length[length]);
    return decision;
}

static void log_reduction(struct log *log, const struct pattern *pattern, int64_t bytes,
                          const struct decision *decision, double elapsed_seconds, double estimate_seconds)
{
    json_t *running = json_array();
    for (int m = 0; m < METHODS; m++)
        if (decision->loop_length[m] > 0)
            json_array_append_new(running, json_string(methods[m].name));
    log_write(log, "budget",
              json_pack("{s:s, s:I, s:s, s:o, s:f, s:f}", "pattern", pattern->name, "message_bytes", (json_int_t)bytes,
                        "reduced_to", reduction_names[decision->reduction], "methods", running, "elapsed_seconds",
                        elapsed_seconds, "estimate_seconds", estimate_seconds));
}

/* --- one pattern ---------------------------------------------------------------------------------------------------- */

/* The asked-for length, unless such loops would take more than a length's part of the pattern's time: on thousands of
 * processes an exchange may take milliseconds. Tried with single exchanges, the best of some: one may be disturbed. */
static int64_t try_first_loop_length(struct state *state, struct exchange *exchange, int method, double most_seconds)
{
    const struct request *request = state->request;
    if (request->first_loop_length == 1 || request->longest_loop_length == 1)
        return 1;
    const struct result result = measure_method(state, exchange, &methods[method], request->length[0], 1, REPETITIONS);
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
        const struct result result = measure_method(state, exchange, &methods[m], bytes, loop_length, repetitions);
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
    double timed = 0, overhead_factor = 1;
    for (int k = 0; k < LENGTHS; k++) {
        const double elapsed = run_elapsed_seconds(run);
        double estimate = 0;
        struct decision decision = decide(state, courses, k, elapsed - start, share, overhead_factor, &estimate);
        MPI_CHECK(MPI_Bcast(&decision, sizeof decision / sizeof(int64_t), MPI_INT64_T, 0, MPI_COMM_WORLD));
        if (decision.reduction != RUN_ALL_METHODS && run->log)
            log_reduction(run->log, pattern, request->length[k], &decision, elapsed,
                          start + (elapsed - start + estimate) * patterns_left);
        timed += measure_length(state, &exchange, courses, k, &decision, summary);
        overhead_factor = fmax(1, (run_elapsed_seconds(run) - loops_start) / timed);
        if (run->rank == 0)
            progress_show(&state->progress, (number + (k + 1.0) / LENGTHS) / request->patterns,
                          run_elapsed_seconds(run), pattern->name);
    }
    exchange_close(&exchange);
}

static struct buffers allocate_buffers(const struct request *request, int rank)
{
    struct buffers buffers = {.bytes = (size_t)walk_buffer_bytes(request->length[LENGTHS - 1])};
    buffers.send_bytes = buffers.bytes + (size_t)SHIFTS * ALIGNMENT;
    buffers.send = buffer_allocate(buffers.send_bytes);
    buffers.receive = buffer_allocate(buffers.bytes);
    if (buffers_hold_data)
        data_fill(buffers.send, buffers.send_bytes, (uint32_t)rank, 0);
    return buffers;
}

static void log_data_check(struct state *state)
{
    int64_t mine[2] = {state->received_bytes, state->checked_bytes}, all[2];
    MPI_CHECK(MPI_Reduce(mine, all, 2, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD));
    if (state->run->log)
        log_write(state->run->log, "data_check",
                  json_pack("{s:I, s:I, s:i}", "received_bytes", (json_int_t)all[0], "checked_bytes",
                            (json_int_t)all[1], "wrong_bytes", 0));
}

void measure(struct run *run, const struct request *request, struct summary *summaries)
{
    struct state state = {.run = run, .request = request, .buffers = allocate_buffers(request, run->rank)};
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
    buffer_free(state.buffers.send, state.buffers.send_bytes);
    buffer_free(state.buffers.receive, state.buffers.bytes);
}
