/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what another process has written (--read-shift), so that it does not come from the cache of the node that
 * wrote it. The processes take over the parts of others: in the order of nodes, each process reads the part of the one
 * that comes as many places after it as the largest node has processes, so that it is on another node. */
#pragma once

#include <mpi.h>

/* By how many places the processes of `comm` are shifted in a run of `nodes` nodes: by one on a single node. 0 if no
 * shift gives every process a part of another process and, if there are several nodes, of another node. `leader` is the
 * first rank on this rank's node. Collective. */
int read_shift(MPI_Comm comm, int leader, int nodes);

/* The processes of `comm` in another order: the rank of a process is the rank in `comm` of the process whose part it
 * reads. Everything that follows from ranks (files, offsets, data, aggregators of collective calls) is then shifted.
 * Collective. */
MPI_Comm read_communicator(MPI_Comm comm, int leader, int shift);

/* Why read_shift() returned 0, as a part of a sentence. */
const char *why_no_read_shift(int nodes);

/* How a shift is named in the log: by what separates the reader from the writer. */
const char *read_shift_name(int nodes);
