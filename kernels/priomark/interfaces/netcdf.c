/* SPDX-License-Identifier: Apache-2.0 */
/* Parallel netCDF-4: the data of all processes is one variable of bytes, and a block is a part of it. With COLLECTIVE,
 * transfers are collective. */
#include <netcdf.h>
#include <netcdf_par.h>
#include <string.h>

#include "library.h"

/* The number of the only variable, and the bytes from which an object is aligned: data, but not metadata. */
enum { DATA, LEAST_ALIGNED = 4096 };

static void check(const struct priomark_file *file, int error, const char *what)
{
    if (error)
        priomark_stop(file, what, "%s; check the free space and the file system", nc_strerror(error));
}

/* Without NC_NOFILL, the library would write everything twice. */
static void define_data(struct priomark_file *file)
{
    int dimension, data;
    const size_t bytes = (size_t)data_bytes(file);
    const size_t chunk = (size_t)priomark_hint(file, "chunk");
    check(file, nc_def_dim(file->descriptor, "byte", bytes, &dimension), "create");
    check(file, nc_def_var(file->descriptor, "data", NC_UBYTE, 1, &dimension, &data), "create");
    check(file, nc_def_var_fill(file->descriptor, data, NC_NOFILL, NULL), "create");
    check(file,
          nc_def_var_chunking(file->descriptor, data, chunk ? NC_CHUNKED : NC_CONTIGUOUS,
                              chunk ? (chunk < bytes ? &chunk : &bytes) : NULL),
          "set chunks of");
    check(file, nc_enddef(file->descriptor), "create");
}

static void open_file(struct priomark_file *file, bool create)
{
    const MPI_Comm communicator = *(const MPI_Comm *)file->communicator;
    const int64_t alignment = alignment_of(file);
    if (alignment > 0)
        check(file, nc_set_alignment(LEAST_ALIGNED, (int)alignment), "align objects of");
    if (create)
        check(file, nc_create_par(file->path, NC_NETCDF4 | NC_CLOBBER, communicator, MPI_INFO_NULL, &file->descriptor),
              "create");
    else
        check(file,
              nc_open_par(file->path, file->reads_only ? NC_NOWRITE : NC_WRITE, communicator, MPI_INFO_NULL,
                          &file->descriptor),
              "open");
    if (create)
        define_data(file);
    check(file, nc_var_par_access(file->descriptor, DATA, COLLECTIVE ? NC_COLLECTIVE : NC_INDEPENDENT), "open");
}

static void read_block(struct priomark_file *file, char *data, int64_t bytes, int64_t offset)
{
    const size_t start = (size_t)offset, count = (size_t)bytes;
    check(file, nc_get_vara_uchar(file->descriptor, DATA, &start, &count, (unsigned char *)data), "read");
}

static void write_block(struct priomark_file *file, const char *data, int64_t bytes, int64_t offset)
{
    const size_t start = (size_t)offset, count = (size_t)bytes;
    check(file, nc_put_vara_uchar(file->descriptor, DATA, &start, &count, (const unsigned char *)data), "write");
}

static void sync_file(struct priomark_file *file)
{
    check(file, nc_sync(file->descriptor), "synchronise");
}

static void close_file(struct priomark_file *file)
{
    check(file, nc_close(file->descriptor), "close");
}

static const char *properties(void)
{
    static char version[64] = "netCDF ";
    if (strlen(version) == strlen("netCDF "))
        strncat(version, nc_inq_libvers(), 40);
    return version;
}

static const char *const hints[] = {"alignment", "chunk", NULL};

const struct priomark_interface priomark_interface = {
    LIBRARY(netcdf, "a variable of bytes in a file of parallel netCDF-4"),
};
