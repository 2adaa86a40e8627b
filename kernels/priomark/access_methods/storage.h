/* SPDX-License-Identifier: Apache-2.0 */
/* How blocks are read and written: a row of a table per method. All functions end the run if a call fails. */
#ifndef PRIOMARK_STORAGE_H
#define PRIOMARK_STORAGE_H

#include <limits.h>
#include <mpi.h>

#include "priomark.h"

/* An open file or device of one process, whose part of the data is a number of blocks. */
struct file {
    struct priomark *run;
    const struct method *method;
    char path[PATH_MAX];
    bool shared;   /* one file of all processes */
    int owner;     /* the process whose part of the data it is: this one or, with --read-shift, the one that wrote it */
    MPI_Comm comm; /* all processes; the rank of a process is its `owner` */
    void (*place)(struct file *file, const struct priomark_case *now); /* sets what depends on `owner`: path or start */
    int64_t block_bytes, blocks;
    int64_t start;        /* of the process's first block, in the file */
    int64_t run_blocks;   /* number of contiguous blocks */
    int64_t stride_bytes; /* from the first of them to the first of the next ones */
    int posix;
    int held; /* a device that is open since the plan; 0: none */
#if HAVE_MPI_IO
    MPI_File mpi;
    int64_t pointer; /* the individual file pointer */
#endif
};

/* Open, sync and close are collective if the file is shared; read and write if the method is collective. */
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

#define SMALLER_PROCESS_SIZE "choose a smaller process_size" /* how this kernel writes less */

const struct method *find_method(const struct method *methods, const char *name);

/* The offset of a block in the file. */
int64_t block_offset(const struct file *file, int64_t block);

/* Read or write a range with as many POSIX calls as necessary; end the run if one fails. */
void posix_read_range(struct file *file, char *data, int64_t bytes, int64_t offset);
void posix_write_range(struct file *file, const char *data, int64_t bytes, int64_t offset);

/* Ends the run: the operation that failed, and its errno. */
_Noreturn void posix_stop(const struct file *file, const char *what, int error);

/* Ends the run: a request to "read" or "write" these bytes was done only in part. */
_Noreturn void stop_short(const struct file *file, const char *what, int64_t done, int64_t bytes);

#if HAVE_MPI_IO
/* End the run if an MPI-IO call failed, or if it moved fewer than `bytes`. */
void mpi_io_check(const struct file *file, int code, const char *what);
void mpi_io_check_bytes(const struct file *file, MPI_Status *status, int64_t bytes, const char *what);

/* Opens a shared file through MPI-IO; collective. */
void mpi_io_open(struct file *file, bool create);
void mpi_io_sync(struct file *file);
void mpi_io_close(struct file *file);
#endif

#endif
