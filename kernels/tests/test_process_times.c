/* SPDX-License-Identifier: Apache-2.0 */
/* The values of nodes from those of their ranks, by hand. */
#include "check.h"
#include "process_times.h"

static void largest_of_each_node_in_the_order_of_the_nodes(void)
{
    /* Ranks 0, 3 and 6 on the first node, 1 and 2 on the second, 4 on the third, 5 on the fourth. */
    static const int leaders[] = {0, 1, 1, 0, 4, 5, 0};
    static const double wanted[] = {9, 5, 4, 2};
    double values[] = {3, 1, 5, 8, 4, 2, 9};
    CHECK(largest_of_nodes(leaders, values, 7) == 4, "number of nodes");
    for (int node = 0; node < 4; node++)
        CHECK(values[node] == wanted[node], "node %d: %g", node, values[node]);
}

static void first_ranks_belong_to_fewer_nodes(void)
{
    static const int leaders[] = {0, 1, 1, 0};
    double values[] = {-3, -1, -5, -8};
    CHECK(largest_of_nodes(leaders, values, 4) == 2 && values[0] == -3 && values[1] == -1, "%g, %g", values[0],
          values[1]);
}

int main(void)
{
    largest_of_each_node_in_the_order_of_the_nodes();
    first_ranks_belong_to_fewer_nodes();
    return checks_status();
}
