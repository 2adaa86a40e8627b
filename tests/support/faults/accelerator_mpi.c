/* SPDX-License-Identifier: Apache-2.0 */
/* The layer over MPI of the stand-in for accelerators (accelerator.c): inside MPI calls, and while operations are on
 * their way, the process may access device memory. */
#include <mpi.h>
#include <stdlib.h>

#include "accelerator.h"

static long receives;
static char *last_received;

int MPIX_Query_cuda_support(void)
{
    return (int)standin_setting("STANDIN_SUPPORT", 1);
}
int MPIX_Query_rocm_support(void)
{
    return (int)standin_setting("STANDIN_SUPPORT", 1);
}
int MPIX_Query_ze_support(void)
{
    return (int)standin_setting("STANDIN_SUPPORT", 1);
}

int MPI_Comm_get_info(MPI_Comm comm, MPI_Info *info)
{
    const int result = PMPI_Comm_get_info(comm, info);
    return getenv("STANDIN_KINDS") ? PMPI_Info_set(*info, "mpi_memory_alloc_kinds", getenv("STANDIN_KINDS")) : result;
}

/* After a call that received into `buffer`, or completed operations that do. */
static void received(void *buffer)
{
    int rank;
    if (buffer)
        last_received = buffer;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1 && last_received && standin_is_device(last_received) &&
        ++receives == standin_setting("STANDIN_FLIP", -1))
        *last_received ^= 1;
}

#define INSIDE(call, buffer)     \
    do {                         \
        standin_enter();         \
        const int result = call; \
        received(buffer);        \
        standin_leave();         \
        return result;           \
    } while (0)

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    standin_enter();
    const int result = PMPI_Send(buffer, count, type, to, tag, comm);
    standin_leave();
    return result;
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    INSIDE(PMPI_Recv(buffer, count, type, from, tag, comm, status), buffer);
}

int MPI_Sendrecv(const void *buffer, int count, MPI_Datatype type, int to, int tag, void *into, int into_count,
                 MPI_Datatype into_type, int from, int from_tag, MPI_Comm comm, MPI_Status *status)
{
    INSIDE(PMPI_Sendrecv(buffer, count, type, to, tag, into, into_count, into_type, from, from_tag, comm, status),
           from == MPI_PROC_NULL ? NULL : into);
}

static void *first_place(void *into, const int *counts, const int *offsets, int size)
{
    for (int i = 0; i < size; i++)
        if (counts[i])
            return (char *)into + offsets[i];
    return NULL;
}

int MPI_Alltoallv(const void *buffer, const int *counts, const int *offsets, MPI_Datatype type, void *into,
                  const int *into_counts, const int *into_offsets, MPI_Datatype into_type, MPI_Comm comm)
{
    int size;
    PMPI_Comm_size(comm, &size);
    INSIDE(PMPI_Alltoallv(buffer, counts, offsets, type, into, into_counts, into_offsets, into_type, comm),
           first_place(into, into_counts, into_offsets, size));
}

int MPI_Neighbor_alltoallv(const void *buffer, const int *counts, const int *offsets, MPI_Datatype type, void *into,
                           const int *into_counts, const int *into_offsets, MPI_Datatype into_type, MPI_Comm comm)
{
    INSIDE(PMPI_Neighbor_alltoallv(buffer, counts, offsets, type, into, into_counts, into_offsets, into_type, comm),
           (char *)into + into_offsets[0]);
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    standin_enter();
    standin_under_way++;
    const int result = PMPI_Isend(buffer, count, type, to, tag, comm, request);
    standin_leave();
    return result;
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    standin_enter();
    standin_under_way++;
    last_received = buffer;
    const int result = PMPI_Irecv(buffer, count, type, from, tag, comm, request);
    standin_leave();
    return result;
}

/* The buffers of persistent receives. */
static struct {
    MPI_Request request;
    void *buffer;
} inits[1 << 16];
static long init_count;

int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    const int result = PMPI_Recv_init(buffer, count, type, from, tag, comm, request);
    inits[init_count % (1 << 16)].request = *request;
    inits[init_count++ % (1 << 16)].buffer = buffer;
    return result;
}

int MPI_Startall(int count, MPI_Request requests[])
{
    standin_enter();
    standin_under_way += count;
    for (long i = init_count < 1 << 16 ? init_count - 1 : (1 << 16) - 1; i >= 0; i--)
        if (inits[i].request == requests[0]) {
            last_received = inits[i].buffer;
            break;
        }
    const int result = PMPI_Startall(count, requests);
    standin_leave();
    return result;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    standin_enter();
    const int result = PMPI_Waitall(count, requests, statuses);
    standin_under_way -= count;
    received(NULL);
    standin_leave();
    return result;
}
