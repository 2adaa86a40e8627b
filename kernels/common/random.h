/* SPDX-License-Identifier: Apache-2.0 */
/* Random orders that a seed gives again: each place is computed from its number, nothing is stored. */
#ifndef COFFEECUP_RANDOM_H
#define COFFEECUP_RANDOM_H

#include <stdint.h>

/* The place of the i-th of `count` accesses in random order: a permutation of 0 ... count - 1. */
int64_t random_place(int64_t i, int64_t count, uint64_t seed);

/* The i-th number of the sequence that a seed gives, all 64 bits of it random (splitmix64). */
uint64_t random_number(uint64_t seed, uint64_t i);

#endif
