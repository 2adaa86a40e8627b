/* See measure.h. Accesses are timed in access.c; here files are opened and closed, and what was measured is written down. */
#include "measure.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "access.h"
#include "agreement.h"
#include "fail.h"
#include "interrupt.h"
#include "mpi_io.h"
#include "progress.h"
#include "records.h"
#include "scratch.h"

enum { NAME_LENGTH = 64, FILE_PATH_LENGTH = 4096, GRACE_SECONDS = 10 };

static const double slice_share = 0.05;               /* of a pattern's time: the longest batch between two agreements */
static const double alive_interval_seconds = 1;       /* between two pushes of the deadline */
static const int64_t telling_bytes = INT64_C(8) << 20; /* a sync of less says little about the next one */

/* Everything that lives as long as the measurement. */
struct state {
    struct run *run;
    const struct request *request;
    struct summary *summary;
    struct walk walk;
    struct progress progress;
    int64_t (*written)[PATTERNS];   /* per partition: calls of each process in the write pass */
    int64_t (*rewritten)[PATTERNS]; /* and in the rewrite pass */
    int64_t read_bytes, checked_bytes; /* of this process */
    double sync_seconds_per_byte;      /* of the last pattern that was synced */
    int units_done, units_planned;
    bool component_told;
    double alive_seconds;
    char deadline_reason[256];
};

/* What is being measured now. */
struct now {
    struct state *state;
    int partition, processes;
    enum method_number method;
    enum type_number type;
    int number; /* of the pattern */
    char doing[NAME_LENGTH];
    MPI_Comm comm;
    const struct pattern_type *row;
    struct stream stream;
    int64_t bytes, checked_bytes;
    double pattern_seconds;
};

/* --- when something is wrong ---------------------------------------------------------------------------------------- */

/* Ends the run if any process of the partition has a problem. Rank 0, which is in every partition and has the log, speaks
 * for all and aborts: after failed I/O, closing files or MPI_Finalize may hang. */
static void stop_on_problem(const struct now *now, struct problem *problem)
{
    if (!agree_on_problem(now->comm, problem))
        return;
    if (now->stream.rank == 0)
        fail("partition of %d, %s, type %s, %s: %s", now->processes, methods[now->method].name, now->row->name, now->doing,
             problem->text);
    for (;;)
        pause();
}

static void set_deadline(struct state *state)
{
    const int64_t grace = state->run->rank == 0 ? 0 : GRACE_SECONDS; /* rank 0 goes first, for it has the log */
    state->alive_seconds = MPI_Wtime();
    interrupt_deadline((unsigned)(state->request->watchdog_seconds + grace), state->deadline_reason);
}

/* From now on nothing may take longer than the watchdog allows. `number` is that of a pattern, where one is `doing`. */
static void watch(struct now *now, const char *doing, int number)
{
    struct state *state = now->state;
    snprintf(now->doing, sizeof now->doing, number < 0 ? "%s" : "%s %d", doing, number);
    const bool suspicious = now->type == TYPE_SHARED && !state->request->individual_pointers;
    snprintf(state->deadline_reason, sizeof state->deadline_reason,
             "no progress for %" PRId64 " s in %s, type %s, %s%s; --watchdog sets this time",
             state->request->watchdog_seconds, methods[now->method].name, now->row->name, now->doing,
             suspicious ? ": shared file pointers may hang here, --individual-pointers does without them" : "");
    set_deadline(state);
}

static void still_alive(void *context)
{
    struct state *state = ((struct now *)context)->state;
    if (MPI_Wtime() - state->alive_seconds > alive_interval_seconds)
        set_deadline(state);
}

/* --- files ------------------------------------------------------------------------------------------------------------- */

static void file_path(const struct now *now, char path[FILE_PATH_LENGTH])
{
    char name[NAME_LENGTH];
    if (now->row->separate)
        snprintf(name, sizeof name, "n%d-type%d-rank%d", now->processes, now->type, now->stream.rank);
    else
        snprintf(name, sizeof name, "n%d-type%d", now->processes, now->type);
    scratch_path(path, FILE_PATH_LENGTH, name);
}

/* Only what is on the disk can leave the cache. */
static void evict(const char *path)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    fsync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
}

static double slowest(MPI_Comm comm, double since)
{
    return agree_on_times(comm, MPI_Wtime() - since).slowest;
}

