/* SPDX-License-Identifier: Apache-2.0 */
/* What binds a run to its place, its time and its programs: who started it in which job, and the hashes of what ran.
 * Collected before the log is opened, never while anything is measured. */
#pragma once

#include <jansson.h>

#include "options.h"

/* The field `provenance` of the record `run`: the acceptance's nonce (COFFEECUP_ACCEPTANCE), the user, the job as
 * the scheduler's environment states it, and the libraries that were loaded before those that the program needs; null
 * where unknown. */
json_t *provenance_json(void);

/* The fields of the record `files`: path and SHA-256 of the program, of the libraries that it has loaded and of the
 * input files that options name, and the nodes on which another program or library runs than on that of rank 0.
 * `leader` is the first rank of this node. Collective; NULL on all ranks except 0, and in simulations. */
json_t *files_json(const struct option_row *options, int leader);
