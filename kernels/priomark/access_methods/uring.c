/* SPDX-License-Identifier: Apache-2.0 */
/* See transfers.h: Linux's io_uring, if the system has it and permits it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "transfers.h"

static const char *why_not(void)
{
    static char reason[128];
    struct io_uring ring;
    const int code = io_uring_queue_init(1, &ring, 0);
    if (code < 0) {
        snprintf(reason, sizeof reason, "io_uring is not available on this machine: %s; choose other methods",
                 strerror(-code));
        return reason;
    }
    io_uring_queue_exit(&ring);
    return NULL;
}

static void open_file(struct transfer *transfer)
{
    struct file *file = &transfer->file;
    struct io_uring *ring = transfer->own = allocate(1, sizeof *ring);
    const int code = io_uring_queue_init((unsigned)transfer->depth, ring, 0);
    if (code < 0)
        priomark_fail(file->run, "io_uring is not available: %s; choose other methods", strerror(-code));
    file->posix = open(file->path, O_RDWR | O_CLOEXEC);
    if (file->posix < 0)
        posix_stop(file, "open", errno);
}

/* IOSQE_ASYNC lets the kernel's threads do the work. Otherwise a request that hits the page cache is completed on the
 * calling core before the call returns. */
static void prepare_request(const struct transfer *transfer, int number, unsigned bytes)
{
    const struct file *file = &transfer->file;
    struct io_uring_sqe *request = io_uring_get_sqe(transfer->own);
    if (!request)
        priomark_fail(transfer->file.run, "io_uring has no room for a request; choose other methods");
    const int64_t place = (int64_t)number * bytes;
    const uint64_t offset = (uint64_t)(file->start + place);
    if (transfer->operation == PRIOMARK_READ)
        io_uring_prep_read(request, file->posix, transfer->data + place, bytes, offset);
    else
        io_uring_prep_write(request, file->posix, transfer->data + place, bytes, offset);
    io_uring_sqe_set_flags(request, IOSQE_ASYNC);
}

static void start(struct transfer *transfer)
{
    for (int i = 0; i < transfer->depth; i++)
        prepare_request(transfer, i, (unsigned)(transfer->file.block_bytes / transfer->depth));
    const int code = io_uring_submit(transfer->own);
    if (code != transfer->depth)
        posix_stop(&transfer->file, "start an asynchronous request on", code < 0 ? -code : EIO);
    transfer->pending = transfer->depth;
}

static void complete(struct transfer *transfer, struct io_uring_cqe *completion)
{
    const int result = completion->res;
    const int64_t bytes = transfer->file.block_bytes / transfer->depth;
    const char *what = transfer->operation == PRIOMARK_READ ? "read" : "write";
    io_uring_cqe_seen(transfer->own, completion);
    if (result < 0)
        posix_stop(&transfer->file, what, -result);
    if (result != bytes)
        stop_short(&transfer->file, what, result, bytes);
    transfer->pending--;
}

static bool done(struct transfer *transfer)
{
    struct io_uring_cqe *completion;
    while (transfer->pending && io_uring_peek_cqe(transfer->own, &completion) == 0)
        complete(transfer, completion);
    return transfer->pending == 0;
}

static void finish(struct transfer *transfer)
{
    struct io_uring_cqe *completion;
    while (transfer->pending) {
        const int code = io_uring_wait_cqe(transfer->own, &completion);
        if (code < 0 && code != -EINTR)
            posix_stop(&transfer->file, "wait for", -code);
        if (code == 0)
            complete(transfer, completion);
    }
}

static void sync_file(struct transfer *transfer)
{
    if (fsync(transfer->file.posix) != 0)
        posix_stop(&transfer->file, "synchronise", errno);
}

static void close_file(struct transfer *transfer)
{
    io_uring_queue_exit(transfer->own);
    if (close(transfer->file.posix) != 0)
        posix_stop(&transfer->file, "close", errno);
    free(transfer->own);
}

const struct transfer_method uring_transfer = {"io-uring", true,   why_not,   open_file, start,
                                               done,       finish, sync_file, close_file};
