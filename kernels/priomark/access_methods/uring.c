/* SPDX-License-Identifier: Apache-2.0 */
/* See storage.h: Linux's io_uring, if the system has it and permits it. */
#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"
#include "memory.h"
#include "storage.h"

struct queue {
    struct io_uring ring;
    enum priomark_operation operation;
    int pending;   /* requests that are not complete */
    int64_t bytes; /* of each */
};

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

static void open_file(struct priomark_file *file, bool create)
{
    struct queue *queue = file->own = allocate(1, sizeof *queue);
    const int code = io_uring_queue_init((unsigned)file->depth, &queue->ring, 0);
    if (code < 0)
        priomark_fail(file->run, "io_uring is not available: %s; choose other methods", strerror(-code));
    posix_open(file, create);
}

/* IOSQE_ASYNC lets the kernel's threads do the work. Otherwise a request that hits the page cache is completed on the
 * calling core before the call returns. */
static void prepare_request(struct priomark_file *file, char *data, int64_t offset)
{
    struct queue *queue = file->own;
    struct io_uring_sqe *request = io_uring_get_sqe(&queue->ring);
    if (!request)
        priomark_fail(file->run, "io_uring has no room for a request; choose other methods");
    if (queue->operation == PRIOMARK_READ)
        io_uring_prep_read(request, file->descriptor, data, (unsigned)queue->bytes, (uint64_t)offset);
    else
        io_uring_prep_write(request, file->descriptor, data, (unsigned)queue->bytes, (uint64_t)offset);
    io_uring_sqe_set_flags(request, IOSQE_ASYNC);
}

static void start(struct priomark_file *file, enum priomark_operation operation, char *data, int64_t bytes,
                  int64_t offset)
{
    struct queue *queue = file->own;
    queue->operation = operation;
    queue->bytes = bytes / file->depth;
    for (int i = 0; i < file->depth; i++)
        prepare_request(file, data + i * queue->bytes, offset + i * queue->bytes);
    const int code = io_uring_submit(&queue->ring);
    if (code != file->depth)
        posix_stop(file, "start an asynchronous request on", code < 0 ? -code : EIO);
    queue->pending = file->depth;
}

static void complete(struct priomark_file *file, struct io_uring_cqe *completion)
{
    struct queue *queue = file->own;
    const int result = completion->res;
    const char *what = operation_names[queue->operation];
    io_uring_cqe_seen(&queue->ring, completion);
    if (result < 0)
        posix_stop(file, what, -result);
    if (result != queue->bytes)
        stop_short(file, what, result, queue->bytes);
    queue->pending--;
}

static bool done(struct priomark_file *file)
{
    struct queue *queue = file->own;
    struct io_uring_cqe *completion;
    while (queue->pending && io_uring_peek_cqe(&queue->ring, &completion) == 0)
        complete(file, completion);
    return queue->pending == 0;
}

static void finish(struct priomark_file *file)
{
    struct queue *queue = file->own;
    struct io_uring_cqe *completion;
    while (queue->pending) {
        const int code = io_uring_wait_cqe(&queue->ring, &completion);
        if (code < 0 && code != -EINTR)
            posix_stop(file, "wait for", -code);
        if (code == 0)
            complete(file, completion);
    }
}

static void close_file(struct priomark_file *file)
{
    struct queue *queue = file->own;
    io_uring_queue_exit(&queue->ring);
    if (close(file->descriptor) != 0)
        posix_stop(file, "close", errno);
    free(queue);
}

const struct priomark_interface uring_interface = {.name = "io-uring",
                                                   .plain = true,
                                                   .queues = true,
                                                   .why_not = why_not,
                                                   .open = open_file,
                                                   .sync = posix_sync,
                                                   .close = close_file,
                                                   .start = start,
                                                   .done = done,
                                                   .finish = finish};
