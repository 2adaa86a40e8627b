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

/* Fields of the table, for functions and hints with these names. */
#define LIBRARY(library, summary_)                                                                                \
    .version = PRIOMARK_INTERFACE, .name = COLLECTIVE ? #library "-collective" : #library, .summary = (summary_), \
    .collective = COLLECTIVE, .open = open_file, .read = read_block, .write = write_block, .sync = sync_file,     \
    .close = close_file, .properties = properties, .hints = hints
