/* SPDX-License-Identifier: Apache-2.0 */
/* See transfers.h: non-blocking MPI-IO with the individual file pointer and with an explicit offset. Whether it
 * overlaps with anything depends on the library: some do all the work in the call that starts the request. */
#include <stdlib.h>

#include "memory.h"
#include "transfers.h"

struct request {
    MPI_Request mpi;
};

static void open_file(struct transfer *transfer)
{
    transfer->own = allocate(1, sizeof(struct request));
    mpi_io_open(&transfer->file, false);
}

static void start_individual(struct transfer *transfer)
{
    struct request *request = transfer->own;
    struct file *file = &transfer->file;
    const int count = (int)file->block_bytes;
    mpi_io_check(file, MPI_File_seek(file->mpi, file->start, MPI_SEEK_SET), "set the pointer of");
    if (transfer->operation == PRIOMARK_READ)
        mpi_io_check(file, MPI_File_iread(file->mpi, transfer->data, count, MPI_BYTE, &request->mpi), "read");
    else
        mpi_io_check(file, MPI_File_iwrite(file->mpi, transfer->data, count, MPI_BYTE, &request->mpi), "write");
}

static void start_explicit(struct transfer *transfer)
{
    struct request *request = transfer->own;
    struct file *file = &transfer->file;
    const int count = (int)file->block_bytes;
    if (transfer->operation == PRIOMARK_READ)
        mpi_io_check(file, MPI_File_iread_at(file->mpi, file->start, transfer->data, count, MPI_BYTE, &request->mpi),
                     "read");
    else
        mpi_io_check(file, MPI_File_iwrite_at(file->mpi, file->start, transfer->data, count, MPI_BYTE, &request->mpi),
                     "write");
}

static void check(struct transfer *transfer, int code, MPI_Status *status)
{
    const bool reads = transfer->operation == PRIOMARK_READ;
    mpi_io_check(&transfer->file, code, reads ? "read" : "write");
    mpi_io_check_bytes(&transfer->file, status, transfer->file.block_bytes, reads ? "read" : "write");
}

static bool done(struct transfer *transfer)
{
    struct request *request = transfer->own;
    MPI_Status status;
    int flag = 0;
    const int code = MPI_Test(&request->mpi, &flag, &status);
    if (code != MPI_SUCCESS || flag)
        check(transfer, code, &status);
    return flag;
}

static void finish(struct transfer *transfer)
{
    struct request *request = transfer->own;
    MPI_Status status;
    const int code = MPI_Wait(&request->mpi, &status);
    check(transfer, code, &status);
}

static void sync_file(struct transfer *transfer)
{
    mpi_io_sync(&transfer->file);
}

static void close_file(struct transfer *transfer)
{
    mpi_io_close(&transfer->file);
    free(transfer->own);
}

const struct transfer_method individual_transfer = {"individual", false,  NULL,      open_file, start_individual,
                                                    done,         finish, sync_file, close_file};
const struct transfer_method explicit_transfer = {"explicit", false,  NULL,      open_file, start_explicit,
                                                  done,       finish, sync_file, close_file};
