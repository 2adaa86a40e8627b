/* SPDX-License-Identifier: Apache-2.0 */
/* Types scatter, segmented and segmented-collective through an interface of PRIOMark, such as a library of files,
 * instead of MPI-IO: other rows of the table of pattern types. */
#pragma once

#include <jansson.h>

#include "request.h"

/* Checks --interface, whose `name`, with or without a directory, is that of the interface with independent calls; the
 * one of collective calls has the suffix -collective. Sets the rows of the request, which must stay where it is.
 * Refuses what cannot be loaded or used. Whether the interfaces are loaded, and so have the hints; not without a name,
 * or for mpi-io, with which the others are compared. Collective. */
bool library_begin(struct request *request, const char *name, const struct file_choices *files);

/* ", through hdf5", or "" without a name. */
const char *library_label(void);

/* The interfaces that are loaded, for the plan in the log. */
json_t *library_json(void);
