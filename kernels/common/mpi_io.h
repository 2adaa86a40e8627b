/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of MPI-IO, and which implementation is in use, as far as that can be detected: results can differ by a factor
 * of several. Only in builds with MPI-IO. */
#pragma once

#include <mpi.h>

#include "log.h"

/* The library's text for a failed call and a remedy (see io_error.h), in static storage. */
const char *mpi_io_error(int code, const char *less_data);

/* The hints that the library reports as in effect for an open file, name to value. */
json_t *hints_in_effect(MPI_File file);

/* Writes the record `mpi_io`, once: which implementation of MPI-IO opened the file, "romio", "ompio" or null. */
void mpi_io_log_component(struct log *log, MPI_File file);
