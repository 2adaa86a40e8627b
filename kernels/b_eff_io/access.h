/* One pattern, measured: position, batches of calls with agreements between them, sync. */
#ifndef B_EFF_IO_ACCESS_H
#define B_EFF_IO_ACCESS_H

#include "loop.h"
#include "methods.h"
#include "walk.h"

enum { PROBLEM_LENGTH = 1024 };

/* What one process found wrong, and where; all processes of the partition learn of it at the next agreement. */
struct problem {
    int code;                  /* MPI error code, or MPI_SUCCESS */
    char text[PROBLEM_LENGTH]; /* "" where nothing is wrong */
};

/* What the accesses of a pattern are given. */
struct access {
    struct stream *stream;
    const struct pattern_type *type;
    enum method_number method;
    struct walk *walk;
    struct limits limits;
    bool check_all;
    void (*alive)(void *context); /* called between batches */
    /* the source of a call's data, for read */
    uint32_t (*source)(void *context, int64_t call);
    void *context;
};

/* Times in seconds: of the slowest process, and of the fastest where that tells a straggler. */
struct result {
    int64_t calls; /* of each process */
    int agreements;
    enum ending ending;
    double elapsed, position, access, access_fastest, sync, agreement, agreement_fastest, first_done, last_done;
    int64_t checked_bytes; /* of this process */
};

/* Collective over the partition. On an error `problem` tells this process's own; the times are then void. */
struct result access_pattern(const struct access *access, int64_t start, const struct pattern *pattern,
                             int64_t repetitions, struct problem *problem);

/* Whether a process of the partition has a problem: all get its text, of the lowest rank. Collective over `comm`. */
bool agree_on_problem(MPI_Comm comm, struct problem *problem);

/* Notes an MPI error, with a remedy where one is known; an earlier problem stands. `what` was to be done. */
void note_problem(struct problem *problem, int code, const char *what);

#endif
