/* SPDX-License-Identifier: Apache-2.0 */
/* Prints matchings as the kernel forms them: a line with the partner of each node, first within groups, then across.
 * Arguments: nodes, groups (node k is in group k modulo groups), seed, index. Linked with the kernel's matchings.c. */
#include <stdio.h>
#include <stdlib.h>

#include "matchings.h"
#include "memory.h"

static void print(const int *partner, int nodes)
{
    for (int node = 0; node < nodes; node++)
        printf("%d ", partner[node]);
    printf("\n");
}

int main(int count, char **argument)
{
    (void)count;
    const int nodes = atoi(argument[1]), groups = atoi(argument[2]), index = atoi(argument[4]);
    const uint64_t seed = strtoull(argument[3], NULL, 10);
    int *group = allocate((size_t)nodes, sizeof *group), *partner = allocate((size_t)nodes, sizeof *partner);
    for (int node = 0; node < nodes; node++)
        group[node] = node % groups;
    match_within(nodes, group, seed, index, partner);
    print(partner, nodes);
    match_across(nodes, group, seed, index, partner);
    print(partner, nodes);
    free(partner);
    free(group);
    return 0;
}
