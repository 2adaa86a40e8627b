/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured under load: a few patterns of b_eff_io, again and again, with and without load. Pure functions of
 * the plan. */
#pragma once

#include "load.h"
#include "request.h"

enum load_kind { LOAD_READ, LOAD_WRITE, LOAD_KINDS };
extern const char *const load_kind_names[]; /* NULL-terminated, indexed by enum load_kind */

enum { LOAD_REPETITIONS = 10, LOAD_PATTERNS = 3, MOST_LOADED_CALLS = 10000 };
extern const int load_patterns[LOAD_PATTERNS]; /* numbers of patterns, ascending */

struct plan {
    struct request request; /* of b_eff_io, by the processes of the victims */
    struct load load;       /* who is measured, and who generates load */
    int64_t file_bytes;     /* of each generating process, for each kind of load */
};

/* Phases of a repetition: without load, with the first kind, without, with the next kind, ..., without. */
int phases_of(const struct load *load);

/* The time of a pass, one access method of one pattern in one phase, if load doubles it. */
double pass_seconds(const struct plan *plan);

/* Maximum number of calls of a process in a pass: the files of the generating processes need space as well. */
int64_t most_calls(const struct plan *plan, const struct pattern *pattern);

/* The calls of a pass, given those of a pass that took `elapsed_seconds`. */
int64_t choose_calls(const struct plan *plan, int64_t calls, double elapsed_seconds, int64_t most);

/* Bytes of the smallest possible run. */
int64_t least_bytes(const struct plan *plan);

/* The log's plan. Rank 0. */
json_t *plan_json(const struct plan *plan);
