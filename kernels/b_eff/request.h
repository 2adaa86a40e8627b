/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be measured: the options and what follows from them. */
#ifndef B_EFF_REQUEST_H
#define B_EFF_REQUEST_H

#include <stdint.h>

#include "lengths.h"
#include "patterns.h"

enum { LONGEST_LOOP = 100000, REPETITIONS = 3 };

struct request {
    uint64_t methods; /* a bit per row of the table of methods */
    uint64_t seed;
    int repetitions; /* at most REPETITIONS */
    int64_t first_loop_length, longest_loop_length, random_patterns;
    double time_budget_seconds;
    int64_t length[LENGTHS];
    int patterns;
    const struct pattern *pattern;
};

#endif
