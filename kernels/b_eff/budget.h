/* SPDX-License-Identifier: Apache-2.0 */
/* Which methods and loops of a pattern still fit into its share of the run's time budget: from its loops so far and
 * from the times of other patterns, by the arithmetic of loop.h. Rank 0 decides for all. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "loop.h"
#include "methods.h"
#include "request.h"

enum { TRIAL_LOOPS = 3 };      /* of one exchange, before a pattern's first loop by a method */
enum { LATENCY_LOOP = 10000 }; /* exchanges */

/* One pattern and method: its loops so far, over the lengths. */
struct course {
    bool runs; /* requested and applicable */
    int64_t first_loop_length;
    struct trend trend;
    double best_bandwidth; /* messages' bytes per second at the previous length; 0 if it did not run there */
};

/* The shortest exchange so far of any pattern, in seconds; 0 if there is none yet. */
struct known {
    double exchange_seconds[METHODS][LENGTHS];
};

/* The averaged patterns of the first repetition: a score requires all of them. */
struct pace {
    int complete, left;                    /* `left` includes the pattern that is being measured */
    double fastest_seconds, total_seconds; /* of the complete ones */
};

/* The time of a pattern in one repetition. */
struct allowance {
    double run_seconds;                 /* of the run, when the pattern began */
    double used_seconds, share_seconds; /* of the pattern */
    double overhead_factor;             /* time of the pattern so far over the time in its loops */
    int patterns_left;                  /* in this repetition and later ones, this one included */
    bool may_leave_out;                 /* an earlier repetition has measured the pattern at every length */
    const struct pace *pace;
};

/* The decision for a pattern at one length. */
struct decision {
    int64_t reduction;
    int64_t loop_length[METHODS]; /* 0: this method does not run */
    int64_t stops;                /* no time is left: the run ends here */
    int64_t is_too_small;         /* enough patterns are complete to say so of the time budget */
    double estimate_seconds;      /* of the whole run, if this length and longer ones run with all methods */
    double needed_budget_seconds; /* for a score, if all patterns take as long as those so far; 0: a score is sure */
};

struct decision decide(const struct request *request, const struct course courses[METHODS], const struct known *known,
                       int length, const struct allowance *allowance);

/* The same for the pattern's latency loops, which must leave enough time for the other lengths; called after the
 * shortest length. */
struct decision decide_latency(const struct request *request, const struct course courses[METHODS],
                               const struct known *known, const struct allowance *allowance);
