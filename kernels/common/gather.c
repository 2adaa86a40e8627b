/* SPDX-License-Identifier: Apache-2.0 */
/* See gather.h. */
#include "gather.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "memory.h"

int rank_in(MPI_Comm comm)
{
    int rank;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    return rank;
}

int size_of(MPI_Comm comm)
{
    int size;
    MPI_CHECK(MPI_Comm_size(comm, &size));
    return size;
}

MPI_Comm node_communicator(int leader)
{
    MPI_Comm node;
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, leader, rank_in(MPI_COMM_WORLD), &node));
    return node;
}

void *gather(MPI_Comm comm, const void *mine, size_t bytes)
{
    void *all = rank_in(comm) == 0 ? allocate((size_t)size_of(comm), bytes) : NULL;
    MPI_CHECK(MPI_Gather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0, comm));
    return all;
}

void *gather_from_nodes(int leader, const void *mine, size_t bytes, int *nodes)
{
    int *leaders = gather(MPI_COMM_WORLD, &leader, sizeof leader);
    char *values = gather(MPI_COMM_WORLD, mine, bytes);
    const int ranks = leaders ? size_of(MPI_COMM_WORLD) : 0;
    *nodes = 0;
    for (int rank = 0; rank < ranks; rank++)
        if (leaders[rank] == rank)
            memmove(values + (size_t)(*nodes)++ * bytes, values + (size_t)rank * bytes, bytes);
    free(leaders);
    return values;
}
