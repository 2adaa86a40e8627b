/* SPDX-License-Identifier: Apache-2.0 */
/* Prints rings, orders, patterns and matchings as the kernel b_eff forms them.
 *   rings MOST               sizes and numbers of the rings of each ring pattern, for 2 to MOST processes
 *   orders RANKS NUMBER      the position of each rank in so many random patterns, of seeds from 0
 *   patterns SEED RANKS...   a line for each pattern, then one for each rank
 *   matchings [NODES GROUPS SEED INDEX]...
 *                            the partner of each node, first within groups, then across; node k is in group
 *                            k modulo GROUPS */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "matchings.h"
#include "memory.h"
#include "patterns.h"

static void print_rings(int most)
{
    for (int ranks = 2; ranks <= most; ranks++)
        for (int index = 0; index < RING_PATTERNS; index++) {
            const struct rings rings = ring_sizes(ranks, index);
            printf("%d %d %d %d\n", rings.size[0], rings.count[0], rings.size[1], rings.count[1]);
        }
}

static void print_orders(int ranks, int number)
{
    int *order = allocate((size_t)ranks, sizeof *order);
    for (int i = 0; i < number; i++) {
        const struct pattern pattern = {.group = GROUP_RANDOM, .index = i % RANDOM_PATTERNS};
        for (int rank = 0; rank < ranks; rank++)
            printf("%d ", pattern_layout(&pattern, ranks, rank, (uint64_t)(i / RANDOM_PATTERNS), order).position);
        printf("\n");
    }
    free(order);
}

static void print_patterns(uint64_t seed, int ranks)
{
    struct pattern *patterns;
    const int number = list_patterns(ranks, UINT64_MAX >> (63 - GROUP_PING_PONG), &patterns);
    int *order = allocate((size_t)ranks, sizeof *order);
    for (const struct pattern *p = patterns; p < patterns + number; p++) {
        printf("%d %s %s %d %d %" PRId64 "\n", ranks, p->name, pattern_group_names[p->group], p->averaged, p->processes,
               p->messages_per_exchange);
        for (int rank = 0; rank < ranks; rank++) {
            const struct layout mine = pattern_layout(p, ranks, rank, seed, order);
            printf("%d %d %d", mine.color, mine.position, mine.takes_turns);
            for (int t = 0; t < mine.transfers; t++)
                printf(" %d %d", mine.transfer[t].to, mine.transfer[t].from);
            printf("\n");
        }
    }
    free(order);
    free(patterns);
}

static void print_matchings(int nodes, int groups, uint64_t seed, int index)
{
    int *group = allocate((size_t)nodes, sizeof *group), *partner = allocate((size_t)nodes, sizeof *partner);
    for (int node = 0; node < nodes; node++)
        group[node] = node % groups;
    for (int across = 0; across < 2; across++) {
        (across ? match_across : match_within)(nodes, group, seed, index, partner);
        for (int node = 0; node < nodes; node++)
            printf("%d ", partner[node]);
        printf("\n");
    }
    free(partner);
    free(group);
}

int main(int count, char **argument)
{
    MPI_Init(&count, &argument); /* for MPI_Dims_create() alone */
    if (strcmp(argument[1], "rings") == 0)
        print_rings(atoi(argument[2]));
    else if (strcmp(argument[1], "orders") == 0)
        print_orders(atoi(argument[2]), atoi(argument[3]));
    for (int i = 3; i < count && strcmp(argument[1], "patterns") == 0; i++)
        print_patterns(strtoull(argument[2], NULL, 10), atoi(argument[i]));
    for (char **a = argument + 2; a + 3 < argument + count && strcmp(argument[1], "matchings") == 0; a += 4)
        print_matchings(atoi(a[0]), atoi(a[1]), strtoull(a[2], NULL, 10), atoi(a[3]));
    MPI_Finalize();
    return 0;
}
