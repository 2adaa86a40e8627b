/* SPDX-License-Identifier: Apache-2.0 */
/* How one large asynchronous request is started, polled and finished: a row of a table per method of async. All
 * functions end the run if a call fails. */
#ifndef PRIOMARK_TRANSFERS_H
#define PRIOMARK_TRANSFERS_H

#include "storage.h"

struct transfer {
    struct file file;
    enum priomark_operation operation;
    char *data;
    bool running;
    void *own; /* the method's */
};

struct transfer_method {
    const char *name;
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
