/* SPDX-License-Identifier: Apache-2.0 */
/* Where the matrix is stored. Every process owns one column of Squares: a strip of N rows and i^2 columns. A storage
 * method is a row of a table. */
#pragma once

#include <complex.h>
#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "layout.h"
#include "sizes.h"

struct storage {
    const struct storage_method *method;
    bool direct;
    int rank;
    int64_t strip_width, matrix_width; /* elements */
    char path[PATH_MAX];
    int file;                  /* posix */
    struct file_layout layout; /* of the last closed file; mpiio: on rank 0 */
    MPI_File shared;           /* mpiio */
};

/* A rectangle of this process's strip. */
struct block {
    int64_t row, column, rows, columns;
};

/* All methods create a new file on open and remove it on close, unless `keep` is set. Read and write return the number
 * of calls. Open, flush and close are collective. */
struct storage_method {
    const char *name, *file_name; /* with %d for the rank unless the processes share the file */
    bool is_shared, can_be_direct;
    void (*open)(struct storage *storage);
    int64_t (*read)(struct storage *storage, struct block block, double complex *elements);
    int64_t (*write)(struct storage *storage, struct block block, const double complex *elements);
    void (*flush)(struct storage *storage);
    void (*close)(struct storage *storage, bool keep);
};

extern const struct storage_method storage_methods[]; /* ended by a row without a name */

/* The smallest sector of a disk and so of direct I/O. */
enum { DIRECT_ALIGNMENT = 512 };

/* No file is created before open. */
struct storage storage_prepare(const struct storage_method *method, const struct sizes *sizes, int rank, bool direct);
