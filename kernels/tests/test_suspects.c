/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes a run measures again: those whose pairs are slow in most matchings, and good nodes to compare them with.
 */
#include <math.h>

#include "check.h"
#include "matchings.h"
#include "suspects.h"

enum { NODES = 12, MATCHINGS = 11 };

/* Nodes of a speed each: a pair takes as long as its slower node, or as a link that it shares with others, which all
 * pairs of a node with an even and one with an odd number do. */
static int suspects_behind(double link, const double *slowness, const int *group, struct suspect found[MOST_SUSPECTS])
{
    const int all[NODES] = {0};
    double ratio[MATCHINGS * NODES], seconds[NODES], level[NODES];
    int partner[NODES];
    for (int node = 0; node < NODES; node++)
        level[node] = NAN;
    for (int matching = 0; matching < MATCHINGS; matching++) {
        match_within(NODES, all, 1, matching, partner);
        for (int node = 0; node < NODES; node++) {
            const int other = partner[node];
            const double shared = (node + other) % 2 ? link : 1;
            seconds[node] = node < other ? 1e-6 /* a sender may return early */
                                         : 0.01 * fmax(shared, fmax(slowness[node], slowness[other]));
        }
        compare_pairs(NODES, partner, seconds, ratio + matching * NODES);
    }
    raise_levels(NODES, MATCHINGS, ratio, level);
    return list_suspects(NODES, level, group, found);
}

static int suspects_of(const double *slowness, const int *group, struct suspect found[MOST_SUSPECTS])
{
    return suspects_behind(1, slowness, group, found);
}

static void slow_nodes_are_found_and_not_their_partners(void)
{
    const int group[NODES] = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2};
    const double slowness[NODES] = {1, 1, 1.5, 1, 1, 1, 1, 1, 1, 1, 2, 1};
    struct suspect found[MOST_SUSPECTS];
    CHECK(suspects_of(slowness, group, found) == 2, "suspects");
    CHECK(found[0].node == 10 && fabs(found[0].ratio - 2) < 1e-9, "node %d, %g", found[0].node, found[0].ratio);
    CHECK(found[1].node == 2 && fabs(found[1].ratio - 1.5) < 1e-9, "node %d, %g", found[1].node, found[1].ratio);
    CHECK(found[1].good == 2 && found[1].with[0] == 0 && found[1].with[1] == 1, "good nodes of the same group");
    CHECK(found[0].good == 2 && found[0].with[0] != 10 && found[0].with[1] != 10 && found[0].with[0] != 2, "any group");
}

static void a_healthy_machine_has_none_and_ten_percent_is_the_border(void)
{
    const int group[NODES] = {0};
    double slowness[NODES] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct suspect found[MOST_SUSPECTS];
    CHECK(suspects_of(slowness, group, found) == 0, "healthy");
    slowness[5] = 1.0999;
    CHECK(suspects_of(slowness, group, found) == 0, "9.99 %%");
    slowness[5] = 1.1001;
    CHECK(suspects_of(slowness, group, found) == 1 && found[0].node == 5, "10.01 %%");
}

static void at_most_eight_the_slowest_first(void)
{
    int group[20] = {0};
    double level[20];
    struct suspect found[MOST_SUSPECTS];
    for (int node = 0; node < 20; node++)
        level[node] = node < 9 ? 1.2 + 0.2 * ((node * 7) % 9 + 1) : 1; /* 1.4 to 3, in some order */
    level[19] = NAN;
    CHECK(list_suspects(20, level, group, found) == MOST_SUSPECTS, "eight");
    for (int i = 0; i < MOST_SUSPECTS; i++)
        CHECK(fabs(found[i].ratio - (3 - 0.2 * i)) < 1e-9, "suspect %d has %g", i, found[i].ratio);
}

static void without_two_good_nodes_nothing_is_compared(void)
{
    const int group[4] = {0};
    const double level[4] = {2, NAN, 1, NAN};
    struct suspect found[MOST_SUSPECTS];
    CHECK(list_suspects(4, level, group, found) == 1 && found[0].good == 0, "one good node");
}

static void a_third_of_slow_nodes_is_found(void)
{
    const int group[NODES] = {0};
    const double slowness[NODES] = {1, 1.25, 1, 1.25, 1, 1, 1.25, 1, 1, 1, 1.25, 1};
    struct suspect found[MOST_SUSPECTS];
    CHECK(suspects_of(slowness, group, found) == 4, "suspects");
    for (int i = 0; i < 4; i++)
        CHECK(slowness[found[i].node] > 1 && fabs(found[i].ratio - 1.25) < 1e-9, "node %d, %g", found[i].node,
              found[i].ratio);
}

static void a_slow_node_is_found_beside_a_shared_link_that_is_slower(void)
{
    const int group[NODES] = {0};
    const double slowness[NODES] = {1, 1, 1, 1.25, 1, 1, 1, 1, 1, 1, 1, 1};
    struct suspect found[MOST_SUSPECTS] = {{0}};
    CHECK(suspects_behind(1.5, slowness, group, found) == 1 && found[0].node == 3, "node %d", found[0].node);
}

static void what_slows_down_all_nodes_makes_none_a_suspect(void)
{
    const int group[4] = {0};
    struct suspect found[MOST_SUSPECTS];
    CHECK(list_suspects(4, (double[]){1.3, 1.3, 1.42, 1.3}, group, found) == 0, "9 %% above the others");
    CHECK(list_suspects(4, (double[]){1.3, 1.3, 1.44, 1.3}, group, found) == 1 && found[0].node == 2, "11 %%");
    CHECK(fabs(found[0].ratio - 1.44 / 1.3) < 1e-9, "%g", found[0].ratio);
}

int main(void)
{
    slow_nodes_are_found_and_not_their_partners();
    a_healthy_machine_has_none_and_ten_percent_is_the_border();
    at_most_eight_the_slowest_first();
    without_two_good_nodes_nothing_is_compared();
    a_third_of_slow_nodes_is_found();
    a_slow_node_is_found_beside_a_shared_link_that_is_slower();
    what_slows_down_all_nodes_makes_none_a_suspect();
    return checks_status();
}
