/* SPDX-License-Identifier: Apache-2.0 */
/* How often an exchange is repeated in a timed loop, and which methods still fit into the run's time budget. Pure
 * arithmetic on measured times; rank 0 decides, see budget.c. */
#pragma once

#include <stdint.h>

/* The last two measured lengths of a pattern and method. */
struct trend {
    int points;
    double bytes[2], seconds[2]; /* of one exchange; [1] is the latest */
};

void trend_add(struct trend *trend, double bytes, double seconds_per_exchange);

/* Seconds that one exchange of `bytes` will take. For the next length: the straight line through the last two points,
 * at least the last time. For longer ones: in proportion to the length. 0 if there are no points. */
double trend_predict(const struct trend *trend, double bytes);

/* Exchanges that take 2.5 to 5 ms together, at least 1 and at most `most`. */
int64_t choose_loop_length(double exchange_seconds, int64_t most);

/* `wanted` exchanges, or as many as fit into `most_seconds`, at least 1. */
int64_t limit_loop_length(int64_t wanted, double exchange_seconds, double most_seconds);

/* What a run leaves out at a length to keep its time budget, step by step. */
enum reduction { RUN_ALL_METHODS, RUN_AVERAGED_METHODS, RUN_BEST_METHOD, RUN_NOTHING, REDUCTIONS };
extern const char *const reduction_names[REDUCTIONS]; /* as in the log; NULL for RUN_ALL_METHODS */

/* The first reduction whose cost fits into `left_seconds`, otherwise `harshest`. `cost_seconds` is the cost of this
 * length under each reduction, `reserve_seconds` the minimum cost of the rest of the pattern. */
enum reduction choose_reduction(const double cost_seconds[REDUCTIONS], double reserve_seconds, double left_seconds,
                                enum reduction harshest);
