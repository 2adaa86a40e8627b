/* SPDX-License-Identifier: Apache-2.0 */
/* The patterns, compared with rings, pairs and grids that are computed here in another way: as lists of ranks, from
 * which the messages of all processes are counted. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "patterns.h"

enum { MOST_RANKS = 2048, ALL_GROUPS = (1 << (GROUP_PING_PONG + 1)) - 1 };

/* --- ring sizes ------------------------------------------------------------------------------------------------- */

/* Sizes of the rings in rank order; returns their number. */
static int expand(struct rings rings, int sizes[MOST_RANKS])
{
    int count = 0;
    for (int part = 0; part < 2; part++)
        for (int i = 0; i < rings.count[part]; i++)
            sizes[count++] = rings.size[part];
    return count;
}

/* "2x4+5" as in the specification: rings of 4, 4 and 5. */
static int parse_rings(const char *text, int sizes[MOST_RANKS])
{
    int count = 0;
    for (const char *at = text; *at;) {
        char *end;
        long number = strtol(at, &end, 10), times = 1;
        if (*end == 'x') {
            times = number;
            number = strtol(end + 1, &end, 10);
        }
        while (times-- > 0)
            sizes[count++] = (int)number;
        at = *end == '+' ? end + 1 : end;
    }
    return count;
}

static void ring_sizes_are_those_of_the_specifications_table(void)
{
    static const struct {
        int ranks;
        const char *rings[RING_PATTERNS];
    } table[] = {
        {2, {"2", "2", "2", "2", "2", "2"}},
        {3, {"3", "3", "3", "3", "3", "3"}},
        {5, {"2+3", "5", "5", "5", "5", "5"}},
        {7, {"2x2+3", "4+3", "7", "7", "7", "7"}},
        {10, {"5x2", "2x5", "10", "10", "10", "10"}},
        {13, {"5x2+3", "2x4+5", "6+7", "13", "13", "13"}},
        {16, {"8x2", "4x4", "2x8", "16", "16", "16"}},
        {19, {"8x2+3", "4x4+3", "10+9", "19", "19", "19"}},
        {28, {"14x2", "7x4", "10+2x9", "2x14", "28", "28"}},
        {32, {"16x2", "8x4", "4x8", "2x16", "32", "32"}},
        {100, {"50x2", "25x4", "8x8+4x9", "4x25", "2x50", "100"}},
        {128, {"64x2", "32x4", "16x8", "4x32", "2x64", "128"}},
        {512, {"256x2", "128x4", "64x8", "4x128", "2x256", "512"}},
    };
    static int ours[MOST_RANKS], theirs[MOST_RANKS];
    for (size_t row = 0; row < sizeof table / sizeof table[0]; row++)
        for (int index = 0; index < RING_PATTERNS; index++) {
            const int count = expand(ring_sizes(table[row].ranks, index), ours);
            const bool same = count == parse_rings(table[row].rings[index], theirs) &&
                              memcmp(ours, theirs, (size_t)count * sizeof *ours) == 0;
            CHECK(same, "%d ranks, ring pattern %d", table[row].ranks, index + 1);
        }
}

/* The number of rings as the greatest one whose rings are not too small, counted upwards instead of divided. */
static int number_of_rings(int ranks, int standard)
{
    int rings = 1;
    while ((5 * (rings + 1) - 2) * standard <= 5 * ranks && 2 * (rings + 1) <= ranks) /* (rings - 0.4) standard <= n */
        rings++;
    return rings;
}

static int standard_size(int ranks, int index)
{
    int size = index < 3 ? 2 << index : index == 3 ? ranks / 4 : index == 4 ? ranks / 2 : ranks;
    if (index == 3 && size < 16)
        size = 16;
    if (index == 4 && size < 32)
        size = 32;
    return size < ranks ? size : ranks;
}

static void ring_sizes_follow_the_rule(void)
{
    static int sizes[MOST_RANKS];
    for (int ranks = 2; ranks <= MOST_RANKS; ranks++)
        for (int index = 0; index < RING_PATTERNS; index++) {
            const int count = expand(ring_sizes(ranks, index), sizes);
            int sum = 0, smallest = ranks, largest = 0, odd_before_even = 0;
            for (int i = 0; i < count; i++) {
                sum += sizes[i];
                smallest = sizes[i] < smallest ? sizes[i] : smallest;
                largest = sizes[i] > largest ? sizes[i] : largest;
                odd_before_even += i > 0 && sizes[i - 1] % 2 == 1 && sizes[i] % 2 == 0;
            }
            CHECK(count == number_of_rings(ranks, standard_size(ranks, index)), "%d ranks, ring pattern %d: %d rings",
                  ranks, index + 1, count);
            CHECK(sum == ranks, "%d ranks, ring pattern %d: %d in rings", ranks, index + 1, sum);
            CHECK(smallest >= 2 && largest - smallest <= 1, "%d ranks, ring pattern %d: %d to %d", ranks, index + 1,
                  smallest, largest);
            CHECK(odd_before_even == 0, "%d ranks, ring pattern %d", ranks, index + 1);
        }
}

