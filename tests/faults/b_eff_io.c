/* Between b_eff_io and its MPI library (loaded with LD_PRELOAD): a clock that tells the time of a file system which is a
 * formula, so that the values in the log can be computed by hand, and faults.
 *
 * MODEL_BANDWIDTH       a process moves so many byte/s in every access; unset: the real clock
 * MODEL_SYNC_BANDWIDTH  and a sync takes the bytes written since the last one at this rate
 * MODEL_CALL_SECONDS    and every access takes this in addition
 * FAULT_FLIP            "FILE:OFFSET": a bit changes on disk before the file so named is opened for reading
 * FAULT_HANG            MPI_File_write_ordered never returns
 * FAULT_FULL_RANK       MPI_File_write finds the disk full on this rank
 * FAULT_ABORT           MPI_Abort never returns and ends nothing */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double now_seconds = 1000, unsynced_bytes;

static double number(const char *name, double otherwise)
{
    const char *text = getenv(name);
    return text ? atof(text) : otherwise;
}

double MPI_Wtime(void)
{
    return getenv("MODEL_BANDWIDTH") ? now_seconds : PMPI_Wtime();
}

static void spend(int count, MPI_Datatype type, int writes)
{
    MPI_Count size;
    MPI_Type_size_x(type, &size);
    const double bytes = (double)count * (double)size;
    if (getenv("MODEL_BANDWIDTH"))
        now_seconds += bytes / number("MODEL_BANDWIDTH", 1) + number("MODEL_CALL_SECONDS", 0);
    if (writes)
        unsynced_bytes += bytes;
}

int MPI_File_sync(MPI_File file)
{
    if (getenv("MODEL_SYNC_BANDWIDTH"))
        now_seconds += unsynced_bytes / number("MODEL_SYNC_BANDWIDTH", 1);
    unsynced_bytes = 0;
    return PMPI_File_sync(file);
}

static int is_rank(const char *name)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return getenv(name) && atoi(getenv(name)) == rank;
}

int MPI_File_write_all(MPI_File file, const void *data, int count, MPI_Datatype type, MPI_Status *status)
{
    spend(count, type, 1);
    return PMPI_File_write_all(file, data, count, type, status);
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
    return PMPI_File_write_ordered(file, data, count, type, status);
}

int MPI_File_read_ordered(MPI_File file, void *data, int count, MPI_Datatype type, MPI_Status *status)
{
    spend(count, type, 0);
    return PMPI_File_read_ordered(file, data, count, type, status);
}

int MPI_File_write(MPI_File file, const void *data, int count, MPI_Datatype type, MPI_Status *status)
{
    if (is_rank("FAULT_FULL_RANK"))
        return MPI_ERR_NO_SPACE;
    spend(count, type, 1);
    return PMPI_File_write(file, data, count, type, status);
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
    PMPI_Barrier(comm);
    return PMPI_File_open(comm, path, mode, info, file);
}

int MPI_Abort(MPI_Comm comm, int status)
{
    while (getenv("FAULT_ABORT"))
        pause();
    return PMPI_Abort(comm, status);
}
