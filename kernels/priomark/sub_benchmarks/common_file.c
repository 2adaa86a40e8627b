/* SPDX-License-Identifier: Apache-2.0 */
/* common_file: one file of all processes, a range of contiguous blocks for each (paper, figure 2.a). */
#include "access.h"
#include "sub_benchmarks.h"

static const char *const names_of_patterns[] = {"write", "read-write", "random-read-write", NULL};
static const char *const names_of_methods[] = {
#if HAVE_MPI_IO
    "individual", "individual-collective", "explicit", "explicit-collective",
#endif
    "posix",      "posix-direct",          NULL};

#if HAVE_MPI_IO
#define METHODS_STANDARD "[\"individual\", \"individual-collective\", \"explicit\", \"explicit-collective\", \"posix\"]"
#else
#define METHODS_STANDARD "\"posix\""
#endif

static const struct priomark_key keys[] = {
    PROCESS_SIZE_KEY,
    BLOCK_SIZE_KEY,
    READ_WRITE_KEY,
    {"patterns", PRIOMARK_NAMES, "[\"write\", \"read-write\", \"random-read-write\"]", "access patterns", 0, 0,
     names_of_patterns},
    {"methods", PRIOMARK_METHODS, METHODS_STANDARD, "access methods", 0, 0, names_of_methods},
    {0}};

static void place(struct priomark_file *file, const struct priomark_case *now)
{
    priomark_path(file->run, file->path, sizeof file->path, "common");
    file->start = file->owner * now->process_bytes;
}

const struct sub_benchmark common_file_benchmark = {.name = "common_file",
                                                    .summary = "one file of all processes, a contiguous range for each",
                                                    .keys = keys,
                                                    .plan = plan_files,
                                                    .measure = measure_blocks,
                                                    .shares_file = true,
                                                    .place = place};
