/* SPDX-License-Identifier: Apache-2.0 */
/* How PRIOMark accesses storage: a table of functions. The access methods of the kernel are such tables, and so is an
 * interface that is loaded from a shared object, written in C or C++ from this header alone:
 *
 *     cp PREFIX/share/priomark/skeleton.c mine.c
 *     cc -shared -fPIC -I PREFIX/include -o priomark_mine.so mine.c
 *     mpirun -n 4 priomark --interfaces . --workload FILE       where FILE has methods = ["posix", "mine"];
 *
 * The shared object defines one `const struct priomark_interface priomark_interface`. The functions at the end of this
 * file belong to the program that loads it. A function of the table that fails calls priomark_stop(); one that returns
 * has done everything that was requested. "Collective" means that all processes call it, in the same order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PRIOMARK_INTERFACE = 6, PRIOMARK_PATH_BYTES = 4096 };

enum priomark_operation { PRIOMARK_READ, PRIOMARK_WRITE, PRIOMARK_OPERATIONS };

struct priomark; /* the run */
struct priomark_interface;

/* A file of one process, or the part of a process in a file that all of them share. The part is `blocks` blocks of
 * `block_bytes` bytes: `run_blocks` of them are contiguous and begin at `start`, and the next `run_blocks` are
 * `stride_bytes` farther (0: all are contiguous). `descriptor` and `own` are for the interface, the rest is read
 * only. */
struct priomark_file {
    struct priomark *run;
    const struct priomark_interface *interface;
    char path[PRIOMARK_PATH_BYTES]; /* nothing else in the run's directory begins with it */
    bool shared;                    /* one file of all processes */
    bool reads_only;                /* nothing is written until it is closed: open it for reading only */
    const void *communicator;       /* pointer to an MPI_Comm: the processes of the file, this one or all */
    int owner;                      /* the process whose part it is */
    int64_t block_bytes, blocks;
    int64_t start, run_blocks, stride_bytes;
    int depth; /* requests that start() divides its data among; bytes and offset are multiples of it */
    int descriptor;
    void *own;
};

/* What a metric of the interface counts: MByte/s, operations/s (higher is better), or ms of a request (lower is
 * better). */
enum priomark_figure { PRIOMARK_BANDWIDTH, PRIOMARK_RATE, PRIOMARK_LATENCY };

struct priomark_interface {
    int version;                 /* required: PRIOMARK_INTERFACE */
    const char *name, *summary;  /* required: the method's name (lower case letters, digits, _, -), one sentence */
    enum priomark_figure figure; /* of its metric */
    bool plain; /* byte i of the file is byte i at `path`: POSIX calls may fill it, and other methods may read it */
    bool collective; /* read and write are collective if the file is shared */
    bool direct;     /* without the page cache: blocks are multiples of 512 bytes, buffers are pages */
    bool queues;     /* start() supports a depth above 1 */

    /* Required. Open a file for reading and writing; `create` it if it does not exist. Read or write a block. Force
     * what was written to storage. Open, sync and close are collective if the file is shared. */
    void (*open)(struct priomark_file *file, bool create);
    void (*read)(struct priomark_file *file, char *data, int64_t bytes, int64_t offset);
    void (*write)(struct priomark_file *file, const char *data, int64_t bytes, int64_t offset);
    void (*sync)(struct priomark_file *file);
    void (*close)(struct priomark_file *file);

    /* Optional, for data that is not in memory of the host: copies what the next write takes from `data`, or what the
     * last read delivered to it. Not measured. An interface with it has no start(). */
    void (*stage)(struct priomark_file *file, enum priomark_operation operation, char *data, int64_t bytes);

    /* Optional; all three are required for `async`. Start a transfer, which may block; test it; wait for it, if the
     * test has not returned true yet. */
    void (*start)(struct priomark_file *file, enum priomark_operation operation, char *data, int64_t bytes,
                  int64_t offset);
    bool (*done)(struct priomark_file *file);
    void (*finish)(struct priomark_file *file);

    /* Optional. For `strided`, after open, collective: from then on, offsets count only the bytes of this process's
     * part. Without it, offsets are those in the file. */
    void (*view)(struct priomark_file *file);

    /* Optional; without them, they concern the file at `path`. Remove it (on one process if it is shared; it may not
     * exist). Evict it from the caches of this node, or return the reason why that is impossible. Its bytes after
     * close, to detect data that is missing; the file is not open in the three. */
    void (*remove)(const struct priomark_file *file);
    const char *(*evict)(const struct priomark_file *file);
    int64_t (*stored_bytes)(const struct priomark_file *file);

    /* Optional. The reason why this system does not support the interface, or NULL (collective); and a text for the
     * log, such as the version of a library and its settings. */
    const char *(*why_not)(void);
    const char *(*properties)(void);

    /* Optional: NULL-terminated names of hints that the workload may give it, see priomark_hint(). */
    const char *const *hints;

    bool objects; /* nothing is stored in the run's directory, and a file is written as a whole, when it is created */
};

/* Defined by a shared object. */
extern const struct priomark_interface priomark_interface;

/* The value of a hint of the workload, hints = "chunk=1MiB,collective_metadata=1": bytes or a number. 0: not given. */
int64_t priomark_hint(const struct priomark_file *file, const char *name);

/* Adds to a value of this process in the current case; its name includes the unit ("io_alone_seconds"). The log has it
 * for each process, so all of them name the same values. */
void priomark_value(struct priomark *run, const char *name, double value);

/* Ends the run with one line: that `what` ("read", "open") failed on the file, and why. The log is closed as failed.
 * Give the remedy in the reason. On any process. */
void priomark_stop(const struct priomark_file *file, const char *what, const char *reason, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif
