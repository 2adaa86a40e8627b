/* SPDX-License-Identifier: Apache-2.0 */
/* The implementation of priomark.h: the run that sub-benchmarks get, the cases that they add, and the values that they
 * note. */
#pragma once

#include "latency.h"
#include "layout.h"
#include "run.h"
#include "workload.h"

enum { MOST_NOTED_VALUES = 32, NAME_LENGTH = 64 };

/* For the table at the terminal: a case in its last repetition. With `operations` on files, it has no bandwidth. */
struct result {
    double bytes, calls, operations, seconds;
};

struct planned {
    struct priomark_case what;
    const struct group *group;
};

/* The values that this process noted in the current case. */
struct notes {
    double begun, ended, paused;         /* seconds; ended 0: not yet */
    double clocked_seconds, day_seconds; /* of all that was timed, by the clock that measured and by the time of day */
    int64_t calls[PRIOMARK_OPERATIONS], bytes[PRIOMARK_OPERATIONS];
    double phase[PRIOMARK_PHASES];
    struct latency latency[PRIOMARK_OPERATIONS];
    int values;
    struct {
        char name[NAME_LENGTH];
        double value;
    } value[MOST_NOTED_VALUES];
    bool evicted;
    bool shares_file;
    struct file_layout layout; /* of the process's own file, or on rank 0 of the file that the processes share */
};

struct priomark {
    struct run *run;
    const struct workload *workload;
    const struct group *group; /* of the current sub-benchmark */
    bool keep;                 /* do not remove files */
    int shift;                 /* --read-shift: see read_shift.h; 0: no shift */
    MPI_Comm readers;          /* all processes, in the order of the parts that they read */

    int cases, room;
    struct planned *planned;

    int number, repetition; /* of the current case, from 1 */
    struct notes notes;
    int64_t read_bytes, checked_bytes; /* of this process, all cases */
};

/* The name of an operation in the log. */
extern const char *const operation_names[PRIOMARK_OPERATIONS];

/* The time between these two, in which data is prepared or checked, does not count. Called between begin and end. */
void host_pause(struct priomark *run);
void host_resume(struct priomark *run);
