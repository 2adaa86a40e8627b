/* SPDX-License-Identifier: Apache-2.0 */
/* See storage.h: the methods with MPI-IO calls. Whether a nonblocking request overlaps with anything depends on the
 * library: some do all the work in the call that starts it. */
#include <limits.h>
#include <stdlib.h>

#include "fail.h"
#include "host.h"
#include "memory.h"
#include "mpi_io.h"
#include "storage.h"

struct opened {
    MPI_File file;
    int64_t pointer; /* the individual file pointer */
    MPI_Request request;
    MPI_Status status;
    enum priomark_operation operation; /* of the request */
    int64_t bytes;
};

static void check(const struct priomark_file *file, int code, const char *what)
{
    if (code != MPI_SUCCESS)
        priomark_fail(file->run, "cannot %s '%s' through MPI-IO: %s", what, file->path, mpi_io_error(code, LESS_DATA));
}

/* Some libraries report a full disk only by a short count. */
static void finish_call(const struct priomark_file *file, int code, int64_t bytes, enum priomark_operation operation)
{
    const struct opened *opened = file->own;
    int count = 0;
    check(file, code, operation_names[operation]);
    MPI_CHECK(MPI_Get_count(&opened->status, MPI_BYTE, &count));
    if (count != bytes)
        stop_short(file, operation_names[operation], count, bytes);
}

static void mpi_io_open(struct priomark_file *file, bool create)
{
    struct opened *opened = file->own = allocate(1, sizeof *opened);
    const int mode = (file->reads_only ? MPI_MODE_RDONLY : MPI_MODE_RDWR) | (create ? MPI_MODE_CREATE : 0);
    const MPI_Comm comm = *(const MPI_Comm *)file->communicator;
    check(file, MPI_File_open(comm, file->path, mode, MPI_INFO_NULL, &opened->file), create ? "create" : "open");
    mpi_io_log_component(file->run->run->log, opened->file);
}

static void mpi_io_sync(struct priomark_file *file)
{
    struct opened *opened = file->own;
    check(file, MPI_File_sync(opened->file), "synchronise");
}

static void mpi_io_close(struct priomark_file *file)
{
    struct opened *opened = file->own;
    check(file, MPI_File_close(&opened->file), "close");
    free(opened);
}

/* --- individual file pointers: a call advances the pointer, so it is set only if blocks are not contiguous -------- */

static struct opened *point_at(struct priomark_file *file, int64_t offset, int64_t bytes)
{
    struct opened *opened = file->own;
    if (opened->pointer != offset)
        check(file, MPI_File_seek(opened->file, offset, MPI_SEEK_SET), "set the pointer of");
    opened->pointer = offset + bytes;
    return opened;
}

static void individual_read(struct priomark_file *file, char *data, int64_t bytes, int64_t offset)
{
    struct opened *opened = point_at(file, offset, bytes);
    finish_call(file, MPI_File_read(opened->file, data, (int)bytes, MPI_BYTE, &opened->status), bytes, PRIOMARK_READ);
}

static void individual_write(struct priomark_file *file, const char *data, int64_t bytes, int64_t offset)
{
    struct opened *opened = point_at(file, offset, bytes);
    finish_call(file, MPI_File_write(opened->file, data, (int)bytes, MPI_BYTE, &opened->status), bytes, PRIOMARK_WRITE);
}

static void individual_read_all(struct priomark_file *file, char *data, int64_t bytes, int64_t offset)
{
    struct opened *opened = point_at(file, offset, bytes);
    finish_call(file, MPI_File_read_all(opened->file, data, (int)bytes, MPI_BYTE, &opened->status), bytes,
                PRIOMARK_READ);
}

static void individual_write_all(struct priomark_file *file, const char *data, int64_t bytes, int64_t offset)
{
    struct opened *opened = point_at(file, offset, bytes);
    finish_call(file, MPI_File_write_all(opened->file, data, (int)bytes, MPI_BYTE, &opened->status), bytes,
                PRIOMARK_WRITE);
}

/* --- explicit offsets --------------------------------------------------------------------------------------------- */

static void explicit_read(struct priomark_file *file, char *data, int64_t bytes, int64_t offset)
{
    struct opened *opened = file->own;
    const int code = MPI_File_read_at(opened->file, offset, data, (int)bytes, MPI_BYTE, &opened->status);
    finish_call(file, code, bytes, PRIOMARK_READ);
}

static void explicit_write(struct priomark_file *file, const char *data, int64_t bytes, int64_t offset)
{
    struct opened *opened = file->own;
    const int code = MPI_File_write_at(opened->file, offset, data, (int)bytes, MPI_BYTE, &opened->status);
    finish_call(file, code, bytes, PRIOMARK_WRITE);
}

