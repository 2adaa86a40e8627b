/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured under load (--load): a few patterns, again and again, with and without load. Pure functions of the
 * request. */
#ifndef B_EFF_IO_LOAD_PLAN_H
#define B_EFF_IO_LOAD_PLAN_H

#include "request.h"

enum load_kind { LOAD_READ, LOAD_WRITE, LOAD_KINDS };
extern const char *const load_kind_names[]; /* NULL-terminated, indexed by enum load_kind */

enum { LOAD_REPETITIONS = 10, LOAD_PATTERNS = 3, MOST_LOADED_CALLS = 10000 };
extern const int load_patterns[LOAD_PATTERNS]; /* numbers of patterns, ascending */

/* Whether a pattern is in the plan: one of these or, without load, any of a chosen type. */
bool is_planned(const struct request *request, int number);

/* Phases of a repetition: without load, with the first kind, without, with the next kind, ..., without. */
int load_phases(const struct load *load);

/* The time of a pass, one access method of one pattern in one phase, if load doubles it. */
double load_pass_seconds(const struct request *request);

/* Maximum number of calls of a process in a pass: the files of the generating processes need space as well. */
int64_t load_most_calls(const struct request *request, const struct pattern *pattern);

/* The calls of a pass, given those of a pass that took `elapsed_seconds`. */
int64_t load_calls(const struct request *request, int64_t calls, double elapsed_seconds, int64_t most);

/* Bytes of the smallest possible run. */
int64_t load_least_space_bytes(const struct request *request);

/* The log's description, NULL without load. Rank 0. */
json_t *load_plan_json(const struct request *request);

#endif
