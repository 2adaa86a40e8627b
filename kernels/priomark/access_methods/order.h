/* SPDX-License-Identifier: Apache-2.0 */
/* The order of requests: which block comes next, and whether it is read or written. It is drawn from seeds, and can be
 * gone through again to know what was done. */
#ifndef PRIOMARK_ORDER_H
#define PRIOMARK_ORDER_H

#include "priomark.h"

/* An access pattern of the paper (figure 2). */
struct pattern {
    const char *name;
    bool creates; /* the file; others find it filled */
    bool mixed;   /* the read share of the workload holds; otherwise share_read */
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

/* Each of the process's blocks comes exactly once; round(blocks * read_share) requests read. All processes draw the
 * same sequence of operations, because in collective calls they have to agree, and each its own sequence of blocks. */
struct order order_start(const struct priomark *run, const struct priomark_case *now);

/* False when all blocks have come. */
bool order_next(struct order *order, int64_t *block, enum priomark_operation *operation);

#endif
