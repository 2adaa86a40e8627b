/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a run, numbered in the order of their first ranks, and their ranks. */
#pragma once

#include <stdbool.h>

struct nodes {
    int count;
    int *of_rank;     /* the node of each rank */
    int *first;       /* ranks of node k: rank[first[k]] ... rank[first[k + 1] - 1], ascending */
    int *rank;        /* all ranks, by node */
    int *group;       /* the group of each node, numbered in the order of the nodes; all 0 if nothing names groups */
    int groups;       /* number of groups */
    int largest_node; /* ranks of the node with the most */
    bool named;       /* the groups */
};

/* `leader` is the first rank on the calling rank's node. Collective. */
struct nodes nodes_find(int leader);
void nodes_free(struct nodes *nodes);
