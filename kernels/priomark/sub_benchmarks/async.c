/* SPDX-License-Identifier: Apache-2.0 */
/* async: all data of a process in one request, or in several that are in flight together, at the same time as a
 * calculation (paper, section 4.1). One file of all processes, a contiguous range for each. overlap.c measures. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "access.h"
#include "agreement.h"
#include "fail.h"
#include "host.h"
#include "memory.h"
#include "overlap.h"
#include "sub_benchmarks.h"

static const char *const names_of_patterns[] = {"write", "read", NULL};
static const char *const names_of_methods[] = {
#if HAVE_MPI_IO
    "individual", "explicit",
#endif
#if HAVE_LIBURING
    "io-uring",
#endif
    "posix-aio", NULL};

#if HAVE_MPI_IO
#define METHODS_STANDARD "[\"individual\", \"explicit\", \"posix-aio\"]"
#else
#define METHODS_STANDARD "\"posix-aio\""
#endif

static const struct priomark_key keys[] = {
    {"process_size", PRIOMARK_SIZES, "\"8MiB\"", "data of each process", 1, INT64_C(1) << 30, NULL},
    {"queue_depth", PRIOMARK_COUNTS, "1", "requests in flight that share the data; above 1 for io-uring and posix-aio",
     1, 1024, NULL},
    {"patterns", PRIOMARK_NAMES, "[\"write\", \"read\"]", "access to an existing file", 0, 0, names_of_patterns},
    {"methods", PRIOMARK_METHODS, METHODS_STANDARD, "access methods", 0, 0, names_of_methods},
    {0}};

static const struct priomark_interface *method(const struct priomark *run, int m)
{
    return interface_find(&run->workload->interfaces, priomark_text(run, "methods", m));
}

static void refuse_unavailable_methods(struct priomark *run)
{
    for (int m = 0; m < priomark_count(run, "methods"); m++) {
        char reason[256] = "";
        const char *why_not = method(run, m)->why_not ? method(run, m)->why_not() : NULL;
        snprintf(reason, sizeof reason, "%s", why_not ? why_not : "");
        if (agree_on_reason(MPI_COMM_WORLD, reason, sizeof reason) != NO_RANK)
            priomark_refuse(run, "methods", "%s", reason);
    }
}

/* The cases of a size and a queue depth, which is the case's `number`. */
static void add_patterns(struct priomark *run, int64_t bytes, int64_t depth)
{
    struct priomark_case planned = {
        .process_bytes = bytes, .block_bytes = bytes / depth, .space_bytes = bytes, .read_share = -1, .number = depth};
    if (bytes % depth)
        priomark_refuse(run, "queue_depth", "%" PRId64 " bytes are not a multiple of %" PRId64 " requests", bytes,
                        depth);
    for (int p = 0; p < priomark_count(run, "patterns"); p++)
        for (int m = 0; m < priomark_count(run, "methods"); m++) {
            if (depth > 1 && !method(run, m)->queues)
                priomark_refuse(run, "queue_depth",
                                "%s has one request; choose methods = [\"io-uring\", \"posix-aio\"]",
                                method(run, m)->name);
            if (run->shift && !method(run, m)->plain)
                priomark_refuse(run, "methods",
                                "%s cannot write a file that is open: omit --read-shift, or choose other methods",
                                method(run, m)->name);
            planned.pattern = priomark_text(run, "patterns", p);
            planned.method = method(run, m)->name;
            planned.direct = method(run, m)->direct;
            priomark_add(run, &planned);
        }
}

static void plan(struct priomark *run)
{
    refuse_unavailable_methods(run);
    for (int size = 0; size < priomark_count(run, "process_size"); size++)
        for (int d = 0; d < priomark_count(run, "queue_depth"); d++)
            add_patterns(run, priomark_number(run, "process_size", size), priomark_number(run, "queue_depth", d));
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */

/* As everywhere, the bandwidth includes writing to disk: the time of the transfer and its sync, without the part of the
 * calculation after the transfer. */
static void synchronise(struct transfer *transfer)
{
    struct priomark *run = transfer->file.run;
    const double day = day_seconds(), start_of = now_seconds();
    if (transfer->operation == PRIOMARK_WRITE)
        transfer->file.interface->sync(&transfer->file);
    const double elapsed = now_seconds() - start_of;
    priomark_phase(run, PRIOMARK_SYNC, elapsed);
    run->notes.ended += elapsed;
    run->notes.clocked_seconds += elapsed;
    run->notes.day_seconds += day_seconds() - day;
}

/* Written data is read back. */
static void verify(struct transfer *transfer)
{
    struct priomark_file *file = &transfer->file;
    const bool reads = transfer->operation == PRIOMARK_READ;
    if (!reads) {
        priomark_barrier(file->run);
        memset(transfer->data, 0, (size_t)file->block_bytes);
        transfer->operation = PRIOMARK_READ;
        transfer_start(transfer);
        transfer_finish(transfer);
    }
    file_verify_block(file, transfer->data, 0, reads ? PREPARED : REWRITTEN);
    if (!reads)
        file->run->checked_bytes -= file->block_bytes; /* measured reads only */
}

static void place(struct priomark_file *file, const struct priomark_case *now)
{
    priomark_path(file->run, file->path, sizeof file->path, "async");
    file->start = file->owner * now->process_bytes;
}

static void measure(struct priomark *run, const struct priomark_case *now)
{
    struct transfer transfer = {.file = file_of_case(run, now), .now = now};
    struct priomark_file *file = &transfer.file;
    file->block_bytes = now->process_bytes;
    file->blocks = file->run_blocks = 1;
    file->depth = (int)now->number;
    transfer.operation = strcmp(now->pattern, "read") == 0 ? PRIOMARK_READ : PRIOMARK_WRITE;
    transfer.data = buffer_allocate((size_t)now->process_bytes);
    file_choose_written(file, now);
    file_fill_block(file, transfer.data, 0, REWRITTEN);
    file_fill(file);
    priomark_barrier(run);
    if (transfer.operation == PRIOMARK_READ)
        file_choose_read(file, now);
    file_open(file, false);

    overlap(&transfer);
    for (int i = 1; i < file->depth; i++) /* overlap noted one request with all the data */
        priomark_request(run, transfer.operation, 0, run->notes.phase[PRIOMARK_ACCESS]);
    synchronise(&transfer);
    if (run->workload->check)
        verify(&transfer);
    file_close(file);
    file_check(file);
    priomark_barrier(run);
    if (!run->keep)
        file_remove(file);
    buffer_free(transfer.data, (size_t)now->process_bytes);
}

static const char *why_no_method(const struct priomark_interface *interface)
{
    return interface->start ? NULL : "it has no start, done and finish";
}

const struct sub_benchmark async_benchmark = {.name = "async",
                                              .summary = "input and output beside a calculation",
                                              .keys = keys,
                                              .plan = plan,
                                              .measure = measure,
                                              .shares_file = true,
                                              .place = place,
                                              .why_no_method = why_no_method};
