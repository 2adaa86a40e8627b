/* SPDX-License-Identifier: Apache-2.0 */
/* A workload: a file in libconfig's syntax that states what is measured. Every key is checked before anything is
 * created; errors are reported with file and line. */
#pragma once

#include "interfaces.h"
#include "sub_benchmarks.h"
#include "values.h"

/* A sub-benchmark's part of the workload, or one of several such parts, which are next to each other. */
struct group {
    const struct sub_benchmark *benchmark;
    int line;
    struct values *values; /* one per row of benchmark->keys */
};

struct workload {
    const char *name; /* as given */
    char *path, *text;
    int64_t seed, repetitions;
    bool check, evict;
    int groups;
    struct group *group; /* in the order of the file */
    struct interfaces interfaces;
};

/* Rank 0 reads `name`, a file or the name of an included workload; all processes get and check its text, and load its
 * interfaces. `only` (NULL: all) selects sub-benchmarks. Collective; refuses errors with file and line. */
struct workload workload_read(const char *name, const char *only, const char *interface_directory);
/* Whether a group is the first one of its sub-benchmark. */
bool begins_sub_benchmark(const struct workload *workload, int group);

void workload_free(struct workload *workload);
