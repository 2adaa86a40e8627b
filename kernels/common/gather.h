/* SPDX-License-Identifier: Apache-2.0 */
/* Who the processes are, and values of all of them, or of one on each node, on rank 0. Never called while a clock runs.
 */
#pragma once

#include <jansson.h>
#include <mpi.h>
#include <stddef.h>

int rank_in(MPI_Comm comm);
int size_of(MPI_Comm comm);

/* The processes of this node, in the order of their ranks; `leader` is the first one's. Collective over all processes;
 * the caller frees it. */
MPI_Comm node_communicator(int leader);

/* Rank 0: the value of each process in the order of the ranks, to be freed; NULL on the others. Collective. */
void *gather(MPI_Comm comm, const void *mine, size_t bytes);

/* Rank 0: the JSON values of all processes that have one, in the order of the ranks; NULL on the others. Takes
 * ownership of `mine`, NULL: none. Collective over all processes. */
json_t *gather_json(json_t *mine);

/* The same of the nodes' first processes; `leader` is that of this node. */
json_t *gather_from_nodes(int leader, json_t *of_node);

/* A copy of rank 0's text on all processes, to be freed; `text` is NULL on the others. Collective over all processes.
 */
char *text_of_rank_0(const char *text);
