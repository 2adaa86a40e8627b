# SPDX-License-Identifier: Apache-2.0
"""Slow nodes are found from times of pairs, and no others are named: made-up machines (tests/nodes_made.py) and exact
times. tests/bench_nodes.py counts over many machines."""

import numpy as np
import pandas as pd
import pytest
from nodes_made import NOISE, Machine, matchings, planted, times, within_leaves

from postprocess.benchmarks import nodes
from postprocess.benchmarks.nodes import Verdict
from postprocess.statistics.nodes import SOME_PARTNERS, TOO_MANY, at_least, effects


def silent(rng, machine, loops, pairs):
    return np.ones((len(pairs), 6))


def measured(speeds, noise=silent, seed=1, count=16, **network):
    rng = np.random.default_rng(seed)
    return times(Machine(np.array(speeds), **network), rng, noise, matchings(rng, len(speeds), count))


def with_slow(nodes_, slow):
    """Speeds of which the first ones are these."""
    return [*slow, *[1.0] * (nodes_ - len(slow))]


@pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE)
def test_slow_nodes_are_found_with_their_effect_and_their_partners_are_not(noise):
    rng = np.random.default_rng(7)
    speeds, slow = planted(rng, 32, 4, 0.8)
    found = effects(times(Machine(speeds), rng, noise, matchings(rng, 32)), 32)
    assert set(found.suspects) == slow
    assert found.nodes.loc[list(slow), "ratio"].between(0.75, 0.85).all()
    assert (found.nodes["low"] <= found.nodes["ratio"]).all() and (found.nodes["ratio"] <= found.nodes["high"]).all()


@pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE)
def test_no_node_of_a_healthy_machine_is_named(noise):
    for seed in range(5):
        found = effects(measured([1.0] * 24, noise, seed), 24)
        assert (found.suspects, found.withheld) == ([], "")


def test_without_noise_every_effect_is_exact():
    speeds = with_slow(20, [0.5, 0.5, 0.8, 0.9])
    found = effects(measured(speeds), 20).nodes
    assert found["ratio"].to_numpy() == pytest.approx(speeds)
    assert found["suspect"].to_list() == [speed < 1 for speed in speeds]
    partners = found.loc[0, "examined"]
    assert partners == 16 and found.loc[0, "slow"] == 16, "its partners are never slower"
    assert found.loc[4:, "slow"].sum() == 0, "a fast node's times with slow partners are not its own"


@pytest.mark.parametrize(("speed", "suspect"), [(0.94, True), (0.96, False)])
def test_a_node_is_slow_below_95_percent(speed, suspect):
    assert effects(measured(with_slow(16, [speed])), 16).suspects == [0] * suspect


@pytest.mark.parametrize(("slow", "named"), [(5, True), (6, False)])
def test_more_than_a_third_of_slow_nodes_are_a_property_of_the_machine(slow, named):
    found = effects(measured(with_slow(15, [0.5] * slow)), 15)
    assert sorted(found.suspects) == list(range(slow)) * named
    assert found.withheld == ("" if named else TOO_MANY)


@pytest.mark.parametrize(("fast", "named"), [(2, True), (3, False)])
def test_a_node_that_is_fast_with_some_partners_is_not_named(fast, named):
    """With an eighth of its 16 partners at most."""
    table = measured(with_slow(16, [0.5]))
    units = table["unit"].unique()[:fast]
    own = (table[["first", "second"]] == 0).any(axis=1)
    table.loc[own & table["unit"].isin(units), "seconds"] /= 2
    found = effects(table, 16)
    assert found.suspects == [0] * named
    assert found.withheld == ("" if named else SOME_PARTNERS)


def test_a_node_that_is_slow_in_one_direction_is_found():
    table = measured(with_slow(16, [1.0] * 5 + [0.5]))
    sends = table["condition"].str.contains("up") & (table["second"] == 5)
    receives = table["condition"].str.contains("down") & (table["first"] == 5)
    table.loc[sends | receives, "seconds"] /= 2  # as fast as the others where it only receives
    assert effects(table, 16).suspects == [5]


def test_few_partners_give_no_interval_and_name_nobody():
    """With five the whole range has a confidence of 94 %; with six 97 %."""
    for count, named in ((5, False), (6, True)):
        found = effects(measured(with_slow(16, [0.5]), count=count), 16)
        assert found.suspects == [0] * named
        assert np.isfinite(found.nodes.loc[0, "high"]) == named


