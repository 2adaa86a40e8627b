/* SPDX-License-Identifier: Apache-2.0 */
/* How fast two cores of a node communicate: the round trip of a cache line between two processes, without MPI. It shows
 * whether processes are bound to distant cores or to the same core, and whether a hypervisor has moved virtual cores.
 */
#ifndef B_EFF_PROBE_H
#define B_EFF_PROBE_H

#include <jansson.h>

/* A list with an object per node, in the order of the log's `hosts`: the shortest and the longest round trip over the
 * node's pairs of processes; null for a node with one process, or without shared memory. `leader` is the first rank on
 * this rank's node. Takes a few milliseconds. Collective over MPI_COMM_WORLD; NULL on all ranks except 0. */
json_t *probe_cores(int leader);

#endif
