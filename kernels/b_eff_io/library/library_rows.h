/* SPDX-License-Identifier: Apache-2.0 */
/* Types scatter, segmented and segmented-collective through an interface of PRIOMark, such as a library of files,
 * instead of MPI-IO: other rows of the table of pattern types. */
#pragma once

#include <jansson.h>

#include "request.h"

/* The name of `--interface` for MPI-IO, with which the others are compared. */
#define NO_LIBRARY "mpi-io"

/* Checks --interface, the types and the space limit that were chosen, and sets the rows of the request. `name`, with or
 * without a directory, is that of the interface with independent calls; the one of collective calls has the suffix
 * -collective. `hints` are those of the interfaces, NULL without any. Refuses what cannot be loaded or used. The
 * request must stay where it is. Collective. */
void library_begin(struct request *request, const char *name, const char *hints);

/* The interfaces that are loaded, for the plan in the log. */
json_t *library_json(void);
