/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a share of each node's memory (--fill-memory), so that there is less room for the page cache. */
#pragma once

#include <stdint.h>

#include "run.h"

struct memory_fill {
    int64_t percent;
    char *memory; /* this process's part; NULL: nothing is filled */
    int64_t bytes;
    int64_t available_bytes; /* on the node before */
};

/* Refuses the run if the share does not fit into what is available on a node beside `process_bytes` of each process.
 * Collective; does nothing for 0 percent. */
void memory_fill_check(const struct machine *machine, int64_t percent, int64_t process_bytes);

/* The processes of each node together allocate the share and write to all of its pages. The run fails if it does not
 * fit any more. Collective; nothing is filled for 0 percent. */
struct memory_fill memory_fill_begin(const struct machine *machine, int64_t percent);

/* Releases the memory, and writes the record `memory_fill`: what was filled, and how much of it was still resident.
 * Collective; does nothing if nothing was filled. */
void memory_fill_end(const struct run *run, struct memory_fill *fill);
