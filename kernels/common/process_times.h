/* SPDX-License-Identifier: Apache-2.0 */
/* Values of single processes for the log, in compact form. In runs of many processes the log has one value for each
 * node, so that it stays small (docs/log.md). */
#pragma once

#include <jansson.h>
#include <mpi.h>
#include <stdint.h>

#include "run.h"

/* "process" or "node": what has a value in the lists of this run. */
const char *process_resolution(const struct run *run);

/* A list in the order of the ranks of `comm`, which are those of the run: of each process its value or, where each node
 * has one, the largest of the node's times and the smallest of its counts. NULL on all ranks but 0. Collective over
 * `comm`; never called while a clock runs. */
json_t *process_times(const struct run *run, MPI_Comm comm, double seconds);
json_t *process_counts(const struct run *run, MPI_Comm comm, int64_t number);

/* The largest of the values of each node's ranks, in the order of the nodes, at the begin of `values`; returns the
 * number of nodes. `leaders` has the first rank of each rank's node. */
int largest_of_nodes(const int leaders[], double values[], int ranks);