static double open_file(struct now *now, MPI_Info hints, struct problem *problem)
{
    char path[FILE_PATH_LENGTH];
    file_path(now, path);
    if (now->method == METHOD_READ && now->state->request->evict)
        evict(path);
    MPI_CHECK(MPI_Barrier(now->comm));
    const double start = MPI_Wtime();
    note_problem(problem, MPI_File_open(now->row->separate ? MPI_COMM_SELF : now->comm, path,
                                        methods[now->method].open_mode, hints, &now->stream.file), "open its file");
    const double seconds = slowest(now->comm, start);
    stop_on_problem(now, problem);
    return seconds;
}

/* The size must be what was written: not every library reports every full disk. */
static void check_file_size(struct now *now, int64_t expected, int64_t *file_bytes, struct problem *problem)
{
    MPI_Offset size = 0;
    note_problem(problem, MPI_File_get_size(now->stream.file, &size), "ask for the size of its file");
    if (!problem->text[0] && size != expected)
        snprintf(problem->text, PROBLEM_LENGTH, "its file has %" PRId64 " bytes where %" PRId64 " were written; is the disk full?",
                 (int64_t)size, expected);
    *file_bytes = size;
    if (now->row->separate)
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, file_bytes, 1, MPI_INT64_T, MPI_SUM, now->comm));
    stop_on_problem(now, problem);
}

static double close_file(struct now *now, struct problem *problem)
{
    MPI_CHECK(MPI_Barrier(now->comm));
    const double start = MPI_Wtime();
    note_problem(problem, MPI_File_close(&now->stream.file), "close its file");
    const double seconds = slowest(now->comm, start);
    stop_on_problem(now, problem);
    return seconds;
}

/* --- one pattern ---------------------------------------------------------------------------------------------------- */

/* Who wrote what: every partition, pattern, pass and process has content of its own. */
static uint32_t source_of(const struct now *now, bool rewritten)
{
    uint64_t x = (((uint64_t)now->partition * PATTERNS + (uint64_t)now->number) * 2 + rewritten) * 0x100000001B3u +
                 (uint64_t)now->stream.rank;
    x = (x ^ (x >> 31)) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(x >> 32);
}

/* A rewrite that ran out of time left the rest of the first pass. */
static uint32_t source_of_call(void *context, int64_t call)
{
    const struct now *now = context;
    return source_of(now, call < now->state->rewritten[now->partition][now->number]);
}

static int64_t calls_of(const struct now *now)
{
    const struct state *state = now->state;
    const int64_t *written = state->written[now->partition];
    const struct pattern *pattern = &state->request->pattern[now->number];
    if (now->method != METHOD_WRITE)
        return written[now->number];
    if (pattern->units == 0)
        return 1;
    return is_time_driven(pattern) ? INT64_MAX : size_driven_count(state->request->pattern, now->number, written);
}

static struct limits limits_of(const struct now *now, const struct pattern *pattern)
{
    const struct state *state = now->state;
    const struct request *request = state->request;
    const double seconds = request->scheduled_seconds / METHODS * pattern->units / SUM_UNITS;
    const int64_t call_bytes = pattern->call_bytes * now->processes;
    struct limits limits = {.calls = calls_of(now),
                            .calls_of_space = INT64_MAX,
                            .seconds = is_time_driven(pattern) ? seconds : 0,
                            .slice_seconds = slice_share * seconds,
                            .batch_calls = request->agree_per_access ? 1 : INT64_MAX};
    if (request->check_all && now->method == METHOD_READ && limits.batch_calls > walk_calls(pattern->call_bytes))
        limits.batch_calls = walk_calls(pattern->call_bytes);
    if (now->method == METHOD_WRITE && is_time_driven(pattern)) {
        limits.calls_of_space = (int64_t)((double)request->space_limit_bytes / request->partitions * pattern->units /
                                          units_measured(request) / (double)call_bytes);
        if (limits.calls_of_space < 1)
            limits.calls_of_space = 1;
    }
    if (now->method != METHOD_READ)
        limits.sync_seconds_per_call = state->sync_seconds_per_byte * (double)call_bytes;
    return limits;
}

static void note_result(struct now *now, const struct pattern *pattern, const struct result *result)
{
    struct state *state = now->state;
    const int64_t bytes = result->calls * pattern->call_bytes * now->processes;
    now->bytes += bytes;
    now->pattern_seconds += result->elapsed;
    if (now->method == METHOD_WRITE)
        state->written[now->partition][now->number] = result->calls;
    if (now->method == METHOD_REWRITE)
        state->rewritten[now->partition][now->number] = result->calls;
    if (now->method == METHOD_READ) {
        state->read_bytes += result->calls * pattern->call_bytes;
        state->checked_bytes += result->checked_bytes;
    } else if (bytes >= telling_bytes) {
        state->sync_seconds_per_byte = result->sync / (double)bytes;
    }
}

