/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time goes: every second of a process between the start and the end of a repetition belongs to one activity
 * of one stage. The clock is read once at the end of each activity, where the next one begins. */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "run.h"

/* In the order of running: the paper's sections 3.4 to 3.7. */
enum stage { STAGE_INITIALISE, STAGE_SERIES_1, STAGE_TRANSPOSE, STAGE_EXCHANGE, STAGE_SERIES_2, STAGE_VERIFY, STAGES };

enum activity {
    ACTIVITY_OPEN,
    ACTIVITY_READ,
    ACTIVITY_WRITE,
    ACTIVITY_FLUSH,
    ACTIVITY_PLAN,
    ACTIVITY_FFT,
    ACTIVITY_COMPUTE,  /* compute elements, transpose in memory, compare */
    ACTIVITY_EXCHANGE, /* MPI_Sendrecv_replace */
    ACTIVITY_WAIT,     /* for the slowest process at the end of a stage */
    ACTIVITIES
};
extern const char *const stage_names[STAGES];
extern const struct activity_row {
    const char *name;
    bool io;
    bool each; /* the log has the time of each process, because a process does its own work here */
} activity_rows[ACTIVITIES];

struct phase {
    double seconds;
    int64_t bytes, calls;
};

struct phases {
    double begin_seconds, end_seconds; /* of the repetition, measured independently of the activities */
    double last_seconds;               /* when the last activity ended */
    enum stage stage;
    struct phase phase[STAGES][ACTIVITIES];
};

/* Sums of one process, for fractions. */
struct phase_sums {
    double elapsed_seconds, io_seconds;                     /* of the whole repetition */
    double transform_elapsed_seconds, transform_io_seconds; /* without initialisation and verification */
};

static inline void activity_ends(struct phases *phases, enum activity activity, int64_t bytes, int64_t calls)
{
    const double now = MPI_Wtime();
    struct phase *phase = &phases->phase[phases->stage][activity];
    phase->seconds += now - phases->last_seconds;
    phase->bytes += bytes;
    phase->calls += calls;
    phases->last_seconds = now;
}

/* All processes start together. Collective. */
struct phases phases_begin(void);

struct phase_sums phases_sum(const struct phases *phases);

/* Writes a `measurement` record for each stage and activity that occurred on any process, with the times of single
 * processes where an activity has them. Collective. */
void phases_log(const struct phases *phases, const struct run *run, int64_t repetition);
