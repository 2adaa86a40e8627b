# SPDX-License-Identifier: Apache-2.0
"""The messages of b_eff's averaged patterns and its ping-pong: the same as in kernels/b_eff/patterns.c, with the same
random numbers as kernels/common/random.c, for predictions. Ranks are numbered from 0."""

import itertools
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from postprocess.benchmarks.b_eff.definition import PATTERNS_AVERAGED, ring_sizes

SEED = 1  # the kernel's default
BITS = 2**64


class Messages(NamedTuple):
    """All messages of one exchange. `each` is the most that a process sends."""

    group: str
    pattern: str
    source: np.ndarray
    target: np.ndarray
    each: int


def messages(processes: int, seed: int = SEED, random_patterns: int = PATTERNS_AVERAGED["random"]):
    """A generator of the six ring patterns and the random patterns of `processes` processes."""
    for number in range(1, PATTERNS_AVERAGED["ring"] + 1):
        sizes = np.array(ring_sizes(processes, number))
        yield _rings("ring", f"ring-{number}", np.arange(processes), sizes)
    for number in range(random_patterns):
        order = random_order(processes, seed, number)
        yield _rings("random", f"random-{number + 1:02}", order, np.array([processes]))


def worst_cycle(processes: int) -> Messages:
    """The ring 0, n-1, 1, n-2, ..., which does not enter b_eff: on two nodes nearly all messages cross."""
    order = np.empty(processes, dtype=int)
    half = (processes + 1) // 2
    order[::2], order[1::2] = np.arange(half), processes - 1 - np.arange(processes - half)
    return _rings("worst_cycle", "worst-cycle", order, np.array([processes]))


def ping_pong() -> Messages:
    """One of its two ways."""
    return Messages("ping_pong", "ping-pong", np.array([0]), np.array([1]), 1)


def _rings(group: str, pattern: str, order: np.ndarray, sizes: np.ndarray) -> Messages:
    """Rings are consecutive ranges of `order`. Each process sends to both neighbours, in a ring of two to the only
    one."""
    right = np.arange(len(order)) + 1
    ends = sizes.cumsum()
    right[ends - 1] = ends - sizes
    larger = np.repeat(sizes > 2, sizes)
    source, target = order, order[right]
    return Messages(
        group,
        pattern,
        np.concatenate([source, target[larger]]),
        np.concatenate([target, source[larger]]),
        2 if larger.any() else 1,
    )


@lru_cache(maxsize=1024)  # the same for all designs
def random_order(processes: int, seed: int, number: int) -> np.ndarray:
    """The ring of random pattern `number`, from 0, as ranks in their order: an unbiased shuffle."""
    return np.array(shuffled(range(processes), (random_number(seed, 0) + number) % BITS))


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
