/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes a run measures again: those whose pairs are slow in most matchings, and good nodes to compare them with.
 */
#include <math.h>

#include "check.h"
#include "matchings.h"
#include "suspects.h"

enum { NODES = 12, MATCHINGS = 11 };

/* Nodes of a speed each: a pair takes as long as its slower node. */
static int suspects_of(const double *slowness, const int *group, struct suspect found[MOST_SUSPECTS])
{
    const int all[NODES] = {0};
    double ratio[MATCHINGS * NODES], seconds[NODES], level[NODES];
    int partner[NODES];
    for (int node = 0; node < NODES; node++)
        level[node] = NAN;
    for (int matching = 0; matching < MATCHINGS; matching++) {
        match_within(NODES, all, 1, matching, partner);
        for (int node = 0; node < NODES; node++) /* a sender may return early */
            seconds[node] = node < partner[node] ? 1e-6 : 0.01 * fmax(slowness[node], slowness[partner[node]]);
        compare_pairs(NODES, partner, seconds, ratio + matching * NODES);
    }
    raise_levels(NODES, MATCHINGS, ratio, level);
    return list_suspects(NODES, level, group, found);
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
        level[node] = node < 10 ? 1 + 0.2 * ((node * 7) % 10 + 1) : 1; /* 1.2 to 3, in some order */
    level[19] = NAN;
    CHECK(list_suspects(20, level, group, found) == MOST_SUSPECTS, "eight");
    for (int i = 0; i < MOST_SUSPECTS; i++)
        CHECK(fabs(found[i].ratio - (3 - 0.2 * i)) < 1e-9, "suspect %d has %g", i, found[i].ratio);
}

static void without_two_good_nodes_nothing_is_compared(void)
{
    const int group[3] = {0};
    const double level[3] = {2, 2, 1};
    struct suspect found[MOST_SUSPECTS];
    CHECK(list_suspects(3, level, group, found) == 2 && found[0].good == 0 && found[1].good == 0, "one good node");
}

int main(void)
{
    slow_nodes_are_found_and_not_their_partners();
    a_healthy_machine_has_none_and_ten_percent_is_the_border();
    at_most_eight_the_slowest_first();
    without_two_good_nodes_nothing_is_compared();
    return checks_status();
}
