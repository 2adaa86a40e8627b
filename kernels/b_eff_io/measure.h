/* The measurement: access method, partition, pattern type, pattern (paper, section 6), and the records of the log. */
#ifndef B_EFF_IO_MEASURE_H
#define B_EFF_IO_MEASURE_H

#include "hints.h"
#include "methods.h"
#include "run.h"

struct request {
    int partitions, partition[MOST_PARTITIONS]; /* numbers of processes, ascending */
    struct pattern pattern[PATTERNS];
    uint64_t types, methods; /* a bit each */
    bool rewrite_scatter_only; /* the Top Clusters form */
    double scheduled_seconds;  /* T, for one partition */
    int64_t space_limit_bytes;
    int64_t alignment_bytes;
    int64_t largest_call_bytes;
    int64_t watchdog_seconds;
    uint64_t seed;
    bool individual_pointers, agree_per_access, check_all, evict;
    const struct hints *hints;
};

/* What rank 0 keeps for the table at the terminal. */
struct summary {
    double bytes[MOST_PARTITIONS][METHODS][TYPES], seconds[MOST_PARTITIONS][METHODS][TYPES];
};

/* Whether a pattern type is accessed by a method. */
bool is_measured(const struct request *request, enum method_number method, enum type_number type);

/* The row that a type is measured with: for type 1 the variant, if it was asked for. */
const struct pattern_type *type_of(const struct request *request, enum type_number type);

/* U of all patterns that are measured. */
int units_measured(const struct request *request);

/* Bytes that the smallest run writes: every pattern once, in every partition. */
int64_t least_space_bytes(const struct request *request);

/* The whole measurement, in files of the scratch directory; writes the log. Collective over MPI_COMM_WORLD. */
void measure(struct run *run, const struct request *request, struct summary *summary);

#endif
