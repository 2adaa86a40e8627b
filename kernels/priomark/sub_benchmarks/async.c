/* SPDX-License-Identifier: Apache-2.0 */
/* async: all data of a process in one request, or in several that are in flight together, at the same time as a
 * calculation (paper, section 4.1). One file of all processes, a contiguous range for each. overlap.c measures. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "access.h"
#include "agreement.h"
#include "fail.h"
#include "host.h"
#include "plugins.h"
#include "transfers.h"

static const struct transfer_method *const methods[] = {
#if HAVE_MPI_IO
    &individual_transfer, &explicit_transfer,
#endif
#if HAVE_LIBURING
    &uring_transfer,
#endif
    &aio_transfer, NULL};

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
    {"methods", PRIOMARK_NAMES, METHODS_STANDARD, "access methods", 0, 0, names_of_methods},
    {0}};

static const struct transfer_method *find_transfer(const char *name)
{
    for (const struct transfer_method *const *method = methods; *method; method++)
        if (strcmp((*method)->name, name) == 0)
            return *method;
    return NULL;
}

static void refuse_unavailable_methods(struct priomark *run)
{
    for (int m = 0; m < priomark_count(run, "methods"); m++) {
        char reason[256] = "";
        const struct transfer_method *method = find_transfer(priomark_text(run, "methods", m));
        const char *why_not = method->why_not ? method->why_not() : NULL;
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
            const struct transfer_method *method = find_transfer(priomark_text(run, "methods", m));
            if (depth > 1 && !method->queues)
                priomark_refuse(run, "queue_depth",
                                "%s has one request; choose methods = [\"io-uring\", \"posix-aio\"]", method->name);
            planned.pattern = priomark_text(run, "patterns", p);
            planned.method = method->name;
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

struct beside {
    const struct transfer_method *method;
    const struct priomark_case *now;
    struct transfer transfer;
};

/* With --read-shift, every transfer reads what another process has just written. */
static void write_anew(const struct beside *beside)
{
    struct file own = beside->transfer.file;
    file_choose_written(&own, beside->now);
    file_fill(&own);
}

/* All transfers start with a file that is on disk, and in the page cache or not as the workload states. */
static void prepare(void *context)
{
    const struct beside *beside = context;
    const struct file *file = &beside->transfer.file;
    if (file->run->shift && beside->transfer.operation == PRIOMARK_READ)
        write_anew(beside);
    const int synchronised = open(file->path, O_RDONLY | O_CLOEXEC);
    if (synchronised < 0 || fsync(synchronised) != 0)
        posix_stop(file, "synchronise", errno);
    close(synchronised);
    priomark_barrier(file->run);
    priomark_evict(file->run, file->path);
}

static void start(void *context)
{
    struct beside *beside = context;
    beside->transfer.running = true;
    beside->method->start(&beside->transfer);
}

static bool done(void *context)
{
    struct beside *beside = context;
    beside->transfer.running = beside->transfer.running && !beside->method->done(&beside->transfer);
    return !beside->transfer.running;
}

static void finish(void *context)
{
    struct beside *beside = context;
    if (beside->transfer.running)
        beside->method->finish(&beside->transfer);
    beside->transfer.running = false;
}

/* As everywhere, the bandwidth includes writing to disk: the time of the transfer and its sync, without the part of the
 * calculation after the transfer. */
static void synchronise(struct beside *beside)
{
    struct priomark *run = beside->transfer.file.run;
    const double start = priomark_now();
    if (beside->transfer.operation == PRIOMARK_WRITE)
        beside->method->sync(&beside->transfer);
    const double elapsed = priomark_now() - start;
    priomark_phase(run, PRIOMARK_SYNC, elapsed);
    run->notes.ended += elapsed;
}

/* Written data is read back. */
static void verify(struct beside *beside)
{
    struct file *file = &beside->transfer.file;
    const bool reads = beside->transfer.operation == PRIOMARK_READ;
    if (!reads) {
        memset(beside->transfer.data, 0, (size_t)file->block_bytes);
        const int opened = file->posix = open(file->path, O_RDONLY | O_CLOEXEC);
        if (opened < 0)
            posix_stop(file, "open", errno);
        posix_read_range(file, beside->transfer.data, file->block_bytes, file->start);
        close(opened);
    }
    file_verify_block(file, beside->transfer.data, 0, reads ? PREPARED : REWRITTEN);
    if (!reads)
        file->run->checked_bytes -= file->block_bytes; /* measured reads only */
}

static void place(struct file *file, const struct priomark_case *now)
{
    file->start = file->owner * now->process_bytes;
}

static void measure(struct priomark *run, const struct priomark_case *now)
{
    struct beside beside = {.method = find_transfer(now->method), .now = now};
    struct file *file = &beside.transfer.file;
    *file = (struct file){.run = run,
                          .shared = true,
                          .block_bytes = now->process_bytes,
                          .blocks = 1,
                          .run_blocks = 1,
                          .place = place,
                          .method = posix_methods};
    priomark_path(run, file->path, sizeof file->path, "async");
    beside.transfer.depth = (int)now->number;
    beside.transfer.operation = strcmp(now->pattern, "read") == 0 ? PRIOMARK_READ : PRIOMARK_WRITE;
    beside.transfer.data = priomark_allocate((size_t)now->process_bytes);
    file_choose_written(file, now);
    file_fill_block(file, beside.transfer.data, 0, REWRITTEN);
    file_fill(file);
    priomark_barrier(run);
    if (beside.transfer.operation == PRIOMARK_READ)
        file_choose_read(file, now);
    double start_of = priomark_now();
    beside.method->open(&beside.transfer);
    priomark_phase(run, PRIOMARK_OPEN, priomark_now() - start_of);

    const struct priomark_transfer transfer = {
        beside.transfer.operation, now->process_bytes, start, done, finish, &beside};
    priomark_overlap(run, &transfer, prepare);
    for (int i = 1; i < beside.transfer.depth; i++) /* overlap noted one request with all the data */
        priomark_request(run, transfer.operation, 0, run->notes.phase[PRIOMARK_ACCESS]);
    synchronise(&beside);

    priomark_barrier(run);
    start_of = priomark_now();
    beside.method->close(&beside.transfer);
    priomark_phase(run, PRIOMARK_CLOSE, priomark_now() - start_of);
    priomark_barrier(run);
    file_check(file);
    if (priomark_checks(run))
        verify(&beside);
    priomark_barrier(run);
    if (!run->keep)
        file_remove(file);
    priomark_release(beside.transfer.data, (size_t)now->process_bytes);
}

const struct priomark_plugin async_plugin = {
    PRIOMARK_INTERFACE, "async", "input and output beside a calculation", keys, plan, measure};
