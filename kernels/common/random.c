/* SPDX-License-Identifier: Apache-2.0 */
/* See random.h. */
#include "random.h"

static uint32_t mix(uint32_t x, uint64_t key)
{
    uint64_t h = (x + key) * UINT64_C(0x9E3779B97F4A7C15);
    h ^= h >> 29;
    return (uint32_t)((h * UINT64_C(0xBF58476D1CE4E5B9)) >> 32);
}

/* A Feistel network permutes the numbers below 4^half; results outside 0 ... count - 1 are permuted again. */
int64_t random_place(int64_t i, int64_t count, uint64_t seed)
{
    int half = 1;
    while (INT64_C(1) << (2 * half) < count)
        half++;
    const uint32_t mask = (uint32_t)((UINT64_C(1) << half) - 1);
    do {
        uint32_t left = (uint32_t)(i >> half) & mask, right = (uint32_t)i & mask;
        for (uint64_t round = 1; round <= 4; round++) {
            const uint32_t next = left ^ (mix(right, seed * 5 + round) & mask);
            left = right;
            right = next;
        }
        i = (int64_t)left << half | right;
    } while (i >= count);
    return i;
}

uint64_t random_number(uint64_t seed, uint64_t i)
{
    uint64_t x = seed + (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* Unbiased: values beyond the last full multiple of `bound` are drawn again. `drawn` counts the numbers of `seed`. */
static uint64_t random_below(uint64_t seed, uint64_t *drawn, uint64_t bound)
{
    const uint64_t rejected = -bound % bound;
    uint64_t value;
    do
        value = random_number(seed, (*drawn)++);
    while (value < rejected);
    return value % bound;
}

void random_shuffle(int *values, int count, uint64_t seed)
{
    uint64_t drawn = 0;
    for (int i = count - 1; i > 0; i--) {
        const int j = (int)random_below(seed, &drawn, (uint64_t)i + 1), swapped = values[i];
        values[i] = values[j];
        values[j] = swapped;
    }
}
