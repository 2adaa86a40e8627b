/* SPDX-License-Identifier: Apache-2.0 */
/* A replay while it runs: what its lanes (trace_order.h) share, and what is each one's own. */
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

#include "priomark.h"
#include "trace_read.h"

enum { MOST_PARTS = 1024 };

/* Ranks: processes of the recording that ended before this one began, and those that began after it ended. Those that
 * follow from others are left out. */
struct turns {
    int *before, *after;
    int before_count, after_count;
};

struct replay {
    struct priomark *run;
    const struct trace *trace;
    int copy; /* processes of one copy of the recorded program see the same files */
    bool think,
        sync;     /* whether to wait as the program did between requests; to synchronise in the end what was written */
    int64_t late; /* nanoseconds that the process started after those whose end it waits for, or after the first one */
    struct turns turns;
};

/* A handle of the trace: its descriptor, -1 if it is not open. */
struct replay_handle {
    int descriptor;
    int pointer; /* index in `pointer`: the handle that was opened, whose file pointer copies share */
};

/* What a request did; noted for the log after the replay, because lanes run at the same time. */
struct outcome {
    bool moved; /* data, by `kind` */
    enum priomark_operation kind;
    int64_t bytes;
    double seconds;
};

struct replay_state {
    const struct replay *replay;
    struct replay_handle *handle;
    int64_t *pointer;        /* file pointers, by handle */
    struct outcome *outcome; /* of each request */
    struct lane *lane;
    pthread_mutex_t mutex;
    pthread_cond_t progress; /* of a lane that another one waits for, or a failure */
    bool started, failed;
};

struct lane {
    struct replay_state *state;
    int number;
    pthread_t thread;
    char *data;
    atomic_size_t done;          /* ordinal of its last request that another lane waits for */
    double owed, slept, thought; /* seconds of think time */
    double synchronised;         /* seconds in fsync and fdatasync */
    int64_t differing, repositioned;
    const struct trace_request *failed; /* NULL: nothing failed */
    const char *what;
    int error;
    struct iovec vector[MOST_PARTS];
};

/* The run's own file for a recorded one: the same for all processes of a copy. */
void replay_path(const struct replay *replay, int file, char path[PATH_MAX]);

/* Opens the file of a request, for `open` and `inherit`. False, with errno, if that fails. */
bool replay_open(struct lane *lane, const struct trace_request *request);

/* Makes the request. False if it failed; the lane then has the request, what failed and errno. */
bool replay_request(struct lane *lane, const struct trace_request *request);
