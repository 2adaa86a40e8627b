/* Which methods, repetitions and loops of a pattern still fit into its share of the run's time budget (spec: "Loop
 * length"): from the course of its loops so far, by the arithmetic of loop.h. Rank 0 decides for all. */
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

/* The time of a pattern. */
struct allowance {
    double used_seconds, share_seconds;
    double overhead_factor; /* what came on top of the loops so far */
};

/* About a pattern at one length. */
struct decision {
    int64_t reduction;
    int64_t loop_length[METHODS]; /* 0: this method does not run */
};

/* `estimate_seconds`: what this length and the longer ones would take with all methods. */
struct decision decide(const struct request *request, const struct course courses[METHODS], int length,
                       const struct allowance *allowance, double *estimate_seconds);

int repetitions_under(enum reduction reduction, const struct request *request);

void log_reduction(struct log *log, const struct pattern *pattern, int64_t bytes, const struct decision *decision,
                   double elapsed_seconds, double estimate_seconds);

#endif
