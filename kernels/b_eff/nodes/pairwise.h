/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that show which node is slow, after those of b_eff, in which they do not enter: nodes exchange messages in
 * random matchings, and the averaged patterns run once more; the log gets the time of every process. */
#pragma once

#include <jansson.h>

#include "pairwise_loop.h"
#include "request.h"
#include "run.h"
#include "timed.h"

struct pairwise_choices {
    const char *groups;
    int64_t matchings;
    bool all_pairs;
};
extern const struct pairwise_choices default_matchings;

enum { MOST_MATCHINGS = 1000 };

#define PAIRWISE_OPTIONS(choices)                                                                                     \
    COUNT_OPTION("matchings", &(choices)->matchings, "N", 0, MOST_MATCHINGS,                                          \
                 "random matchings of the nodes, which show slow nodes and do not enter b_eff; 0: none"),             \
        INPUT_OPTION("node-groups", &(choices)->groups, "FILE",                                                       \
                     "groups of nodes, such as those of a leaf switch: a line 'NODE GROUP' for each node. Matchings " \
                     "are first\n"                                                                                    \
                     "        within groups, then across"),                                                           \
        FLAG_OPTION(                                                                                                  \
            "all-pairs", &(choices)->all_pairs,                                                                       \
            "measure each pair of nodes at L_max as well, after the other measurements; takes additional time")

/* Determines what is measured and reserves time of the request for it. Refuses impossible choices. Collective. */
struct pairwise pairwise_begin(const struct run *run, const struct pairwise_choices *choices, struct request *request);

/* The log's plan. Rank 0. */
json_t *pairwise_json(const struct pairwise *pairwise, const struct request *request);

/* Measures all of it, after the patterns. Collective. */
void pairwise_measure(const struct run *run, const struct request *request, const struct pairwise *pairwise,
                      struct loops *loops);

void pairwise_end(struct pairwise *pairwise);
