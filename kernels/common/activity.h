/* SPDX-License-Identifier: Apache-2.0 */
/* Other use of the processors of the run's nodes: by other programs, and by other virtual machines (steal time). It is
 * measured from the opening of the log to its end, so that activity before the run does not count. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "machine.h"

/* Processor seconds since boot, of this rank's node. User time only: threads of the operating system work for the run's
 * own I/O and for others, which cannot be separated. */
struct processor_time {
    bool known; /* false where there is no /proc/stat */
    double user_seconds, stolen_seconds;
    double own_user_seconds; /* of this process */
};

struct processor_time processor_time_now(void);

/* The record `activity` of the time since `start`: one object per node, in the order of `hosts`. Collective over
 * MPI_COMM_WORLD; NULL on all ranks except 0, and on all ranks if a node could not measure it. */
json_t *activity_json(const struct processor_time *start, const struct machine *machine, double elapsed_seconds);
