/* SPDX-License-Identifier: Apache-2.0 */
/* What the nodes counted during the run: energy, errors and traffic of the network, ... (counter_rows.h). The first
 * process of each node reads the counters when the log was opened and when all is measured, so never in a timed region.
 * Values are logged as they are; postprocess subtracts them. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "options.h"

/* For tests: a directory with files to read instead of those of the system. The log states it, and the result is not
 * official. */
#define COUNTERS_ROOT "COFFEECUP_COUNTERS_ROOT"

/* For all kernels: the time for which all processes sleep before the run. */
extern double idle_power_seconds;
#define OPTION_IDLE_POWER                           \
    SECONDS_OPTION(                                 \
        "idle-power", &idle_power_seconds, 0, 3600, \
        "time for which all processes sleep before the run, to measure the idle power of the nodes; 0: not measured")

/* All objects are of this rank's node, and NULL if another rank reads its counters. Times are by now_seconds(). */
struct node_counters {
    json_t *idle; /* what was counted while all processes slept; NULL without idle time */
    double idle_seconds;
    json_t *start, *last; /* readings, of energy the last one */
    json_t *again;        /* how often each counter with a largest value was seen to begin again at 0 */
    double started_seconds, last_seconds,
        longest_seconds; /* of `start` and `last`; the longest time between readings */
};

/* Reads the counters; before that, all processes sleep for the time of --idle-power, so that the nodes' idle power can
 * be calculated. `reads` is whether this rank is the first one of its node. Collective. */
struct node_counters node_counters_begin(bool reads);

/* Reads the counters of energy again if that is due, so that none begins again at 0 unnoticed. To be called between
 * timed regions, by any rank. */
void node_counters_follow(struct node_counters *counters);

/* The records `counters`, of the run and of the idle time before it: objects per node in the order of `hosts`. `idle`
 * becomes NULL without idle time. Releases what node_counters_begin() read. Collective over MPI_COMM_WORLD; NULL on all
 * ranks except 0. */
json_t *node_counters_end(struct node_counters *counters, json_t **idle);
