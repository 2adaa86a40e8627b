/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a run, numbered in the order of their first ranks, their ranks, and the groups (leaf switches, racks)
 * that a file of the site names. */
#ifndef B_EFF_NODES_H
#define B_EFF_NODES_H

#include <jansson.h>
#include <stdbool.h>

struct nodes {
    int count;
    int *of_rank;     /* the node of each rank */
    int *first;       /* ranks of node k: rank[first[k]] ... rank[first[k + 1] - 1], ascending */
    int *rank;        /* all ranks, by node */
    int *group;       /* the group of each node, numbered in the order of the nodes; all 0 without a file */
    int groups;       /* number of groups */
    int largest_node; /* ranks of the node with the most */
    bool named;       /* the groups, by a file */
};

/* `leader` is the first rank on the calling rank's node. Collective. */
struct nodes nodes_find(int leader);
void nodes_free(struct nodes *nodes);

/* Reads the groups: a line with the name of a node and that of its group for each node of `hosts`, the log's (rank 0,
 * else NULL). Refuses the run if a node has none. Returns the log's description on rank 0, NODE to GROUP. Collective.
 */
json_t *nodes_read_groups(struct nodes *nodes, const char *path, const json_t *hosts);

#endif
