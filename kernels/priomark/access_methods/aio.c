/* SPDX-License-Identifier: Apache-2.0 */
/* See transfers.h: POSIX aio. In glibc, threads do the work. */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "transfers.h"

static void open_file(struct transfer *transfer)
{
    struct file *file = &transfer->file;
    transfer->own = allocate(1, sizeof(struct aiocb));
    file->posix = open(file->path, O_RDWR | O_CLOEXEC);
    if (file->posix < 0)
        posix_stop(file, "open", errno);
}

static void start(struct transfer *transfer)
{
    struct aiocb *request = transfer->own;
    *request = (struct aiocb){.aio_fildes = transfer->file.posix,
                              .aio_offset = transfer->file.start,
                              .aio_buf = transfer->data,
                              .aio_nbytes = (size_t)transfer->file.block_bytes};
    const int code = transfer->operation == PRIOMARK_READ ? aio_read(request) : aio_write(request);
    if (code != 0)
        posix_stop(&transfer->file, "start an asynchronous request on", errno);
}

static bool done(struct transfer *transfer)
{
    struct aiocb *request = transfer->own;
    const int error = aio_error(request);
    if (error == EINPROGRESS)
        return false;
    const char *what = transfer->operation == PRIOMARK_READ ? "read" : "write";
    if (error)
        posix_stop(&transfer->file, what, error);
    const ssize_t count = aio_return(request);
    if (count != transfer->file.block_bytes)
        priomark_fail(transfer->file.run, "could %s only %zd of %" PRId64 " bytes of '%s'; is the disk full?", what,
                      count, transfer->file.block_bytes, transfer->file.path);
    return true;
}

static void finish(struct transfer *transfer)
{
    const struct aiocb *const requests[] = {transfer->own};
    while (!done(transfer))
        if (aio_suspend(requests, 1, NULL) != 0 && errno != EINTR && errno != EAGAIN)
            posix_stop(&transfer->file, "wait for", errno);
}

static void sync_file(struct transfer *transfer)
{
    if (fsync(transfer->file.posix) != 0)
        posix_stop(&transfer->file, "synchronise", errno);
}

static void close_file(struct transfer *transfer)
{
    if (close(transfer->file.posix) != 0)
        posix_stop(&transfer->file, "close", errno);
    free(transfer->own);
}

const struct transfer_method aio_transfer = {"posix-aio", NULL, open_file, start, done, finish, sync_file, close_file};
