/* SPDX-License-Identifier: Apache-2.0 */
/* See storage.h. The table of methods is at the end. */
#include "storage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail.h"
#include "io_error.h"
#include "mpi_io.h"
#include "peers.h"
#include "scratch.h"

static const char less_data[] = "choose a smaller --input";

struct storage storage_prepare(const struct storage_method *method, const struct sizes *sizes, int rank, bool direct)
{
    return (struct storage){.method = method,
                            .direct = direct,
                            .rank = rank,
                            .strip_width = sizes->square,
                            .matrix_width = sizes->width,
                            .file = -1,
                            .shared = MPI_FILE_NULL};
}

static void name_file(struct storage *storage)
{
    char name[64];
    snprintf(name, sizeof name, storage->method->file_name, storage->rank);
    scratch_path(storage->path, sizeof storage->path, name);
    peers_access(storage->path);
}

/* --- a file per process ------------------------------------------------------------------------------------------- */

static _Noreturn void stop(const struct storage *storage, const char *what, int error)
{
    fail("cannot %s '%s': %s; %s", what, storage->path, strerror(error), io_remedy(error, storage->direct, less_data));
}

static void posix_open(struct storage *storage)
{
    name_file(storage);
    storage->file = open(storage->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | (storage->direct ? O_DIRECT : 0), 0600);
    if (storage->file < 0)
        stop(storage, "create", errno);
}

static int64_t read_range(struct storage *storage, char *data, int64_t bytes, int64_t offset)
{
    int64_t calls = 0;
    while (bytes > 0) {
        const ssize_t count = pread(storage->file, data, (size_t)bytes, offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            stop(storage, "read", errno);
        if (count == 0)
            fail("'%s' ends at byte %" PRId64
                 ", before the data that was written to it; did another program change it?",
                 storage->path, offset);
        data += count, offset += count, bytes -= count, calls++;
    }
    return calls;
}

static int64_t write_range(struct storage *storage, const char *data, int64_t bytes, int64_t offset)
{
    int64_t calls = 0;
    while (bytes > 0) {
        const ssize_t count = pwrite(storage->file, data, (size_t)bytes, offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            stop(storage, "write", count < 0 ? errno : ENOSPC);
        data += count, offset += count, bytes -= count, calls++;
    }
    return calls;
}

/* The strip is stored row by row, so rows of its full width are contiguous. */
static struct block joined(const struct storage *storage, struct block block)
{
    if (block.columns == storage->strip_width)
        return (struct block){block.row, 0, 1, block.rows * block.columns};
    return block;
}

static int64_t strip_offset(const struct storage *storage, struct block block, int64_t row)
{
    return ((block.row + row) * storage->strip_width + block.column) * ELEMENT_BYTES;
}

static int64_t posix_read(struct storage *storage, struct block block, double complex *elements)
{
    int64_t calls = 0;
    block = joined(storage, block);
    for (int64_t r = 0; r < block.rows; r++)
        calls += read_range(storage, (char *)(elements + r * block.columns), block.columns * ELEMENT_BYTES,
                            strip_offset(storage, block, r));
    return calls;
}

static int64_t posix_write(struct storage *storage, struct block block, const double complex *elements)
{
    int64_t calls = 0;
    block = joined(storage, block);
    for (int64_t r = 0; r < block.rows; r++)
        calls += write_range(storage, (const char *)(elements + r * block.columns), block.columns * ELEMENT_BYTES,
                             strip_offset(storage, block, r));
    return calls;
}

static void posix_flush(struct storage *storage)
{
    if (fdatasync(storage->file) != 0)
        stop(storage, "flush", errno);
}

/* The file must still exist: a deleted file that is open would otherwise be measured to the end. */
static void posix_close(struct storage *storage, bool keep)
{
    struct stat opened, named;
    if (fstat(storage->file, &opened) != 0)
        stop(storage, "examine", errno);
    if (stat(storage->path, &named) != 0)
        stop(storage, "find", errno);
    if (opened.st_ino != named.st_ino || opened.st_dev != named.st_dev)
        fail("'%s' is not the file of this run any more; did another program replace it?", storage->path);
    layout_of_file(storage->path, &storage->layout);
    if (close(storage->file) != 0)
        stop(storage, "close", errno);
    storage->file = -1;
    if (!keep && unlink(storage->path) != 0)
        stop(storage, "remove", errno);
}

/* --- one shared file through MPI-IO ------------------------------------------------------------------------------- */

/* The file contains the matrix row by row; a process's part of a row is between those of its neighbours. */
static MPI_Offset shared_offset(const struct storage *storage, struct block block, int64_t row)
{
    return ((block.row + row) * storage->matrix_width + storage->rank * storage->strip_width + block.column) *
           ELEMENT_BYTES;
}

static void check_file(const struct storage *storage, int code, const char *what)
{
    if (code != MPI_SUCCESS)
        fail("cannot %s '%s' through MPI-IO: %s", what, storage->path, mpi_io_error(code, less_data));
}

/* Some libraries report a full disk only by a short count. */
static void check_count(const struct storage *storage, MPI_Status *status, int64_t elements, const char *what)
{
    int count = 0;
    MPI_CHECK(MPI_Get_count(status, MPI_C_DOUBLE_COMPLEX, &count));
    if (count != elements)
        fail("MPI-IO %s only %d of %" PRId64 " elements of '%s'; is the file system full?", what, count, elements,
             storage->path);
}

static void mpiio_open(struct storage *storage)
{
    name_file(storage);
    check_file(storage,
               MPI_File_open(MPI_COMM_WORLD, storage->path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL,
                             MPI_INFO_NULL, &storage->shared),
               "create");
}

static int64_t mpiio_read(struct storage *storage, struct block block, double complex *elements)
{
    for (int64_t r = 0; r < block.rows; r++) {
        MPI_Status status;
        check_file(storage,
                   MPI_File_read_at(storage->shared, shared_offset(storage, block, r), elements + r * block.columns,
                                    (int)block.columns, MPI_C_DOUBLE_COMPLEX, &status),
                   "read");
        check_count(storage, &status, block.columns, "read");
    }
    return block.rows;
}

static int64_t mpiio_write(struct storage *storage, struct block block, const double complex *elements)
{
    for (int64_t r = 0; r < block.rows; r++) {
        MPI_Status status;
        check_file(storage,
                   MPI_File_write_at(storage->shared, shared_offset(storage, block, r), elements + r * block.columns,
                                     (int)block.columns, MPI_C_DOUBLE_COMPLEX, &status),
                   "write");
        check_count(storage, &status, block.columns, "wrote");
    }
    return block.rows;
}

static void mpiio_flush(struct storage *storage)
{
    check_file(storage, MPI_File_sync(storage->shared), "flush");
}

static void mpiio_close(struct storage *storage, bool keep)
{
    if (access(storage->path, F_OK) != 0)
        stop(storage, "find", errno);
    check_file(storage, MPI_File_close(&storage->shared), "close");
    if (storage->rank == 0)
        layout_of_file(storage->path, &storage->layout);
    if (!keep && storage->rank == 0)
        check_file(storage, MPI_File_delete(storage->path, MPI_INFO_NULL), "remove");
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

const struct storage_method storage_methods[] = {
    {"posix", "strip-%06d", false, true, posix_open, posix_read, posix_write, posix_flush, posix_close},
    {"mpiio", "matrix", true, false, mpiio_open, mpiio_read, mpiio_write, mpiio_flush, mpiio_close},
    {0}};
