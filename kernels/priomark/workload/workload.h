/* SPDX-License-Identifier: Apache-2.0 */
/* A workload: one file in libconfig's form that says what is measured. Every key is checked before anything is created;
 * what is wrong is refused with the file and the line. */
#ifndef PRIOMARK_WORKLOAD_H
#define PRIOMARK_WORKLOAD_H

#include "plugins.h"
#include "values.h"

/* A sub-benchmark's part of the workload. */
struct group {
    const struct priomark_plugin *plugin;
    const char *plugin_path; /* NULL: built in */
    int line;
    struct values *values; /* one per row of plugin->keys */
};

struct workload {
    const char *name; /* as given */
    char *path, *text;
    int64_t seed, repetitions;
    bool check, evict;
    int groups;
    struct group *group; /* in the order of the file */
};

/* Rank 0 finds and reads `name`, a file or the name of a workload that is shipped; all learn it, check it, and load the
 * plug-ins that it names. `only` (NULL: all) picks sub-benchmarks. Collective; refuses with file and line. */
struct workload workload_read(const char *name, const char *only, const char *plugin_directory);
void workload_free(struct workload *workload);

#endif
