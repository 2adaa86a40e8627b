/* How many calls follow before the processes agree again, and when a pattern ends (paper, section 5.4; spec:
 * "Termination"). Pure arithmetic; rank 0 decides, see measure.c. */
#ifndef B_EFF_IO_LOOP_H
#define B_EFF_IO_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct limits {
    int64_t calls;           /* never more than these */
    int64_t calls_of_space;  /* nor these: the pattern's share of the space */
    double seconds;          /* the pattern's share of the time, its sync included; 0: no limit */
    double slice_seconds;    /* no batch is meant to be longer */
    int64_t batch_calls;     /* no batch has more calls; 1 gives the original's agreement after each access */
    double sync_seconds_per_call; /* what the sync at the end will take, as far as known */
};

enum ending { ENDED_BY_TIME, ENDED_BY_COUNT, ENDED_BY_SPACE, ENDINGS };
extern const char *const ending_names[ENDINGS];

/* What a pattern has done so far. */
struct course {
    int64_t calls, last_batch;
    double elapsed_seconds, last_batch_seconds;
};

/* The calls of the next batch, at least 1; 0 when the pattern ends, and `ending` says why. Batches double until they
 * are as long as a slice; the last one is as long as the time that is left, by the pace of the one before. */
int64_t next_batch(const struct limits *limits, const struct course *course, enum ending *ending);

#endif
