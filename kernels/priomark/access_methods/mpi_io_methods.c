/* SPDX-License-Identifier: Apache-2.0 */
/* See storage.h: the methods with MPI-IO calls. */
#include <inttypes.h>

#include "fail.h"
#include "host.h"
#include "mpi_io.h"
#include "storage.h"

void mpi_io_check(const struct file *file, int code, const char *what)
{
    if (code != MPI_SUCCESS)
        priomark_fail(file->run, "cannot %s '%s' through MPI-IO: %s", what, file->path,
                      mpi_io_error(code, SMALLER_PROCESS_SIZE));
}

/* Some libraries report a full disk only by a short count. */
void mpi_io_check_bytes(const struct file *file, MPI_Status *status, int64_t bytes, const char *what)
{
    int count = 0;
    MPI_CHECK(MPI_Get_count(status, MPI_BYTE, &count));
    if (count != bytes)
        stop_short(file, what, count, bytes);
}

void mpi_io_open(struct file *file, bool create)
{
    const int mode = MPI_MODE_RDWR | (create ? MPI_MODE_CREATE : 0);
    mpi_io_check(file, MPI_File_open(file->comm, file->path, mode, MPI_INFO_NULL, &file->mpi),
                 create ? "create" : "open");
    file->pointer = 0;
    mpi_io_log_component(file->run->run->log, file->mpi);
}

void mpi_io_sync(struct file *file)
{
    mpi_io_check(file, MPI_File_sync(file->mpi), "synchronise");
}

void mpi_io_close(struct file *file)
{
    mpi_io_check(file, MPI_File_close(&file->mpi), "close");
}

static void finish_read(const struct file *file, int code, MPI_Status *status)
{
    mpi_io_check(file, code, "read");
    mpi_io_check_bytes(file, status, file->block_bytes, "read");
}

static void finish_write(const struct file *file, int code, MPI_Status *status)
{
    mpi_io_check(file, code, "write");
    mpi_io_check_bytes(file, status, file->block_bytes, "write");
}

/* --- individual file pointers: a call advances the pointer, so it is set only if blocks are not contiguous -------- */

static void point_at(struct file *file, int64_t offset)
{
    if (file->pointer != offset)
        mpi_io_check(file, MPI_File_seek(file->mpi, offset, MPI_SEEK_SET), "set the pointer of");
    file->pointer = offset + file->block_bytes;
}

static void individual_read(struct file *file, char *data, int64_t block)
{
    MPI_Status status;
    point_at(file, block_offset(file, block));
    finish_read(file, MPI_File_read(file->mpi, data, (int)file->block_bytes, MPI_BYTE, &status), &status);
}

static void individual_write(struct file *file, const char *data, int64_t block)
{
    MPI_Status status;
    point_at(file, block_offset(file, block));
    finish_write(file, MPI_File_write(file->mpi, data, (int)file->block_bytes, MPI_BYTE, &status), &status);
}

static void individual_read_all(struct file *file, char *data, int64_t block)
{
    MPI_Status status;
    point_at(file, block_offset(file, block));
    finish_read(file, MPI_File_read_all(file->mpi, data, (int)file->block_bytes, MPI_BYTE, &status), &status);
}

static void individual_write_all(struct file *file, const char *data, int64_t block)
{
    MPI_Status status;
    point_at(file, block_offset(file, block));
    finish_write(file, MPI_File_write_all(file->mpi, data, (int)file->block_bytes, MPI_BYTE, &status), &status);
}

/* --- explicit offsets --------------------------------------------------------------------------------------------- */

static void explicit_read(struct file *file, char *data, int64_t block)
{
    MPI_Status status;
    finish_read(file,
                MPI_File_read_at(file->mpi, block_offset(file, block), data, (int)file->block_bytes, MPI_BYTE, &status),
                &status);
}

static void explicit_write(struct file *file, const char *data, int64_t block)
{
    MPI_Status status;
    finish_write(
        file, MPI_File_write_at(file->mpi, block_offset(file, block), data, (int)file->block_bytes, MPI_BYTE, &status),
        &status);
}

static void explicit_read_all(struct file *file, char *data, int64_t block)
{
    MPI_Status status;
    finish_read(
        file,
        MPI_File_read_at_all(file->mpi, block_offset(file, block), data, (int)file->block_bytes, MPI_BYTE, &status),
        &status);
}

static void explicit_write_all(struct file *file, const char *data, int64_t block)
{
    MPI_Status status;
    finish_write(
        file,
        MPI_File_write_at_all(file->mpi, block_offset(file, block), data, (int)file->block_bytes, MPI_BYTE, &status),
        &status);
}

/* --- a view in which the blocks of a process are contiguous ------------------------------------------------------- */

static void open_with_view(struct file *file, bool create)
{
    MPI_Datatype blocks, view;
    mpi_io_open(file, create);
    MPI_CHECK(MPI_Type_contiguous((int)(file->run_blocks * file->block_bytes), MPI_BYTE, &blocks));
    MPI_CHECK(MPI_Type_create_resized(blocks, 0, (MPI_Aint)file->stride_bytes, &view));
    MPI_CHECK(MPI_Type_commit(&view));
    mpi_io_check(file, MPI_File_set_view(file->mpi, file->start, MPI_BYTE, view, "native", MPI_INFO_NULL),
                 "set the view of");
    MPI_CHECK(MPI_Type_free(&view));
    MPI_CHECK(MPI_Type_free(&blocks));
    file->start = 0; /* now offsets are relative to the view */
    file->run_blocks = file->blocks;
}

/* --- the tables --------------------------------------------------------------------------------------------------- */

const struct method mpi_io_methods[] = {
    /* name, direct */
    {"individual", false, mpi_io_open, individual_read, individual_write, mpi_io_sync, mpi_io_close},
    {"individual-collective", false, mpi_io_open, individual_read_all, individual_write_all, mpi_io_sync, mpi_io_close},
    {"explicit", false, mpi_io_open, explicit_read, explicit_write, mpi_io_sync, mpi_io_close},
    {"explicit-collective", false, mpi_io_open, explicit_read_all, explicit_write_all, mpi_io_sync, mpi_io_close},
    {0}};

const struct method strided_methods[] = {
    {"individual", false, open_with_view, individual_read, individual_write, mpi_io_sync, mpi_io_close},
    {"individual-collective", false, open_with_view, individual_read_all, individual_write_all, mpi_io_sync,
     mpi_io_close},
    {0}};
