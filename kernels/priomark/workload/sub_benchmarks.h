/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-benchmarks of this build. */
#pragma once

#include "priomark.h"

/* One per file; sub_benchmarks.c selects those of a build. */
extern const struct sub_benchmark common_file_benchmark, strided_benchmark, async_benchmark, single_file_benchmark,
    raw_benchmark, trace_benchmark, metadata_benchmark;

/* NULL if this build has none of this name. */
const struct sub_benchmark *find_sub_benchmark(const char *name);

/* Why this build does not have a sub-benchmark that other builds have; NULL if there is no reason. */
const char *why_not_offered(const char *name);

/* A list of the names, for messages. */
const char *sub_benchmark_names(void);
