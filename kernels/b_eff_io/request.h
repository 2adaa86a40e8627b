/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be measured: the options, checked and worked out, and what follows from them without any measurement. */
#ifndef B_EFF_IO_REQUEST_H
#define B_EFF_IO_REQUEST_H

#include "hints.h"
#include "methods.h"

struct request {
    int partitions, partition[MOST_PARTITIONS]; /* numbers of processes, ascending */
    struct pattern pattern[PATTERNS];
    uint64_t types, methods;   /* a bit each */
    bool rewrite_scatter_only; /* the Top Clusters form */
    double scheduled_seconds;  /* T, for one partition */
    int64_t space_limit_bytes;
    int64_t alignment_bytes;
    int64_t largest_call_bytes;
    int64_t watchdog_seconds;
    uint64_t seed;
    bool individual_pointers, agree_per_access, check_all, evict;
    const struct hints *hints;
};

/* Whether a pattern type is accessed by a method. */
bool is_measured(const struct request *request, enum method_number method, enum type_number type);

/* The row that a type is measured with: for type 1 the variant, if it was asked for. */
const struct pattern_type *type_of(const struct request *request, enum type_number type);

/* U of all patterns of the chosen types: what shares the space. */
int units_measured(const struct request *request);

/* U of all patterns in all access methods and partitions: what progress counts. */
int units_planned(const struct request *request);

/* Bytes that the smallest run writes: every pattern once, in every partition. */
int64_t least_space_bytes(const struct request *request);

#endif
