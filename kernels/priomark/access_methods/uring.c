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
    const int code = io_uring_queue_init(1, ring, 0);
    if (code < 0)
        priomark_fail(file->run, "io_uring is not available: %s; choose other methods", strerror(-code));
    file->posix = open(file->path, O_RDWR | O_CLOEXEC);
    if (file->posix < 0)
        posix_stop(file, "open", errno);
}

/* IOSQE_ASYNC lets the kernel's threads do the work. Otherwise a request that hits the page cache is completed on the
 * calling core before the call returns. */
static void start(struct transfer *transfer)
{
    const struct file *file = &transfer->file;
    struct io_uring_sqe *request = io_uring_get_sqe(transfer->own);
    if (!request)
        priomark_fail(transfer->file.run, "io_uring has no room for a request; choose other methods");
    if (transfer->operation == PRIOMARK_READ)
        io_uring_prep_read(request, file->posix, transfer->data, (unsigned)file->block_bytes, (uint64_t)file->start);
    else
        io_uring_prep_write(request, file->posix, transfer->data, (unsigned)file->block_bytes, (uint64_t)file->start);
    io_uring_sqe_set_flags(request, IOSQE_ASYNC);
    const int code = io_uring_submit(transfer->own);
    if (code != 1)
        posix_stop(file, "start an asynchronous request on", code < 0 ? -code : EIO);
}

static void complete(struct transfer *transfer, struct io_uring_cqe *completion)
{
    const int result = completion->res;
    const char *what = transfer->operation == PRIOMARK_READ ? "read" : "write";
    io_uring_cqe_seen(transfer->own, completion);
    if (result < 0)
        posix_stop(&transfer->file, what, -result);
    if (result != transfer->file.block_bytes)
        priomark_fail(transfer->file.run, "could %s only %d of %" PRId64 " bytes of '%s'; is the disk full?", what,
                      result, transfer->file.block_bytes, transfer->file.path);
}

static bool done(struct transfer *transfer)
{
    struct io_uring_cqe *completion;
    if (io_uring_peek_cqe(transfer->own, &completion) != 0)
        return false;
    complete(transfer, completion);
    return true;
}

static void finish(struct transfer *transfer)
{
    struct io_uring_cqe *completion;
    int code;
    while ((code = io_uring_wait_cqe(transfer->own, &completion)) == -EINTR)
        ;
    if (code < 0)
        posix_stop(&transfer->file, "wait for", -code);
    complete(transfer, completion);
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

const struct transfer_method uring_transfer = {"io-uring", why_not, open_file, start,
                                               done,       finish,  sync_file, close_file};
