# SPDX-License-Identifier: Apache-2.0
"""The messages of b_eff's averaged patterns and its ping-pong: the same as in kernels/b_eff/patterns.c, for
predictions. Ranks are numbered from 0."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from coffeecup.postprocess.benchmarks.b_eff.definition import PATTERNS_AVERAGED, ring_sizes
from coffeecup.postprocess.benchmarks.random_orders import BITS, random_number, shuffled

SEED = 1  # the kernel's default


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
