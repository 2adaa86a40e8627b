/* SPDX-License-Identifier: Apache-2.0 */
/* What PRIOMark offers to its sub-benchmarks. How they access storage is in priomark_interface.h. "Collective" means
 * that all processes call it, in the same order. Bytes and seconds, nothing else. */
#pragma once

#include "clock.h"
#include "priomark_interface.h"

/* --- the keys of the sub-benchmark's group in a workload ---------------------------------------------------------- */

enum priomark_kind {
    PRIOMARK_SIZES,   /* "16KiB", a list of such, or a range { from = "4KiB"; to = "1MiB"; factor = 2; } (or step =
                         "4KiB") */
    PRIOMARK_RATIOS,  /* reads to writes, "1:2", or a list of such */
    PRIOMARK_NAMES,   /* one of `names`, or a list of them */
    PRIOMARK_METHODS, /* the same, or names of interfaces that can be loaded */
    PRIOMARK_COUNTS,  /* a whole number, or a list of such */
    PRIOMARK_TEXT,    /* any text, "/dev/sdx" */
    PRIOMARK_FLAG     /* true or false */
};

struct priomark_key {
    const char *name;
    enum priomark_kind kind;
    const char *standard;     /* default, as it would be written in a workload; NULL: the key is required */
    const char *help;         /* one sentence */
    int64_t lowest, highest;  /* of each size or count */
    const char *const *names; /* NULL-terminated */
};

/* The number of values of a key, and each of them: bytes, counts and flags (0 or 1); a ratio as the share of reads; a
 * name or text. */
int priomark_count(const struct priomark *run, const char *key);
int64_t priomark_number(const struct priomark *run, const char *key, int i);
double priomark_share(const struct priomark *run, const char *key, int i);
const char *priomark_text(const struct priomark *run, const char *key, int i);

/* --- a case: one measurement -------------------------------------------------------------------------------------- */

enum priomark_target { PRIOMARK_IN_DIRECTORY, PRIOMARK_ON_FILE, PRIOMARK_ON_DEVICE };

struct priomark_case {
    const char *pattern, *method; /* names of lower case letters, digits, _ and - */
    int64_t process_bytes;        /* data of each process */
    int64_t block_bytes;          /* of a request; 0 if requests differ in size */
    double read_share;            /* of the requests, 0 to 1; negative if meaningless */
    bool direct;                  /* direct I/O */
    enum priomark_target target;
    int64_t space_bytes; /* of this process in the directory under test */
    const void *own;     /* for the sub-benchmark, as is `number` */
    int64_t number;
};

enum priomark_phase { PRIOMARK_OPEN, PRIOMARK_ACCESS, PRIOMARK_SYNC, PRIOMARK_CLOSE, PRIOMARK_PHASES };

/* --- the sub-benchmark -------------------------------------------------------------------------------------------- */

struct result;

struct sub_benchmark {
    const char *name, *summary;
    const struct priomark_key *keys; /* ended by a row without a name */
    /* Adds the cases of the workload, the same on all processes, and refuses values that the table of keys cannot
     * exclude. Must not create or change anything. */
    void (*plan)(struct priomark *run);
    /* Measures one case: prepares, priomark_begin(), the requests, priomark_end(), and tidies up. Collective. */
    void (*measure)(struct priomark *run, const struct priomark_case *now);
    /* Of those that access files: whether all processes share one, and what sets `path` and the part of file->owner.
     * The reason why a loaded interface is no method of it, or NULL; where it has no such function, all are methods. */
    bool shares_file;
    void (*place)(struct priomark_file *file, const struct priomark_case *now);
    const char *(*why_no_method)(const struct priomark_interface *interface);
    /* Of those whose measurement is of another kind: writes its record after measure(), and notes what the terminal
     * shows. Collective. */
    void (*record)(struct priomark *run, struct result *result);
};

/* For plan(): adds a case (copied), and refuses the workload with the file and line of a key (NULL: of the group). */
void priomark_add(struct priomark *run, const struct priomark_case *added);
void priomark_refuse(const struct priomark *run, const char *key, const char *format, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

/* --- for measure() ------------------------------------------------------------------------------------------------ */

int priomark_rank(const struct priomark *run);
int priomark_ranks(const struct priomark *run);
void priomark_barrier(struct priomark *run); /* collective */

/* Start and stop the time of the case: from a barrier until this process has synchronised its written data. Both
 * exactly once in a case; begin is collective. */
void priomark_begin(struct priomark *run);
void priomark_end(struct priomark *run);

/* Notes a request of this process between begin and end: its bytes and its duration. */
void priomark_request(struct priomark *run, enum priomark_operation operation, int64_t bytes, double seconds);

/* Adds to the time of a phase of this process. Opening and closing are outside begin and end. */
void priomark_phase(struct priomark *run, enum priomark_phase phase, double seconds);

/* A seed for random numbers, from the workload's seed, the case, the repetition and `stream` (for example, a rank). */
uint64_t priomark_seed(const struct priomark *run, uint64_t stream);

/* The path of a file in the run's own directory, which is removed at the end of the run. Fails if it is too long. */
void priomark_path(const struct priomark *run, char *path, size_t path_bytes, const char *name);

/* Evicts a file from this node's page cache if the workload requires it (`evict`). Call it before priomark_begin(). */
void priomark_evict(struct priomark *run, const char *path);

/* Where processes evict different files: notes whether all that are read were evicted, if the workload requires it. */
void priomark_evicted(struct priomark *run, bool all);

/* Ends the run with one line; the log is closed as failed. On any process. */
void priomark_fail(struct priomark *run, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));
