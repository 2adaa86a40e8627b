/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that generate load on a file system: each writes or reads a file of its own, or both, until it is
 * stopped. */
#pragma once

#include <stdint.h>

#include "filesystem.h"
#include "load.h"
#include "run.h"

enum { FILE_LOAD_CHUNK = 1 << 20 /* what a process writes or reads at once; files have a multiple of it */ };

struct file_load {
    const char *name; /* of the kind of load */
    bool writes, reads;
    int64_t file_bytes;
    bool prepared; /* the file that is only read was written, in an earlier phase */
};

/* Describes the directory of the load's files, each of `file_bytes`; refuses one without space for them. Collective. */
struct filesystem file_load_describe(const struct run *run, const char *directory, int64_t file_bytes);

/* On each generating process: generates the load until stop_generators(), with a file in the run's directory (see
 * scratch.h). It goes through the file in rounds of FILE_LOAD_CHUNK, again and again. A round writes a chunk, has it
 * written to the file system and evicts it from this node's page cache; then it reads and checks the chunk. A file that
 * is only read is written before, and evicted each time before it is read from the beginning. The traffic is that of
 * whole rounds, from the end of the first to the end of the last one. After an error the process waits until it is
 * stopped, and `reason` says what happened. */
struct traffic file_load_generate(struct file_load *files, const struct load *load);
