/* SPDX-License-Identifier: Apache-2.0 */
/* See access.h. The timed region is timed_requests() and the sync after it. */
#include "access.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail.h"
#include "host.h"
#include "layout.h"
#include "peers.h"

enum { FILL_BYTES = 1 << 20 };

/* --- the part of a process ---------------------------------------------------------------------------------------- */

static void choose(struct file *file, const struct priomark_case *now, MPI_Comm comm)
{
    file->comm = comm;
    MPI_CHECK(MPI_Comm_rank(comm, &file->owner));
    file->place(file, now);
}

void file_choose_written(struct file *file, const struct priomark_case *now)
{
    choose(file, now, MPI_COMM_WORLD);
}

void file_choose_read(struct file *file, const struct priomark_case *now)
{
    choose(file, now, file->run->readers);
}

/* Every case, process and pass has its own data. */
static uint32_t source_of(const struct file *file, int pass)
{
    return (uint32_t)priomark_seed(file->run, UINT64_C(1) << 62 | (uint64_t)file->owner << 1 | (uint64_t)pass);
}

void file_fill_block(const struct file *file, char *data, int64_t block, int pass)
{
    priomark_fill(data, (size_t)file->block_bytes, source_of(file, pass), (uint64_t)(block * file->block_bytes));
}

void file_verify_block(const struct file *file, const char *data, int64_t block, int pass)
{
    priomark_verify(file->run, data, (size_t)file->block_bytes, source_of(file, pass),
                    (uint64_t)(block * file->block_bytes), file->path);
    file->run->checked_bytes += file->block_bytes;
}

/* --- the requests ------------------------------------------------------------------------------------------------- */

/* Only the calls and the clock. The number of a block at its beginning prevents deduplication by the storage. */
static void timed_requests(struct file *file, struct order *order, char *data)
{
    int64_t block;
    enum priomark_operation operation;
    double before = priomark_now();
    while (order_next(order, &block, &operation)) {
        if (operation == PRIOMARK_READ) {
            file->method->read(file, data, block);
        } else {
            memcpy(data, &block, file->block_bytes < (int64_t)sizeof block ? (size_t)file->block_bytes : sizeof block);
            file->method->write(file, data, block);
        }
        const double after = priomark_now();
        priomark_request(file->run, operation, file->block_bytes, after - before);
        before = after;
    }
}

/* The same, with the clock stopped while data is generated or checked. */
static void checked_requests(struct file *file, struct order *order, char *data)
{
    int64_t block;
    enum priomark_operation operation;
    while (order_next(order, &block, &operation)) {
        host_pause(file->run);
        if (operation == PRIOMARK_READ)
            memset(data, 0, (size_t)file->block_bytes);
        else
            file_fill_block(file, data, block, REWRITTEN);
        host_resume(file->run);
        const double before = priomark_now();
        if (operation == PRIOMARK_READ)
            file->method->read(file, data, block);
        else
            file->method->write(file, data, block);
        priomark_request(file->run, operation, file->block_bytes, priomark_now() - before);
        host_pause(file->run);
        if (operation == PRIOMARK_READ)
            file_verify_block(file, data, block, PREPARED);
        host_resume(file->run);
    }
}

/* Repeats the order: checks the data that was written, and that other data is unchanged. */
static void verify_all(struct file *file, const struct priomark_case *now, char *data)
{
    struct order order = order_start(file->run, now);
    const int64_t checked = file->run->checked_bytes;
    int64_t block;
    enum priomark_operation operation;
    priomark_barrier(file->run);
    while (order_next(&order, &block, &operation)) {
        memset(data, 0, (size_t)file->block_bytes);
        file->method->read(file, data, block);
        peers_progress(block, UNKNOWN_OFFSET);
        file_verify_block(file, data, block, operation == PRIOMARK_WRITE ? REWRITTEN : PREPARED);
    }
    file->run->checked_bytes = checked; /* the log counts measured reads only */
}

/* --- before and after --------------------------------------------------------------------------------------------- */

static int64_t full_bytes(const struct file *file)
{
    return file->blocks * file->block_bytes * (file->shared ? priomark_ranks(file->run) : 1);
}

static bool is_full(const struct file *file)
{
    struct stat status;
    return stat(file->path, &status) == 0 && status.st_size == full_bytes(file);
}

