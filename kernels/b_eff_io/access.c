/* SPDX-License-Identifier: Apache-2.0 */
/* See access.h. The timed region is make_calls(). */
#include "access.h"

#include <inttypes.h>
#include <stdio.h>

#include "clock.h"
#include "clocks.h"
#include "fail.h"
#include "peers.h"

/* The times of a process in a pattern so far. */
struct clock {
    double start, paused, position, access, sync, agreement, done;
};

static double elapsed_seconds(const struct clock *clock)
{
    return MPI_Wtime() - clock->start - clock->paused;
}

static bool reads(const struct access *access)
{
    return access->method == METHOD_READ;
}

/* For the keeper of the node, between calls. After the last call of a random order there is no next place. */
static void show_progress(const struct access *access, int64_t calls)
{
    const bool is_known = calls < access->stream->repetitions;
    peers_progress(calls, is_known ? access->type->offset(access->stream, calls, 0) : UNKNOWN_OFFSET);
}

/* Only the calls. After an error, a process continues only if others wait for it in a collective call. */
static int make_calls(const struct access *access, int64_t first, int64_t count)
{
    struct stream *stream = access->stream;
    const int64_t call_bytes = stream->pattern->call_bytes, step = call_bytes % PERIOD_BYTES;
    int64_t place = walk_place(first, call_bytes);
    const bool read = reads(access);
    int code = MPI_SUCCESS;
    double before = access->each_seconds ? MPI_Wtime() : 0;
    for (int64_t call = first; call < first + count; call++) {
        const int result = read ? access->type->read(stream, access->walk->buffer + place, call)
                                : access->type->write(stream, access->walk->buffer + place, call);
        if (result != MPI_SUCCESS) {
            code = result;
            if (!access->type->collective)
                break;
        }
        if (access->each_seconds) {
            const double after = MPI_Wtime();
            access->each_seconds[call] = after - before;
            before = after;
        }
        place += step;
        if (place >= PERIOD_BYTES)
            place -= PERIOD_BYTES;
    }
    return code;
}

/* Checks the calls whose data is still in the buffer. */
static void check_calls(const struct access *access, int64_t calls, struct result *result, struct problem *problem)
{
    const struct stream *stream = access->stream;
    const int64_t call_bytes = stream->pattern->call_bytes;
    const int64_t kept = walk_calls(call_bytes), oldest = calls > kept ? calls - kept : 0;
    for (int64_t call = access->check_all ? result->checked_bytes / call_bytes : oldest; call < calls; call++) {
        int64_t place = 0;
        const size_t wrong =
            walk_count_wrong(access->walk, call, call_bytes, access->source(access->context, call), &place);
        if (wrong && !problem->text[0])
            snprintf(problem->text, PROBLEM_LENGTH,
                     "%zu of %" PRId64 " bytes were read wrong, the first at offset %" PRId64, wrong, call_bytes,
                     access->type->offset(stream, call, place));
        result->checked_bytes += call_bytes;
    }
}

/* A complete check stops the clock of this process and, if others wait for it in a collective call, theirs as well. */
static void check_so_far(const struct access *access, int64_t calls, struct result *result, struct clock *clock,
                         struct problem *problem)
{
    if (!access->check_all || !reads(access))
        return;
    const double start = MPI_Wtime();
    check_calls(access, calls, result, problem);
    if (access->type->collective)
        MPI_CHECK(MPI_Barrier(access->stream->comm));
    clock->paused += MPI_Wtime() - start;
}

/* Ends by the process's own clock or count. After an error, a process takes part only in collective calls. */
static void run_alone(const struct access *access, struct result *result, struct clock *clock, struct problem *problem)
{
    struct course course = {0};
    int64_t calls;
    while ((access->type->collective || !problem->text[0]) &&
           (calls = next_round(&access->limits, &course, &result->ending)) > 0) {
        const int code = make_calls(access, course.calls, calls);
        const double now = MPI_Wtime();
        course.calls += calls;
        course.elapsed_seconds = now - clock->start - clock->paused;
        show_progress(access, course.calls);
        note_problem(problem, code, reads(access) ? "read" : "write");
        check_so_far(access, course.calls, result, clock, problem);
    }
    clock->done = elapsed_seconds(clock);
    clock->access = clock->done - clock->position;
    result->calls = course.calls;
}

/* Returns -1 if a process has a problem. The text follows later, so that an agreement costs only a barrier and a
 * broadcast. */
