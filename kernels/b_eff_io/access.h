/* SPDX-License-Identifier: Apache-2.0 */
/* One pattern, measured: position, calls, sync. Only in patterns that are collective and driven by time do processes
 * agree while the clock runs (paper, section 5.4); otherwise each process stops by its own clock or count. */
#pragma once

#include "loop.h"
#include "methods.h"
#include "problem.h"
#include "walk.h"

/* How a pattern is accessed. */
struct access {
    struct stream *stream;
    const struct pattern_type *type;
    enum method_number method;
    struct walk *walk;
    struct limits limits;
    bool check_all;
    double *each_seconds; /* becomes the time of each call; NULL: not needed */
    /* the source of a call's data, for read */
    uint32_t (*source)(void *context, int64_t call);
    void *context;
};

/* Times in seconds of the slowest process, some of them also of the fastest. */
struct result {
    int64_t calls;                           /* of this process */
    int64_t calls_min, calls_max, calls_sum; /* of all processes */
    int agreements;
    enum ending ending;
    double elapsed, position, access, access_fastest, sync, agreement, agreement_fastest, first_done, last_done;
    double own_access, own_sync; /* of this process */
    int64_t checked_bytes;       /* of this process, and */
    double check_seconds;        /* the time of the checks, not included in any other time */
};

/* Collective over the partition. After an error, `problem` describes that of this process, and the result is invalid.
 */
struct result access_pattern(const struct access *access, int64_t start, const struct pattern *pattern,
                             int64_t repetitions, struct problem *problem);