def test_noise_that_slows_every_node_as_often_makes_no_suspect():
    """A fifth of all times is doubled, and node 0 has ten of 16: by chance that happens once in 10 000 times."""
    rng = np.random.default_rng(3)
    table = measured([1.0] * 64, lambda rng, machine, loops, pairs: np.ones((len(pairs), 6)))
    unit_of_pair = table.groupby(["unit", "first", "second"]).ngroup()
    doubled = rng.random(unit_of_pair.max() + 1) < 0.2
    own = (table[["first", "second"]] == 0).any(axis=1)
    table.loc[~own & doubled[unit_of_pair], "seconds"] *= 2
    table.loc[own & table["unit"].isin(table["unit"].unique()[:13]), "seconds"] *= 2
    found = effects(table, 64)
    assert found.exceeding == pytest.approx(0.2, abs=0.05)
    assert found.nodes.loc[0, "slow"] == 13


def test_probability_of_so_many_slow_times():
    assert at_least(14, 16, 0.5) == pytest.approx((120 + 16 + 1) / 2**16)
    assert at_least(0, 16, 0.1) == pytest.approx(1)


def test_a_shared_trunk_does_not_make_its_nodes_suspects():
    """12 and 8 nodes at two switches, joined by the links of three: the eight cross it more often."""
    for seed in range(10):
        found = effects(measured([1.0] * 20, NOISE["3 %, 1 % doubled"], seed, leaf=12, trunk=3), 20)
        assert found.suspects == []


def test_within_known_groups_slow_nodes_of_a_tapered_tree_are_found():
    rng = np.random.default_rng(5)
    speeds, slow = planted(rng, 64, 5, 0.8)
    machine = Machine(speeds, leaf=16, trunk=4)
    found = effects(times(machine, rng, NOISE["recorded, each time"], within_leaves(rng, 64, 16)), 64)
    assert set(found.suspects) == slow


def test_times_of_single_nodes_are_judged_too():
    """As of accesses to files: every node has its own time in every unit."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame([(unit, "write", node, node) for unit in range(8) for node in range(12)])
    table.columns = ["unit", "condition", "first", "second"]
    seconds = np.where(table["first"] == 3, 1 / 0.7, 1) * np.exp(0.02 * rng.standard_normal(len(table)))
    found = effects(table.assign(seconds=seconds), 12)
    assert found.suspects == [3]
    assert found.nodes.loc[3, "ratio"] == pytest.approx(0.7, rel=0.05)


@pytest.mark.parametrize("time", [0.0, -1.0, np.nan, np.inf])
def test_impossible_times_are_refused(time):
    table = measured([1.0] * 4)
    table.loc[3, "seconds"] = time
    with pytest.raises(ValueError, match="not positive and finite"):
        effects(table, 4)


def examined(speeds, **network):
    return nodes.examination([f"x{node:04}" for node in range(len(speeds))], measured(speeds, **network))


def test_examination_names_the_slow_node_in_words():
    found = examined(with_slow(16, [0.5]))
    assert found.verdict == Verdict.SUSPECTS, "never confirmed without a second measurement"
    assert nodes.listed(found) == ["x0000: 0.50 of its peers [0.50, 0.50], slow in 16 of 16 matchings"]
    [(key, text)] = nodes.qualifications(found)
    assert (key, text) == (nodes.QUALIFICATION, f"Slow node suspected: {nodes.listed(found)[0]}")
    assert nodes.stored(found)["suspects"] == ["x0000"]
    assert nodes.stored(found)["values"]["x0000"] == [0.5, 0.5, 0.5, 16, 16]


def test_examination_without_a_suspect():
    found = examined([1.0] * 16)
    assert found.verdict == Verdict.NONE and list(nodes.qualifications(found)) == []
    assert examined(with_slow(12, [0.5] * 5)).verdict == Verdict.UNCLEAR


def test_two_nodes_and_no_times_are_not_examined():
    two = nodes.examination(["a", "b"], measured([1.0, 0.5]))
    assert two.verdict == Verdict.NOT_EXAMINED and "two nodes" in two.remarks[0]
    assert nodes.sentence(two) == "The nodes were not examined."
    nothing = nodes.examination(["a", "b", "c"], measured([1.0] * 4)[:0])
    assert nothing.verdict == Verdict.NOT_EXAMINED
    assert nodes.stored(nothing)["values"] == {}
