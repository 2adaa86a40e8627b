/* SPDX-License-Identifier: Apache-2.0 */
/* See access.h. The timed region is timed_requests() and the sync after it. */
#include "access.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data.h"
#include "fail.h"
#include "host.h"
#include "interfaces.h"
#include "layout.h"
#include "memory.h"
#include "peers.h"

enum { FILL_BYTES = 1 << 20 };

/* --- the part of a process ---------------------------------------------------------------------------------------- */

static const MPI_Comm world = MPI_COMM_WORLD, self = MPI_COMM_SELF;

struct priomark_file file_of_case(struct priomark *run, const struct priomark_case *now)
{
    const int64_t blocks = now->block_bytes ? now->process_bytes / now->block_bytes : 1;
    return (struct priomark_file){.run = run,
                                  .interface = interface_find(&run->workload->interfaces, now->method),
                                  .shared = run->group->benchmark->shares_file,
                                  .block_bytes = now->block_bytes,
                                  .blocks = blocks,
                                  .run_blocks = blocks,
                                  .depth = 1};
}

/* A file that only its interface can read has a name of its own. */
static void choose(struct priomark_file *file, const struct priomark_case *now, const MPI_Comm *comm)
{
    char path[PRIOMARK_PATH_BYTES];
    MPI_CHECK(MPI_Comm_rank(*comm, &file->owner));
    file->communicator = file->shared ? comm : &self;
    file->run->group->benchmark->place(file, now);
    memcpy(path, file->path, sizeof path);
    if (!file->interface->plain &&
        snprintf(file->path, sizeof file->path, "%s.%s", path, file->interface->name) >= (int)sizeof file->path)
        priomark_fail(file->run, "the path of '%s' is too long; choose a shorter --directory", path);
}

void file_choose_written(struct priomark_file *file, const struct priomark_case *now)
{
    choose(file, now, &world);
}

void file_choose_read(struct priomark_file *file, const struct priomark_case *now)
{
    choose(file, now, &file->run->readers);
}

/* Every case, process and pass has its own data. */
static uint32_t source_of(const struct priomark_file *file, int pass)
{
    return (uint32_t)priomark_seed(file->run, UINT64_C(1) << 62 | (uint64_t)file->owner << 1 | (uint64_t)pass);
}

void file_fill_block(const struct priomark_file *file, char *data, int64_t block, int pass)
{
    data_fill(data, (size_t)file->block_bytes, source_of(file, pass), (uint64_t)(block * file->block_bytes));
}

void file_verify_block(const struct priomark_file *file, const char *data, int64_t block, int pass)
{
    const size_t bytes = (size_t)file->block_bytes;
    const uint64_t offset = (uint64_t)(block * file->block_bytes);
    size_t first;
    const size_t wrong = data_count_wrong(data, bytes, source_of(file, pass), offset, &first);
    if (wrong)
        priomark_fail(file->run,
                      "%zu of %zu bytes of '%s' were read wrong, the first at offset %" PRIu64
                      "; have the file system examined",
                      wrong, bytes, file->path, offset + first);
    file->run->checked_bytes += file->block_bytes;
}

/* --- the requests ------------------------------------------------------------------------------------------------- */

/* Between the buffer of a request and the memory that the interface transfers. */
static void stage(struct priomark_file *file, enum priomark_operation operation, char *data, int64_t bytes)
{
    if (file->interface->stage)
        file->interface->stage(file, operation, data, bytes);
}

static inline void timed_request(struct priomark_file *file, enum priomark_operation operation, char *data,
                                 int64_t offset)
{
    const double before = now_seconds();
    if (operation == PRIOMARK_READ)
        file->interface->read(file, data, file->block_bytes, offset);
    else
        file->interface->write(file, data, file->block_bytes, offset);
    priomark_request(file->run, operation, file->block_bytes, now_seconds() - before);
}

/* The number of a block at its beginning prevents deduplication by the storage. */
static void mark_block(struct priomark_file *file, char *data, int64_t block)
{
    const int64_t bytes = file->block_bytes < (int64_t)sizeof block ? file->block_bytes : (int64_t)sizeof block;
    memcpy(data, &block, (size_t)bytes);
    if (!file->interface->stage)
        return;
    host_pause(file->run);
    stage(file, PRIOMARK_WRITE, data, bytes);
    host_resume(file->run);
}

/* A latency is that of the call alone. */
static void timed_requests(struct priomark_file *file, struct order *order, char *data)
{
    int64_t block;
    enum priomark_operation operation;
    while (order_next(order, &block, &operation)) {
        if (operation == PRIOMARK_WRITE)
            mark_block(file, data, block);
        timed_request(file, operation, data, block_offset(file, block));
    }
}

