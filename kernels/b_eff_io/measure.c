/* SPDX-License-Identifier: Apache-2.0 */
/* See measure.h. Order of measuring: access method, partition, pattern type; patterns are measured in pattern.c. */
#include "measure.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "files.h"
#include "gather.h"
#include "memory.h"
#include "memory_fill.h"
#include "mpi_io.h"
#include "pattern.h"
#include "peers.h"
#include "progress.h"
#include "read_shift.h"
#include "records.h"

/* --- one pattern type --------------------------------------------------------------------------------------------- */

/* The counts of a size-driven type are known before its first access and determine the size of the segments. */
static void plan_segments(struct step *now)
{
    const struct request *request = now->state->request;
    int64_t counts[PATTERNS], used;
    memcpy(counts, now->past->written_least, sizeof counts);
    for (int p = 0; p < PATTERNS; p++)
        if (request->pattern[p].type == now->type)
            counts[p] = size_driven_calls(request, p, now->processes, now->past->written_least);
    const int64_t alignment = now->row->averaged ? request->alignment_bytes : 1; /* random types have no fill-up */
    now->past->segment_bytes[now->type] = segment_bytes(request->pattern, now->type, counts, alignment, &used);
    now->past->fill_up_bytes[now->type] = now->past->segment_bytes[now->type] - used;
}

/* Returns the end of the last pattern: in the file or, for types with segments, in the segment. */
static int64_t measure_patterns(struct step *now)
{
    const struct request *request = now->state->request;
    int64_t start = 0;
    for (now->number = 0; now->number < PATTERNS; now->number++) {
        struct pattern pattern = request->pattern[now->number];
        if (pattern.type != now->type)
            continue;
        if (pattern.call_bytes == 0) /* fills up the segment */
            pattern.chunk_bytes = pattern.call_bytes = now->past->fill_up_bytes[now->type];
        if (pattern.call_bytes == 0) /* the segment is full */
            continue;
        measure_pattern(now, &pattern, start);
        start = start_of_next(&now->stream, now->row, &pattern, now->past->written[now->number]);
    }
    return start;
}

/* Where each process has a file of its own, and the file system tells which server holds it. */
static void write_layout(const struct step *now, const struct files *files)
{
    json_t *layout = now->row->separate ? layout_json(now->state->run, now->in_order, files->layout.server) : NULL;
    if (layout)
        log_write(now->state->run->log, "layout", step_json(now, layout));
}

static void note_type(struct step *now, const struct files *files, json_t *hints)
{
    struct state *state = now->state;
    json_t *striping = striping_json(now->in_order, &files->layout, !now->row->separate);
    if (state->run->log)
        log_write(state->run->log, "pattern_type", step_json(now, pattern_type_json(now, files, striping, hints)));
    state->summary->bytes[now->partition][now->method][now->type] = (double)now->bytes;
    state->summary->seconds[now->partition][now->method][now->type] = type_seconds(now, files);
}

static void measure_type(struct step *now)
{
    struct files files = {0};
    now->row = type_of(now->state->request, now->type);
    now->bytes = 0;
    now->pattern_seconds = 0;
    if (now->row->segmented && now->method == METHOD_WRITE)
        plan_segments(now);
    watch(now, "opening", -1);
    open_files(now, 0, &files);
    peers_arrive();
    now->stream.segment_bytes = now->past->segment_bytes[now->type];
    json_t *effective = now->state->run->log ? hints_in_effect(now->stream.file) : NULL;
    const int64_t end = measure_patterns(now);
    watch(now, "closing", -1);
    close_files(now, now->row->segmented ? (now->processes - 1) * now->stream.segment_bytes + end : end, &files);
    peers_arrive();
    write_layout(now, &files);
    note_type(now, &files, effective);
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

/* A process that reads the part of another one makes the calls that the other one has made. A process is found in
 * `readers` by the rank of the process whose part it reads. */
static void exchange_counts(MPI_Comm comm, MPI_Comm readers, struct earlier_passes *past)
{
    const int rank = rank_in(comm);
    for (int i = 0; i < 2; i++)
        MPI_CHECK(MPI_Sendrecv_replace(i ? past->rewritten : past->written, PATTERNS, MPI_INT64_T, rank, i,
                                       MPI_ANY_SOURCE, i, readers, MPI_STATUS_IGNORE));
}

static MPI_Comm make_readers(const struct state *state, MPI_Comm comm, struct earlier_passes *past)
{
    const struct machine *machine = &state->run->machine;
    MPI_Comm readers = read_communicator(comm, machine->leader, read_shift(comm, machine->leader, machine->nodes));
    MPI_CHECK(MPI_Comm_set_errhandler(readers, MPI_ERRORS_RETURN));
    exchange_counts(comm, readers, past);
    return readers;
}

static void measure_partition(struct state *state, const MPI_Comm comms[], enum method_number method, int partition)
{
    const bool shifted = state->request->read_shift && method == METHOD_READ && comms[partition] != MPI_COMM_NULL;
    struct step now = {.state = state,
                       .past = &state->past[partition],
                       .method = method,
                       .partition = partition,
                       .processes = state->request->partition[partition],
                       .comm =
                           shifted ? make_readers(state, comms[partition], &state->past[partition]) : comms[partition],
                       .in_order = comms[partition],
                       .start_seconds = MPI_Wtime()};
    const bool takes_part = now.comm != MPI_COMM_NULL;
    for (int type = 0; takes_part && type < TYPES; type++) {
        now.type = (enum type_number)type;
        run_follow(state->run);
        if (is_measured(state->request, method, now.type))
            measure_type(&now);
    }
    now.past->spent_seconds += MPI_Wtime() - now.start_seconds - now.check_seconds;
    if (shifted)
        MPI_CHECK(MPI_Comm_free(&now.comm));
    wait_for_all();
}

static void measure_method(struct state *state, const MPI_Comm comms[], enum method_number method)
{
    const struct request *request = state->request;
    const bool reads = method == METHOD_READ && request->methods >> METHOD_READ & 1;
    struct memory_fill fill = memory_fill_begin(&state->run->machine, reads ? request->fill_percent : 0);
    for (int i = 0; i < request->partitions; i++)
        measure_partition(state, comms, method, i);
    memory_fill_end(state->run, &fill);
}

void measure(struct run *run, const struct request *request, struct summary *summary)
{
    const int partitions = request->partitions;
    struct state state = {.run = run,
                          .request = request,
                          .summary = summary,
                          .walk = walk_allocate(request->largest_call_bytes),
                          .units_planned = units_planned(request)};
    MPI_Comm comms[MOST_PARTITIONS];
    state.past = allocate((size_t)partitions, sizeof *state.past);
    for (int i = 0; i < partitions; i++) {
        const int color = run->rank < request->partition[i] ? 0 : MPI_UNDEFINED;
        MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, color, run->rank, &comms[i]));
        if (comms[i] != MPI_COMM_NULL)
            MPI_CHECK(MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN));
    }
    for (int method = 0; method < METHODS; method++)
        measure_method(&state, comms, (enum method_number)method);
    progress_end();
    run_log_data_check(run, "read_bytes", state.read_bytes, state.checked_bytes);
    for (int i = 0; i < partitions; i++)
        if (comms[i] != MPI_COMM_NULL)
            MPI_CHECK(MPI_Comm_free(&comms[i]));
    free(state.past);
    walk_free(&state.walk);
}
