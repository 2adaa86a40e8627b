/* SPDX-License-Identifier: Apache-2.0 */
/* A run from MPI_Init to MPI_Finalize, the same for every kernel: begin, (check the request), open the log, measure,
 * end. */
#ifndef COFFEECUP_RUN_H
#define COFFEECUP_RUN_H

#include <stdint.h>

#include "activity.h"
#include "log.h"
#include "machine.h"
#include "options.h"

struct run {
    const struct program *program;
    int rank, ranks;
    struct machine machine;
    int64_t memory_per_process_bytes;     /* the smallest of all nodes: node memory / processes on the node */
    const char *memory_source;            /* "physical", "cgroup" or "option" */
    struct log *log;                      /* NULL on all ranks but 0 */
    double start_seconds;                 /* MPI_Wtime */
    double opened_seconds;                /* of the run, when the log was opened */
    struct processor_time processor_time; /* and what the node's processors had done until then */
};

/* Parses the options, starts MPI and looks at the machine; refuses a wrong command line. `memory_option`, read after
 * the options were parsed, is the memory per process that the user asked for, 0 for what the machine has; NULL: there
 * is no such option. To be called first in main(). */
struct run run_begin(const struct program *program, int *argc, char ***argv, const int64_t *memory_option);

/* Creates the log, starts the keepers and writes the records `run`, `plan` (takes over `plan`; NULL on all ranks but 0)
 * and `overhead`. `filesystem` describes the directory under test, NULL where there is none. */
void run_open_log(struct run *run, const char *path, char **command, json_t *filesystem, json_t *plan);

/* Seconds since run_begin() on this rank. */
double run_elapsed_seconds(const struct run *run);

/* Closes the log as complete and finalizes MPI; returns the exit status. */
int run_end(struct run *run);

#endif
