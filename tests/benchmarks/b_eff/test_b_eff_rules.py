# SPDX-License-Identifier: Apache-2.0
"""Rings, message lengths and L_max of b_eff against the specification's tables and examples, and the rules on them."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from logs_made import GIB, MIB, of_kind
from logs_made_b_eff import RINGS, averaged_log, lengths

from coffeecup.postprocess.benchmarks.b_eff import rules, timed_loops
from coffeecup.postprocess.benchmarks.b_eff.definition import (
    l_max_rule,
    message_lengths,
    messages_per_exchange,
    ring_sizes,
)
from coffeecup.postprocess.benchmarks.b_eff.records import Pattern, Rings


@pytest.mark.parametrize("processes", RINGS)
def test_ring_sizes_are_those_of_the_specifications_table(processes):
    by_hand = [[size for count, size in rings for _ in range(count)] for rings in RINGS[processes]]
    assert [ring_sizes(processes, k) for k in range(1, 7)] == by_hand


@given(processes=st.integers(2, 5000), number=st.integers(1, 6))
def test_rings_hold_every_process_once_and_none_is_alone(processes, number):
    sizes = ring_sizes(processes, number)
    assert sum(sizes) == processes and min(sizes) >= 2 and max(sizes) - min(sizes) <= 1
    odd = [size % 2 for size in sizes]
    assert odd == sorted(odd)  # rings of odd size come last


@pytest.mark.parametrize(("sizes", "messages"), [([2], 2), ([2, 2], 4), ([3], 6), ([2, 3], 8), ([16], 32)])
def test_a_ring_of_two_holds_one_message_per_process(sizes, messages):
    assert messages_per_exchange(sizes) == messages


def test_message_lengths_are_those_of_the_specifications_example():
    rounded = [10624, 27554, 71468, 185364, 480774, 1246974, 3234251, 8388608]
    assert list(message_lengths(8 * MIB)) == [2**k for k in range(13)] + rounded


@pytest.mark.parametrize(
    ("memory", "l_max"), [(GIB, 8 * MIB), (128 * MIB, MIB), (16 * GIB, 128 * MIB), (512 * GIB, 128 * MIB)]
)
def test_l_max_is_a_128th_of_the_memory_and_at_most_128_mib(memory, l_max):
    assert l_max_rule(memory) == l_max


# --- plans ------------------------------------------------------------------------------------------------------------


def changed(places, more):
    """The lengths of a run with an L_max of 8 MiB, some of them larger."""
    return [length + more * (place in places) for place, length in enumerate(lengths(8 * MIB))]


@pytest.mark.parametrize(
    ("found", "follow"),
    [
        (changed((), 0), True),
        *((changed(range(13, 20), more), True) for more in (1, -1)),
        *((changed((place,), more), False) for place in (13, 19) for more in (2, -2)),
        (changed((12,), 1), False),
        (changed((0,), 1), False),
        (changed((), 0)[:-1], False),
        ([*changed((), 0), 10**9], False),
        ([*range(1, 21), 8 * MIB], False),
        (lengths(4097)[:13] + [4097] * 8, False),
    ],
)
def test_the_21_lengths_may_be_rounded_by_a_byte_between_4096_and_l_max(found, follow):
    assert rules.follows_length_rule(found) is follow


@pytest.mark.parametrize(("buffer", "refused"), [(8 * 1_000_064, False), (8 * 1_000_003, True), (8 * 1_000_000, True)])
def test_messages_in_a_buffer_begin_at_cache_lines(scored, buffer, refused):
    """An L_max of 1 000 003 bytes takes 15 626 lines of 64 bytes."""
    records = averaged_log(ranks=2, nodes=1, memory_per_process_bytes=128 * 1_000_003)
    of_kind(records, "plan")[0]["buffer_bytes"] = buffer
    found = scored(records)
    assert isinstance(found, str) is refused and (not refused or found.endswith("[planned]"))


def pattern(group, processes, messages, name="x", rings=None):
    return Pattern(name, group, False, messages, processes, rings and [Rings(*ring) for ring in rings], [])


@pytest.mark.parametrize(
    ("name", "ranks", "rings"),
    [
        ("ring-1", 7, [(2, 2), (3, 1)]),
        ("ring-1", 8, [(2, 4)]),
        ("ring-2", 7, [(4, 1), (3, 1)]),
        ("ring-2", 9, [(4, 1), (5, 1)]),
        ("ring-6", 9, [(9, 1)]),
    ],
)
def test_neighbouring_rings_of_one_size_are_one_entry(name, ranks, rings):
    """floor(n / m + 0.4) rings of m processes; by hand."""
    found = rules.rings_of(pattern("ring", ranks, 2 * ranks, name), ranks)
    assert [(entry.size, entry.count) for entry in found] == rings


@pytest.mark.parametrize(
    ("entry", "ranks", "expected"),
    [
        (pattern("ping_pong", 2, 2), 9, (2, 2)),
        (pattern("bisection", 8, 8), 9, (8, 8)),
        (pattern("bisection", 8, 8), 8, (8, 8)),
        (pattern("cartesian_2d", 8, 8, "x"), 9, (8, 8)),
        (pattern("cartesian_2d", 8, 7, "x"), 9, (8, 8)),
        (pattern("cartesian_2d", 8, 16, "x"), 9, (8, 16)),
        (pattern("cartesian_2d", 8, 24, "x"), 9, (8, 16)),
        (pattern("cartesian_2d", 8, 32, "a-all"), 9, (8, 32)),
        (pattern("cartesian_2d", 8, 40, "a-all"), 9, (8, 32)),
        (pattern("cartesian_3d", 8, 48, "a-all"), 9, (8, 48)),
        (pattern("cartesian_3d", 8, 56, "a-all"), 9, (8, 48)),
        (pattern("cartesian_3d", 8, 16, "z"), 7, (7, 16)),
    ],
)
def test_processes_and_messages_of_pairs_and_grids(entry, ranks, expected):
    """A process of a grid exchanges with one or two neighbours in a direction: 4 or 6 in all of two or three."""
    assert rules.processes_and_messages(entry, ranks) == expected


@pytest.mark.parametrize("group", ["cartesian_2d", "cartesian_3d"])
@pytest.mark.parametrize(
    ("processes", "together", "refused"), [(8, 24, []), (8, 23, ["grids"]), (8, 25, ["grids"]), (4, 24, ["grids"])]
)
def test_a_grid_has_the_messages_of_its_directions_together_on_the_same_processes(group, processes, together, refused):
    directions = [pattern(group, 8, 8, "x"), pattern(group, 8, 16, "y")]
    patterns = [*directions, pattern(group, processes, together, "a-all")]
    found = rules.problems_of_grids(SimpleNamespace(patterns=patterns))
    assert [key for key, _ in found] == refused


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (pattern("ring", 4, 4, rings=[(2, 2)]), (1, 1)),
        (pattern("ring", 5, 8, rings=[(2, 1), (3, 1)]), (1, 2)),
        (pattern("ring", 9, 18, rings=[(4, 1), (5, 1)]), (2, 2)),
        (pattern("cartesian_2d", 8, 32), (4, 4)),
        (pattern("ping_pong", 2, 2), (1, 1)),
    ],
)
def test_a_process_sends_two_messages_and_one_in_a_ring_of_two(entry, expected):
    assert timed_loops.messages_of_process(entry) == expected
