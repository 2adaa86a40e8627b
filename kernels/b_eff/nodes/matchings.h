/* SPDX-License-Identifier: Apache-2.0 */
/* Matchings of nodes: which nodes exchange messages in pairs, each with one other. Pure functions of the number of
 * nodes, their groups and a seed; postprocess computes the same (matchings.py). No MPI communication here. */
#pragma once

#include <stdint.h>

enum { NO_PARTNER = -1 }; /* of a node that rests */

/* Rounds of a tournament in which each player meets each other once, and the opponent of a player in a round. Of an odd
 * number of players one rests in each round. */
int tournament_rounds(int players);
int tournament_partner(int players, int round, int player);

/* A random matching inside each group, `partner[node]`. Of an odd number of nodes one rests. Matchings with consecutive
 * indices are rounds of one tournament of the group's nodes in random order: no pair repeats before all have met. */
void match_within(int nodes, const int *group, uint64_t seed, int index, int *partner);

/* A random matching of nodes of different groups. Nodes rest only if their number is odd, or if one group has more
 * nodes than all others together. */
void match_across(int nodes, const int *group, uint64_t seed, int index, int *partner);
