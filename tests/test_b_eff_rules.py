# SPDX-License-Identifier: Apache-2.0
"""Rings, message lengths and L_max of b_eff against the specification's tables and examples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from logs_made import GIB, MIB
from logs_made_b_eff import RINGS

from postprocess.benchmarks.b_eff.definition import l_max_rule, message_lengths, messages_per_exchange, ring_sizes


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
    assert list(message_lengths(8 * MIB)) == [2**k for k in range(13)] + [
        10624,
        27554,
        71468,
        185364,
        480774,
        1246974,
        3234251,
        8388608,
    ]


@pytest.mark.parametrize(
    ("memory", "l_max"), [(GIB, 8 * MIB), (128 * MIB, MIB), (16 * GIB, 128 * MIB), (512 * GIB, 128 * MIB)]
)
def test_l_max_is_a_128th_of_the_memory_and_at_most_128_mib(memory, l_max):
    assert l_max_rule(memory) == l_max
