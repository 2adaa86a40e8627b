/* SPDX-License-Identifier: Apache-2.0 */
/* Which implementation of MPI-I/O is at work, as far as that can be seen: it changes results several times over. Only
 * in builds with MPI-IO. */
#ifndef COFFEECUP_MPI_IO_H
#define COFFEECUP_MPI_IO_H

#include <jansson.h>
#include <mpi.h>

/* What the library says is in effect for an open file, name to value. */
json_t *hints_in_effect(MPI_File file);

/* The log's `component`, given the hints in effect for a file that is open: "romio", "ompio" or null. */
json_t *mpi_io_component(const json_t *hints);

#endif
