/* SPDX-License-Identifier: Apache-2.0 */
/* strided: one file with several separate groups of blocks for each process, accessed by a file view where the
 * method has one (paper, figure 2.b). */
#include <limits.h>

#include "access.h"
#include "sub_benchmarks.h"

static const char *const names_of_patterns[] = {"write", "read-write", NULL};
static const char *const names_of_methods[] = {"individual", "individual-collective", NULL};

static const struct priomark_key keys[] = {
    PROCESS_SIZE_KEY,
    BLOCK_SIZE_KEY,
    {"blocks_per_stride", PRIOMARK_COUNTS, "1", "contiguous blocks of a process", 1, 1 << 20, NULL},
    READ_WRITE_KEY,
    {"patterns", PRIOMARK_NAMES, "[\"write\", \"read-write\"]", "access patterns", 0, 0, names_of_patterns},
    {"methods", PRIOMARK_METHODS, "\"individual\"", "access methods", 0, 0, names_of_methods},
    {0}};

static void plan(struct priomark *run)
{
    const int64_t blocks_per_stride = priomark_number(run, "blocks_per_stride", 0);
    if (priomark_count(run, "blocks_per_stride") > 1)
        priomark_refuse(run, "blocks_per_stride", "blocks_per_stride must be a single value");
    add_cases(run, &(struct priomark_case){.target = PRIOMARK_IN_DIRECTORY}, blocks_per_stride);
    for (int i = 0; i < priomark_count(run, "block_size"); i++)
        if (priomark_number(run, "block_size", i) > INT_MAX / blocks_per_stride)
            priomark_refuse(run, "block_size", "the blocks of a stride must not exceed %d bytes in total", INT_MAX);
}

static void place(struct priomark_file *file, const struct priomark_case *now)
{
    (void)now;
    priomark_path(file->run, file->path, sizeof file->path, "strided");
    file->run_blocks = priomark_number(file->run, "blocks_per_stride", 0);
    file->start = file->owner * file->run_blocks * file->block_bytes;
    file->stride_bytes = file->run_blocks * file->block_bytes * priomark_ranks(file->run);
}

const struct sub_benchmark strided_benchmark = {.name = "strided",
                                                .summary = "one file, several separate blocks for each process",
                                                .keys = keys,
                                                .plan = plan,
                                                .measure = measure_blocks,
                                                .shares_file = true,
                                                .place = place};
