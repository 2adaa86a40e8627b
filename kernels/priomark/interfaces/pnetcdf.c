/* SPDX-License-Identifier: Apache-2.0 */
/* PnetCDF: the data of all processes is one variable of bytes in a file of the format CDF-5, and a block is a part of
 * it. With COLLECTIVE, transfers are collective. Without it, they can also be posted (nonblocking): the library moves
 * the data when it waits for them. */
#include <inttypes.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

#include "library.h"

/* The file has one variable, whose number is 0. */
enum { DATA };

#if COLLECTIVE
#define TRANSFER(call) call##_all
#else
#define TRANSFER(call) call
#endif

static int request; /* that was posted */

static void check(const struct priomark_file *file, int error, const char *what)
{
    if (error != NC_NOERR)
        priomark_stop(file, what, "%s; check the free space and the file system", ncmpi_strerror(error));
}

static void define_data(struct priomark_file *file)
{
    int dimension, data;
    check(file, ncmpi_def_dim(file->descriptor, "byte", data_bytes(file), &dimension), "create");
    check(file, ncmpi_def_var(file->descriptor, "data", NC_UBYTE, 1, &dimension, &data), "create");
    check(file, ncmpi_enddef(file->descriptor), "create");
}

static void open_file(struct priomark_file *file, bool create)
{
    const MPI_Comm communicator = *(const MPI_Comm *)file->communicator;
    const int64_t alignment = alignment_of(file);
    char value[32];
    MPI_Info info;
    MPI_Info_create(&info);
    snprintf(value, sizeof value, "%" PRId64, alignment);
    if (alignment > 0)
        MPI_Info_set(info, "nc_var_align_size", value);
    check(file,
          create
              ? ncmpi_create(communicator, file->path, NC_CLOBBER | NC_64BIT_DATA, info, &file->descriptor)
              : ncmpi_open(communicator, file->path, file->reads_only ? NC_NOWRITE : NC_WRITE, info, &file->descriptor),
          "open");
    MPI_Info_free(&info);
    if (create)
        define_data(file);
    seen.run = 0;
    if (!COLLECTIVE)
        check(file, ncmpi_begin_indep_data(file->descriptor), "open");
}

/* Several runs of a view in one call. Reads to `in`, or writes `out`. */
static void move_runs(struct priomark_file *file, unsigned char *in, const unsigned char *out, int64_t bytes,
                      int64_t offset)
{
    const int runs = (int)(bytes / seen.run);
    MPI_Offset *place = calloc((size_t)runs, sizeof *place), run = seen.run;
    MPI_Offset **start = calloc(2 * (size_t)runs, sizeof *start), **count = start + runs;
    if (!place || !start)
        priomark_stop(file, "access", "no memory; use fewer processes on a node");
    for (int i = 0; i < runs; i++) {
        place[i] = place_of(offset + i * seen.run);
        start[i] = &place[i];
        count[i] = &run;
    }
    if (in)
        check(file, TRANSFER(ncmpi_get_varn_uchar)(file->descriptor, DATA, runs, start, count, in), "read");
    else
        check(file, TRANSFER(ncmpi_put_varn_uchar)(file->descriptor, DATA, runs, start, count, out), "write");
    free(start);
    free(place);
}

static void read_block(struct priomark_file *file, char *data, int64_t bytes, int64_t offset)
{
    const MPI_Offset start = place_of(offset), count = bytes;
    unsigned char *to = (unsigned char *)data;
    if (contiguous(bytes) < bytes)
        move_runs(file, to, NULL, bytes, offset);
    else
        check(file, TRANSFER(ncmpi_get_vara_uchar)(file->descriptor, DATA, &start, &count, to), "read");
}

static void write_block(struct priomark_file *file, const char *data, int64_t bytes, int64_t offset)
{
    const MPI_Offset start = place_of(offset), count = bytes;
    const unsigned char *from = (const unsigned char *)data;
    if (contiguous(bytes) < bytes)
        move_runs(file, NULL, from, bytes, offset);
    else
        check(file, TRANSFER(ncmpi_put_vara_uchar)(file->descriptor, DATA, &start, &count, from), "write");
}

static void start_transfer(struct priomark_file *file, enum priomark_operation operation, char *data, int64_t bytes,
                           int64_t offset)
{
    const MPI_Offset start = place_of(offset), count = bytes;
    unsigned char *at = (unsigned char *)data;
    check(file,
          operation == PRIOMARK_READ ? ncmpi_iget_vara_uchar(file->descriptor, DATA, &start, &count, at, &request)
                                     : ncmpi_iput_vara_uchar(file->descriptor, DATA, &start, &count, at, &request),
          "start a transfer of");
}

static bool done(struct priomark_file *file)
{
    (void)file;
    return false;
}

static void finish(struct priomark_file *file)
{
    int status = NC_NOERR;
    check(file, ncmpi_wait(file->descriptor, 1, &request, &status), "wait for a transfer of");
    check(file, status, "transfer data of");
}

static void sync_file(struct priomark_file *file)
{
    check(file, ncmpi_sync(file->descriptor), "synchronise");
}

static void close_file(struct priomark_file *file)
{
    check(file, ncmpi_close(file->descriptor), "close");
}

static const char *properties(void)
{
    static char version[64];
    snprintf(version, sizeof version, "PnetCDF %.40s", ncmpi_inq_libvers());
    return version;
}

static const char *const hints[] = {"alignment", NULL};

const struct priomark_interface priomark_interface = {
    LIBRARY(pnetcdf, "a variable of bytes in a file of PnetCDF"),
    .view = view_part,
    .start = COLLECTIVE ? NULL : start_transfer,
    .done = COLLECTIVE ? NULL : done,
    .finish = COLLECTIVE ? NULL : finish,
};
