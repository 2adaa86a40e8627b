/* SPDX-License-Identifier: Apache-2.0 */
/* Matchings of nodes: each node has one partner or rests, in a tournament each pair meets once, and groups are kept. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "matchings.h"

enum { MOST = 65, MATCHINGS = 20 };

/* Everyone's partner has them as partner; how many rest, -1 if it is no matching. */
static int resting(const int *partner, int nodes)
{
    int rest = 0;
    for (int node = 0; node < nodes; node++) {
        const int other = partner[node];
        if (other == NO_PARTNER)
            rest++;
        else if (other < 0 || other >= nodes || other == node || partner[other] != node)
            return -1;
    }
    return rest;
}

/* Takes down the pairs of a matching; whether one of them was there before. */
static bool meets_again(bool met[MOST][MOST], const int *partner, int nodes)
{
    bool again = false;
    for (int node = 0; node < nodes; node++) {
        if (partner[node] == NO_PARTNER)
            continue;
        again = again || met[node][partner[node]];
        met[node][partner[node]] = true;
    }
    return again;
}

static void in_a_tournament_each_meets_each_other_once(void)
{
    for (int players = 1; players <= MOST; players++) {
        bool met[MOST][MOST] = {{false}};
        int partner[MOST], pairs = 0;
        for (int round = 0; round < tournament_rounds(players); round++) {
            for (int player = 0; player < players; player++)
                partner[player] = tournament_partner(players, round, player);
            CHECK(resting(partner, players) == players % 2, "%d players, round %d", players, round);
            CHECK(!meets_again(met, partner, players), "%d players, round %d", players, round);
            pairs += players / 2;
        }
        CHECK(pairs == players * (players - 1) / 2, "%d players: %d pairs", players, pairs);
    }
}

static void random_matchings_are_perfect_repeatable_and_repeat_no_pair_before_all_have_met(void)
{
    const int group[MOST] = {0};
    for (int nodes = 2; nodes <= MOST; nodes++) {
        bool met[MOST][MOST] = {{false}};
        int partner[MOST], again[MOST], other_seed[MOST];
        for (int index = 0; index < tournament_rounds(nodes); index++) {
            match_within(nodes, group, 7, index, partner);
            CHECK(resting(partner, nodes) == nodes % 2, "%d nodes, matching %d", nodes, index);
            CHECK(!meets_again(met, partner, nodes), "%d nodes, matching %d", nodes, index);
            match_within(nodes, group, 7, index, again);
            CHECK(memcmp(partner, again, (size_t)nodes * sizeof *partner) == 0, "%d nodes", nodes);
        }
        match_within(nodes, group, 8, 0, other_seed);
        match_within(nodes, group, 7, 0, partner);
        CHECK(nodes < 10 || memcmp(partner, other_seed, (size_t)nodes * sizeof *partner) != 0, "%d nodes", nodes);
    }
}

/* The second tournament of the same nodes is in another order. */
static void further_matchings_are_random_again(void)
{
    const int group[MOST] = {0};
    int first[MOST], second[MOST];
    match_within(16, group, 1, 0, first);
    match_within(16, group, 1, 15, second);
    CHECK(memcmp(first, second, 16 * sizeof *first) != 0, "matchings 0 and 15");
}

/* Nodes in turn: groups of equal size, up to one node. */
static void inside_and_across_groups_nobody_rests_without_need(void)
{
    for (int nodes = 2; nodes <= MOST; nodes++) {
        for (int groups = 1; groups <= nodes; groups++) {
            int group[MOST], partner[MOST], alone = 0;
            for (int node = 0; node < nodes; node++)
                group[node] = node % groups;
            for (int g = 0; g < groups; g++)
                alone += (nodes / groups + (g < nodes % groups)) % 2;
            for (int index = 0; index < MATCHINGS; index++) {
                match_within(nodes, group, 3, index, partner);
                CHECK(resting(partner, nodes) == alone, "%d nodes in %d groups", nodes, groups);
                for (int node = 0; node < nodes; node++)
                    CHECK(partner[node] == NO_PARTNER || group[partner[node]] == group[node], "node %d", node);
                match_across(nodes, group, 3, index, partner);
                CHECK(resting(partner, nodes) == (groups == 1 ? nodes : nodes % 2), "%d nodes in %d groups", nodes,
                      groups);
                for (int node = 0; node < nodes; node++)
                    CHECK(partner[node] == NO_PARTNER || group[partner[node]] != group[node], "node %d", node);
            }
        }
    }
}

/* Of seven nodes of one group and two others, five have nobody to exchange messages with. */
static void across_a_group_of_more_than_half_the_rest_is_paired(void)
{
    const int group[9] = {0, 0, 1, 0, 0, 0, 2, 0, 0};
    int partner[9], partners_of_two[9] = {0}, different = 0;
    for (int index = 0; index < 200; index++) {
        match_across(9, group, 1, index, partner);
        CHECK(resting(partner, 9) == 5, "matching %d", index);
        CHECK(partner[2] != NO_PARTNER && partner[6] != NO_PARTNER, "matching %d", index);
        partners_of_two[partner[2] < 0 ? 0 : partner[2]] = 1;
    }
    for (int node = 0; node < 9; node++)
        different += partners_of_two[node];
    CHECK(different == 7, "node 2 met %d of 7 nodes", different);
}

int main(void)
{
    in_a_tournament_each_meets_each_other_once();
    random_matchings_are_perfect_repeatable_and_repeat_no_pair_before_all_have_met();
    further_matchings_are_random_again();
    inside_and_across_groups_nobody_rests_without_need();
    across_a_group_of_more_than_half_the_rest_is_paired();
    return checks_status();
}
