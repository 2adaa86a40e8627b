/* SPDX-License-Identifier: Apache-2.0 */
/* See patterns.h. The table at the end of the file has a row per group: its patterns and the layout of a rank's part.
 */
#include "patterns.h"

#include <mpi.h>
#include <stdio.h>

#include "memory.h"
#include "random.h"
#include "record.h"

const char *const pattern_group_names[] = {"ring",         "random",       "worst_cycle", "bisection",
                                           "cartesian_2d", "cartesian_3d", "ping_pong",   NULL};

static int lesser(int a, int b)
{
    return a < b ? a : b;
}

static int greater(int a, int b)
{
    return a > b ? a : b;
}

/* --- rings ------------------------------------------------------------------------------------------------------ */

struct rings ring_sizes(int ranks, int index)
{
    const int standard[RING_PATTERNS] = {2, 4, 8, greater(16, ranks / 4), greater(32, ranks / 2), ranks};
    const int size = lesser(standard[index], ranks);
    /* floor(ranks / size + 0.4) in integers: 0.4 would not be exact */
    const int wanted = (int)((10 * (int64_t)ranks + 4 * (int64_t)size) / (10 * (int64_t)size));
    const int rings = greater(1, lesser(wanted, ranks / 2));
    const int low = ranks / rings, larger = ranks % rings;
    if (low % 2 == 1)
        return (struct rings){{low + 1, low}, {larger, rings - larger}};
    return (struct rings){{low, low + 1}, {rings - larger, larger}};
}

/* A process of a ring sends right and receives from the left, then the other way. In a ring of two both neighbours
 * are the same process, and one message goes each way. */
static struct layout ring_layout(int color, int position, int size)
{
    struct layout layout = {.color = color, .position = position};
    const int right = (position + 1) % size, left = (position + size - 1) % size;
    if (size < 2)
        layout.color = -1;
    if (size >= 2)
        layout.transfer[layout.transfers++] = (struct transfer){.to = right, .from = left};
    if (size > 2)
        layout.transfer[layout.transfers++] = (struct transfer){.to = left, .from = right};
    return layout;
}

static int64_t ring_messages(int size)
{
    return size < 2 ? 0 : size == 2 ? 2 : 2 * (int64_t)size;
}

static struct layout consecutive_ring(const struct pattern *pattern, int ranks, int rank, uint64_t seed, int *order)
{
    (void)seed, (void)order;
    const struct rings rings = ring_sizes(ranks, pattern->index);
    const int boundary = rings.size[0] * rings.count[0];
    if (rank < boundary)
        return ring_layout(rank / rings.size[0], rank % rings.size[0], rings.size[0]);
    rank -= boundary;
    return ring_layout(rings.count[0] + rank / rings.size[1], rank % rings.size[1], rings.size[1]);
}

static void describe_ring(struct pattern *pattern, int ranks)
{
    const struct rings rings = ring_sizes(ranks, pattern->index);
    snprintf(pattern->name, sizeof pattern->name, "ring-%d", pattern->index + 1);
    pattern->processes = ranks;
    for (int i = 0; i < 2; i++)
        pattern->messages_per_exchange += rings.count[i] * ring_messages(rings.size[i]);
}

/* --- one ring of all processes in another order ------------------------------------------------------------------ */

static struct layout random_ring(const struct pattern *pattern, int ranks, int rank, uint64_t seed, int *order)
{
    const uint64_t own_seed = random_number(seed, 0) + (uint64_t)pattern->index; /* no order is shared with seed + 1 */
    for (int i = 0; i < ranks; i++)
        order[i] = i;
    random_shuffle(order, ranks, own_seed);
    int position = 0;
    while (order[position] != rank)
        position++;
    return ring_layout(0, position, ranks);
}

static void describe_random(struct pattern *pattern, int ranks)
{
    snprintf(pattern->name, sizeof pattern->name, "random-%02d", pattern->index + 1);
    pattern->processes = ranks;
    pattern->messages_per_exchange = ring_messages(ranks);
}

/* The order 0, n-1, 1, n-2, ...: neighbours are as far apart as possible. */
static struct layout worst_cycle(const struct pattern *pattern, int ranks, int rank, uint64_t seed, int *order)
{
    (void)pattern, (void)seed, (void)order;
    const int position = rank < (ranks + 1) / 2 ? 2 * rank : 2 * (ranks - 1 - rank) + 1;
    return ring_layout(0, position, ranks);
}

static void describe_worst_cycle(struct pattern *pattern, int ranks)
{
    snprintf(pattern->name, sizeof pattern->name, "worst-cycle");
    pattern->processes = ranks;
    pattern->messages_per_exchange = ring_messages(ranks);
}

/* --- pairs -------------------------------------------------------------------------------------------------------- */

static struct layout pair_layout(int color, int position)
{
    struct layout layout = ring_layout(color, position, 2);
    layout.takes_turns = true;
    return layout;
}

static const struct layout no_part = {.color = -1};

enum { BISECTION_BEST, BISECTION_WORST, BISECTIONS };

static struct layout bisection(const struct pattern *pattern, int ranks, int rank, uint64_t seed, int *order)
{
    (void)seed, (void)order;
    const int paired = ranks - ranks % 2;
    if (rank >= paired)
        return no_part;
    if (pattern->index == BISECTION_BEST)
        return pair_layout(rank / 2, rank % 2);
    return pair_layout(lesser(rank, paired - 1 - rank), rank >= paired / 2);
}

static void describe_bisection(struct pattern *pattern, int ranks)
{
    snprintf(pattern->name, sizeof pattern->name, "bisection-%s", pattern->index == BISECTION_BEST ? "best" : "worst");
    pattern->processes = ranks - ranks % 2;
    pattern->messages_per_exchange = pattern->processes;
}

