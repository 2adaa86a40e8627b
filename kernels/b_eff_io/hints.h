/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Info hints, as NAME=VALUE,... or from a file in libconfig's syntax: a list `hints` of groups, each with `set = {
 * name = "value"; ... }` and optionally `method`, `type` and `chunk`, to which it is limited. Later groups override
 * earlier ones. */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "patterns.h"

struct hints;

/* Rank 0 reads the file and sends it to all. NULL without a path. Refuses what cannot be read or parsed, and a chunk
 * that none of the patterns has. */
struct hints *hints_read(const char *path, const struct pattern patterns[PATTERNS]);
void hints_free(struct hints *hints);

/* The hints for an access method and pattern type; chunk_bytes 0: those for the whole file. MPI_INFO_NULL if there are
 * none. The caller frees the object. */
MPI_Info hints_for(const struct hints *hints, const char *method, const char *type, int64_t chunk_bytes);

/* Whether some hints are limited to this chunk. */
bool hints_name_chunk(const struct hints *hints, const char *method, const char *type, int64_t chunk_bytes);
