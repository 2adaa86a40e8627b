/* SPDX-License-Identifier: Apache-2.0 */
/* See sub_benchmarks.h. */
#include "sub_benchmarks.h"

#include <stdio.h>
#include <string.h>

static const struct sub_benchmark *const all[] = {
#if HAVE_MPI
    &common_file_benchmark,
#endif
#if HAVE_MPI_IO
    &strided_benchmark,
#endif
    &async_benchmark,       &single_file_benchmark, &raw_benchmark, &trace_benchmark, &metadata_benchmark, NULL};

const struct sub_benchmark *find_sub_benchmark(const char *name)
{
    for (const struct sub_benchmark *const *benchmark = all; *benchmark; benchmark++)
        if (strcmp((*benchmark)->name, name) == 0)
            return *benchmark;
    return NULL;
}

const char *why_not_offered(const char *name)
{
    if (!HAVE_MPI && strcmp(name, "common_file") == 0)
        return "requires a build with MPI";
    if (!HAVE_MPI_IO && strcmp(name, "strided") == 0)
        return "requires a build with MPI-IO";
    return NULL;
}

const char *sub_benchmark_names(void)
{
    static char names[256];
    size_t length = 0;
    for (const struct sub_benchmark *const *benchmark = all; *benchmark && length < sizeof names; benchmark++)
        length +=
            (size_t)snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "", (*benchmark)->name);
    return names;
}
