/* SPDX-License-Identifier: Apache-2.0 */
/* See pattern.h. The calls are timed in access.c; here their number is computed before and recorded after. */
#include "pattern.h"

#include "fail.h"
#include "mpi_io.h"
#include "process_times.h"
#include "progress.h"
#include "random.h"
#include "records.h"
#include "units.h"

static const double slice_share = 0.05;       /* of a pattern's time: the longest batch between agreements */
static const double known_slice_share = 0.5;  /* of the remaining time, if a count limits the error */
static const int64_t telling_bytes = 8 * MIB; /* a sync of less data does not predict the next one */
static const double overrun_factor = 2;       /* maximum time of a partition over its scheduled time */

/* --- where the data of a call comes from -------------------------------------------------------------------------- */

/* Every partition, pattern, pass and process has content of its own. */
static uint32_t source_of(const struct step *now, bool rewritten)
{
    const int pass = (now->partition * PATTERNS + now->number) * 2 + rewritten;
    return (uint32_t)random_number((uint64_t)pass << 32, (uint64_t)now->stream.rank);
}

/* A rewrite that reached its time limit left the rest of the first pass unchanged. */
static uint32_t source_of_call(void *context, int64_t call)
{
    const struct step *now = context;
    return source_of(now, call < now->past->rewritten[now->number]);
}

/* --- how many calls ----------------------------------------------------------------------------------------------- */

static double scheduled_seconds(const struct step *now, const struct pattern *pattern)
{
    return now->state->request->scheduled_seconds / METHODS * pattern->units / SUM_UNITS;
}

/* Remaining time of the partition until the end of this access method, by rank 0's clock. Collective. */
static double seconds_to_overrun(const struct step *now)
{
    const double limit = overrun_factor * now->state->request->scheduled_seconds * (now->method + 1) / METHODS;
    double left = limit - now->past->spent_seconds - (MPI_Wtime() - now->start_seconds - now->check_seconds);
    MPI_CHECK(MPI_Bcast(&left, 1, MPI_DOUBLE, 0, now->comm));
    return left;
}

/* Reduces the calls of a size-driven pattern, to at least one, if the partition would take too long with all of them.
 * In the write pass the duration of a call is not known. */
static int64_t calls_in_time(const struct step *now, int64_t calls)
{
    const double left = seconds_to_overrun(now);
    if (now->method == METHOD_WRITE)
        return left > 0 ? calls : 1;
    const double fitting =
        left * (double)now->past->written_least[now->number] / now->past->written_seconds[now->number];
    return fitting >= (double)calls ? calls : fitting < 1 ? 1 : (int64_t)fitting;
}

/* The number of calls of this process by the definition. */
static int64_t defined_calls(const struct step *now, const struct pattern *pattern)
{
    if (now->method != METHOD_WRITE)
        return now->past->written[now->number];
    if (pattern->units == 0)
        return 1;
    return is_time_driven(pattern)
               ? INT64_MAX
               : size_driven_count(now->state->request->pattern, now->number, now->past->written_least);
}

static struct limits limits_of(const struct step *now, const struct pattern *pattern)
{
    const struct state *state = now->state;
    const struct request *request = state->request;
    const double seconds = scheduled_seconds(now, pattern);
    const int64_t calls = defined_calls(now, pattern);
    const int64_t in_space = now->method == METHOD_WRITE ? calls_of_space(request, pattern, now->processes) : INT64_MAX;
    const bool checks = request->check_all && now->method == METHOD_READ;
    const bool time_driven = is_time_driven(pattern), once = pattern->units == 0 || in_space == 1;
    struct limits limits = {.calls = time_driven || once ? calls : calls_in_time(now, calls),
                            .calls_of_space = in_space,
                            .seconds = time_driven ? seconds : 0,
                            .slice_seconds = slice_share * seconds,
                            .slice_of_left = now->method == METHOD_WRITE ? 0 : known_slice_share,
                            .batch_calls = request->agree_per_access ? 1
                                           : checks                  ? walk_calls(pattern->call_bytes)
                                                                     : INT64_MAX,
                            .round_calls = round_calls(pattern)};
    if (now->method != METHOD_READ)
        limits.sync_seconds_per_call = state->sync_seconds_per_byte * (double)(pattern->call_bytes * now->processes);
    return limits;
}

