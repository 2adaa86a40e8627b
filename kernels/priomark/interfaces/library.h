/* SPDX-License-Identifier: Apache-2.0 */
/* What the interfaces to HDF5, PnetCDF and netCDF-4 share. Each is compiled for independent and for COLLECTIVE
 * transfers.
 */
#pragma once

#include <mpi.h>
#include <priomark_interface.h>

/* Of all processes of the file. */
static inline int64_t data_bytes(const struct priomark_file *file)
{
    int processes;
    MPI_Comm_size(*(const MPI_Comm *)file->communicator, &processes);
    return processes * file->blocks * file->block_bytes;
}

/* The hint `alignment`, which netCDF and PnetCDF keep in an int. */
static inline int64_t alignment_of(const struct priomark_file *file)
{
    const int64_t bytes = priomark_hint(file, "alignment");
    if (bytes > INT64_C(1) << 30)
        priomark_stop(file, "align objects of", "the hint alignment is larger than 1GiB; choose a smaller one");
    return bytes;
}

/* The part of the process after view(): `run` contiguous bytes begin at `start`, and the next ones `stride` bytes
 * farther. Without a view, `run` is 0. */
static struct {
    int64_t start, run, stride;
} seen;

static inline void view_part(struct priomark_file *file)
{
    seen.start = file->start;
    seen.run = file->run_blocks * file->block_bytes;
    seen.stride = file->stride_bytes;
}

/* Where a byte of the part is in the data, and how many of `bytes` bytes are contiguous: with more than one run, they
 * are whole runs. */
static inline int64_t place_of(int64_t offset)
{
    return seen.run ? seen.start + offset / seen.run * seen.stride + offset % seen.run : offset;
}

static inline int64_t contiguous(int64_t bytes)
{
    return seen.run && seen.run < bytes ? seen.run : bytes;
}

/* Fields of the table, for functions and hints with these names. */
#define LIBRARY(library, summary_)                                                                                \
    .version = PRIOMARK_INTERFACE, .name = COLLECTIVE ? #library "-collective" : #library, .summary = (summary_), \
    .collective = COLLECTIVE, .open = open_file, .read = read_block, .write = write_block, .sync = sync_file,     \
    .close = close_file, .properties = properties, .hints = hints
