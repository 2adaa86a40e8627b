/* SPDX-License-Identifier: Apache-2.0 */
/* Agreements of all processes, and their cost. Used between timed regions, never inside. */
#pragma once

#include <jansson.h>
#include <mpi.h>
#include <stddef.h>

struct spread {
    double slowest, fastest;
};

/* The longest and the shortest of the processes' times. */
struct spread agree_on_times(MPI_Comm comm, double elapsed_seconds);

/* Whether any process has a reason not to continue (not ""). All processes get the reason of the lowest such rank;
 * returns this rank, otherwise NO_RANK. Collective. */
int agree_on_reason(MPI_Comm comm, char *reason, size_t bytes);

/* The fields of the log's `overhead` record: the cost of a clock reading, a barrier and an agreement. Collective. */
json_t *measure_overhead(MPI_Comm comm);
