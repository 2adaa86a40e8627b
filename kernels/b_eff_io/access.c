/* See access.h. The timed region is timed_batch(). */
#include "access.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"

/* What a process has measured of a pattern so far. */
struct clock {
    double start, paused, position, access, sync, agreement, done;
};

static double elapsed_seconds(const struct clock *clock)
{
    return MPI_Wtime() - clock->start - clock->paused;
}

/* Nothing but the calls. After an error a process goes on only where others wait for it in a collective call. */
static double timed_batch(const struct access *access, int64_t first, int64_t count, int *code)
{
    struct stream *stream = access->stream;
    const int64_t call_bytes = stream->pattern->call_bytes, step = call_bytes % PERIOD_BYTES;
    int64_t place = walk_place(first, call_bytes);
    const bool reads = access->method == METHOD_READ;
    const double start = MPI_Wtime();
    for (int64_t call = first; call < first + count; call++) {
        const int result = reads ? access->type->read(stream, access->walk->buffer + place, call)
                                 : access->type->write(stream, access->walk->buffer + place, call);
        if (result != MPI_SUCCESS) {
            *code = result;
            if (!access->type->collective)
                break;
        }
        place += step;
        if (place >= PERIOD_BYTES)
            place -= PERIOD_BYTES;
    }
    return MPI_Wtime() - start;
}

/* Returns -1 if somebody has a problem; its text is fetched later, so that an agreement costs no more than a barrier and
 * a broadcast. */
static int64_t agree_on_batch(const struct access *access, const struct course *course, const struct problem *problem,
                              enum ending *ending)
{
    int wrong = problem->text[0] != '\0';
    int64_t batch = 0;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, access->stream->comm)); /* also the barrier */
    if (wrong)
        return -1;
    if (access->stream->rank == 0)
        batch = next_batch(&access->limits, course, ending);
    MPI_CHECK(MPI_Bcast(&batch, 1, MPI_INT64_T, 0, access->stream->comm));
    return batch;
}

/* The calls whose data is still in the buffer. */
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
            snprintf(problem->text, PROBLEM_LENGTH, "%zu of %" PRId64 " bytes were read wrong, the first at offset %" PRId64,
                     wrong, call_bytes, access->type->offset(stream, call, place));
        result->checked_bytes += call_bytes;
    }
}

/* A check in the middle of a pattern stops the clock of all processes. */
static void pause_and_check(const struct access *access, int64_t calls, struct result *result, struct clock *clock,
                            struct problem *problem)
{
    const double start = MPI_Wtime();
    check_calls(access, calls, result, problem);
    MPI_CHECK(MPI_Barrier(access->stream->comm));
    clock->paused += MPI_Wtime() - start;
}

/* False if somebody has a problem. */
static bool run_batches(const struct access *access, struct result *result, struct clock *clock, struct problem *problem)
{
    struct course course = {0};
    for (;;) {
        const double start = MPI_Wtime();
        access->alive(access->context);
        const double before = course.elapsed_seconds;
        course.elapsed_seconds = elapsed_seconds(clock);
        course.last_batch_seconds = course.elapsed_seconds - before;
        const int64_t batch = agree_on_batch(access, &course, problem, &result->ending);
        clock->agreement += MPI_Wtime() - start;
        result->agreements++;
        if (batch <= 0) {
            result->calls = course.calls;
            return batch == 0;
        }
        int code = MPI_SUCCESS;
        clock->access += timed_batch(access, course.calls, batch, &code);
        clock->done = elapsed_seconds(clock);
        note_problem(problem, code, access->method == METHOD_READ ? "read" : "write");
        course.calls += batch;
        course.last_batch = batch;
        if (access->check_all && access->method == METHOD_READ)
            pause_and_check(access, course.calls, result, clock, problem);
    }
}

/* One reduction gives both ends: the largest negative is the smallest. */
static void agree_on_clocks(MPI_Comm comm, const struct clock *clock, double elapsed, struct result *result)
{
    double mine[] = {elapsed, clock->position, clock->access, -clock->access, clock->sync, clock->agreement,
                     -clock->agreement, clock->done, -clock->done};
    enum { TIMES = sizeof mine / sizeof mine[0] };
    double all[TIMES];
    MPI_CHECK(MPI_Allreduce(mine, all, TIMES, MPI_DOUBLE, MPI_MAX, comm));
    result->elapsed = all[0];
    result->position = all[1];
    result->access = all[2];
    result->access_fastest = -all[3];
    result->sync = all[4];
    result->agreement = all[5];
    result->agreement_fastest = -all[6];
    result->last_done = all[7];
    result->first_done = -all[8];
}

struct result access_pattern(const struct access *access, int64_t start, const struct pattern *pattern,
                             int64_t repetitions, struct problem *problem)
{
    struct stream *stream = access->stream;
    struct result result = {0};
    struct clock clock = {0};
    MPI_CHECK(MPI_Barrier(stream->comm));
    clock.start = MPI_Wtime();
    note_problem(problem, stream_position(stream, access->type, pattern, start, repetitions), "set its position");
    clock.position = elapsed_seconds(&clock);
    const bool sound = run_batches(access, &result, &clock, problem);
    if (access->method != METHOD_READ && sound) {
        const double before = MPI_Wtime();
        note_problem(problem, MPI_File_sync(stream->file), "sync");
        clock.sync = MPI_Wtime() - before;
    }
    const double elapsed = elapsed_seconds(&clock);
    if (access->method == METHOD_READ && !access->check_all && sound)
        check_calls(access, result.calls, &result, problem);
    agree_on_clocks(stream->comm, &clock, elapsed, &result);
    stream_release(stream);
    return result;
}

bool agree_on_problem(MPI_Comm comm, struct problem *problem)
{
    int rank, first;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    const int mine = problem->text[0] ? rank : INT_MAX;
    MPI_CHECK(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm));
    if (first == INT_MAX)
        return false;
    if (rank == first) {
        char text[PROBLEM_LENGTH];
        memcpy(text, problem->text, sizeof text);
        snprintf(problem->text, PROBLEM_LENGTH, "rank %d: %.900s", rank, text);
    }
    MPI_CHECK(MPI_Bcast(problem->text, PROBLEM_LENGTH, MPI_CHAR, first, comm));
    return true;
}

static const char *remedy(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class == MPI_ERR_NO_SPACE       ? "; free some space or limit the run with --space-limit"
           : class == MPI_ERR_QUOTA        ? "; the quota is used up: limit the run with --space-limit"
           : class == MPI_ERR_ACCESS       ? "; choose a directory that can be written with --directory"
           : class == MPI_ERR_NO_SUCH_FILE ? "; was the scratch directory removed?"
                                           : "";
}

void note_problem(struct problem *problem, int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int length = 0;
    if (code == MPI_SUCCESS || problem->text[0])
        return;
    problem->code = code;
    MPI_Error_string(code, text, &length);
    snprintf(problem->text, PROBLEM_LENGTH, "cannot %s: %.700s%s", what, text, remedy(code));
    for (char *at = problem->text; *at; at++)
        if (*at == '\n')
            *at = ' ';
}
