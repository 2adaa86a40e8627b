# SPDX-License-Identifier: Apache-2.0
"""Rings and patterns of b_eff's kernel, without running it: as in postprocess, whose own tests compare
them with the specification (test_b_eff_rules.py); grids and pairs as listed here; orders that are random."""

import math
from collections import Counter, defaultdict
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from coffeecup.postprocess.benchmarks.b_eff.definition import ring_sizes
from coffeecup.postprocess.benchmarks.b_eff.prediction import patterns


def test_rings_are_those_of_postprocess(printed):
    """The number of rings is the greatest one whose rings are not too small: (rings - 0.4) standard <= ranks."""
    lines = printed("rings", 2048)
    found = [[size for size, count in zip(line[::2], line[1::2]) for _ in range(count)] for line in lines]
    for (ranks, number), rings in zip(product(range(2, 2049), range(1, 7)), found, strict=True):
        assert rings == ring_sizes(ranks, number)
        standard = min(ranks, [2, 4, 8, max(16, ranks // 4), max(32, ranks // 2), ranks][number - 1])
        fits = [count == 1 or ((5 * count - 2) * standard <= 5 * ranks and 2 * count <= ranks)
                for count in (len(rings), len(rings) + 1)]  # fmt: skip
        assert fits == [True, False], (ranks, number)


# --- patterns ---------------------------------------------------------------------------------------------------------

# Extents of the grids: release 3.6 of the original program with Open MPI and 2 to 33 processes, from its protocol;
# beyond them by hand. It drops processes whose number has no good factors.
GRIDS = """
2 2x1 2x1x1  3 3x1 3x1x1  4 2x2 2x2x1  5 2x2 2x2x1  6 3x2 3x2x1  7 3x2 3x2x1  8 4x2 2x2x2  9 3x3 2x2x2  10 5x2 2x2x2
11 5x2 2x2x2  12 4x3 3x2x2  13 4x3 3x2x2  14 7x2 3x2x2  15 5x3 3x2x2  16 4x4 4x2x2  17 4x4 4x2x2  18 6x3 3x3x2
19 6x3 3x3x2  20 5x4 5x2x2  21 7x3 5x2x2  22 11x2 5x2x2  23 11x2 5x2x2  24 6x4 4x3x2  25 5x5 4x3x2  26 13x2 4x3x2
27 9x3 3x3x3  28 7x4 7x2x2  29 7x4 7x2x2  30 6x5 5x3x2  31 6x5 5x3x2  32 8x4 4x4x2  33 11x3 4x4x2  36 6x6 4x3x3
37 6x6 4x3x3  48 8x6 4x4x3  64 8x8 4x4x4  97 12x8 6x4x4  100 10x10 5x5x4  128 16x8 8x4x4"""
WORDS = [[*map(int, word.split("x"))] for word in GRIDS.split()]
EXTENTS = {ranks: grids for [ranks], *grids in zip(WORDS[::3], WORDS[1::3], WORDS[2::3])}


def patterns_of(printed, seed, *ranks):
    """What the kernel prints of each pattern: its fields, and for each process the colour, position, whether it takes
    turns, and pairs of whom it sends to and receives from, at the same place of both buffers."""
    lines = iter(printed("patterns", seed, *ranks))
    for number, name, group, averaged, processes, total in lines:
        layouts = [(color, position, turns, list(zip(to_from[::2], to_from[1::2])))
                   for color, position, turns, *to_from in (next(lines) for _ in range(number))]  # fmt: skip
        yield SimpleNamespace(
            ranks=number, name=name, group=group, averaged=averaged, processes=processes, total=total, layouts=layouts
        )


def messages_of(pattern):
    """Pairs of ranks. MPI would hang or fail if a message had no receiver, and the check of the data relies on a
    message that lies in the same slot on both sides."""
    rank_at = {layout[:2]: rank for rank, layout in enumerate(pattern.layouts) if layout[0] >= 0}
    positions = defaultdict(list)
    for color, position in sorted(rank_at):
        positions[color].append(position)
    assert all(numbers == [*range(len(numbers))] for numbers in positions.values()), "as MPI_Comm_split() numbers"
    assert len(rank_at) == pattern.processes
    messages = []
    for (color, position), rank in rank_at.items():
        for slot, (to, source) in enumerate(pattern.layouts[rank][3]):
            target = rank_at[color, to]
            assert pattern.layouts[target][3][slot][1] == position
            assert pattern.layouts[rank_at[color, source]][3][slot][0] == position
            messages.append((rank, target))
    return sorted(messages)


def around(members):
    """A ring: one message to the right and, where that is another process, one to the left."""
    right = [(rank, members[(place + 1) % len(members)]) for place, rank in enumerate(members)] * (len(members) > 1)
    return right + [(target, rank) for rank, target in right if len(members) > 2]


def lines_of_grid(extents, axis):
    """The ranks along an axis of a grid in C order."""
    grid = np.arange(math.prod(extents)).reshape(extents)
    return np.moveaxis(grid, axis, -1).reshape(-1, extents[axis]).tolist()


def expected_messages(pattern):
    ranks, last = pattern.ranks, pattern.name.rpartition("-")[2]
    if pattern.group == "ring":
        ends = np.cumsum(ring_sizes(ranks, int(last)))
        rings = np.split(np.arange(ranks), ends[:-1])
    elif pattern.group == "random":
        rings = [[rank for _, rank in sorted((layout[1], rank) for rank, layout in enumerate(pattern.layouts))]]
    elif pattern.group == "worst_cycle":
        rings = [[k // 2 if k % 2 == 0 else ranks - 1 - k // 2 for k in range(ranks)]]
    elif pattern.group == "bisection":
        even = ranks // 2 * 2
        rings = [[2 * k, 2 * k + 1] if last == "best" else [k, even - 1 - k] for k in range(even // 2)]
    elif pattern.group == "ping_pong":
        rings = [[0, 1]]
    else:
        extents = EXTENTS[ranks][pattern.group == "cartesian_3d"]
        axes = range(len(extents)) if last == "all" else ["xyz".index(last)]
        rings = [ring for axis in axes for ring in lines_of_grid(extents, axis)]
    return sorted(pair for ring in rings for pair in around([*map(int, ring)]))


def test_patterns_have_the_messages_that_they_should_have(printed):
    """Two processes that exchange a message take turns in a bisection and in the ping-pong, and nowhere else."""
    names = defaultdict(list)
    for pattern in patterns_of(printed, 1, *EXTENTS):
        names[pattern.ranks].append(pattern.name)
        if pattern.group == "random" and pattern.name[-1] != "1":
            continue
        found = messages_of(pattern)
        assert found == expected_messages(pattern), (pattern.ranks, pattern.name)
        assert len(found) == pattern.total and all(source != target for source, target in found)
        turns = {layout[2] for layout in pattern.layouts if layout[0] >= 0}
        assert turns == {pattern.group in ("bisection", "ping_pong")}
        assert pattern.averaged == (pattern.group in ("ring", "random"))
    for ranks, extents in EXTENTS.items():
        axes = [[axis for axis, extent in zip("xyz", grid) if extent > 1] for grid in extents]
        grids = [f"cartesian-{number}d-{axis}" for number, along in zip((2, 3), axes) for axis in [*along, "all"]]
        first = [*(f"ring-{k}" for k in range(1, 7)), *(f"random-{k:02}" for k in range(1, 31))]
        assert names[ranks] == [*first, "worst-cycle", "bisection-best", "bisection-worst", *grids, "ping-pong"]


@pytest.mark.parametrize(("ranks", "seed"), [(2, 1), (3, 1), (7, 5), (33, 1), (64, 2**63 - 1), (128, 1)])
def test_patterns_are_those_of_predictions(printed, ranks, seed):
    predicted = [*patterns.messages(ranks, seed), patterns.worst_cycle(ranks)]
    of_kernel = {pattern.name: messages_of(pattern) for pattern in patterns_of(printed, seed, ranks)}
    for ours in predicted:
        assert sorted(zip(ours.source.tolist(), ours.target.tolist())) == of_kernel[ours.pattern]
        assert ours.each == max(Counter(source for source, _ in of_kernel[ours.pattern]).values())
    assert len(predicted) == 6 + 30 + 1


def test_random_orders_are_repeatable_permutations_and_all_different(printed):
    orders = printed("orders", 40, 90)
    assert printed("orders", 40, 90) == orders and len(set(map(tuple, orders))) == 90
    assert all(sorted(order) == [*range(40)] for order in orders)


@pytest.mark.parametrize(("ranks", "least", "most"), [(3, 0.21, 20.5), (4, 7.5, 49.7), (5, 77.0, 172.4)])
def test_random_orders_are_unbiased(printed, ranks, least, most):
    """By Pearson's chi-square of the permutations: the quantiles 0.001 and 0.999 of its distribution. A biased shuffle
    (every place swapped with any other) has thousands here."""
    found, number = Counter(map(tuple, printed("orders", ranks, 60000))), math.factorial(ranks)
    assert len(found) == number
    expected = 60000 / number
    assert least < sum((times - expected) ** 2 / expected for times in found.values()) < most
