/* SPDX-License-Identifier: Apache-2.0 */
/* How many calls a process makes before the clock is read again, and when a pattern ends (paper, section 5.4;
 * docs/b_eff_io_run.md). Pure arithmetic; access.c reads the clock and agrees. */
#pragma once

#include <stdint.h>

struct limits {
    int64_t calls;          /* maximum number of calls */
    int64_t calls_of_space; /* maximum by the pattern's share of the space */
    double seconds;         /* the pattern's share of the time, its sync included; 0: no limit */
    double slice_seconds;   /* maximum duration of a batch: this or, if that is longer, ... */
    double slice_of_left;   /* ... this share of the remaining time */
    int64_t batch_calls;    /* maximum calls of a batch; 1: agreement after each access, as in the original program */
    int64_t round_calls;    /* maximum calls between clock readings of a process that decides alone */
    double sync_seconds_per_call; /* expected duration of the final sync; 0: unknown */
};

/* In ascending order of importance: if processes end differently, the last one counts. */
enum ending { ENDED_BY_COUNT, ENDED_BY_TIME, ENDED_BY_SPACE, ENDED_BY_OVERRUN, ENDINGS };
extern const char *const ending_names[ENDINGS];

/* The calls of a pattern so far. */
struct course {
    int64_t calls, last_batch;
    double elapsed_seconds, last_batch_seconds;
};

/* For processes that must agree: the calls of the next batch, at least 1; 0 when the pattern ends, for the reason
 * `ending`. Batches double until they are as long as a slice; the last one takes the remaining time, by the pace of the
 * previous one. */
int64_t next_batch(const struct limits *limits, const struct course *course, enum ending *ending);

/* For a process that decides alone: the calls until it reads its clock again. One if the pattern has a time limit. */
int64_t next_round(const struct limits *limits, const struct course *course, enum ending *ending);