/* --- messages --------------------------------------------------------------------------------------------------- */

/* messages[a * ranks + b]: number of messages from a to b. */
struct messages {
    int ranks;
    int *count;
};

static void send(struct messages *messages, int from, int to)
{
    messages->count[from * messages->ranks + to]++;
}

/* A ring of the listed ranks: one to the right and, where that is another process, one to the left. */
static void send_around(struct messages *messages, const int *members, int size)
{
    for (int i = 0; i < size && size > 1; i++) {
        send(messages, members[i], members[(i + 1) % size]);
        if (size > 2)
            send(messages, members[i], members[(i + size - 1) % size]);
    }
}

static void expect_rings(struct messages *messages, int index)
{
    static int sizes[MOST_RANKS], members[MOST_RANKS];
    const int rings = expand(ring_sizes(messages->ranks, index), sizes);
    for (int ring = 0, first = 0; ring < rings; first += sizes[ring++]) {
        for (int i = 0; i < sizes[ring]; i++)
            members[i] = first + i;
        send_around(messages, members, sizes[ring]);
    }
}

static void expect_worst_cycle(struct messages *messages)
{
    static int members[MOST_RANKS];
    for (int i = 0, low = 0, high = messages->ranks - 1; low <= high; i++)
        members[i] = i % 2 == 0 ? low++ : high--;
    send_around(messages, members, messages->ranks);
}

static void expect_pairs(struct messages *messages, bool worst)
{
    const int paired = messages->ranks / 2 * 2;
    for (int k = 0; k < paired / 2; k++) {
        const int a = worst ? k : 2 * k, b = worst ? paired - 1 - k : 2 * k + 1;
        send(messages, a, b);
        send(messages, b, a);
    }
}

/* Extents of the grids: release 3.6 of the original program with Open MPI and 2 to 33 processes, from its protocol;
 * beyond them by hand. It drops processes whose number has no good factors. */
static const struct grid_row {
    int ranks, two[2], three[3];
} grid_rows[] = {
    {2, {2, 1}, {2, 1, 1}},   {3, {3, 1}, {3, 1, 1}},     {4, {2, 2}, {2, 2, 1}},    {5, {2, 2}, {2, 2, 1}},
    {6, {3, 2}, {3, 2, 1}},   {7, {3, 2}, {3, 2, 1}},     {8, {4, 2}, {2, 2, 2}},    {9, {3, 3}, {2, 2, 2}},
    {10, {5, 2}, {2, 2, 2}},  {11, {5, 2}, {2, 2, 2}},    {12, {4, 3}, {3, 2, 2}},   {13, {4, 3}, {3, 2, 2}},
    {14, {7, 2}, {3, 2, 2}},  {15, {5, 3}, {3, 2, 2}},    {16, {4, 4}, {4, 2, 2}},   {17, {4, 4}, {4, 2, 2}},
    {18, {6, 3}, {3, 3, 2}},  {19, {6, 3}, {3, 3, 2}},    {20, {5, 4}, {5, 2, 2}},   {21, {7, 3}, {5, 2, 2}},
    {22, {11, 2}, {5, 2, 2}}, {23, {11, 2}, {5, 2, 2}},   {24, {6, 4}, {4, 3, 2}},   {25, {5, 5}, {4, 3, 2}},
    {26, {13, 2}, {4, 3, 2}}, {27, {9, 3}, {3, 3, 3}},    {28, {7, 4}, {7, 2, 2}},   {29, {7, 4}, {7, 2, 2}},
    {30, {6, 5}, {5, 3, 2}},  {31, {6, 5}, {5, 3, 2}},    {32, {8, 4}, {4, 4, 2}},   {33, {11, 3}, {4, 4, 2}},
    {36, {6, 6}, {4, 3, 3}},  {37, {6, 6}, {4, 3, 3}},    {48, {8, 6}, {4, 4, 3}},   {64, {8, 8}, {4, 4, 4}},
    {97, {12, 8}, {6, 4, 4}}, {100, {10, 10}, {5, 5, 4}}, {128, {16, 8}, {8, 4, 4}},
};
enum { GRID_ROWS = sizeof grid_rows / sizeof grid_rows[0] };