/* The same, with the clock stopped while data is generated or checked. */
static void checked_requests(struct priomark_file *file, struct order *order, char *data)
{
    int64_t block;
    enum priomark_operation operation;
    while (order_next(order, &block, &operation)) {
        host_pause(file->run);
        if (operation == PRIOMARK_READ)
            memset(data, 0, (size_t)file->block_bytes);
        else
            file_fill_block(file, data, block, REWRITTEN);
        stage(file, PRIOMARK_WRITE, data, file->block_bytes);
        host_resume(file->run);
        timed_request(file, operation, data, block_offset(file, block));
        host_pause(file->run);
        if (operation == PRIOMARK_READ) {
            stage(file, PRIOMARK_READ, data, file->block_bytes);
            file_verify_block(file, data, block, PREPARED);
        }
        host_resume(file->run);
    }
}

/* Repeats the order: checks the data that was written, and that other data is unchanged. */
static void verify_all(struct priomark_file *file, const struct priomark_case *now, char *data)
{
    struct order order = order_start(file->run, now);
    const int64_t checked = file->run->checked_bytes;
    int64_t block;
    enum priomark_operation operation;
    priomark_barrier(file->run);
    while (order_next(&order, &block, &operation)) {
        memset(data, 0, (size_t)file->block_bytes);
        stage(file, PRIOMARK_WRITE, data, file->block_bytes);
        file->interface->read(file, data, file->block_bytes, block_offset(file, block));
        stage(file, PRIOMARK_READ, data, file->block_bytes);
        peers_progress(block, UNKNOWN_OFFSET);
        file_verify_block(file, data, block, operation == PRIOMARK_WRITE ? REWRITTEN : PREPARED);
    }
    file->run->checked_bytes = checked; /* the log counts measured reads only */
}

/* --- before and after --------------------------------------------------------------------------------------------- */

static int64_t full_bytes(const struct priomark_file *file)
{
    return file->blocks * file->block_bytes * (file->shared ? priomark_ranks(file->run) : 1);
}

static bool is_full(const struct priomark_file *file)
{
    struct stat status;
    return stat(file->path, &status) == 0 && status.st_size == full_bytes(file);
}

/* Fills contiguous blocks in large pieces through the page cache, whatever is measured afterwards. */
static void fill_by_posix(struct priomark_file *file)
{
    char *data = buffer_allocate(FILL_BYTES + (size_t)file->block_bytes);
    const int64_t piece_blocks = file->block_bytes < FILL_BYTES ? FILL_BYTES / file->block_bytes : 1;
    file->descriptor = open(file->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file->descriptor < 0)
        posix_stop(file, "create", errno);
    for (int64_t block = 0; block < file->blocks;) {
        int64_t count = file->run_blocks - block % file->run_blocks;
        peers_progress(block, UNKNOWN_OFFSET);
        if (count > piece_blocks)
            count = piece_blocks;
        if (count > file->blocks - block)
            count = file->blocks - block;
        data_fill(data, (size_t)(count * file->block_bytes), source_of(file, PREPARED),
                  (uint64_t)(block * file->block_bytes));
        posix_fill(file, data, count * file->block_bytes, block_offset(file, block));
        block += count;
    }
    if (fsync(file->descriptor) != 0 || close(file->descriptor) != 0)
        posix_stop(file, "synchronise", errno);
    buffer_free(data, FILL_BYTES + (size_t)file->block_bytes);
}

/* `file` may be a copy: it is changed. */
static void open_by_interface(struct priomark_file *file, bool create)
{
    file->interface->open(file, create);
    if (!file->stride_bytes || !file->interface->view)
        return;
    file->interface->view(file);
    file->start = 0; /* now offsets are relative to the view */
    file->run_blocks = file->blocks;
}

void file_open(struct priomark_file *file, bool create)
{
    const double start = now_seconds();
    open_by_interface(file, create);
    priomark_phase(file->run, PRIOMARK_OPEN, now_seconds() - start);
}

void file_close(struct priomark_file *file)
{
    priomark_barrier(file->run);
    const double start = now_seconds();
    file->interface->close(file);
    priomark_phase(file->run, PRIOMARK_CLOSE, now_seconds() - start);
    priomark_barrier(file->run);
}

static void write_blocks(struct priomark_file *file, char *data)
{
    for (int64_t block = 0; block < file->blocks; block++) {
        peers_progress(block, UNKNOWN_OFFSET);
        file_fill_block(file, data, block, PREPARED);
        stage(file, PRIOMARK_WRITE, data, file->block_bytes);
        file->interface->write(file, data, file->block_bytes, block_offset(file, block));
    }
}

