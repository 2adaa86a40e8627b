/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a pattern type: opened before its patterns, closed after them. */
#pragma once

#include "layout.h"
#include "state.h"

/* Times and sizes of a type's files. */
struct files {
    double open_seconds, close_seconds; /* of the slowest process */
    int64_t bytes;                      /* of all files together */
    int64_t cached_bytes;      /* still in a node's cache after eviction, maximum over the processes; -1: no eviction */
    struct file_layout layout; /* of this process's own file, or on rank 0 of the file that the processes share */
};

/* All are collective over the partition and end the run if a process fails. `chunk_bytes` selects hints; 0: only those
 * of whole files. */
void open_files(struct step *now, int64_t chunk_bytes, struct files *files);

/* Compares the size of the file with `expected_bytes` as well, because not every library reports a full disk. */
void close_files(struct step *now, int64_t expected_bytes, struct files *files);

/* Removes them, so that the next ones are new. */
void remove_files(const struct step *now);
