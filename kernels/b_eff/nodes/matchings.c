/* SPDX-License-Identifier: Apache-2.0 */
/* See matchings.h. */
#include "matchings.h"

#include <stdlib.h>

#include "memory.h"
#include "random.h"

/* Numbers 0 of the seed's sequence are the random patterns' own (patterns.c). */
enum { WITHIN = 1, ACROSS = 2 };

int tournament_rounds(int players)
{
    return players + players % 2 - 1;
}

/* The circle method: the last player stays, the others move on by one place in each round. An odd number of players is
 * completed by a last one with whom the opponent rests. */
int tournament_partner(int players, int round, int player)
{
    const int places = tournament_rounds(players), last = places;
    if (player == last)
        return round;
    const int other = (2 * (round % places) + places - player) % places;
    if (other != player)
        return other;
    return last < players ? last : NO_PARTNER;
}

/* The nodes by group, in the groups' order and ascending in each; `first[g]` is where group g begins. */
static void sort_by_group(int nodes, const int *order, const int *group, int *first, int *sorted)
{
    for (int g = 0; g <= nodes; g++)
        first[g] = 0;
    for (int node = 0; node < nodes; node++)
        first[group[node] + 1]++;
    for (int g = 0; g < nodes; g++)
        first[g + 1] += first[g];
    for (int i = 0; i < nodes; i++) /* first[g] counts on to the begin of group g + 1 ... */
        sorted[first[group[order[i]]]++] = order[i];
    for (int g = nodes; g > 0; g--) /* ... and is put back */
        first[g] = first[g - 1];
    first[0] = 0;
}

static void match_group(int *member, int members, uint64_t seed, int group, int index, int *partner)
{
    const int rounds = tournament_rounds(members);
    random_shuffle(member, members,
                   random_number(random_number(seed, WITHIN) + (uint64_t)(index / rounds), (uint64_t)group));
    for (int i = 0; i < members; i++) {
        const int other = tournament_partner(members, index % rounds, i);
        partner[member[i]] = other == NO_PARTNER ? NO_PARTNER : member[other];
    }
}

static int *all_nodes(int nodes)
{
    int *order = allocate((size_t)nodes, sizeof *order);
    for (int node = 0; node < nodes; node++)
        order[node] = node;
    return order;
}

void match_within(int nodes, const int *group, uint64_t seed, int index, int *partner)
{
    int *order = all_nodes(nodes), *sorted = allocate((size_t)nodes, sizeof *sorted);
    int *first = allocate((size_t)nodes + 1, sizeof *first);
    sort_by_group(nodes, order, group, first, sorted);
    for (int g = 0; g < nodes && first[g] < nodes; g++)
        if (first[g + 1] > first[g])
            match_group(sorted + first[g], first[g + 1] - first[g], seed, g, index, partner);
    free(first);
    free(sorted);
    free(order);
}

/* Groups in the order in which they come first in a random order of the nodes. */
static void rank_groups(int nodes, const int *order, const int *group, int *rank_of_group)
{
    int ranked = 0;
    for (int g = 0; g < nodes; g++)
        rank_of_group[g] = -1;
    for (int i = 0; i < nodes; i++)
        if (rank_of_group[group[order[i]]] < 0)
            rank_of_group[group[order[i]]] = ranked++;
}

/* A group of at most half the nodes does not reach from a place to the one half of all nodes further on. */
void match_across(int nodes, const int *group, uint64_t seed, int index, int *partner)
{
    int *order = all_nodes(nodes), *sorted = allocate((size_t)nodes, sizeof *sorted);
    int *first = allocate((size_t)nodes + 1, sizeof *first);
    int *rank_of_group = allocate((size_t)nodes, sizeof *rank_of_group),
        *ranked = allocate((size_t)nodes, sizeof *ranked);
    random_shuffle(order, nodes, random_number(seed, ACROSS) + (uint64_t)index);
    rank_groups(nodes, order, group, rank_of_group);
    for (int node = 0; node < nodes; node++) {
        ranked[node] = rank_of_group[group[node]];
        partner[node] = NO_PARTNER;
    }
    sort_by_group(nodes, order, ranked, first, sorted);
    const int half = (nodes + 1) / 2;
    for (int i = 0; i + half < nodes; i++) {
        const int a = sorted[i], b = sorted[i + half];
        if (group[a] != group[b]) {
            partner[a] = b;
            partner[b] = a;
        }
    }
    free(ranked);
    free(rank_of_group);
    free(first);
    free(sorted);
    free(order);
}
