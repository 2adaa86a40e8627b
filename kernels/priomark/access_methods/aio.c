/* SPDX-License-Identifier: Apache-2.0 */
/* See storage.h: POSIX aio. In glibc, threads do the work. */
#include <aio.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "host.h"
#include "memory.h"
#include "storage.h"

struct queue {
    enum priomark_operation operation;
    int pending; /* requests that are not complete */
    struct aiocb request[];
};

/* glibc's threads take the requests of a descriptor one after the other, so each has its own descriptor. */
static void open_file(struct priomark_file *file, bool create)
{
    struct queue *queue = file->own = allocate(1, sizeof *queue + (size_t)file->depth * sizeof *queue->request);
    aio_init(&(struct aioinit){.aio_threads = file->depth, .aio_num = file->depth, .aio_idle_time = 1});
    for (int i = 0; i < file->depth; i++) {
        posix_open(file, create);
        queue->request[i].aio_fildes = file->descriptor;
    }
}

static void start(struct priomark_file *file, enum priomark_operation operation, char *data, int64_t bytes,
                  int64_t offset)
{
    struct queue *queue = file->own;
    const int64_t part = bytes / file->depth;
    for (int i = 0; i < file->depth; i++) {
        struct aiocb *request = &queue->request[i];
        *request = (struct aiocb){.aio_fildes = request->aio_fildes,
                                  .aio_offset = offset + i * part,
                                  .aio_buf = data + i * part,
                                  .aio_nbytes = (size_t)part};
        const int code = operation == PRIOMARK_READ ? aio_read(request) : aio_write(request);
        if (code != 0)
            posix_stop(file, "start an asynchronous request on", errno);
    }
    queue->operation = operation;
    queue->pending = file->depth;
}

static bool is_complete(struct priomark_file *file, struct aiocb *request, const char *what)
{
    const int error = aio_error(request);
    if (error == EINPROGRESS)
        return false;
    if (error)
        posix_stop(file, what, error);
    const ssize_t count = aio_return(request);
    if (count != (ssize_t)request->aio_nbytes)
        stop_short(file, what, count, (int64_t)request->aio_nbytes);
    return true;
}

/* In their order: the first one that is not complete is waited for next. */
static bool done(struct priomark_file *file)
{
    struct queue *queue = file->own;
    const char *what = operation_names[queue->operation];
    while (queue->pending && is_complete(file, &queue->request[file->depth - queue->pending], what))
        queue->pending--;
    return queue->pending == 0;
}

static void finish(struct priomark_file *file)
{
    const struct queue *queue = file->own;
    while (!done(file)) {
        const struct aiocb *const next[] = {&queue->request[file->depth - queue->pending]};
        if (aio_suspend(next, 1, NULL) != 0 && errno != EINTR && errno != EAGAIN)
            posix_stop(file, "wait for", errno);
    }
}

static void close_file(struct priomark_file *file)
{
    const struct queue *queue = file->own;
    for (int i = 0; i < file->depth; i++)
        if (close(queue->request[i].aio_fildes) != 0)
            posix_stop(file, "close", errno);
    free(file->own);
}

const struct priomark_interface aio_interface = {.name = "posix-aio",
                                                 .plain = true,
                                                 .queues = true,
                                                 .open = open_file,
                                                 .sync = posix_sync,
                                                 .close = close_file,
                                                 .start = start,
                                                 .done = done,
                                                 .finish = finish};
