/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of nodes (leaf switches, racks) that a file of the site names. */
#pragma once

#include <jansson.h>

#include "nodes.h"

/* Reads the groups: a line with the name of a node and that of its group for each node of `hosts`, the log's (rank 0,
 * else NULL). Refuses the run if a node has none. Returns the log's description on rank 0, NODE to GROUP. Collective.
 */
json_t *nodes_read_groups(struct nodes *nodes, const char *path, const json_t *hosts);
