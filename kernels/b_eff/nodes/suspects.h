/* SPDX-License-Identifier: Apache-2.0 */
/* A coarse search for slow nodes, only to decide which nodes are measured again in the same run. Postprocess judges,
 * from all times in the log. Pure functions. */
#pragma once

enum { MOST_SUSPECTS = 8, GOOD_NODES = 2 };

struct suspect {
    int node;
    double ratio;         /* its level over that of the median node, see below */
    int good;             /* GOOD_NODES; 0 if there are not so many */
    int with[GOOD_NODES]; /* nodes that are not suspected, of the same group if it has enough of them */
};

/* For qsort(): numbers in ascending order. */
int compare_numbers(const void *a, const void *b);

/* The time of each node's pair over that of the usual pair, `ratio[node]`; NAN for nodes that rest. `seconds` has the
 * time of each node. The usual pair is the slowest of the fast quarter: with a third of slow nodes, which is the most
 * that postprocess names, more than half of the pairs are slow. */
void compare_pairs(int nodes, const int *partner, const double *seconds, double *ratio);

/* Raises the level of each node to the slowest of the fast quarter of its ratios in the matchings,
 * `ratio[matching * nodes + node]`: a slow node is slow with every partner, others only with some. */
void raise_levels(int nodes, int matchings, const double *ratio, double *level);

/* The nodes whose level is above 1.1 times that of the median node, the highest first; NAN is none. Returns their
 * number. */
int list_suspects(int nodes, const double *level, const int *group, struct suspect suspects[MOST_SUSPECTS]);