static void explicit_read_all(struct priomark_file *file, char *data, int64_t bytes, int64_t offset)
{
    struct opened *opened = file->own;
    const int code = MPI_File_read_at_all(opened->file, offset, data, (int)bytes, MPI_BYTE, &opened->status);
    finish_call(file, code, bytes, PRIOMARK_READ);
}

static void explicit_write_all(struct priomark_file *file, const char *data, int64_t bytes, int64_t offset)
{
    struct opened *opened = file->own;
    const int code = MPI_File_write_at_all(opened->file, offset, data, (int)bytes, MPI_BYTE, &opened->status);
    finish_call(file, code, bytes, PRIOMARK_WRITE);
}

/* --- nonblocking requests ----------------------------------------------------------------------------------------- */

static struct opened *note_request(struct opened *opened, enum priomark_operation operation, int64_t bytes)
{
    opened->operation = operation;
    opened->bytes = bytes;
    return opened;
}

static void start_individual(struct priomark_file *file, enum priomark_operation operation, char *data, int64_t bytes,
                             int64_t offset)
{
    struct opened *opened = note_request(point_at(file, offset, bytes), operation, bytes);
    const int code = operation == PRIOMARK_READ
                         ? MPI_File_iread(opened->file, data, (int)bytes, MPI_BYTE, &opened->request)
                         : MPI_File_iwrite(opened->file, data, (int)bytes, MPI_BYTE, &opened->request);
    check(file, code, operation_names[operation]);
}

static void start_explicit(struct priomark_file *file, enum priomark_operation operation, char *data, int64_t bytes,
                           int64_t offset)
{
    struct opened *opened = note_request(file->own, operation, bytes);
    const int code = operation == PRIOMARK_READ
                         ? MPI_File_iread_at(opened->file, offset, data, (int)bytes, MPI_BYTE, &opened->request)
                         : MPI_File_iwrite_at(opened->file, offset, data, (int)bytes, MPI_BYTE, &opened->request);
    check(file, code, operation_names[operation]);
}

static bool done(struct priomark_file *file)
{
    struct opened *opened = file->own;
    int flag = 0;
    const int code = MPI_Test(&opened->request, &flag, &opened->status);
    if (code != MPI_SUCCESS || flag)
        finish_call(file, code, opened->bytes, opened->operation);
    return flag;
}

static void finish(struct priomark_file *file)
{
    struct opened *opened = file->own;
    finish_call(file, MPI_Wait(&opened->request, &opened->status), opened->bytes, opened->operation);
}

/* --- a view in which the blocks of a process are contiguous ------------------------------------------------------- */

static void set_view(struct priomark_file *file)
{
    const struct opened *opened = file->own;
    MPI_Datatype blocks, view;
    MPI_CHECK(MPI_Type_contiguous((int)(file->run_blocks * file->block_bytes), MPI_BYTE, &blocks));
    MPI_CHECK(MPI_Type_create_resized(blocks, 0, (MPI_Aint)file->stride_bytes, &view));
    MPI_CHECK(MPI_Type_commit(&view));
    check(file, MPI_File_set_view(opened->file, file->start, MPI_BYTE, view, "native", MPI_INFO_NULL),
          "set the view of");
    MPI_CHECK(MPI_Type_free(&view));
    MPI_CHECK(MPI_Type_free(&blocks));
}

/* --- the tables --------------------------------------------------------------------------------------------------- */

#define MPI_IO_FUNCTIONS .plain = true, .open = mpi_io_open, .sync = mpi_io_sync, .close = mpi_io_close

const struct priomark_interface individual_interface = {.name = "individual",
                                                        .read = individual_read,
                                                        .write = individual_write,
                                                        .start = start_individual,
                                                        .done = done,
                                                        .finish = finish,
                                                        .view = set_view,
                                                        MPI_IO_FUNCTIONS};

const struct priomark_interface individual_collective_interface = {.name = "individual-collective",
                                                                   .collective = true,
                                                                   .read = individual_read_all,
                                                                   .write = individual_write_all,
                                                                   .view = set_view,
                                                                   MPI_IO_FUNCTIONS};

const struct priomark_interface explicit_interface = {.name = "explicit",
                                                      .read = explicit_read,
                                                      .write = explicit_write,
                                                      .start = start_explicit,
                                                      .done = done,
                                                      .finish = finish,
                                                      MPI_IO_FUNCTIONS};

const struct priomark_interface explicit_collective_interface = {.name = "explicit-collective",
                                                                 .collective = true,
                                                                 .read = explicit_read_all,
                                                                 .write = explicit_write_all,
                                                                 MPI_IO_FUNCTIONS};