/* Lines through a grid in C order, the last dimension fastest, along `direction`, or along all where it is -1. */
static void expect_grid(struct messages *messages, int dimensions, int direction)
{
    static int members[MOST_RANKS];
    const struct grid_row *row = grid_rows;
    while (row->ranks != messages->ranks)
        row++;
    const int extent[3] = {dimensions == 2 ? row->two[0] : row->three[0], dimensions == 2 ? row->two[1] : row->three[1],
                           dimensions == 2 ? 1 : row->three[2]};
    const int processes = extent[0] * extent[1] * extent[2];
    const int step[3] = {extent[1] * extent[2], extent[2], 1};
    for (int d = 0; d < dimensions; d++)
        for (int first = 0; first < processes && (direction < 0 || d == direction); first++) {
            if (first / step[d] % extent[d] != 0)
                continue;
            for (int i = 0; i < extent[d]; i++)
                members[i] = first + i * step[d];
            send_around(messages, members, extent[d]);
        }
}

static void expect(struct messages *messages, const struct pattern *pattern)
{
    switch (pattern->group) {
    case GROUP_RING:
        expect_rings(messages, pattern->index);
        break;
    case GROUP_WORST_CYCLE:
        expect_worst_cycle(messages);
        break;
    case GROUP_BISECTION:
        expect_pairs(messages, pattern->index == 1);
        break;
    case GROUP_CARTESIAN_2D:
        expect_grid(messages, 2, pattern->index == 2 ? -1 : pattern->index);
        break;
    case GROUP_CARTESIAN_3D:
        expect_grid(messages, 3, pattern->index == 3 ? -1 : pattern->index);
        break;
    case GROUP_PING_PONG:
        send(messages, 0, 1);
        send(messages, 1, 0);
        break;
    case GROUP_RANDOM: /* not known in advance */
        break;
    }
}

static const uint64_t seed = 1;

/* The rank at a position of a colour, -1 if there is none. */
static int rank_at(const struct layout *layouts, int ranks, int color, int position)
{
    for (int rank = 0; rank < ranks; rank++)
        if (layouts[rank].color == color && layouts[rank].position == position)
            return rank;
    return -1;
}

/* MPI would hang or fail if a message had no receiver, and MPI_Alltoallv has room for one message per pair only. The
 * check of the data relies on a message lying in the same slot on both sides. */
static void each_message_is_sent_and_received_in_the_same_slot(const struct layout *layouts, int ranks,
                                                               const struct pattern *pattern, struct messages *sent)
{
    for (int rank = 0; rank < ranks; rank++) {
        const struct layout *mine = &layouts[rank];
        for (int j = 0; mine->color >= 0 && j < mine->transfers; j++) {
            const int to = rank_at(layouts, ranks, mine->color, mine->transfer[j].to);
            const int from = rank_at(layouts, ranks, mine->color, mine->transfer[j].from);
            CHECK(to >= 0 && from >= 0, "%s, rank %d of %d: a neighbour is nobody", pattern->name, rank, ranks);
            if (to < 0 || from < 0)
                continue;
            CHECK(layouts[to].transfer[j].from == mine->position, "%s, rank %d of %d to %d", pattern->name, rank, ranks,
                  to);
            CHECK(layouts[from].transfer[j].to == mine->position, "%s, rank %d of %d from %d", pattern->name, rank,
                  ranks, from);
            send(sent, rank, to);
        }
    }
    for (int pair = 0; pair < ranks * ranks; pair++)
        CHECK(sent->count[pair] <= 1 && (sent->count[pair] == 0 || pair / ranks != pair % ranks),
              "%s: %d messages from %d to %d", pattern->name, sent->count[pair], pair / ranks, pair % ranks);
}

/* Two processes that exchange a message take turns in a bisection and in the ping-pong, and nowhere else. */
static void pairs_take_turns(const struct layout *layouts, int ranks, const struct pattern *pattern)
{
    const bool paired = pattern->group == GROUP_BISECTION || pattern->group == GROUP_PING_PONG;
    for (int rank = 0; rank < ranks; rank++)
        CHECK(layouts[rank].color < 0 || layouts[rank].takes_turns == paired, "%s, rank %d of %d", pattern->name, rank,
              ranks);
}

