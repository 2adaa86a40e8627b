/* SPDX-License-Identifier: Apache-2.0 */
/* How blocks are read and written: a row of a table per method. All functions end the run where a call fails. */
#ifndef PRIOMARK_STORAGE_H
#define PRIOMARK_STORAGE_H

#include <limits.h>
#include <mpi.h>

#include "priomark.h"

/* An open file, or device, as one process sees it: its part of the data is a number of blocks. */
struct file {
    struct priomark *run;
    const struct method *method;
    char path[PATH_MAX];
    bool shared; /* one file of all processes */
    int64_t block_bytes, blocks;
    int64_t start;        /* of the process's first block, in the file */
    int64_t run_blocks;   /* so many blocks lie next to each other, */
    int64_t stride_bytes; /* and the next ones so far from the first of them */
    int posix;
    int held; /* a device that has been open since the plan; 0: none */
#if HAVE_MPI_IO
    MPI_File mpi;
    int64_t pointer; /* where the individual file pointer stands */
#endif
};

/* Open, sync and close are collective where the file is shared; read and write where the method is. */
struct method {
    const char *name;
    bool direct;
    void (*open)(struct file *file, bool create);
    void (*read)(struct file *file, char *data, int64_t block);
    void (*write)(struct file *file, const char *data, int64_t block);
    void (*sync)(struct file *file);
    void (*close)(struct file *file);
};

/* Ended by a row without a name. */
extern const struct method posix_methods[];
extern const struct method device_methods[];
#if HAVE_MPI_IO
extern const struct method mpi_io_methods[];
extern const struct method strided_methods[];
#endif

const struct method *find_method(const struct method *methods, const char *name);

/* Where a block lies in the file. */
int64_t block_offset(const struct file *file, int64_t block);

/* Reads or writes a range with POSIX calls, however many they take; ends the run where one fails. */
void posix_read_range(struct file *file, char *data, int64_t bytes, int64_t offset);
void posix_write_range(struct file *file, const char *data, int64_t bytes, int64_t offset);

/* Ends the run: what could not be done, and why (an errno). */
_Noreturn void posix_stop(const struct file *file, const char *what, int error);

#if HAVE_MPI_IO
/* Ends the run if an MPI-IO call failed, and, for `mpi_io_check_bytes`, if it moved less than `bytes`. */
void mpi_io_check(const struct file *file, int code, const char *what);
void mpi_io_check_bytes(const struct file *file, MPI_Status *status, int64_t bytes, const char *what);

/* Opens a shared file through MPI-IO; collective. */
void mpi_io_open(struct file *file, bool create);
void mpi_io_sync(struct file *file);
void mpi_io_close(struct file *file);
#endif

#endif
