/* SPDX-License-Identifier: Apache-2.0 */
/* How a kernel gives up. A run error may strike a single rank (fail); a refusal is seen by all ranks alike (refuse).
 * Every MPI call's result goes through MPI_CHECK, so that a failing library is one clear line and a closed log. */
#ifndef COFFEECUP_FAIL_H
#define COFFEECUP_FAIL_H

#include <mpi.h>
#include <stdbool.h>

enum exit_status { EXIT_COMPLETE = 0, EXIT_FAILED = 1, EXIT_REFUSED = 2 };

struct failure {
    const char *message;
    int rank;         /* the process that failed; NO_RANK: all of them alike */
    const char *host; /* its node; NULL: this process's, or to be asked of it where all are together */
    bool together;    /* all processes are here and can still communicate */
};

enum { NO_RANK = -1 };

/* Names the program in messages. */
void fail_setup(const char *program);

/* Adds what is to be done before the process ends by one of the functions below; what was added last is done first. */
void fail_do(void (*action)(const struct failure *failure));

/* Any rank: prints "PROGRAM: error: ...", does what was added, aborts the MPI job with EXIT_FAILED. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* As fail(), because of process `rank` on node `host`: by a process that learned of it. */
_Noreturn void fail_for(int rank, const char *host, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* All ranks together: rank 0 prints "PROGRAM: error: ...", MPI is finalized, exit EXIT_FAILED. */
_Noreturn void fail_together(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* All ranks together, because of one of them, after they agreed on its reason (see agreement.h). */
_Noreturn void fail_together_for(int rank, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* All ranks together, before anything is measured: as fail_together(), with the exit status of a wrong request. */
_Noreturn void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define MPI_CHECK(call) check_mpi((call), #call, __FILE__, __LINE__)
void report_mpi_error(int code, const char *call, const char *file, int line);

static inline void check_mpi(int code, const char *call, const char *file, int line)
{
    if (code != MPI_SUCCESS)
        report_mpi_error(code, call, file, line);
}

#endif