static int64_t agree_on_batch(const struct access *access, const struct course *course, const struct problem *problem,
                              enum ending *ending)
{
    int wrong = problem->text[0] != '\0';
    int64_t batch = 0;
    MPI_CHECK(
        MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, access->stream->comm)); /* this is also the barrier */
    if (wrong)
        return -1;
    if (access->stream->rank == 0)
        batch = next_batch(&access->limits, course, ending);
    MPI_CHECK(MPI_Bcast(&batch, 1, MPI_INT64_T, 0, access->stream->comm));
    return batch;
}

/* All processes end after the same call, by rank 0's clock, on which they agree between batches. False if a process has
 * a problem. */
static bool run_together(const struct access *access, struct result *result, struct clock *clock,
                         struct problem *problem)
{
    struct course course = {0};
    for (;;) {
        const double start = MPI_Wtime(), before = course.elapsed_seconds;
        show_progress(access, course.calls);
        course.elapsed_seconds = elapsed_seconds(clock);
        course.last_batch_seconds = course.elapsed_seconds - before;
        const int64_t batch = agree_on_batch(access, &course, problem, &result->ending);
        const double agreed = MPI_Wtime();
        clock->agreement += agreed - start;
        result->agreements++;
        result->calls = course.calls;
        if (batch <= 0)
            return batch == 0;
        const int code = make_calls(access, course.calls, batch);
        clock->access += MPI_Wtime() - agreed;
        clock->done = elapsed_seconds(clock);
        note_problem(problem, code, reads(access) ? "read" : "write");
        course.calls += batch;
        course.last_batch = batch;
        check_so_far(access, course.calls, result, clock, problem);
    }
}

/* The maximum of the negative is the minimum: one reduction gives both. */
static void agree_on_result(MPI_Comm comm, const struct clock *clock, double elapsed, struct result *result)
{
    double mine[] = {elapsed,          clock->position,   clock->access, -clock->access, clock->sync,
                     clock->agreement, -clock->agreement, clock->done,   -clock->done};
    enum { TIMES = sizeof mine / sizeof mine[0] };
    double all[TIMES];
    MPI_CHECK(MPI_Allreduce(mine, all, TIMES, MPI_DOUBLE, MPI_MAX, comm));
    result->own_access = clock->access;
    result->own_sync = clock->sync;
    result->elapsed = all[0];
    result->position = all[1];
    result->access = all[2];
    result->access_fastest = -all[3];
    result->sync = all[4];
    result->agreement = all[5];
    result->agreement_fastest = -all[6];
    result->last_done = all[7];
    result->first_done = -all[8];

    const int64_t counts[] = {result->calls, -result->calls, result->ending};
    int64_t most[3];
    MPI_CHECK(MPI_Allreduce(counts, most, 3, MPI_INT64_T, MPI_MAX, comm));
    MPI_CHECK(MPI_Allreduce(counts, &result->calls_sum, 1, MPI_INT64_T, MPI_SUM, comm));
    result->calls_max = most[0];
    result->calls_min = -most[1];
    result->ending = (enum ending)most[2];
}

static void compare_clocks(const struct access *access, double measured_seconds, double by_day)
{
    char phase[64];
    snprintf(phase, sizeof phase, "%s, type %s", methods[access->method].name, access->type->name);
    clocks_add(phase, measured_seconds, by_day);
}

struct result access_pattern(const struct access *access, int64_t start, const struct pattern *pattern,
                             int64_t repetitions, struct problem *problem)
{
    struct stream *stream = access->stream;
    struct result result = {0};
    struct clock clock = {0};
    bool sound = true;
    MPI_CHECK(MPI_Barrier(stream->comm));
    const double day = day_seconds();
    clock.start = MPI_Wtime();
    note_problem(problem, stream_position(stream, access->type, pattern, start, repetitions), "set its position");
    clock.position = elapsed_seconds(&clock);
    if (access->type->collective && access->limits.seconds > 0)
        sound = run_together(access, &result, &clock, problem);
    else
        run_alone(access, &result, &clock, problem);
    if (!reads(access) && sound) { /* not after an error that all processes know of */
        const double before = MPI_Wtime();
        note_problem(problem, access->type->files->sync(stream), "sync");
        clock.sync = MPI_Wtime() - before;
    }
    const double elapsed = elapsed_seconds(&clock);
    compare_clocks(access, elapsed + clock.paused, day_seconds() - day);
    peers_arrive(); /* a process that only waits for others does not hang */
    const double checked_from = MPI_Wtime();
    if (reads(access) && !problem->text[0])
        check_calls(access, result.calls, &result, problem);
    result.check_seconds = clock.paused + MPI_Wtime() - checked_from;
    agree_on_result(stream->comm, &clock, elapsed, &result);
    stream_release(stream);
    return result;
}
