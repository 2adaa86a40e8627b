/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be measured: the options and what follows from them. */
#ifndef B_EFF_REQUEST_H
#define B_EFF_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "lengths.h"
#include "load_kinds.h"
#include "memories.h"
#include "nodes.h"
#include "patterns.h"

enum { LONGEST_LOOP = 100000, REPETITIONS = 3, PAIRWISE_LENGTHS = 3 };

/* The loops by which slow nodes are found (pairwise.h). */
struct pairwise {
    const struct nodes *nodes;
    int matchings; /* 0: none of these loops */
    int lengths;   /* at most PAIRWISE_LENGTHS, ascending; the last one is L_max */
    int64_t length[PAIRWISE_LENGTHS], loop_length[PAIRWISE_LENGTHS];
    bool all_pairs;
    bool by_node; /* the log has one time for each node, that of its slowest process */
    double reserved_seconds;
};

struct request {
    uint64_t methods; /* a bit per row of the table of methods */
    uint64_t seed;
    int repetitions; /* at most REPETITIONS */
    int64_t first_loop_length, longest_loop_length, random_patterns;
    double time_budget_seconds;
    struct pairwise pairwise;
    struct memories memories;
    struct load load;
    int64_t length[LENGTHS];
    int patterns;
    const struct pattern *pattern;
};

#endif
