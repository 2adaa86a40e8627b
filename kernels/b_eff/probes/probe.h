/* SPDX-License-Identifier: Apache-2.0 */
/* What the nodes can do without MPI. The round trip of a cache line between two processes shows whether processes are
 * bound to distant cores or to the same core, and whether a hypervisor has moved virtual cores. Copies in memory bound
 * what messages inside a node can reach. */
#pragma once

#include "buffers.h"
#include "run.h"

/* Writes the records `probe` and, if the run has buffers in memory of the host, `memory_copy`. Between repetitions;
 * takes some milliseconds. Not in simulations, whose processes run one after the other and cannot wait for each other
 * in memory. Collective. */
void probe_nodes(const struct run *run, const struct buffers *buffers, int repetition);