/* Fills contiguous blocks in large pieces through the page cache, whatever is measured afterwards. */
void file_fill(struct file *file)
{
    char *data = priomark_allocate(FILL_BYTES + (size_t)file->block_bytes);
    const int64_t piece_blocks = file->block_bytes < FILL_BYTES ? FILL_BYTES / file->block_bytes : 1;
    file->posix = open(file->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file->posix < 0)
        posix_stop(file, "create", errno);
    for (int64_t block = 0; block < file->blocks;) {
        int64_t count = file->run_blocks - block % file->run_blocks;
        peers_progress(block, UNKNOWN_OFFSET);
        if (count > piece_blocks)
            count = piece_blocks;
        if (count > file->blocks - block)
            count = file->blocks - block;
        priomark_fill(data, (size_t)(count * file->block_bytes), source_of(file, PREPARED),
                      (uint64_t)(block * file->block_bytes));
        posix_write_range(file, data, count * file->block_bytes, block_offset(file, block));
        block += count;
    }
    if (fsync(file->posix) != 0 || close(file->posix) != 0)
        posix_stop(file, "synchronise", errno);
    priomark_release(data, FILL_BYTES + (size_t)file->block_bytes);
}

void file_remove(const struct file *file)
{
    if ((!file->shared || priomark_rank(file->run) == 0) && unlink(file->path) != 0 && errno != ENOENT)
        posix_stop(file, "remove", errno);
}

/* A file of an earlier case is used again, unless its content matters, or who wrote it last. */
static void prepare(struct file *file, const struct priomark_case *now, const struct pattern *pattern)
{
    file_choose_written(file, now);
    if (pattern->creates)
        file_remove(file);
    else if (priomark_checks(file->run) || file->run->shift || !is_full(file))
        file_fill(file);
    priomark_barrier(file->run);
    if (pattern->creates)
        return;
    file_choose_read(file, now);
    priomark_evict(file->run, file->path);
}

/* A deleted file that is open would be measured to the end, and not every library reports a full disk. */
void file_check(const struct file *file)
{
    struct stat status;
    if (stat(file->path, &status) != 0)
        posix_stop(file, "find", errno);
    if (status.st_size != full_bytes(file))
        priomark_fail(file->run,
                      "'%s' has %" PRId64 " bytes, but %" PRId64
                      " were written; %sdid another program change the file?",
                      file->path, (int64_t)status.st_size, full_bytes(file),
                      status.st_size < full_bytes(file) ? "is the disk full, or " : "");
}

/* A device has a fixed size; its content before the measurement matters only if data is checked. */
static void fill_device(struct file *file, char *data)
{
    for (int64_t block = 0; block < file->blocks; block++) {
        file_fill_block(file, data, block, PREPARED);
        file->method->write(file, data, block);
    }
}

static void measure_requests(struct file *file, const struct priomark_case *now, char *data)
{
    struct order order = order_start(file->run, now);
    priomark_begin(file->run);
    const double start = priomark_now();
    if (priomark_checks(file->run))
        checked_requests(file, &order, data);
    else
        timed_requests(file, &order, data);
    const double accessed = priomark_now();
    if (file->run->notes.calls[PRIOMARK_WRITE])
        file->method->sync(file);
    const double synced = priomark_now(); /* before priomark_end(): no part may be longer than the whole */
    priomark_end(file->run);
    priomark_phase(file->run, PRIOMARK_ACCESS, accessed - start - file->run->notes.paused);
    priomark_phase(file->run, PRIOMARK_SYNC, synced - accessed);
}

void access_file(struct file *file, const struct priomark_case *now)
{
    const struct pattern *pattern = find_pattern(now->pattern);
    const bool is_file = now->target != PRIOMARK_ON_DEVICE;
    char *data = priomark_allocate((size_t)file->block_bytes);
    if (is_file)
        prepare(file, now, pattern);
    else
        file_choose_written(file, now);
    file_fill_block(file, data, 0, REWRITTEN);
    priomark_barrier(file->run);
    double start = priomark_now();
    file->method->open(file, pattern->creates);
    priomark_phase(file->run, PRIOMARK_OPEN, priomark_now() - start);
    if (!is_file && priomark_checks(file->run))
        fill_device(file, data);
    measure_requests(file, now, data);
    if (priomark_checks(file->run))
        verify_all(file, now, data);
    priomark_barrier(file->run);
    start = priomark_now();
    file->method->close(file);
    priomark_phase(file->run, PRIOMARK_CLOSE, priomark_now() - start);
    priomark_barrier(file->run);
    if (is_file)
        file_check(file);
    file->run->notes.shares_file = file->shared;
    if (is_file && (!file->shared || priomark_rank(file->run) == 0))
        layout_of_file(file->path, &file->run->notes.layout);
    priomark_barrier(file->run);
    if (is_file && !file->run->keep && now->number == LAST_OF_FILE &&
        file->run->repetition == file->run->workload->repetitions)
        file_remove(file);
    priomark_release(data, (size_t)file->block_bytes);
}
