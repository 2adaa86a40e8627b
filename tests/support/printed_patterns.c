/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the messages of b_eff's rings, random patterns, worst cycle and ping-pong as the kernel forms them: a line
 * "PATTERN SOURCE TARGET" for each message. Arguments: processes, seed. Linked with the kernel's patterns.c. */
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "patterns.h"

int main(int count, char **argument)
{
    (void)count;
    const int ranks = atoi(argument[1]);
    const uint64_t seed = strtoull(argument[2], NULL, 10);
    const uint64_t chosen = 1 << GROUP_RING | 1 << GROUP_RANDOM | 1 << GROUP_WORST_CYCLE | 1 << GROUP_PING_PONG;
    struct pattern *patterns;
    const int number = list_patterns(ranks, chosen, &patterns);
    int *order = allocate((size_t)ranks, sizeof *order);
    for (int p = 0; p < number; p++) {
        struct layout *layouts = allocate((size_t)ranks, sizeof *layouts);
        for (int rank = 0; rank < ranks; rank++)
            layouts[rank] = pattern_layout(&patterns[p], ranks, rank, seed, order);
        for (int rank = 0; rank < ranks; rank++)
            for (int t = 0; t < layouts[rank].transfers; t++)
                for (int other = 0; other < ranks; other++)
                    if (layouts[rank].color >= 0 && layouts[other].color == layouts[rank].color &&
                        layouts[other].position == layouts[rank].transfer[t].to)
                        printf("%s %d %d\n", patterns[p].name, rank, other);
        free(layouts);
    }
    free(order);
    free(patterns);
    return 0;
}
