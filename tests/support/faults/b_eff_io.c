/* SPDX-License-Identifier: Apache-2.0 */
/* Between b_eff_io and its MPI library (loaded with LD_PRELOAD): a clock that tells the time of a file system which is
 * a formula, so that the values in the log can be computed by hand, and faults.
 *
 * MODEL_BANDWIDTH       a process moves so many byte/s in every access; unset: the real clock
 * MODEL_SYNC_BANDWIDTH  and a sync takes the bytes written since the last one at this rate
 * MODEL_CALL_SECONDS    and every access takes this in addition
 * MODEL_SLOW_RANK       on this rank every access takes twice as long
 * MODEL_SLOW_FILE       to the file so named every access takes a hundred times as long
 * FAULT_FLIP            "FILE:OFFSET": a bit changes on disk before the file so named is opened for reading
 * FAULT_HANG            MPI_File_write_ordered never returns
 * FAULT_FULL_RANK       writing finds the disk full on this rank, ...
 * FAULT_FULL_FILE       ... in files whose name begins so; unset: in those of which each process has one
 * FAULT_SEEK            MPI_File_seek moves twice as far as it should
 * FAULT_EVICT           posix_fadvise fails
 * FAULT_ABORT           MPI_Abort never returns and ends nothing */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double now_seconds = 1000, unsynced_bytes;
static char open_name[64]; /* of the file that is open; only one is at a time */

static double number(const char *name, double otherwise)
{
    const char *text = getenv(name);
    return text ? atof(text) : otherwise;
}

double MPI_Wtime(void)
{
    return getenv("MODEL_BANDWIDTH") ? now_seconds : PMPI_Wtime();
}

static int is_rank(const char *name)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return getenv(name) && atoi(getenv(name)) == rank;
}

static int is_open(const char *name)
{
    return getenv(name) && strncmp(open_name, getenv(name), strlen(getenv(name))) == 0;
}

static void spend(int count, MPI_Datatype type, int writes)
{
    MPI_Count size;
    MPI_Type_size_x(type, &size);
    const double bytes = (double)count * (double)size;
    const double factor = (is_rank("MODEL_SLOW_RANK") ? 2 : 1) * (is_open("MODEL_SLOW_FILE") ? 100 : 1);
    if (getenv("MODEL_BANDWIDTH"))
        now_seconds += factor * (bytes / number("MODEL_BANDWIDTH", 1) + number("MODEL_CALL_SECONDS", 0));
    if (writes)
        unsynced_bytes += bytes;
}

/* What a write returns that otherwise succeeded: others may wait for this process in a collective call. */
static int written(int result)
{
    const int here = getenv("FAULT_FULL_FILE") ? is_open("FAULT_FULL_FILE") : strstr(open_name, "-rank") != NULL;
    return here && is_rank("FAULT_FULL_RANK") ? MPI_ERR_NO_SPACE : result;
}

int MPI_File_sync(MPI_File file)
{
    if (getenv("MODEL_SYNC_BANDWIDTH"))
        now_seconds += unsynced_bytes / number("MODEL_SYNC_BANDWIDTH", 1);
    unsynced_bytes = 0;
    return PMPI_File_sync(file);
}

int MPI_File_write_all(MPI_File file, const void *data, int count, MPI_Datatype type, MPI_Status *status)
{
    spend(count, type, 1);
    return written(PMPI_File_write_all(file, data, count, type, status));
}

int MPI_File_read_all(MPI_File file, void *data, int count, MPI_Datatype type, MPI_Status *status)
{
    spend(count, type, 0);
    return PMPI_File_read_all(file, data, count, type, status);
}

int MPI_File_write_ordered(MPI_File file, const void *data, int count, MPI_Datatype type, MPI_Status *status)
{
    while (getenv("FAULT_HANG"))
        sleep(1);
    spend(count, type, 1);
    return written(PMPI_File_write_ordered(file, data, count, type, status));
}

int MPI_File_read_ordered(MPI_File file, void *data, int count, MPI_Datatype type, MPI_Status *status)
{
    spend(count, type, 0);
    return PMPI_File_read_ordered(file, data, count, type, status);
}

int MPI_File_write(MPI_File file, const void *data, int count, MPI_Datatype type, MPI_Status *status)
{
    spend(count, type, 1);
    return written(PMPI_File_write(file, data, count, type, status));
}

int MPI_File_read(MPI_File file, void *data, int count, MPI_Datatype type, MPI_Status *status)
{
    spend(count, type, 0);
    return PMPI_File_read(file, data, count, type, status);
}

static void flip(const char *path, const char *where)
{
    const char *colon = strrchr(where, ':'), *name = strrchr(path, '/');
    const size_t length = (size_t)(colon - where);
    char byte;
    if (!name || strlen(name + 1) != length || strncmp(name + 1, where, length) != 0)
        return;
    const int file = open(path, O_RDWR);
    const off_t offset = atoll(colon + 1);
    if (file < 0 || pread(file, &byte, 1, offset) != 1)
        exit(99);
    byte ^= 1;
    if (pwrite(file, &byte, 1, offset) != 1)
        exit(99);
    close(file);
}

int MPI_File_open(MPI_Comm comm, const char *path, int mode, MPI_Info info, MPI_File *file)
{
    int rank;
    PMPI_Comm_rank(comm, &rank);
    if (rank == 0 && mode == MPI_MODE_RDONLY && getenv("FAULT_FLIP"))
        flip(path, getenv("FAULT_FLIP"));
    snprintf(open_name, sizeof open_name, "%s", strrchr(path, '/') + 1);
    PMPI_Barrier(comm);
    return PMPI_File_open(comm, path, mode, info, file);
}

int MPI_File_seek(MPI_File file, MPI_Offset offset, int from)
{
    return PMPI_File_seek(file, getenv("FAULT_SEEK") ? 2 * offset : offset, from);
}

int posix_fadvise(int file, off_t offset, off_t bytes, int advice)
{
    if (getenv("FAULT_EVICT"))
        return EINVAL;
    static int (*next)(int, off_t, off_t, int);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "posix_fadvise");
    return next(file, offset, bytes, advice);
}

int MPI_Abort(MPI_Comm comm, int status)
{
    while (getenv("FAULT_ABORT"))
        pause();
    return PMPI_Abort(comm, status);
}
