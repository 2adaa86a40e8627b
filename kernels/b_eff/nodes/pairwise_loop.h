/* SPDX-License-Identifier: Apache-2.0 */
/* One loop between nodes that exchange messages in pairs, and what its measurements share. */
#pragma once

#include <jansson.h>

#include "methods.h"
#include "nodes.h"
#include "request.h"
#include "run.h"
#include "suspects.h"
#include "timed.h"

enum direction { BOTH, UP, DOWN, DIRECTIONS };

enum { PAIRWISE_LENGTHS = 3 };

/* What is measured. */
struct pairwise {
    struct nodes nodes;
    json_t *groups; /* rank 0: NODE to GROUP; NULL if no file names them */
    int matchings;  /* 0: none of these loops */
    int lengths;    /* at most PAIRWISE_LENGTHS, ascending; the last one is L_max */
    int64_t length[PAIRWISE_LENGTHS], loop_length[PAIRWISE_LENGTHS];
    bool all_pairs;
    bool by_node; /* the log has one time for each node, that of its slowest process */
};

/* The state of these measurements. */
struct pairwise_state {
    const struct run *run;
    const struct request *request;
    const struct pairwise *plan;
    const struct nodes *nodes;
    struct loops *loops;
    int *order;              /* scratch memory of pattern_layout() */
    int *partner;            /* of each node */
    struct pattern matching; /* name and memory only */
    int place;               /* of this rank among those of its node */
    double *seconds;         /* rank 0: of each rank, in the last loop */
    double end_seconds;      /* of the run: no later than that */
    double longest_seconds;  /* of a loop between single processes at L_max, with all that belongs to it */
    int parts_left;          /* of the time that is left, see struct set */
    double *ratio, *level;   /* rank 0: of each node, see suspects.h; `ratio` for each matching of a set */
    struct suspect suspect[MOST_SUSPECTS];
};

/* Times a loop and sends the time of each process to rank 0, NAN for those that rest. Returns the time that all of it
 * took. Collective. */
double pairwise_time(struct pairwise_state *state, struct exchange *exchange, int64_t bytes, int64_t loop_length);

/* This rank's part of the exchange between each node and its partner; needs no exchange_close(). */
struct exchange pairwise_exchange(const struct pairwise_state *state, bool one_per_node, enum direction direction);

/* Rank 0: the last loop's time on the slowest process of a node, NAN if it rests. */
double pairwise_slowest(const struct pairwise_state *state, int node);

/* Null for NAN. */
json_t *pairwise_seconds(double seconds);