static void measure_pattern(struct now *now, const struct pattern *pattern, int64_t start)
{
    struct state *state = now->state;
    const struct request *request = state->request;
    const char *method = methods[now->method].name, *type = now->row->name;
    struct access access = {.stream = &now->stream, .type = now->row, .method = now->method, .walk = &state->walk,
                            .limits = limits_of(now, pattern), .check_all = request->check_all, .alive = still_alive,
                            .source = source_of_call, .context = now};
    struct problem problem = {0};
    json_t *hints = NULL;
    watch(now, "pattern", now->number);
    const bool own_hints = hints_name_chunk(request->hints, method, type, pattern->chunk_bytes);
    now->stream.hints = own_hints ? hints_for(request->hints, method, type, pattern->chunk_bytes) : MPI_INFO_NULL;
    if (own_hints)
        note_problem(&problem, MPI_File_set_info(now->stream.file, now->stream.hints), "set the hints");
    if (now->method == METHOD_READ)
        walk_wipe(&state->walk, access.limits.calls, pattern->call_bytes);
    else
        walk_fill(&state->walk, access.limits.calls, pattern->call_bytes, source_of(now, now->method == METHOD_REWRITE));

    const int64_t repetitions = now->method == METHOD_WRITE ? access.limits.calls : state->written[now->partition][now->number];
    struct result result = access_pattern(&access, start, pattern, repetitions, &problem);
    stop_on_problem(now, &problem);
    note_result(now, pattern, &result);
    if (own_hints) {
        hints = hints_in_effect(now->stream.file);
        MPI_CHECK(MPI_Info_free(&now->stream.hints));
    }
    if (state->run->log)
        log_write(state->run->log, "measurement",
                  measurement_json(&(struct subject){now->processes, now->method, now->row}, now->number, pattern, &result,
                                   request->scheduled_seconds / METHODS * pattern->units / SUM_UNITS,
                                   hints ? hints : json_null()));
    else
        json_decref(hints);
    now->stream.shared_position = start + result.calls * pattern->call_bytes * now->processes;
    state->units_done += pattern->units;
    if (state->run->rank == 0)
        progress_show(&state->progress, (double)state->units_done / state->units_planned, run_elapsed_seconds(state->run),
                      method);
}

/* --- one pattern type ------------------------------------------------------------------------------------------------ */

/* The counts of a size-driven type are known before its first access: they say where the segments lie. */
static struct pattern plan_segments(struct now *now, int fill_up)
{
    const struct request *request = now->state->request;
    int64_t counts[PATTERNS], used;
    memcpy(counts, now->state->written[now->partition], sizeof counts);
    if (now->method == METHOD_WRITE)
        for (int p = 0; p < PATTERNS; p++)
            if (request->pattern[p].type == now->type)
                counts[p] = size_driven_count(request->pattern, p, counts);
    const int64_t alignment = now->row->averaged ? request->alignment_bytes : 1; /* random types have no fill-up */
    now->stream.segment_bytes = segment_bytes(request->pattern, now->type, counts, alignment, &used);
    struct pattern rest = request->pattern[fill_up];
    rest.chunk_bytes = rest.call_bytes = now->stream.segment_bytes - used;
    return rest;
}

static void measure_patterns(struct now *now)
{
    const struct request *request = now->state->request;
    int64_t start = 0;
    for (now->number = 0; now->number < PATTERNS; now->number++) {
        struct pattern pattern = request->pattern[now->number];
        if (pattern.type != now->type)
            continue;
        if (now->row->segmented && (pattern.call_bytes == 0 || start == 0)) {
            const struct pattern rest = plan_segments(now, now->number);
            if (pattern.call_bytes == 0)
                pattern = rest;
        }
        if (pattern.call_bytes == 0) /* the segment is full */
            continue;
        measure_pattern(now, &pattern, start);
        now->stream.pattern = &pattern;
        start = bytes_before_next(&now->stream, now->row, now->state->written[now->partition][now->number]);
    }
}

