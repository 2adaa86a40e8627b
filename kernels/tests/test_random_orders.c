/* SPDX-License-Identifier: Apache-2.0 */
/* The random orders of the processes: repeatable permutations, all different, and unbiased by Pearson's chi-square. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "patterns.h"

/* positions[rank], and whether they are a permutation. */
static bool random_positions(int index, int ranks, uint64_t of_seed, int *positions, int *order)
{
    const struct pattern pattern = {.group = GROUP_RANDOM, .index = index};
    bool seen[64] = {false};
    for (int rank = 0; rank < ranks; rank++) {
        positions[rank] = pattern_layout(&pattern, ranks, rank, of_seed, order).position;
        if (positions[rank] < 0 || positions[rank] >= ranks || seen[positions[rank]])
            return false;
        seen[positions[rank]] = true;
    }
    return true;
}

static void random_orders_are_repeatable_permutations_and_all_different(void)
{
    enum { RANKS = 40, ORDERS = 90 };
    static int positions[ORDERS][RANKS];
    int again[RANKS] = {0}, order[RANKS];
    for (int i = 0; i < ORDERS; i++) {
        const int index = i % RANDOM_PATTERNS;
        const uint64_t of_seed = (uint64_t)(i / RANDOM_PATTERNS);
        CHECK(random_positions(index, RANKS, of_seed, positions[i], order), "index %d, seed %d", index, (int)of_seed);
        random_positions(index, RANKS, of_seed, again, order);
        CHECK(memcmp(again, positions[i], sizeof again) == 0, "index %d, seed %d", index, (int)of_seed);
        for (int other = 0; other < i; other++)
            CHECK(memcmp(positions[other], positions[i], sizeof again) != 0, "orders %d and %d", other, i);
    }
}

static int number_of_permutation(const int *positions, int ranks)
{
    int number = 0;
    for (int i = 0; i < ranks; i++) {
        int smaller = 0;
        for (int j = i + 1; j < ranks; j++)
            smaller += positions[j] < positions[i];
        number = number * (ranks - i) + smaller;
    }
    return number;
}

/* Pearson's chi-square of how often each permutation occurs over `samples` seeds and indices. */
static double chi_square(int ranks, int permutations, int samples)
{
    int *found = calloc((size_t)permutations, sizeof *found), positions[8] = {0}, order[8];
    for (int i = 0; i < samples; i++) {
        random_positions(i % RANDOM_PATTERNS, ranks, (uint64_t)(i / RANDOM_PATTERNS), positions, order);
        found[number_of_permutation(positions, ranks)]++;
    }
    double sum = 0, expected = (double)samples / permutations;
    for (int p = 0; p < permutations; p++)
        sum += (found[p] - expected) * (found[p] - expected) / expected;
    free(found);
    return sum;
}

/* Limits: the quantiles 0.001 and 0.999 of the distribution with permutations - 1 degrees of freedom. A biased shuffle
 * (every place swapped with any other) has a chi-square of thousands here. */
static void random_orders_are_unbiased(void)
{
    static const struct {
        int ranks, permutations;
        double lowest, highest;
    } cases[] = {{3, 6, 0.21, 20.5}, {4, 24, 7.5, 49.7}, {5, 120, 77.0, 172.4}};
    for (int i = 0; i < 3; i++) {
        const double found = chi_square(cases[i].ranks, cases[i].permutations, 60000);
        CHECK(found > cases[i].lowest && found < cases[i].highest, "%d ranks: chi-square %.1f", cases[i].ranks, found);
    }
}

int main(void)
{
    random_orders_are_repeatable_permutations_and_all_different();
    random_orders_are_unbiased();
    return checks_status();
}
