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

/* glibc's threads take the requests of a descriptor one after the other, so each has its own descriptor. */
static void open_file(struct transfer *transfer)
{
    struct file *file = &transfer->file;
    struct aiocb *request = transfer->own = allocate((size_t)transfer->depth, sizeof *request);
    aio_init(&(struct aioinit){.aio_threads = transfer->depth, .aio_num = transfer->depth, .aio_idle_time = 1});
    for (int i = 0; i < transfer->depth; i++) {
        file->posix = request[i].aio_fildes = open(file->path, O_RDWR | O_CLOEXEC);
        if (file->posix < 0)
            posix_stop(file, "open", errno);
    }
}

static void start(struct transfer *transfer)
{
    struct aiocb *request = transfer->own;
    const int64_t bytes = transfer->file.block_bytes / transfer->depth;
    for (int i = 0; i < transfer->depth; i++) {
        request[i] = (struct aiocb){.aio_fildes = request[i].aio_fildes,
                                    .aio_offset = transfer->file.start + i * bytes,
                                    .aio_buf = transfer->data + i * bytes,
                                    .aio_nbytes = (size_t)bytes};
        const int code = transfer->operation == PRIOMARK_READ ? aio_read(&request[i]) : aio_write(&request[i]);
        if (code != 0)
            posix_stop(&transfer->file, "start an asynchronous request on", errno);
    }
    transfer->pending = transfer->depth;
}

static bool is_complete(struct transfer *transfer, struct aiocb *request)
{
    const int error = aio_error(request);
    if (error == EINPROGRESS)
        return false;
    const char *what = transfer->operation == PRIOMARK_READ ? "read" : "write";
    if (error)
        posix_stop(&transfer->file, what, error);
    const ssize_t count = aio_return(request);
    if (count != (ssize_t)request->aio_nbytes)
        stop_short(&transfer->file, what, count, (int64_t)request->aio_nbytes);
    return true;
}

/* In their order: the first one that is not complete is waited for next. */
static bool done(struct transfer *transfer)
{
    struct aiocb *request = transfer->own;
    while (transfer->pending && is_complete(transfer, &request[transfer->depth - transfer->pending]))
        transfer->pending--;
    return transfer->pending == 0;
}

static void finish(struct transfer *transfer)
{
    const struct aiocb *request = transfer->own;
    while (!done(transfer)) {
        const struct aiocb *const next[] = {&request[transfer->depth - transfer->pending]};
        if (aio_suspend(next, 1, NULL) != 0 && errno != EINTR && errno != EAGAIN)
            posix_stop(&transfer->file, "wait for", errno);
    }
}

static void sync_file(struct transfer *transfer)
{
    if (fsync(transfer->file.posix) != 0)
        posix_stop(&transfer->file, "synchronise", errno);
}

static void close_file(struct transfer *transfer)
{
    const struct aiocb *request = transfer->own;
    for (int i = 0; i < transfer->depth; i++)
        if (close(request[i].aio_fildes) != 0)
            posix_stop(&transfer->file, "close", errno);
    free(transfer->own);
}

const struct transfer_method aio_transfer = {"posix-aio", true,   NULL,      open_file, start,
                                             done,        finish, sync_file, close_file};
