/* SPDX-License-Identifier: Apache-2.0 */
/* How many calls a process makes before somebody looks at a clock again, and when a pattern ends (paper, section 5.4;
 * docs/b_eff_io.md, "Termination"). Pure arithmetic; access.c says who looks and who agrees. */
#ifndef B_EFF_IO_LOOP_H
#define B_EFF_IO_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct limits {
    int64_t calls;                /* never more than these */
    int64_t calls_of_space;       /* nor these: the pattern's share of the space */
    double seconds;               /* the pattern's share of the time, its sync included; 0: no limit */
    double slice_seconds;         /* no batch is meant to be longer than this or, if that is more, ... */
    double slice_of_left;         /* ... than this share of the time that is left */
    int64_t batch_calls;          /* no batch has more calls; 1 gives the original's agreement after each access */
    int64_t round_calls;          /* nor has a round, of a process that decides alone */
    double sync_seconds_per_call; /* expected duration of the sync at the end, as far as known */
};

/* In ascending order of what a reader has to know: where processes end differently, the last one counts. */
enum ending { ENDED_BY_COUNT, ENDED_BY_TIME, ENDED_BY_SPACE, ENDED_BY_OVERRUN, ENDINGS };
extern const char *const ending_names[ENDINGS];

/* What a pattern has done so far. */
struct course {
    int64_t calls, last_batch;
    double elapsed_seconds, last_batch_seconds;
};

/* For processes that have to agree: the calls of the next batch, at least 1; 0 when the pattern ends, and `ending` says
 * why. Batches double until they are as long as a slice; the last one is as long as the time that is left, by the pace
 * of the one before. */
int64_t next_batch(const struct limits *limits, const struct course *course, enum ending *ending);

/* For a process that decides alone: the calls until it looks at its clock again. One if the pattern has a time limit.
 */
int64_t next_round(const struct limits *limits, const struct course *course, enum ending *ending);

#endif
