/* SPDX-License-Identifier: Apache-2.0 */
/* A connection that fails in one direction. Loaded with LD_PRELOAD: after SWALLOW_AFTER messages of the process with
 * the rank SWALLOW_RANK, the receiver of the next one receives nothing from it any more, and the sender does not
 * notice. The rank of that receiver is written to SWALLOW_FILE. Only messages that are measured are lost, which consist
 * of bytes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    long left;
    int strikes, cut_off; /* whether in this process; the receiver */
} here = {.strikes = -1, .cut_off = -1};

static void begin(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    here.strikes = rank == atoi(getenv("SWALLOW_RANK"));
    here.left = atol(getenv("SWALLOW_AFTER"));
}

static int in_world(int rank, MPI_Comm comm)
{
    int found;
    MPI_Group group, world;
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(group, 1, &rank, world, &found);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    return found;
}

static void cut_off(int rank)
{
    FILE *file = fopen(getenv("SWALLOW_FILE"), "w");
    here.cut_off = rank;
    if (file) {
        fprintf(file, "%d\n", rank);
        fclose(file);
    }
}

/* The receiver of what this process sends to `to`: nobody, if the message is lost. */
static int receiver(int to, MPI_Datatype type, MPI_Comm comm)
{
    if (here.strikes < 0)
        begin();
    if (!here.strikes || to < 0 || type != MPI_BYTE || here.left-- > 0)
        return to;
    const int rank = in_world(to, comm);
    if (here.cut_off < 0)
        cut_off(rank);
    return rank == here.cut_off ? MPI_PROC_NULL : to;
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    return PMPI_Send(data, count, type, receiver(to, type, comm), tag, comm);
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    return PMPI_Isend(data, count, type, receiver(to, type, comm), tag, comm, request);
}

int MPI_Sendrecv(const void *data, int count, MPI_Datatype type, int to, int tag, void *room, int room_count,
                 MPI_Datatype room_type, int from, int room_tag, MPI_Comm comm, MPI_Status *status)
{
    return PMPI_Sendrecv(data, count, type, receiver(to, type, comm), tag, room, room_count, room_type, from, room_tag,
                         comm, status);
}
