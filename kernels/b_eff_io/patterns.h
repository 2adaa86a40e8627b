/* SPDX-License-Identifier: Apache-2.0 */
/* The patterns of b_eff_io (paper, table 2) as one table, and their arithmetic: partitions, M_PART, the size-driven
 * counts and the segment. Pure functions; no file is accessed here. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum type_number {
    TYPE_SCATTER,
    TYPE_SHARED,
    TYPE_SEPARATE,
    TYPE_SEGMENTED,
    TYPE_SEGMENTED_COLLECTIVE,
    TYPE_RANDOM, /* in addition to the paper's five: reported, never averaged */
    TYPE_RANDOM_COLLECTIVE,
    TYPES
};

enum { PATTERNS = 49, SUM_UNITS = 64, MOST_PARTITIONS = 32 };

struct pattern {
    enum type_number type;
    int64_t chunk_bytes; /* l: contiguous on disk; 0 for the pattern that fills up the segment */
    int64_t call_bytes;  /* L: contiguous in memory, what one call transfers */
    int units;           /* U: its share of the time is U / SUM_UNITS */
};

/* All patterns in the order of measuring; a pattern's index is its number. */
void list_patterns(int64_t m_part_bytes, struct pattern list[PATTERNS]);

/* max(2 MiB, memory of one node / 128), at most 1 GiB; in whole MiB, so that the chunk size is well-formed. */
int64_t m_part_rule(int64_t node_memory_bytes);

/* Default partitions of `ranks` processes, ascending: 2^round(0.35 log2 n), 2^round(0.70 log2 n), n. Returns how many.
 */
int default_partitions(int ranks, int list[MOST_PARTITIONS]);

/* Whether the number of calls is limited by time; otherwise it follows from the data that types 0 to 2 wrote. */
bool is_time_driven(const struct pattern *pattern);

/* Repetitions of a size-driven pattern, as in release 2.1: the minimum over types 0 to 2 of their number of chunks of
 * this size, where type 1 counts ten times and pattern 2 (l = 1 MB, L = 2 MB) does not count. The first pattern of a
 * type runs once. `repetitions` is the count of each pattern, the minimum over processes, 0 if it did not run. Returns
 * 0 if none of the three types ran. */
int64_t size_driven_count(const struct pattern list[PATTERNS], int number, const int64_t repetitions[PATTERNS]);

/* Sum of chunk * count over the patterns of a size-driven type, rounded up to the alignment. `used_bytes` becomes the
 * sum without rounding. */
int64_t segment_bytes(const struct pattern list[PATTERNS], enum type_number type, const int64_t repetitions[PATTERNS],
                      int64_t alignment_bytes, int64_t *used_bytes);
