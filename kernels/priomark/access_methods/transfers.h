/* SPDX-License-Identifier: Apache-2.0 */
/* How a large asynchronous transfer is started, polled and finished: a row of a table per method of async. It consists
 * of one or of several requests, which are in flight at the same time. All functions end the run if a call fails. */
#ifndef PRIOMARK_TRANSFERS_H
#define PRIOMARK_TRANSFERS_H

#include "storage.h"

struct transfer {
    struct file file; /* one block: the whole transfer */
    int depth;        /* number of requests, each for an equal part of the block */
    enum priomark_operation operation;
    char *data;
    bool running;
    int pending; /* requests that are not complete */
    void *own;   /* the method's */
};

struct transfer_method {
    const char *name;
    bool queues;                  /* supports more than one request */
    const char *(*why_not)(void); /* the reason why this system does not support it, or NULL. May be NULL itself */
    void (*open)(struct transfer *transfer);
    void (*start)(struct transfer *transfer);
    bool (*done)(struct transfer *transfer);   /* true: it is complete and was checked */
    void (*finish)(struct transfer *transfer); /* waits; called if it is not done yet */
    void (*sync)(struct transfer *transfer);
    void (*close)(struct transfer *transfer);
};

/* One per file; async.c has the table. */
extern const struct transfer_method aio_transfer, uring_transfer, individual_transfer, explicit_transfer;

#endif