/* MPI_Comm_split numbers by position: 0, 1, ... in every colour. */
static void positions_are_numbers_from_zero(const struct layout *layouts, int ranks, const struct pattern *pattern)
{
    int taking_part = 0;
    for (int rank = 0; rank < ranks; rank++) {
        const struct layout *mine = &layouts[rank];
        if (mine->color < 0)
            continue;
        taking_part++;
        CHECK(rank_at(layouts, ranks, mine->color, mine->position) == rank, "%s, rank %d of %d: position %d is shared",
              pattern->name, rank, ranks, mine->position);
        CHECK(mine->position == 0 || rank_at(layouts, ranks, mine->color, mine->position - 1) >= 0,
              "%s, rank %d of %d: nobody before position %d", pattern->name, rank, ranks, mine->position);
    }
    CHECK(taking_part == pattern->processes, "%s, %d ranks: %d take part", pattern->name, ranks, taking_part);
}

static int64_t total(const struct messages *messages)
{
    int64_t sum = 0;
    for (int i = 0; i < messages->ranks * messages->ranks; i++)
        sum += messages->count[i];
    return sum;
}

static void pattern_has_the_messages_that_it_should_have(const struct pattern *pattern, int ranks)
{
    const size_t pairs = (size_t)ranks * (size_t)ranks;
    struct messages sent = {ranks, calloc(pairs, sizeof(int))}, expected = {ranks, calloc(pairs, sizeof(int))};
    struct layout *layouts = calloc((size_t)ranks, sizeof *layouts);
    int *order = calloc((size_t)ranks, sizeof *order);
    for (int rank = 0; rank < ranks; rank++)
        layouts[rank] = pattern_layout(pattern, ranks, rank, seed, order);

    positions_are_numbers_from_zero(layouts, ranks, pattern);
    each_message_is_sent_and_received_in_the_same_slot(layouts, ranks, pattern, &sent);
    pairs_take_turns(layouts, ranks, pattern);
    CHECK(total(&sent) == pattern->messages_per_exchange, "%s, %d ranks: %ld sent, %ld stated", pattern->name, ranks,
          (long)total(&sent), (long)pattern->messages_per_exchange);
    if (pattern->group == GROUP_RANDOM) {
        for (int position = 0; position < ranks; position++)
            order[position] = rank_at(layouts, ranks, 0, position);
        send_around(&expected, order, ranks);
    } else {
        expect(&expected, pattern);
    }
    CHECK(memcmp(sent.count, expected.count, pairs * sizeof(int)) == 0, "%s, %d ranks", pattern->name, ranks);
    free(order);
    free(layouts);
    free(expected.count);
    free(sent.count);
}

static void all_patterns_have_the_messages_that_they_should_have(void)
{
    for (int i = 0; i < GRID_ROWS; i++) {
        const int ranks = grid_rows[i].ranks;
        struct pattern *list;
        const int count = list_patterns(ranks, ALL_GROUPS, &list);
        for (int p = 0; p < count; p++)
            if (list[p].group != GROUP_RANDOM || list[p].index % 10 == 0)
                pattern_has_the_messages_that_it_should_have(&list[p], ranks);
        free(list);
    }
}

static void patterns_are_listed_by_group_and_without_empty_ones(void)
{
    struct pattern *list;
    CHECK(list_patterns(16, ALL_GROUPS, &list) == 6 + 30 + 1 + 2 + 3 + 4 + 1, "16 ranks");
    for (int p = 0; p < 36; p++)
        CHECK(list[p].averaged && list[p].group == (p < 6 ? GROUP_RING : GROUP_RANDOM), "%s", list[p].name);
    for (int p = 36; p < 47; p++)
        CHECK(!list[p].averaged, "%s", list[p].name);
    free(list);
    /* 3 processes are a grid of 3 x 1 x 1: no messages along y and z */
    CHECK(list_patterns(3, 1u << GROUP_CARTESIAN_2D | 1u << GROUP_CARTESIAN_3D, &list) == 4, "3 ranks");
    CHECK(strcmp(list[1].name, "cartesian-2d-all") == 0, "%s", list[1].name);
    free(list);
    /* 17 processes: 4 x 4 and 4 x 2 x 2, one process does not take part */
    CHECK(list_patterns(17, 1u << GROUP_CARTESIAN_2D | 1u << GROUP_CARTESIAN_3D, &list) == 7, "17 ranks");
    CHECK(list[0].processes == 16 && list[3].processes == 16, "%d and %d processes", list[0].processes,
          list[3].processes);
    free(list);
    CHECK(list_patterns(8, 1u << GROUP_RANDOM, &list) == 30 && strcmp(list[29].name, "random-30") == 0, "random alone");
    free(list);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv); /* for MPI_Dims_create() alone */
    ring_sizes_are_those_of_the_specifications_table();
    ring_sizes_follow_the_rule();
    all_patterns_have_the_messages_that_they_should_have();
    patterns_are_listed_by_group_and_without_empty_ones();
    MPI_Finalize();
    return checks_status();
}
