/* SPDX-License-Identifier: Apache-2.0 */
/* How one large request is started, asked after and finished: a row of a table per method of async. All functions end
 * the run where a call fails. */
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
    const char *(*why_not)(void); /* this system cannot: a sentence, or NULL. May be NULL itself */
    void (*open)(struct transfer *transfer);
    void (*start)(struct transfer *transfer);
    bool (*done)(struct transfer *transfer);   /* true: it is over, and was checked */
    void (*finish)(struct transfer *transfer); /* waits; called where it is not done yet */
    void (*sync)(struct transfer *transfer);
    void (*close)(struct transfer *transfer);
};

/* One for each file; async.c has the table. */
extern const struct transfer_method aio_transfer, uring_transfer, individual_transfer, explicit_transfer;

#endif
