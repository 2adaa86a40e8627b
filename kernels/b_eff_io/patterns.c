/* SPDX-License-Identifier: Apache-2.0 */
/* See patterns.h. */
#include "patterns.h"

#include <math.h>

#include "units.h"

enum { M_PART = -1, FILL_UP = 0, TENFOLD = 10, SCATTERED_PAIRS = 2 /* the number of the pattern with L = 2 l */ };

static const int64_t smallest_m_part = 2 * MIB, largest_m_part = 1024 * MIB;

static const struct pattern table[PATTERNS] = {
    /* type, l, L, U */
    {TYPE_SCATTER, MIB, MIB, 0},
    {TYPE_SCATTER, M_PART, M_PART, 4},
    {TYPE_SCATTER, MIB, 2 * MIB, 4},
    {TYPE_SCATTER, MIB, MIB, 4},
    {TYPE_SCATTER, 32 * KIB, MIB, 2},
    {TYPE_SCATTER, KIB, MIB, 2},
    {TYPE_SCATTER, 32 * KIB + 8, MIB + 256, 2},
    {TYPE_SCATTER, KIB + 8, MIB + 8 * KIB, 2},
    {TYPE_SCATTER, MIB + 8, MIB + 8, 2},

    {TYPE_SHARED, MIB, MIB, 0},
    {TYPE_SHARED, M_PART, M_PART, 4},
    {TYPE_SHARED, MIB, MIB, 2},
    {TYPE_SHARED, 32 * KIB, 32 * KIB, 1},
    {TYPE_SHARED, KIB, KIB, 1},
    {TYPE_SHARED, 32 * KIB + 8, 32 * KIB + 8, 1},
    {TYPE_SHARED, KIB + 8, KIB + 8, 1},
    {TYPE_SHARED, MIB + 8, MIB + 8, 2},

    {TYPE_SEPARATE, MIB, MIB, 0},
    {TYPE_SEPARATE, M_PART, M_PART, 2},
    {TYPE_SEPARATE, MIB, MIB, 2},
    {TYPE_SEPARATE, 32 * KIB, 32 * KIB, 1},
    {TYPE_SEPARATE, KIB, KIB, 1},
    {TYPE_SEPARATE, 32 * KIB + 8, 32 * KIB + 8, 1},
    {TYPE_SEPARATE, KIB + 8, KIB + 8, 1},
    {TYPE_SEPARATE, MIB + 8, MIB + 8, 2},

    {TYPE_SEGMENTED, MIB, MIB, 0},
    {TYPE_SEGMENTED, M_PART, M_PART, 2},
    {TYPE_SEGMENTED, MIB, MIB, 2},
    {TYPE_SEGMENTED, 32 * KIB, 32 * KIB, 1},
    {TYPE_SEGMENTED, KIB, KIB, 1},
    {TYPE_SEGMENTED, 32 * KIB + 8, 32 * KIB + 8, 1},
    {TYPE_SEGMENTED, KIB + 8, KIB + 8, 1},
    {TYPE_SEGMENTED, MIB + 8, MIB + 8, 2},
    {TYPE_SEGMENTED, FILL_UP, FILL_UP, 0},

    {TYPE_SEGMENTED_COLLECTIVE, MIB, MIB, 0},
    {TYPE_SEGMENTED_COLLECTIVE, M_PART, M_PART, 2},
    {TYPE_SEGMENTED_COLLECTIVE, MIB, MIB, 2},
    {TYPE_SEGMENTED_COLLECTIVE, 32 * KIB, 32 * KIB, 1},
    {TYPE_SEGMENTED_COLLECTIVE, KIB, KIB, 1},
    {TYPE_SEGMENTED_COLLECTIVE, 32 * KIB + 8, 32 * KIB + 8, 1},
    {TYPE_SEGMENTED_COLLECTIVE, KIB + 8, KIB + 8, 1},
    {TYPE_SEGMENTED_COLLECTIVE, MIB + 8, MIB + 8, 2},
    {TYPE_SEGMENTED_COLLECTIVE, FILL_UP, FILL_UP, 0},

    {TYPE_RANDOM, MIB, MIB, 2},
    {TYPE_RANDOM, 32 * KIB, 32 * KIB, 1},
    {TYPE_RANDOM, KIB, KIB, 1},

    {TYPE_RANDOM_COLLECTIVE, MIB, MIB, 2},
    {TYPE_RANDOM_COLLECTIVE, 32 * KIB, 32 * KIB, 1},
    {TYPE_RANDOM_COLLECTIVE, KIB, KIB, 1},
};

void list_patterns(int64_t m_part_bytes, struct pattern list[PATTERNS])
{
    for (int p = 0; p < PATTERNS; p++) {
        list[p] = table[p];
        if (table[p].chunk_bytes == M_PART)
            list[p].chunk_bytes = list[p].call_bytes = m_part_bytes;
    }
}

int64_t m_part_rule(int64_t node_memory_bytes)
{
    const int64_t share = node_memory_bytes / 128 / MIB * MIB; /* machines do not report round numbers */
    return share < smallest_m_part ? smallest_m_part : share > largest_m_part ? largest_m_part : share;
}

int default_partitions(int ranks, int list[MOST_PARTITIONS])
{
    const double exponent = log2(ranks);
    const int wanted[] = {1 << (int)lround(0.35 * exponent), 1 << (int)lround(0.70 * exponent), ranks};
    int count = 0;
    for (int i = 0; i < 3; i++)
        if (wanted[i] <= ranks && (count == 0 || wanted[i] > list[count - 1]))
            list[count++] = wanted[i];
    return count;
}

bool is_time_driven(const struct pattern *pattern)
{
    return pattern->type <= TYPE_SEPARATE;
}

int64_t size_driven_count(const struct pattern list[PATTERNS], int number, const int64_t repetitions[PATTERNS])
{
    const struct pattern *pattern = &list[number];
    int64_t smallest = 0;
    if (pattern->units == 0)
        return pattern->chunk_bytes == FILL_UP ? 0 : 1;
    for (int p = 0; p < PATTERNS; p++) {
        const struct pattern *other = &list[p];
        if (!is_time_driven(other) || other->units == 0 || p == SCATTERED_PAIRS ||
            other->chunk_bytes != pattern->chunk_bytes)
            continue;
        const int64_t factor = other->type == TYPE_SHARED ? TENFOLD : other->call_bytes / other->chunk_bytes;
        if (repetitions[p] > 0 && (smallest == 0 || repetitions[p] * factor < smallest))
            smallest = repetitions[p] * factor;
    }
    return smallest;
}

int64_t segment_bytes(const struct pattern list[PATTERNS], enum type_number type, const int64_t repetitions[PATTERNS],
                      int64_t alignment_bytes, int64_t *used_bytes)
{
    *used_bytes = 0;
    for (int p = 0; p < PATTERNS; p++)
        if (list[p].type == type)
            *used_bytes += list[p].chunk_bytes * repetitions[p];
    return (*used_bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
}
