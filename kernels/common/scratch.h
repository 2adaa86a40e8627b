/* SPDX-License-Identifier: Apache-2.0 */
/* The run's own directory for the files under test. It is removed at the end of the run, however that ends: complete,
 * failed, interrupted or killed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Creates PARENT/PROGRAM-XXXXXX on every node (rank 0 chooses the name) and returns its path, the same on all ranks.
 * From now on, fail(), fail_together(), SIGTERM, SIGINT and the keeper remove it with all files in it, unless `keep` is
 * set. Collective over MPI_COMM_WORLD, after the log is open; fails with a clear error if it cannot be created. */
const char *scratch_create(const char *parent, const char *program, bool keep);

/* Joins the run's directory and a file name. */
void scratch_path(char *path, size_t path_bytes, const char *name);

/* At the normal end: removes the directory with its contents, unless it is kept. Collective; call before run_end(). */
void scratch_remove(void);
