/* SPDX-License-Identifier: Apache-2.0 */
/* Which methods and loops of a pattern still fit into its share of the run's time budget (spec: "Loop length"): from
 * the course of its loops so far and from what other patterns took, by the arithmetic of loop.h. Rank 0 decides for
 * all. */
#ifndef B_EFF_BUDGET_H
#define B_EFF_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "log.h"
#include "loop.h"
#include "measure.h"
#include "methods.h"

/* One pattern and method: the course of its loops over the lengths. */
struct course {
    bool runs; /* asked for and applicable */
    int64_t first_loop_length;
    struct trend trend;
    double best_bandwidth; /* messages' bytes per second at the previous length; 0 if it did not run there */
};

/* The shortest exchange so far of any pattern, in seconds; 0 while nothing is known. */
struct known {
    double exchange_seconds[METHODS][LENGTHS];
};

/* The time of a pattern in one repetition. */
struct allowance {
    double run_seconds;                 /* of the run, when the pattern began */
    double used_seconds, share_seconds; /* of the pattern */
    double overhead_factor;             /* what came on top of the loops so far */
    int patterns_left;                  /* in this repetition and later ones, this one included */
    bool may_leave_out;                 /* an earlier repetition has measured the pattern at every length */
};

/* About a pattern at one length. */
struct decision {
    int64_t reduction;
    int64_t loop_length[METHODS]; /* 0: this method does not run */
    int64_t stops;                /* no time is left for this length and all that would follow in the run */
    double estimate_seconds;      /* of the whole run, if this length and the longer ones ran with all methods */
};

struct decision decide(const struct request *request, const struct course courses[METHODS], const struct known *known,
                       int length, const struct allowance *allowance);

/* The same for the pattern's latency loops, which leave enough time for its other lengths; after the shortest one. */
struct decision decide_latency(const struct request *request, const struct course courses[METHODS],
                               const struct known *known, const struct allowance *allowance);

#endif
