/* SPDX-License-Identifier: Apache-2.0 */
/* The measurement: every pattern, message length and method, and all of it again in each repetition, so that a
 * disturbance of some seconds affects only one repetition. Every byte is checked. */
#pragma once

#include "request.h"

/* A pattern's values in the table at the terminal. Valid on rank 0. */
struct summary {
    double shortest_exchange_seconds; /* at 1 byte, best method */
    double largest_bandwidth;         /* byte/s at L_max, best method; 0 if it was not measured */
};

/* Measures all patterns and writes the results to the log. `summaries`: one per pattern. False if the run has exceeded
 * its time and stopped. Collective. */
bool measure(struct run *run, const struct request *request, struct loops *loops, struct summary *summaries);
