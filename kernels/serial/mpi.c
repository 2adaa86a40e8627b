/* SPDX-License-Identifier: Apache-2.0 */
/* See mpi.h. There is one process: reductions copy, and no message can be sent. */
#include "mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

char mpi_in_place;
static enum { BEFORE, UP, OVER } state;

int MPI_Init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    state = UP;
    return MPI_SUCCESS;
}

int MPI_Initialized(int *flag)
{
    *flag = state != BEFORE;
    return MPI_SUCCESS;
}

int MPI_Finalize(void)
{
    state = OVER;
    return MPI_SUCCESS;
}

int MPI_Finalized(int *flag)
{
    *flag = state == OVER;
    return MPI_SUCCESS;
}

void MPI_Abort(MPI_Comm comm, int status)
{
    (void)comm;
    exit(status);
}

static double seconds(struct timespec time)
{
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double MPI_Wtime(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return seconds(now);
}

double MPI_Wtick(void)
{
    struct timespec resolution;
    clock_getres(CLOCK_MONOTONIC, &resolution);
    return seconds(resolution);
}

int MPI_Error_string(int code, char *text, int *length)
{
    *length = snprintf(text, MPI_MAX_ERROR_STRING, "error %d", code);
    return MPI_SUCCESS;
}

int MPI_Get_version(int *version, int *subversion)
{
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

int MPI_Get_library_version(char *text, int *length)
{
    *length = snprintf(text, MPI_MAX_LIBRARY_VERSION_STRING, "none (built without MPI)");
    return MPI_SUCCESS;
}

int MPI_Get_processor_name(char *name, int *length)
{
    gethostname(name, MPI_MAX_PROCESSOR_NAME - 1);
    *length = (int)strlen(name);
    return MPI_SUCCESS;
}

/* --- communicators ------------------------------------------------------------------------------------------------ */

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    (void)comm;
    *rank = 0;
    return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = 1;
    return MPI_SUCCESS;
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    (void)comm, (void)handler;
    return MPI_SUCCESS;
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *created)
{
    (void)color, (void)key;
    *created = comm;
    return MPI_SUCCESS;
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *created)
{
    (void)info;
    return MPI_Comm_split(comm, type, key, created);
}

int MPI_Comm_free(MPI_Comm *comm)
{
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

/* --- communication ------------------------------------------------------------------------------------------------ */

static size_t bytes_of(int count, MPI_Datatype type)
{
    static const size_t bytes[] = {[MPI_BYTE] = 1,    [MPI_CHAR] = 1,     [MPI_INT] = sizeof(int),
                                   [MPI_INT64_T] = 8, [MPI_UINT64_T] = 8, [MPI_DOUBLE] = sizeof(double)};
    return (size_t)count * bytes[type];
}

static int copy(const void *mine, void *all, int count, MPI_Datatype type)
{
    if (mine != MPI_IN_PLACE)
        memcpy(all, mine, bytes_of(count, type));
    return MPI_SUCCESS;
}

int MPI_Barrier(MPI_Comm comm)
{
    (void)comm;
    return MPI_SUCCESS;
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    (void)data, (void)count, (void)type, (void)root, (void)comm;
    return MPI_SUCCESS;
}

int MPI_Reduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    (void)op, (void)root, (void)comm;
    return copy(mine, all, count, type);
}

int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    (void)op, (void)comm;
    return copy(mine, all, count, type);
}

int MPI_Gather(const void *mine, int count, MPI_Datatype type, void *all, int all_count, MPI_Datatype all_type,
               int root, MPI_Comm comm)
{
    (void)all_count, (void)all_type, (void)root, (void)comm;
    return copy(mine, all, count, type);
}

int MPI_Allgather(const void *mine, int count, MPI_Datatype type, void *all, int all_count, MPI_Datatype all_type,
                  MPI_Comm comm)
{
    (void)all_count, (void)all_type, (void)comm;
    return copy(mine, all, count, type);
}

static _Noreturn void fail_without_partner(void)
{
    fprintf(stderr, "error: a message in a run of one process; please report this as a bug\n");
    abort();
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    (void)data, (void)count, (void)type, (void)to, (void)tag, (void)comm;
    fail_without_partner();
}

int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    (void)data, (void)count, (void)type, (void)from, (void)tag, (void)comm, (void)status;
    fail_without_partner();
}
