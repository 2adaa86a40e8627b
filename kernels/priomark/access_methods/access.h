/* SPDX-License-Identifier: Apache-2.0 */
/* Cases that access a file block by block: those of all sub-benchmarks except async and trace. */
#pragma once

#include "order.h"
#include "storage.h"

enum { DIRECT_ALIGNMENT = 512 }; /* the smallest sector of a disk */
enum { LAST_OF_FILE = 1 };       /* the case's `number`: no later case uses its file */

/* Rows for the common keys of these sub-benchmarks. A call moves at most 1 GiB: MPI counts in an int, and Linux moves
 * no more than 2 GiB at once. */
#define PROCESS_SIZE_KEY \
    {"process_size", PRIOMARK_SIZES, "\"32MiB\"", "data of each process", 1, INT64_C(1) << 50, NULL}
#define BLOCK_SIZE_KEY {"block_size", PRIOMARK_SIZES, "\"16KiB\"", "data of a request", 1, INT64_C(1) << 30, NULL}
#define READ_WRITE_KEY {"read_write", PRIOMARK_RATIOS, "\"1:1\"", "reads to writes in mixed patterns", 0, 0, NULL}

/* Adds a case for each size, block size, pattern, read share and method. Refuses sizes that are not a multiple of
 * `unit_blocks` blocks (1, or the blocks of a stride). `sample` has the values that all cases have in common. */
void add_cases(struct priomark *run, const struct priomark_case *sample, int64_t unit_blocks);

/* Cases in files, each block of a process for itself: a plan() and a measure(). */
void plan_files(struct priomark *run);
void measure_blocks(struct priomark *run, const struct priomark_case *now);

/* The part of this process, accessed by the method of the case. Sub-benchmarks with other requests change it. */
struct priomark_file file_of_case(struct priomark *run, const struct priomark_case *now);

/* Chooses the part of the data that this process wrote, or the one that it reads: with --read-shift another one, else
 * its own. */
void file_choose_written(struct priomark_file *file, const struct priomark_case *now);
void file_choose_read(struct priomark_file *file, const struct priomark_case *now);

/* Prepared data and data written in the measurement differ. A file is filled by POSIX calls if its method permits that,
 * else by its method; then it must not be open, and the call is collective if the file is shared. */
enum { PREPARED, REWRITTEN };
void file_fill(struct priomark_file *file);
void file_fill_block(const struct priomark_file *file, char *data, int64_t block, int pass);
void file_verify_block(const struct priomark_file *file, const char *data, int64_t block, int pass);
void file_evict(const struct priomark_file *file);
void file_remove(const struct priomark_file *file);

/* Opening and closing, with the times of their phases. Collective. */
void file_open(struct priomark_file *file, bool create);
void file_close(struct priomark_file *file);

/* Ends the run if the file does not exist any more or does not have its full size. */
void file_check(const struct priomark_file *file);
