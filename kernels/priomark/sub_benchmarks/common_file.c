/* SPDX-License-Identifier: Apache-2.0 */
/* common_file: one file of all processes, a range of contiguous blocks for each (paper, figure 2.a). */
#include <inttypes.h>

#include "access.h"
#include "plugins.h"

static const struct method *const tables[] = {posix_methods,
#if HAVE_MPI_IO
                                              mpi_io_methods,
#endif
                                              NULL};

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
    {"methods", PRIOMARK_NAMES, METHODS_STANDARD, "access methods", 0, 0, names_of_methods},
    {0}};

static void plan(struct priomark *run)
{
    add_cases(run, &(struct priomark_case){.target = PRIOMARK_IN_DIRECTORY}, tables, 1);
}

static void place(struct file *file, const struct priomark_case *now)
{
    file->start = file->owner * now->process_bytes;
}

static void measure(struct priomark *run, const struct priomark_case *now)
{
    struct file file = {.run = run, .shared = true, .block_bytes = now->block_bytes, .place = place};
    for (const struct method *const *table = tables; *table && !file.method; table++)
        file.method = find_method(*table, now->method);
    file.blocks = file.run_blocks = now->process_bytes / now->block_bytes;
    priomark_path(run, file.path, sizeof file.path, "common");
    access_file(&file, now);
}

const struct priomark_plugin common_file_plugin = {
    PRIOMARK_INTERFACE, "common_file", "one file of all processes, a contiguous range for each", keys, plan, measure};
