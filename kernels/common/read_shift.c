/* SPDX-License-Identifier: Apache-2.0 */
/* See read_shift.h. */
#include "read_shift.h"

#include <stdlib.h>

#include "fail.h"
#include "gather.h"
#include "memory.h"

static int processes_of_largest_node(MPI_Comm comm, int leader)
{
    MPI_Comm node;
    int most;
    MPI_CHECK(MPI_Comm_split(comm, leader, rank_in(comm), &node));
    const int here = size_of(node);
    MPI_CHECK(MPI_Comm_free(&node));
    MPI_CHECK(MPI_Allreduce(&here, &most, 1, MPI_INT, MPI_MAX, comm));
    return most;
}

/* In a circle of all processes by nodes, a shift by the largest node leaves every node, unless a node has more than
 * half of the processes. */
int read_shift(MPI_Comm comm, int leader, int nodes)
{
    const int shift = nodes > 1 ? processes_of_largest_node(comm, leader) : 1;
    return 2 * shift <= size_of(comm) ? shift : 0;
}

MPI_Comm read_communicator(MPI_Comm comm, int leader, int shift)
{
    MPI_Comm by_node, readers;
    const int rank = rank_in(comm), processes = size_of(comm);
    MPI_CHECK(MPI_Comm_split(comm, 0, leader, &by_node)); /* of one leader: in the order of ranks */
    int *ranks = allocate((size_t)processes, sizeof *ranks);
    MPI_CHECK(MPI_Allgather(&rank, 1, MPI_INT, ranks, 1, MPI_INT, by_node));
    MPI_CHECK(MPI_Comm_split(comm, 0, ranks[(rank_in(by_node) + shift) % processes], &readers));
    MPI_CHECK(MPI_Comm_free(&by_node));
    free(ranks);
    return readers;
}

const char *why_no_read_shift(int nodes)
{
    return nodes > 1 ? "one node has more than half of the processes, so that not each can read what another node wrote"
                     : "a single process has no other one whose data it could read";
}

const char *read_shift_name(int nodes)
{
    return nodes > 1 ? "node" : "process";
}
