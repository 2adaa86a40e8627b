/* SPDX-License-Identifier: Apache-2.0 */
/* What else used the processors of the run's nodes: other programs, and other virtual machines (steal time). Every
 * result that was taken beside others says so, and one that only started after a busy minute does not. */
#ifndef COFFEECUP_ACTIVITY_H
#define COFFEECUP_ACTIVITY_H

#include <jansson.h>
#include <stdbool.h>

/* Processor seconds since boot, of this rank's node. User time only: what the system does for the run's own I/O in
 * threads of the kernel cannot be told from what it does for others. */
struct processor_time {
    bool known; /* false where there is no /proc/stat */
    double user_seconds, stolen_seconds;
    double own_user_seconds; /* of this process */
};

struct processor_time processor_time_now(void);

/* The record `activity` of what happened since `start` on the nodes of `leaders`: one object a node, in the order of
 * `hosts`. `leader` is the first rank on this rank's node. Collective over MPI_COMM_WORLD; NULL on all ranks but 0, and
 * on all where a node could not tell. */
json_t *activity_json(const struct processor_time *start, int leader, double elapsed_seconds);

#endif