static void fill_by_interface(const struct priomark_file *file)
{
    struct priomark_file filled = *file;
    char *data = buffer_allocate((size_t)file->block_bytes);
    file_remove(file);
    priomark_barrier(file->run);
    open_by_interface(&filled, true);
    write_blocks(&filled, data);
    filled.interface->sync(&filled);
    filled.interface->close(&filled);
    buffer_free(data, (size_t)file->block_bytes);
}

void file_fill(struct priomark_file *file)
{
    if (file->interface->plain)
        fill_by_posix(file);
    else
        fill_by_interface(file);
}

void file_remove(const struct priomark_file *file)
{
    if (file->shared && priomark_rank(file->run) != 0)
        return;
    if (file->interface->remove)
        file->interface->remove(file);
    else if (unlink(file->path) != 0 && errno != ENOENT)
        posix_stop(file, "remove", errno);
}

void file_evict(const struct priomark_file *file)
{
    if (!file->interface->evict) {
        priomark_evict(file->run, file->path);
        return;
    }
    const char *reason = file->run->workload->evict ? file->interface->evict(file) : NULL;
    if (reason)
        priomark_stop(file, "evict", "%s; set evict = false in the workload", reason);
    file->run->notes.evicted = file->run->workload->evict;
}

/* A file of an earlier case is used again, unless its content matters, or who wrote it last. */
static void prepare(struct priomark_file *file, const struct priomark_case *now, const struct pattern *pattern)
{
    file_choose_written(file, now);
    if (pattern->creates)
        file_remove(file);
    else if (!file->interface->plain || file->run->workload->check || file->run->shift || !is_full(file))
        file_fill(file);
    priomark_barrier(file->run);
    if (pattern->creates)
        return;
    file_choose_read(file, now);
    file_evict(file);
}

/* A deleted file that is open would be measured to the end, and not every library reports a full disk. Besides the
 * data, a library may store what describes them. */
void file_check(const struct priomark_file *file)
{
    struct stat status;
    int64_t bytes;
    if (file->interface->stored_bytes) {
        bytes = file->interface->stored_bytes(file);
    } else {
        if (stat(file->path, &status) != 0)
            posix_stop(file, "find", errno);
        bytes = status.st_size;
    }
    if (bytes < full_bytes(file) || (file->interface->plain && bytes > full_bytes(file)))
        priomark_fail(file->run,
                      "'%s' has %" PRId64 " bytes, but %" PRId64
                      " were written; %sdid another program change the file?",
                      file->path, bytes, full_bytes(file), bytes < full_bytes(file) ? "is the disk full, or " : "");
}

static void measure_requests(struct priomark_file *file, struct order order, char *data)
{
    priomark_begin(file->run);
    const double start = now_seconds();
    if (file->run->workload->check)
        checked_requests(file, &order, data);
    else
        timed_requests(file, &order, data);
    const double accessed = now_seconds();
    if (file->run->notes.calls[PRIOMARK_WRITE])
        file->interface->sync(file);
    const double synced = now_seconds(); /* before priomark_end(): no part may be longer than the whole */
    priomark_end(file->run);
    priomark_phase(file->run, PRIOMARK_ACCESS, accessed - start - file->run->notes.paused);
    priomark_phase(file->run, PRIOMARK_SYNC, synced - accessed);
}

/* A device has a fixed size; its content before the measurement matters only if data is checked. */
void measure_blocks(struct priomark *run, const struct priomark_case *now)
{
    struct priomark_file measured = file_of_case(run, now), *file = &measured;
    const struct pattern *pattern = find_pattern(now->pattern);
    const struct order order = order_start(run, now);
    const bool is_file = now->target != PRIOMARK_ON_DEVICE;
    char *data = buffer_allocate((size_t)file->block_bytes);
    if (is_file)
        prepare(file, now, pattern);
    else
        file_choose_written(file, now);
    file_fill_block(file, data, 0, REWRITTEN);
    priomark_barrier(run);
    file->reads_only = order.reads_left == order.blocks;
    file_open(file, pattern->creates);
    stage(file, PRIOMARK_WRITE, data, file->block_bytes);
    if (!is_file && run->workload->check)
        write_blocks(file, data);
    measure_requests(file, order, data);
    if (run->workload->check)
        verify_all(file, now, data);
    file_close(file);
    if (is_file)
        file_check(file);
    run->notes.shares_file = file->shared;
    if (is_file && (!file->shared || priomark_rank(run) == 0))
        layout_of_file(file->path, &run->notes.layout);
    priomark_barrier(run);
    const bool is_last = now->number == LAST_OF_FILE && run->repetition == run->workload->repetitions;
    if (is_file && !run->keep && (is_last || !file->interface->plain))
        file_remove(file);
    buffer_free(data, (size_t)file->block_bytes);
}
