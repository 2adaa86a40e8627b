/* SPDX-License-Identifier: Apache-2.0 */
/* A run from MPI_Init to MPI_Finalize, the same for every kernel: begin, check the request, open the log, measure, end.
 */
#pragma once

#include <stdint.h>

#include "activity.h"
#include "filesystem.h"
#include "log.h"
#include "machine.h"
#include "node_counters.h"
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
    double opened_day_seconds;            /* since 1970, at the same time */
    struct processor_time processor_time; /* of the node, until then */
    struct node_counters counters;        /* of the node, at the same time */
};

/* Parses the options, initialises MPI and describes the machine; refuses an invalid command line. `memory_option`, read
 * after the options were parsed, is the memory per process as requested, 0 for that of the machine; NULL: there is no
 * such option. Must be called first in main(). */
struct run run_begin(const struct program *program, int *argc, char ***argv, const int64_t *memory_option);

/* Creates the log, starts the keepers and writes the records `run`, `plan` (takes ownership of `plan`; NULL on all
 * ranks except 0) and `overhead`. `filesystem` describes the directory under test, NULL if there is none. Then all
 * processes sleep for the time of --idle-power, which does not count as time of the run, and the nodes' counters are
 * read. */
void run_open_log(struct run *run, const char *path, char **command, const struct filesystem *filesystem, json_t *plan);

/* Writes the record `data_check`: the bytes that all processes received or read, as the field `name` says, and those
 * that they checked. Called only if no byte was wrong, because a wrong byte ends the run. Collective. */
void run_log_data_check(const struct run *run, const char *name, int64_t bytes, int64_t checked_bytes);

/* Seconds since run_begin() on this rank. */
double run_elapsed_seconds(const struct run *run);

/* What a run does from time to time between timed regions: reads the nodes' energy if that is due. Called by all
 * ranks. */
void run_follow(struct run *run);

/* Prints the command that computes the score of a log; the last line of each kernel's table. */
void run_print_score_command(const char *log);

/* Closes the log as complete and finalizes MPI; returns the exit status. */
int run_end(struct run *run);
