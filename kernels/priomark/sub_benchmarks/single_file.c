/* SPDX-License-Identifier: Apache-2.0 */
/* single_file: a file for each process, for local disks of the nodes (paper, figure 2.c). */
#include <stdio.h>

#include "access.h"
#include "plugins.h"

static const struct method *const tables[] = {posix_methods, NULL};

static const char *const names_of_methods[] = {"posix", "posix-direct", NULL};

static const struct priomark_key keys[] = {
    PROCESS_SIZE_KEY,
    BLOCK_SIZE_KEY,
    READ_WRITE_KEY,
    {"patterns", PRIOMARK_NAMES, "[\"write\", \"read-write\", \"random-read-write\", \"backwards-read\"]",
     "access patterns", 0, 0, pattern_names},
    {"methods", PRIOMARK_NAMES, "\"posix\"", "access methods", 0, 0, names_of_methods},
    {0}};

static void plan(struct priomark *run)
{
    add_cases(run, &(struct priomark_case){.target = PRIOMARK_IN_DIRECTORY}, tables, 1);
}

static void place(struct file *file, const struct priomark_case *now)
{
    char name[64];
    (void)now;
    snprintf(name, sizeof name, "single-%06d", file->owner);
    priomark_path(file->run, file->path, sizeof file->path, name);
}

static void measure(struct priomark *run, const struct priomark_case *now)
{
    struct file file = {
        .run = run, .block_bytes = now->block_bytes, .place = place, .method = find_method(posix_methods, now->method)};
    file.blocks = file.run_blocks = now->process_bytes / now->block_bytes;
    access_file(&file, now);
}

const struct priomark_plugin single_file_plugin = {
    PRIOMARK_INTERFACE, "single_file", "a file for each process", keys, plan, measure};
