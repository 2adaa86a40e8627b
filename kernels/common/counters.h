/* SPDX-License-Identifier: Apache-2.0 */
/* What the nodes counted during the run: energy, errors and traffic of the network, ... (counter_rows.h). The first
 * process of each node reads the counters when the log was opened and when all is measured, so never in a timed region.
 * Values are logged as they are; postprocess subtracts them. */
#ifndef COFFEECUP_COUNTERS_H
#define COFFEECUP_COUNTERS_H

#include <jansson.h>
#include <stdbool.h>

/* For tests: a directory with files to read instead of those of the system. The log states it, and the result is not
 * official. */
#define COUNTERS_ROOT "COFFEECUP_COUNTERS_ROOT"

/* `idle` and `start` are of this rank's node; NULL if another rank reads its counters, `idle` also without idle time.
 */
struct counters {
    json_t *idle, *start;
    double idle_seconds, started_seconds; /* how long all processes slept; the time of `start`, by now_seconds() */
};

/* Reads the counters; before that, all processes sleep for `idle_seconds`, so that the nodes' idle power can be
 * calculated. `reads` is whether this rank is the first one of its node. Collective. */
struct counters counters_begin(bool reads, double idle_seconds);

/* The records `counters`, of the run and of the idle time before it: objects per node in the order of `hosts`. `idle`
 * becomes NULL without idle time. Releases what counters_begin() read. Collective over MPI_COMM_WORLD; NULL on all
 * ranks except 0. */
json_t *counters_end(struct counters *counters, json_t **idle);

#endif
