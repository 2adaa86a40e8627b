/* SPDX-License-Identifier: Apache-2.0 */
/* A case that accesses a file block by block, which is what all sub-benchmarks but async do. */
#ifndef PRIOMARK_ACCESS_H
#define PRIOMARK_ACCESS_H

#include "order.h"
#include "storage.h"

enum { DIRECT_ALIGNMENT = 512 }; /* the smallest sector of a disk */
enum { LAST_OF_FILE = 1 };       /* the case's `number`: no later case takes up its file */

/* Rows for the keys that every sub-benchmark has which accesses block by block. A call takes a gibibyte at most: MPI
 * counts in an int, Linux moves no more than 2 GiB at once. */
#define PROCESS_SIZE_KEY \
    {"process_size", PRIOMARK_SIZES, "\"32MiB\"", "the data of each process", 1, INT64_C(1) << 50, NULL}
#define BLOCK_SIZE_KEY {"block_size", PRIOMARK_SIZES, "\"16KiB\"", "the data of a request", 1, INT64_C(1) << 30, NULL}
#define READ_WRITE_KEY {"read_write", PRIOMARK_RATIOS, "\"1:1\"", "reads to writes in mixed patterns", 0, 0, NULL}

/* Adds a case for each size, block size, pattern, read share and method, and refuses blocks that a process's data is no
 * multiple of. `unit_blocks` (1, or blocks of a stride) is a multiple as well; `sample` has what all cases share. */
void add_cases(struct priomark *run, const struct priomark_case *sample, const struct method *const *tables,
               int64_t unit_blocks);

/* Measures the case on this file, whose method, path and places of blocks are set: fills it where the pattern wants
 * that, accesses, synchronises, and checks where the workload says so. Collective. */
void access_file(struct file *file, const struct priomark_case *now);

/* Its parts, for async. What a process has prepared, and what it has written since, differ. */
enum { PREPARED, REWRITTEN };
void file_fill(struct file *file);
void file_fill_block(const struct file *file, char *data, int64_t block, int pass);
void file_verify_block(const struct file *file, const char *data, int64_t block, int pass);
void file_remove(const struct file *file);

/* Ends the run if the file has not its name and full size any more. */
void file_check(const struct file *file);

#endif
