# SPDX-License-Identifier: Apache-2.0
"""Random numbers and orders that a seed reproduces: the same as those of kernels/common/random.c."""

import itertools
from collections.abc import Iterable

import numpy as np

BITS = 2**64


def shuffled(values: Iterable[int], seed: int) -> list[int]:
    """The values in random order: unbiased, as random_shuffle() of the kernels."""
    order = list(values)
    count = len(order)
    bounds = np.arange(count, 1, -1, dtype=np.uint64)
    drawn = random_numbers(seed, np.arange(max(0, count - 1), dtype=np.uint64))
    rejected = (~bounds + np.uint64(1)) % bounds  # 2^64 modulo the bound
    if (drawn < rejected).any():  # the kernel draws again: once in 10^10 orders of 100 000 processes
        places = (np.array([place], dtype=np.uint64) for place in itertools.count())
        numbers = (int(random_numbers(seed, place)[0]) for place in places)
        again = [next(value for value in numbers if value >= int(least)) for least in rejected]
        drawn = np.array(again, dtype=np.uint64)
    for last, chosen in zip(range(count - 1, 0, -1), map(int, drawn % bounds)):
        order[last], order[chosen] = order[chosen], order[last]
    return order


def random_number(seed: int, i: int) -> int:
    """Number i, from 0, of the sequence of a seed."""
    return int(random_numbers(seed % BITS, np.array([i], dtype=np.uint64))[0])


def random_numbers(seed: int, i: np.ndarray) -> np.ndarray:
    """Numbers i, from 0, of the sequence of a seed; 64 bits, SplitMix64. Overflow is part of it."""
    x = np.uint64(seed) + (i + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