static struct layout ping_pong(const struct pattern *pattern, int ranks, int rank, uint64_t seed, int *order)
{
    (void)pattern, (void)ranks, (void)seed, (void)order;
    return rank < 2 ? pair_layout(0, rank) : no_part;
}

static void describe_ping_pong(struct pattern *pattern, int ranks)
{
    (void)ranks;
    snprintf(pattern->name, sizeof pattern->name, "ping-pong");
    pattern->processes = 2;
    pattern->messages_per_exchange = 2;
}

/* --- Cartesian ---------------------------------------------------------------------------------------------------- */

struct grid {
    int dimensions, processes, extent[3], stride[3];
};

/* The largest number of processes, at most `ranks`, that gives a grid with all extents above 1. Below eight processes,
 * even numbers and numbers below four are accepted as they are: 6 gives 3 x 2 x 1. */
static struct grid cartesian_grid(enum pattern_group group, int ranks)
{
    struct grid grid = {.dimensions = group == GROUP_CARTESIAN_2D ? 2 : 3, .processes = ranks + 1};
    bool accepted;
    do {
        const int n = --grid.processes;
        for (int d = 0; d < grid.dimensions; d++)
            grid.extent[d] = 0;
        MPI_Dims_create(n, grid.dimensions, grid.extent);
        accepted = grid.extent[grid.dimensions - 1] > 1 || (n < 8 && n % 2 == 0) || n < 4;
    } while (!accepted);
    for (int d = 0, stride = grid.processes; d < grid.dimensions; d++)
        grid.stride[d] = stride /= grid.extent[d];
    return grid;
}

/* Index `dimensions` is the pattern with all directions together; the others have one direction each. */
static struct layout cartesian(const struct pattern *pattern, int ranks, int rank, uint64_t seed, int *order)
{
    (void)seed, (void)order;
    const struct grid grid = cartesian_grid(pattern->group, ranks);
    if (rank >= grid.processes)
        return no_part;
    struct layout all = {.color = 0, .position = rank};
    for (int d = 0; d < grid.dimensions; d++) {
        const int coordinate = rank / grid.stride[d] % grid.extent[d], line = rank - coordinate * grid.stride[d];
        const struct layout ring = ring_layout(line, coordinate, grid.extent[d]);
        if (pattern->index == d)
            return ring;
        for (int t = 0; t < ring.transfers; t++)
            all.transfer[all.transfers++] = (struct transfer){.to = line + ring.transfer[t].to * grid.stride[d],
                                                              .from = line + ring.transfer[t].from * grid.stride[d]};
    }
    return all;
}

/* A direction with a single process has no messages and is left out (see list_patterns). */
static void describe_cartesian(struct pattern *pattern, int ranks)
{
    static const char *const directions[] = {"x", "y", "z"};
    const struct grid grid = cartesian_grid(pattern->group, ranks);
    const bool all = pattern->index == grid.dimensions;
    snprintf(pattern->name, sizeof pattern->name, "cartesian-%dd-%s", grid.dimensions,
             all ? "all" : directions[pattern->index]);
    pattern->processes = grid.processes;
    for (int d = 0; d < grid.dimensions; d++)
        if (all || pattern->index == d)
            pattern->messages_per_exchange += grid.processes / grid.extent[d] * ring_messages(grid.extent[d]);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static const struct {
    int patterns;
    bool averaged;
    void (*describe)(struct pattern *, int ranks);
    struct layout (*layout)(const struct pattern *, int ranks, int rank, uint64_t seed, int *order);
} groups[] = {
    [GROUP_RING] = {RING_PATTERNS, true, describe_ring, consecutive_ring},
    [GROUP_RANDOM] = {RANDOM_PATTERNS, true, describe_random, random_ring},
    [GROUP_WORST_CYCLE] = {1, false, describe_worst_cycle, worst_cycle},
    [GROUP_BISECTION] = {BISECTIONS, false, describe_bisection, bisection},
    [GROUP_CARTESIAN_2D] = {3, false, describe_cartesian, cartesian},
    [GROUP_CARTESIAN_3D] = {4, false, describe_cartesian, cartesian},
    [GROUP_PING_PONG] = {1, false, describe_ping_pong, ping_pong},
};
enum { GROUPS = sizeof groups / sizeof groups[0] };

int list_patterns(int ranks, uint64_t chosen, struct pattern **list)
{
    int most = 0, count = 0;
    for (int g = 0; g < GROUPS; g++)
        most += groups[g].patterns;
    *list = allocate((size_t)most, sizeof **list);
    for (int g = 0; g < GROUPS; g++) {
        for (int i = 0; chosen >> g & 1 && i < groups[g].patterns; i++) {
            struct pattern pattern = {.group = (enum pattern_group)g, .index = i, .averaged = groups[g].averaged};
            groups[g].describe(&pattern, ranks);
            if (pattern.messages_per_exchange > 0)
                (*list)[count++] = pattern;
        }
    }
    return count;
}

struct layout pattern_layout(const struct pattern *pattern, int ranks, int rank, uint64_t seed, int *order)
{
    return groups[pattern->group].layout(pattern, ranks, rank, seed, order);
}

json_t *rings_json(const struct pattern *pattern, int ranks)
{
    struct rings rings = {{ranks, 0}, {1, 0}};
    if (pattern->group == GROUP_RING)
        rings = ring_sizes(ranks, pattern->index);
    else if (pattern->group != GROUP_RANDOM && pattern->group != GROUP_WORST_CYCLE)
        return json_null();
    json_t *list = json_array();
    for (int i = 0; i < 2; i++)
        if (rings.count[i] > 0)
            json_array_append_new(list, OBJECT(field_int("size", rings.size[i]), field_int("count", rings.count[i])));
    return list;
}
