/* SPDX-License-Identifier: Apache-2.0 */
/* strided: one file with several separate groups of blocks for each process, accessed by a file view and the individual
 * file pointer (paper, figure 2.b). */
#include <limits.h>

#include "access.h"
#include "plugins.h"

static const struct method *const tables[] = {strided_methods, NULL};

static const char *const names_of_patterns[] = {"write", "read-write", NULL};
static const char *const names_of_methods[] = {"individual", "individual-collective", NULL};

static const struct priomark_key keys[] = {
    PROCESS_SIZE_KEY,
    BLOCK_SIZE_KEY,
    {"blocks_per_stride", PRIOMARK_COUNTS, "1", "contiguous blocks of a process", 1, 1 << 20, NULL},
    READ_WRITE_KEY,
    {"patterns", PRIOMARK_NAMES, "[\"write\", \"read-write\"]", "access patterns", 0, 0, names_of_patterns},
    {"methods", PRIOMARK_NAMES, "\"individual\"", "access methods", 0, 0, names_of_methods},
    {0}};

static void plan(struct priomark *run)
{
    const int64_t blocks_per_stride = priomark_number(run, "blocks_per_stride", 0);
    if (priomark_count(run, "blocks_per_stride") > 1)
        priomark_refuse(run, "blocks_per_stride", "blocks_per_stride must be a single value");
    add_cases(run, &(struct priomark_case){.target = PRIOMARK_IN_DIRECTORY}, tables, blocks_per_stride);
    for (int i = 0; i < priomark_count(run, "block_size"); i++)
        if (priomark_number(run, "block_size", i) > INT_MAX / blocks_per_stride)
            priomark_refuse(run, "block_size", "the blocks of a stride must not exceed %d bytes in total", INT_MAX);
}

static void place(struct file *file, const struct priomark_case *now)
{
    (void)now;
    file->start = file->owner * file->run_blocks * file->block_bytes;
}

static void measure(struct priomark *run, const struct priomark_case *now)
{
    struct file file = {.run = run,
                        .shared = true,
                        .block_bytes = now->block_bytes,
                        .place = place,
                        .method = find_method(strided_methods, now->method)};
    file.blocks = now->process_bytes / now->block_bytes;
    file.run_blocks = priomark_number(run, "blocks_per_stride", 0);
    file.stride_bytes = file.run_blocks * file.block_bytes * priomark_ranks(run);
    priomark_path(run, file.path, sizeof file.path, "strided");
    access_file(&file, now);
}

const struct priomark_plugin strided_plugin = {
    PRIOMARK_INTERFACE, "strided", "one file, several separate blocks for each process", keys, plan, measure};
