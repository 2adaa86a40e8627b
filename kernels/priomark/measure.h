/* SPDX-License-Identifier: Apache-2.0 */
/* Plans and measures the cases of a workload one by one, and writes the log. */
#pragma once

#include "host.h"

/* Calls plan() of every sub-benchmark of the workload, which adds its cases. Nothing is created. Collective. */
void plan_cases(struct priomark *host);

/* Bytes of the largest case in the directory under test, for all processes. Collective. */
int64_t plan_space_bytes(const struct priomark *host);

/* The log's list of cases. */
json_t *plan_cases_json(const struct priomark *host);

/* Measures the cases; `results` has one entry per case. Collective. */
void measure(struct priomark *host, struct result *results);
