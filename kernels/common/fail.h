/* SPDX-License-Identifier: Apache-2.0 */
/* How a kernel stops on errors. A run may fail on a single rank (fail); a request is refused by all ranks together
 * (refuse). The result of every MPI call goes through MPI_CHECK, so that an error of the library gives one clear line
 * and a closed log. */
#pragma once

#include <mpi.h>
#include <stdbool.h>

enum exit_status { EXIT_COMPLETE = 0, EXIT_FAILED = 1, EXIT_REFUSED = 2 };

struct failure {
    const char *message;
    int rank;         /* the process that failed; NO_RANK: all of them */
    const char *host; /* its node; NULL: that of this process or, if all are together, of `rank` */
    bool together;    /* all processes are here and can still communicate */
};

enum { NO_RANK = -1 };

/* Names the program in messages. */
void fail_setup(const char *program);

/* Adds an action that runs before the process ends by one of the functions below; the last one added runs first. */
void fail_do(void (*action)(const struct failure *failure));

/* Any rank: prints "PROGRAM: error: ...", runs the actions, aborts the MPI job with EXIT_FAILED. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* As fail(), for process `rank` on node `host`: called by another process that knows of the failure. */
_Noreturn void fail_for(int rank, const char *host, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* All ranks together: rank 0 prints "PROGRAM: error: ...", MPI is finalized, exit EXIT_FAILED. */
_Noreturn void fail_together(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* All ranks together, after they agreed on the reason of process `rank` (see agreement.h). */
_Noreturn void fail_together_for(int rank, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* All ranks together, before anything is measured: as fail_together(), with the exit status of an invalid request. */
_Noreturn void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Keeper: prints "error: ..." and leaves out what nobody reads for some seconds, as it has more to do than to wait. */
void print_if_read(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The library's text for an error code, in one line. */
void mpi_error_text(int code, char text[MPI_MAX_ERROR_STRING]);

#define MPI_CHECK(call) check_mpi((call), #call, __FILE__, __LINE__)
void report_mpi_error(int code, const char *call, const char *file, int line);

static inline void check_mpi(int code, const char *call, const char *file, int line)
{
    if (code != MPI_SUCCESS)
        report_mpi_error(code, call, file, line);
}
