/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that generate the load `io`: each writes and reads a file of its own until it is stopped. */
#ifndef B_EFF_FILE_LOAD_H
#define B_EFF_FILE_LOAD_H

#include <stdint.h>

#include "filesystem.h"
#include "generators.h"
#include "load.h"
#include "run.h"

/* Describes the directory of the load's files; refuses one without space for them. Collective. */
struct filesystem file_load_describe(const struct run *run, const char *directory);

/* On each generating process: in rounds, writes FILE_LOAD_BYTES to its file in the run's directory (see scratch.h),
 * has them written to the file system, evicts them from this node's page cache, and reads and checks them, until
 * stop_generators(). The traffic is that of whole rounds, from the end of the first to the end of the last one. After
 * an error the process waits until it is stopped, and `reason` says what happened. */
struct traffic generate_io(const struct load *load);

#endif
