/* SPDX-License-Identifier: Apache-2.0 */
/* The order of requests: which block is next, and whether it is read or written. It follows from seeds, and can be
 * repeated to check the data. */
#pragma once

#include "priomark.h"

/* An access pattern of the paper (figure 2). */
struct pattern {
    const char *name;
    bool creates; /* the file; other patterns require a filled file */
    bool mixed;   /* the workload's read share applies; otherwise share_read */
    double share_read;
    int64_t (*block)(int64_t i, int64_t blocks, uint64_t seed);
};

extern const struct pattern patterns[];   /* ended by a row without a name */
extern const char *const pattern_names[]; /* NULL-terminated, in the order of `patterns` */
const struct pattern *find_pattern(const char *name);

struct order {
    const struct pattern *pattern;
    int64_t blocks, next, reads_left;
    uint64_t operations_seed, blocks_seed;
};

/* Each block of the process is accessed exactly once; round(blocks * read_share) requests read. All processes use the
 * same sequence of operations, because collective calls require it, and each its own sequence of blocks. */
struct order order_start(const struct priomark *run, const struct priomark_case *now);

/* False after the last block. */
bool order_next(struct order *order, int64_t *block, enum priomark_operation *operation);
