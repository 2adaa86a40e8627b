/* SPDX-License-Identifier: Apache-2.0 */
/* single_file: a file for each process, for local disks of the nodes (paper, figure 2.c). */
#include <stdio.h>

#include "access.h"
#include "sub_benchmarks.h"

static const char *const names_of_methods[] = {"posix", "posix-direct", NULL};

static const struct priomark_key keys[] = {
    PROCESS_SIZE_KEY,
    BLOCK_SIZE_KEY,
    READ_WRITE_KEY,
    {"patterns", PRIOMARK_NAMES, "[\"write\", \"read-write\", \"random-read-write\", \"backwards-read\"]",
     "access patterns", 0, 0, pattern_names},
    {"methods", PRIOMARK_METHODS, "\"posix\"", "access methods", 0, 0, names_of_methods},
    {0}};

static void place(struct priomark_file *file, const struct priomark_case *now)
{
    char name[64];
    (void)now;
    snprintf(name, sizeof name, "single-%06d", file->owner);
    priomark_path(file->run, file->path, sizeof file->path, name);
}

const struct sub_benchmark single_file_benchmark = {.name = "single_file",
                                                    .summary = "a file for each process",
                                                    .keys = keys,
                                                    .plan = plan_files,
                                                    .measure = measure_blocks,
                                                    .place = place};
