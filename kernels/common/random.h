/* SPDX-License-Identifier: Apache-2.0 */
/* Random orders that a seed reproduces: each place is computed from its index, nothing is stored. */
#pragma once

#include <stdint.h>

/* The place of the i-th of `count` accesses in random order: a permutation of 0 ... count - 1. */
int64_t random_place(int64_t i, int64_t count, uint64_t seed);

/* Puts `count` values into random order: unbiased, each order is equally likely. */
void random_shuffle(int *values, int count, uint64_t seed);

/* The i-th number, 64 random bits, of a seed's sequence (splitmix64). */
uint64_t random_number(uint64_t seed, uint64_t i);
