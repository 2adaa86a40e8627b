/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that show which node is slow, after those of b_eff, in which they do not enter: nodes exchange messages in
 * random matchings, and the averaged patterns run once more; the log gets the time of every process. */
#ifndef B_EFF_PAIRWISE_H
#define B_EFF_PAIRWISE_H

#include <jansson.h>

#include "request.h"
#include "run.h"
#include "timed.h"

/* Determines what is measured, from the number of matchings that is requested, and the number of nodes. */
struct pairwise pairwise_plan(const struct nodes *nodes, int64_t matchings, bool all_pairs, const int64_t *length,
                              int64_t longest_loop, double time_budget_seconds);

/* The log's description. Takes ownership of `groups`, NODE to GROUP or NULL. Rank 0 only. */
json_t *pairwise_json(const struct pairwise *pairwise, json_t *groups);

/* Measures all of it. `order` as for pattern_layout(). Collective. */
void measure_pairwise(const struct run *run, const struct request *request, struct loops *loops, int *order);

#endif
