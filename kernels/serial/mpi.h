/* SPDX-License-Identifier: Apache-2.0 */
/* The part of MPI that a run of one process requires, for builds on machines without MPI. It contains only what
 * kernels/common calls; a call that makes no sense for one process does not compile. */
#pragma once

#include <stdint.h>

enum { MPI_SUCCESS = 0, MPI_VERSION = 0, MPI_SUBVERSION = 0 };
enum { MPI_MAX_ERROR_STRING = 64, MPI_MAX_LIBRARY_VERSION_STRING = 64, MPI_MAX_PROCESSOR_NAME = 256 };

typedef enum { MPI_COMM_NULL, MPI_COMM_WORLD, MPI_COMM_SELF } MPI_Comm;
typedef enum { MPI_INFO_NULL } MPI_Info;
typedef enum { MPI_ERRORS_RETURN } MPI_Errhandler;
typedef enum { MPI_MAX, MPI_MIN, MPI_SUM, MPI_BOR } MPI_Op;
typedef enum { MPI_BYTE, MPI_CHAR, MPI_INT, MPI_INT64_T, MPI_UINT64_T, MPI_DOUBLE } MPI_Datatype;
typedef struct {
    int source;
} MPI_Status;
enum { MPI_COMM_TYPE_SHARED };
extern char mpi_in_place;
#define MPI_IN_PLACE ((void *)&mpi_in_place)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)

int MPI_Init(int *argc, char ***argv);
int MPI_Initialized(int *flag);
int MPI_Finalize(void);
int MPI_Finalized(int *flag);
_Noreturn void MPI_Abort(MPI_Comm comm, int status);
double MPI_Wtime(void);
double MPI_Wtick(void);
int MPI_Error_string(int code, char *text, int *length);
int MPI_Get_version(int *version, int *subversion);
int MPI_Get_library_version(char *text, int *length);
int MPI_Get_processor_name(char *name, int *length);

int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_size(MPI_Comm comm, int *size);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *created);
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *created);
int MPI_Comm_free(MPI_Comm *comm);

int MPI_Barrier(MPI_Comm comm);
int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Reduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm);
int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Gather(const void *mine, int count, MPI_Datatype type, void *all, int all_count, MPI_Datatype all_type,
               int root, MPI_Comm comm);
int MPI_Allgather(const void *mine, int count, MPI_Datatype type, void *all, int all_count, MPI_Datatype all_type,
                  MPI_Comm comm);
int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status);
