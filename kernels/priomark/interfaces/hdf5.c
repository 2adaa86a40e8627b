/* SPDX-License-Identifier: Apache-2.0 */
/* Parallel HDF5: the data of all processes is one dataset of bytes, and a block is a hyperslab of it. With COLLECTIVE,
 * transfers are collective. A file of one process has the MPI-IO driver as well: it is the one whose flush reaches
 * storage. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

#include "library.h"

enum { LEAST_ALIGNED = 4096 }; /* bytes: data, but not metadata */

struct opened {
    hid_t file, data, transfer;
};

/* The innermost error has the reason. */
static herr_t note_reason(unsigned n, const H5E_error2_t *error, void *reason)
{
    if (n == 0)
        snprintf(reason, 512, "%s", error->desc ? error->desc : "no reason given");
    return 0;
}

/* `result` of a call: negative if it failed. */
static int64_t check(const struct priomark_file *file, int64_t result, const char *what)
{
    char reason[512] = "no reason given";
    if (result >= 0)
        return result;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, note_reason, reason);
    priomark_stop(file, what, "%s; check the free space and the file system", reason);
}

static hid_t access_list(struct priomark_file *file)
{
    const hid_t list = check(file, H5Pcreate(H5P_FILE_ACCESS), "open");
    const int64_t alignment = priomark_hint(file, "alignment");
    const bool collective = priomark_hint(file, "collective_metadata") > 0;
    check(file, H5Pset_fapl_mpio(list, *(const MPI_Comm *)file->communicator, MPI_INFO_NULL), "open");
    check(file, H5Pset_coll_metadata_write(list, collective), "open");
    check(file, H5Pset_all_coll_metadata_ops(list, collective), "open");
    if (alignment > 0)
        check(file, H5Pset_alignment(list, LEAST_ALIGNED, (hsize_t)alignment), "align objects of");
    return list;
}

/* Its space is allocated when it is created, as parallel HDF5 requires it, and is not filled. */
static hid_t create_data(struct priomark_file *file, hid_t in)
{
    const hsize_t bytes = (hsize_t)data_bytes(file);
    const hsize_t chunk = (hsize_t)priomark_hint(file, "chunk");
    const hid_t space = check(file, H5Screate_simple(1, &bytes, NULL), "create");
    const hid_t list = check(file, H5Pcreate(H5P_DATASET_CREATE), "create");
    check(file, H5Pset_fill_time(list, H5D_FILL_TIME_NEVER), "create");
    if (chunk > 0)
        check(file, H5Pset_chunk(list, 1, chunk < bytes ? &chunk : &bytes), "set chunks of");
    const hid_t data =
        check(file, H5Dcreate2(in, "data", H5T_NATIVE_UCHAR, space, H5P_DEFAULT, list, H5P_DEFAULT), "create");
    H5Pclose(list);
    H5Sclose(space);
    return data;
}

static void open_file(struct priomark_file *file, bool create)
{
    struct opened *opened = calloc(1, sizeof *opened);
    if (!opened)
        priomark_stop(file, "open", "no memory; use fewer processes on a node");
    H5dont_atexit(); /* a run that failed does not wait for other processes */
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    const hid_t access = access_list(file);
    opened->file = check(file,
                         create ? H5Fcreate(file->path, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                                : H5Fopen(file->path, file->reads_only ? H5F_ACC_RDONLY : H5F_ACC_RDWR, access),
                         "open");
    H5Pclose(access);
    opened->data =
        create ? create_data(file, opened->file) : check(file, H5Dopen2(opened->file, "data", H5P_DEFAULT), "open");
    opened->transfer = check(file, H5Pcreate(H5P_DATASET_XFER), "open");
    check(file, H5Pset_dxpl_mpio(opened->transfer, COLLECTIVE ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT), "open");
    file->own = opened;
    seen.run = 0;
}

/* Reads to `in`, or writes `out`. */
static void move(struct priomark_file *file, char *in, const char *out, int64_t bytes, int64_t offset)
{
    const struct opened *opened = file->own;
    const char *what = in ? "read" : "write";
    const hsize_t start = (hsize_t)place_of(offset), all = (hsize_t)bytes, run = (hsize_t)contiguous(bytes);
    const hsize_t runs = all / run, stride = runs > 1 ? (hsize_t)seen.stride : run;
    const hid_t memory = check(file, H5Screate_simple(1, &all, NULL), what);
    const hid_t place = check(file, H5Dget_space(opened->data), what);
    check(file, H5Sselect_hyperslab(place, H5S_SELECT_SET, &start, &stride, &runs, &run), what);
    check(file,
          in ? H5Dread(opened->data, H5T_NATIVE_UCHAR, memory, place, opened->transfer, in)
             : H5Dwrite(opened->data, H5T_NATIVE_UCHAR, memory, place, opened->transfer, out),
          what);
    H5Sclose(place);
    H5Sclose(memory);
}

static void read_block(struct priomark_file *file, char *data, int64_t bytes, int64_t offset)
{
    move(file, data, NULL, bytes, offset);
}

static void write_block(struct priomark_file *file, const char *data, int64_t bytes, int64_t offset)
{
    move(file, NULL, data, bytes, offset);
}

static void sync_file(struct priomark_file *file)
{
    check(file, H5Fflush(((struct opened *)file->own)->file, H5F_SCOPE_GLOBAL), "synchronise");
}

static void close_file(struct priomark_file *file)
{
    const struct opened *opened = file->own;
    check(file, H5Pclose(opened->transfer), "close");
    check(file, H5Dclose(opened->data), "close");
    check(file, H5Fclose(opened->file), "close");
    free(file->own);
}

static const char *properties(void)
{
    static char version[64];
    unsigned major, minor, release;
    H5get_libversion(&major, &minor, &release);
    snprintf(version, sizeof version, "HDF5 %u.%u.%u", major, minor, release);
    return version;
}

static const char *const hints[] = {"alignment", "chunk", "collective_metadata", NULL};

const struct priomark_interface priomark_interface = {
    LIBRARY(hdf5, "a dataset of bytes in a file of parallel HDF5"),
    .view = view_part,
};