static void measure_type(struct now *now)
{
    struct state *state = now->state;
    struct problem problem = {0};
    const char *method = methods[now->method].name;
    now->row = type_of(state->request, now->type);
    now->bytes = 0;
    now->pattern_seconds = 0;
    now->stream = (struct stream){.comm = now->comm, .seed = state->request->seed, .hints = MPI_INFO_NULL};
    MPI_CHECK(MPI_Comm_rank(now->comm, &now->stream.rank));
    MPI_CHECK(MPI_Comm_size(now->comm, &now->stream.ranks));

    MPI_Info hints = hints_for(state->request->hints, method, now->row->name, 0);
    watch(now, "opening", -1);
    struct type_result result = {.open_seconds = open_file(now, hints, &problem)};
    if (hints != MPI_INFO_NULL)
        MPI_CHECK(MPI_Info_free(&hints));
    json_t *effective = hints_in_effect(now->stream.file);
    if (state->run->log && !state->component_told)
        log_write(state->run->log, "mpi_io", json_pack("{s:o}", "component", mpi_io_component(effective)));
    state->component_told = true;
    measure_patterns(now);
    int64_t mine = 0;
    for (int p = 0; p < PATTERNS; p++)
        if (state->request->pattern[p].type == now->type && state->request->pattern[p].call_bytes)
            mine += state->written[now->partition][p] * state->request->pattern[p].call_bytes;
    if (now->row->segmented)
        mine = now->stream.segment_bytes;
    watch(now, "closing", -1);
    check_file_size(now, now->row->separate ? mine : mine * now->processes, &result.file_bytes, &problem);
    result.close_seconds = close_file(now, &problem);
    result.bytes = now->bytes;
    result.segment_bytes = now->stream.segment_bytes;
    result.pattern_seconds = now->pattern_seconds;
    if (state->run->log)
        log_write(state->run->log, "pattern_type",
                  pattern_type_json(&(struct subject){now->processes, now->method, now->row}, &result, effective));
    else
        json_decref(effective);
    state->summary->bytes[now->partition][now->method][now->type] = (double)now->bytes;
    state->summary->seconds[now->partition][now->method][now->type] = type_seconds(&result);
}

/* --- the run --------------------------------------------------------------------------------------------------------- */

/* Processes outside the partition wait here without taking the processor from the others. */
static void wait_for_all(void)
{
    int done = 0;
    MPI_Request request;
    MPI_CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    for (;;) {
        MPI_CHECK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        if (done)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static void measure_partition(struct state *state, const MPI_Comm comms[], enum method_number method, int partition)
{
    struct now now = {.state = state, .method = method, .partition = partition,
                      .processes = state->request->partition[partition], .comm = comms[partition]};
    const bool takes_part = now.comm != MPI_COMM_NULL;
    interrupt_deadline(0, NULL); /* who waits for others has no deadline of his own */
    for (int type = 0; takes_part && type < TYPES; type++) {
        now.type = (enum type_number)type;
        if (is_measured(state->request, method, now.type))
            measure_type(&now);
    }
    interrupt_deadline(0, NULL);
    wait_for_all();
}

static void log_data_check(struct state *state)
{
    int64_t mine[2] = {state->read_bytes, state->checked_bytes}, all[2];
    MPI_CHECK(MPI_Reduce(mine, all, 2, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD));
    if (state->run->log)
        log_write(state->run->log, "data_check",
                  json_pack("{s:I, s:I, s:i}", "read_bytes", (json_int_t)all[0], "checked_bytes", (json_int_t)all[1],
                            "wrong_bytes", 0));
}

void measure(struct run *run, const struct request *request, struct summary *summary)
{
    struct state state = {.run = run, .request = request, .summary = summary,
                          .walk = walk_allocate(request->largest_call_bytes), .units_planned = units_planned(request)};
    MPI_Comm comms[MOST_PARTITIONS];
    state.written = calloc((size_t)request->partitions, sizeof *state.written);
    state.rewritten = calloc((size_t)request->partitions, sizeof *state.rewritten);
    if (!state.written || !state.rewritten)
        fail("out of memory for the counts");
    state.progress = progress_begin(run->program->name);
    for (int i = 0; i < request->partitions; i++) {
        const int color = run->rank < request->partition[i] ? 0 : MPI_UNDEFINED;
        MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, color, run->rank, &comms[i]));
        if (comms[i] != MPI_COMM_NULL)
            MPI_CHECK(MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN));
    }
    for (int method = 0; method < METHODS; method++)
        for (int i = 0; i < request->partitions; i++)
            measure_partition(&state, comms, (enum method_number)method, i);
    if (run->rank == 0)
        progress_end(&state.progress);
    log_data_check(&state);
    for (int i = 0; i < request->partitions; i++)
        if (comms[i] != MPI_COMM_NULL)
            MPI_CHECK(MPI_Comm_free(&comms[i]));
    free(state.written);
    free(state.rewritten);
    walk_free(&state.walk);
}
