/* SPDX-License-Identifier: Apache-2.0 */
/* The measurement itself: every pattern, message length and method, and all that again for each repetition, so that a
 * disturbance that lasts for seconds strikes one of them only. Every byte is checked. */
#ifndef B_EFF_MEASURE_H
#define B_EFF_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "lengths.h"
#include "patterns.h"
#include "run.h"
#include "timed.h"

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

/* What the person at the terminal sees of a pattern. Valid on rank 0. */
struct summary {
    double shortest_exchange_seconds; /* at 1 byte, best method */
    double largest_bandwidth;         /* byte/s at L_max, best method; 0 if it was not measured */
};

/* Whether a method of the request can run a pattern. */
bool can_run(const struct request *request, const struct pattern *pattern, int method);

/* Measures everything that is asked for and writes it to the log. Collective. `summaries`: one per pattern. */
void measure(struct run *run, const struct request *request, struct summary *summaries);

#endif
