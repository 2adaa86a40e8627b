/* SPDX-License-Identifier: Apache-2.0 */
/* How fast two cores of a node reach each other: the round trip of a cache line between two processes, without MPI. It
 * shows processes bound to distant cores or to one, and virtual cores that a hypervisor has moved. */
#ifndef B_EFF_PROBE_H
#define B_EFF_PROBE_H

#include <jansson.h>

/* A list with an object per node, in the order of the log's `hosts`: the shortest and the longest round trip over the
 * node's pairs of processes; null for a node with one process, or without shared memory. `leader` is the first rank on
 * this rank's node. Takes a few milliseconds. Collective over MPI_COMM_WORLD; NULL on all ranks but 0. */
json_t *probe_cores(int leader);

#endif
