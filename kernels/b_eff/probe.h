/* SPDX-License-Identifier: Apache-2.0 */
/* What the nodes can do without MPI. The round trip of a cache line between two processes shows whether processes are
 * bound to distant cores or to the same core, and whether a hypervisor has moved virtual cores. Copies in memory bound
 * what messages inside a node can reach. */
#ifndef B_EFF_PROBE_H
#define B_EFF_PROBE_H

#include <jansson.h>
#include <stddef.h>

/* A list with an object per node, in the order of the log's `hosts`: the shortest and the longest round trip over the
 * node's pairs of processes; null for a node with one process, or without shared memory. `leader` is the first rank on
 * this rank's node. Takes a few milliseconds. Collective over MPI_COMM_WORLD; NULL on all ranks except 0. */
json_t *probe_cores(int leader);

/* All processes copy at the same time from `from` to `to`, buffers of `bytes` each, several times and always at another
 * place: that of copy number `first`, then the next ones. */
struct copies {
    char *to;
    const char *from;
    size_t bytes;
    int first;
};

/* The bytes of a copy; PROBE_COPIES are made. */
enum { PROBE_COPIES = 5 };
size_t probe_copied_bytes(size_t buffer_bytes);

/* A list with the time of the shortest copy on each node, in the order of the log's `hosts`; a copy takes as long as
 * the slowest process of the node. Takes some milliseconds. Collective over MPI_COMM_WORLD; NULL on all ranks except 0.
 */
json_t *probe_copies(int leader, const struct copies *copies);

#endif
