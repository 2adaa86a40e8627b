/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be measured: the checked options, and what follows from them without a measurement. */
#pragma once

#include "filesystem.h"
#include "hang.h"
#include "hints.h"
#include "machine.h"
#include "methods.h"
#include "options.h"

struct request {
    int partitions, partition[MOST_PARTITIONS]; /* numbers of processes, ascending */
    struct pattern pattern[PATTERNS];
    const struct pattern_type *rows; /* of the types */
    uint64_t types, methods;         /* a bit each */
    bool rewrite_scatter_only;       /* the Top Clusters form */
    double scheduled_seconds;        /* T, for one partition */
    int64_t space_limit_bytes;
    int64_t alignment_bytes;
    int64_t largest_call_bytes;
    int64_t seed;
    bool individual_pointers, agree_per_access, check_all, evict, read_shift;
    int64_t fill_percent; /* of each node's memory, while files are read */
    const struct hints *hints;
};

/* Options of all benchmarks that are built on these accesses to files: directory and log come first, then those of the
 * benchmark, then FILE_OPTIONS. */
struct file_choices {
    const char *log, *directory, *hints;
    int64_t space_limit;
    bool check_all, keep;
};

#define FILE_OPTIONS(choices)                                                                                         \
    SIZE_OPTION("space-limit", &(choices)->space_limit, INT64_C(1) << 20, INT64_C(1) << 60,                           \
                "maximum space for all files, which may end patterns early; default: 90 % of the free space"),        \
        INPUT_OPTION(                                                                                                 \
            "hints", &(choices)->hints, "NAME=VALUE,...|FILE",                                                        \
            "MPI_Info hints, such as cb_nodes=2; or a file that limits them:\n"                                       \
            "        hints = ( { method = \"read\"; type = \"scatter\"; chunk = \"32KiB\"; set = { cb_nodes = "       \
            "\"2\"; }; } );\n"                                                                                        \
            "        method, type and chunk are optional"),                                                           \
        FLAG_OPTION(                                                                                                  \
            "check-all", &(choices)->check_all,                                                                       \
            "check every byte that is read, not only the last data of each pattern; the clock is stopped meanwhile"), \
        OPTION_FILES_HANG_AFTER, OPTION_IDLE_POWER, OPTION_KEEP(&(choices)->keep)

/* Reads --partitions. "1,4,16": ascending, each within the run; or "all", so that runs of several sizes have the same
 * options. Refuses other texts. */
void parse_partitions(const char *text, int ranks, struct request *request);

/* Whether a pattern type is accessed by a method. */
bool is_measured(const struct request *request, enum method_number method, enum type_number type);

/* The row of the table for a type: for type 1 the variant, if requested. */
const struct pattern_type *type_of(const struct request *request, enum type_number type);

/* Sum of U over all patterns, access methods and partitions, for the progress. */
int units_planned(const struct request *request);

/* Refuses a run whose buffers do not fit into a node's memory; `remedy` follows "run fewer processes on a node".
 * Collective over MPI_COMM_WORLD. */
void check_memory(const struct machine *machine, const struct request *request, const char *remedy);

/* The limit of the space for all files: the option or, if it is 0, a share of the free space. Refuses a limit below
 * what the smallest possible run requires; `remedy` follows "choose". */
int64_t choose_space(int64_t option_bytes, int64_t least_bytes, const struct filesystem *filesystem,
                     const char *remedy);

/* Bytes of the smallest possible run: every pattern once, in every partition. */
int64_t least_space_bytes(const struct request *request);

/* Maximum calls of each process in a pattern: one, and as many as fit into the pattern's share of what the smallest run
 * leaves of --space-limit. Whatever patterns end by time or by count, the files together stay within the limit. */
int64_t calls_of_space(const struct request *request, const struct pattern *pattern, int processes);

/* Calls of a size-driven pattern: size_driven_count(), at most calls_of_space(). */
int64_t size_driven_calls(const struct request *request, int number, int processes,
                          const int64_t repetitions[PATTERNS]);
