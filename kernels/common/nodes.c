/* SPDX-License-Identifier: Apache-2.0 */
/* See nodes.h. */
#include "nodes.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "gather.h"
#include "memory.h"

/* By rank 0: on thousands of simulated processes, MPI_Allgather would take long. */
static int *all_leaders(int leader, int ranks)
{
    int *leaders = allocate((size_t)ranks, sizeof *leaders);
    MPI_CHECK(MPI_Gather(&leader, 1, MPI_INT, leaders, 1, MPI_INT, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Bcast(leaders, ranks, MPI_INT, 0, MPI_COMM_WORLD));
    return leaders;
}

struct nodes nodes_find(int leader)
{
    const int ranks = size_of(MPI_COMM_WORLD);
    struct nodes nodes = {.groups = 1};
    int *leaders = all_leaders(leader, ranks);
    nodes.of_rank = allocate((size_t)ranks, sizeof *nodes.of_rank);
    nodes.rank = allocate((size_t)ranks, sizeof *nodes.rank);
    nodes.first = allocate((size_t)ranks + 1, sizeof *nodes.first);
    for (int rank = 0; rank < ranks; rank++) {
        nodes.of_rank[rank] = leaders[rank] == rank ? nodes.count++ : nodes.of_rank[leaders[rank]];
        nodes.first[nodes.of_rank[rank] + 1]++;
    }
    for (int k = 0; k < nodes.count; k++) {
        nodes.largest_node = nodes.first[k + 1] > nodes.largest_node ? nodes.first[k + 1] : nodes.largest_node;
        nodes.first[k + 1] += nodes.first[k];
    }
    int *filled = leaders; /* of each node; no longer needed for leaders */
    memset(filled, 0, (size_t)ranks * sizeof *filled);
    for (int rank = 0; rank < ranks; rank++) {
        const int node = nodes.of_rank[rank];
        nodes.rank[nodes.first[node] + filled[node]++] = rank;
    }
    free(leaders);
    nodes.group = allocate((size_t)nodes.count, sizeof *nodes.group);
    return nodes;
}

void nodes_free(struct nodes *nodes)
{
    free(nodes->of_rank);
    free(nodes->first);
    free(nodes->rank);
    free(nodes->group);
}