/* --- what was measured -------------------------------------------------------------------------------------------- */

static void note_result(struct step *now, const struct pattern *pattern, const struct result *result)
{
    struct state *state = now->state;
    struct earlier_passes *past = now->past;
    const int64_t bytes = result->calls_sum * pattern->call_bytes;
    now->bytes += bytes;
    now->pattern_seconds += result->elapsed;
    now->check_seconds += result->check_seconds;
    state->summary->overruns += result->ending == ENDED_BY_OVERRUN;
    if (now->method == METHOD_WRITE) {
        past->written[now->number] = result->calls;
        past->written_least[now->number] = result->calls_min;
        past->written_seconds[now->number] = result->elapsed;
    }
    if (now->method == METHOD_REWRITE)
        past->rewritten[now->number] = result->calls;
    if (now->method == METHOD_READ) {
        state->read_bytes += result->calls * pattern->call_bytes;
        state->checked_bytes += result->checked_bytes;
    } else if (bytes >= telling_bytes) {
        state->sync_seconds_per_byte = result->sync / (double)bytes;
    }
}

static void write_record(const struct step *now, const struct pattern *pattern, const struct result *result,
                         bool own_hints)
{
    if (!now->state->run->log)
        return;
    json_t *hints = own_hints ? hints_in_effect(now->stream.file) : json_null();
    log_write(now->state->run->log, "measurement",
              step_json(now, measurement_json(now, pattern, result, scheduled_seconds(now, pattern), hints)));
}

/* Only processes that do not wait for each other in their calls have times of their own. */
static void write_process_times(const struct step *now, const struct result *result)
{
    const struct run *run = now->state->run;
    if (now->row->collective)
        return;
    json_t *calls = process_counts(run, now->in_order, result->calls);
    json_t *access = process_times(run, now->in_order, result->own_access);
    json_t *sync = process_times(run, now->in_order, result->own_sync);
    if (run->log)
        log_write_rounded(
            run->log, "process_times",
            step_json(now, OBJECT(field_int("pattern", now->number), field_json("calls", calls),
                                  field_json("access_seconds", access), field_json("sync_seconds", sync))));
}

static void advance(struct step *now, const struct pattern *pattern, const char *method)
{
    struct state *state = now->state;
    state->units_done += pattern->units;
    progress_show((double)state->units_done / state->units_planned, run_elapsed_seconds(state->run), method);
}

void measure_pattern(struct step *now, const struct pattern *pattern, int64_t start)
{
    struct state *state = now->state;
    const struct request *request = state->request;
    const char *method = methods[now->method].name, *type = now->row->name;
    struct problem problem = {0};
    watch(now, "pattern", now->number);
    const bool own_hints = hints_name_chunk(request->hints, method, type, pattern->chunk_bytes);
    now->stream.hints = own_hints ? hints_for(request->hints, method, type, pattern->chunk_bytes) : MPI_INFO_NULL;
    if (own_hints)
        note_problem(&problem, MPI_File_set_info(now->stream.file, now->stream.hints), "set the hints");

    const struct access access = {.stream = &now->stream,
                                  .type = now->row,
                                  .method = now->method,
                                  .walk = &state->walk,
                                  .limits = limits_of(now, pattern),
                                  .check_all = request->check_all,
                                  .source = source_of_call,
                                  .context = now};
    prepare_buffer(now, pattern, access.limits.calls, source_of(now, now->method == METHOD_REWRITE));
    const int64_t repetitions = now->method == METHOD_WRITE ? lesser(access.limits.calls, access.limits.calls_of_space)
                                                            : now->past->written[now->number];
    struct result result = access_pattern(&access, start, pattern, repetitions, &problem);
    stop_on_problem(now, &problem);
    if (access.limits.calls < defined_calls(now, pattern))
        result.ending = ENDED_BY_OVERRUN;
    note_result(now, pattern, &result);
    write_record(now, pattern, &result, own_hints);
    write_process_times(now, &result);
    if (own_hints)
        MPI_CHECK(MPI_Info_free(&now->stream.hints));
    now->stream.shared_position = start + result.calls * pattern->call_bytes * now->processes;
    advance(now, pattern, method);
}
