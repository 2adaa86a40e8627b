/* SPDX-License-Identifier: Apache-2.0 */
/* Plans and measures the cases of a workload, one after the other, and writes the log. */
#ifndef PRIOMARK_MEASURE_H
#define PRIOMARK_MEASURE_H

#include "host.h"

/* For the table that a person reads: bandwidth and requests of each case in its last repetition. */
struct result {
    double bytes, calls, seconds;
};

/* Lets every sub-benchmark of the workload add its cases. Nothing is created. Collective. */
void plan_cases(struct priomark *host);

/* The largest case's bytes in the directory under test, over all processes. Collective. */
int64_t plan_space_bytes(const struct priomark *host);

/* The log's list of cases. */
json_t *plan_cases_json(const struct priomark *host);

/* Measures them; `results` has one per case. Collective. */
void measure(struct priomark *host, struct result *results);

#endif
