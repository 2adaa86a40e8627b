# SPDX-License-Identifier: Apache-2.0
"""Slow nodes are found from times of pairs, and no others are named: made-up machines (nodes_made.py) and exact times.
tests/evidence/bench_nodes.py counts over many machines."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from nodes_made import NOISE, Machine, matchings, planted, times, within_leaves

from coffeecup.postprocess.benchmarks import nodes
from coffeecup.postprocess.benchmarks.nodes import Verdict
from coffeecup.postprocess.statistics.nodes import FALSE_SUSPICION, SOME_PARTNERS, TOO_MANY, at_least, effects


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


def one_condition(pairs, seconds):
    """A table of (unit, first, second) with a time each."""
    return pd.DataFrame(pairs, columns=["unit", "first", "second"]).assign(condition="", seconds=seconds)


def spread(pairs, others, count, most):
    """So many pairs in this order without some nodes, of which each node has at most so many."""
    often, chosen = Counter(), []
    for pair in pairs:
        if not others & {*pair[1:]} and len(chosen) < count and max(often[node] for node in pair[1:]) < most:
            chosen.append(pair)
            often.update(pair[1:])
    assert len(chosen) == count
    return chosen


@pytest.mark.parametrize(("disturbed", "suspects"), [(13, [0]), (14, [])])
def test_a_node_that_chance_may_have_made_slow_is_no_suspect(disturbed, suspects):
    """By hand: 6 matchings of 16 nodes, 48 pairs. Node 0 is slow in all six, and so are some pairs of others. With 13
    of them noise makes (13 + 1) / (48 + 2) of the pairs slow, and any of 16 nodes in all six with a probability of
    16 * 0.28^6 = 0.0077, below 0.01; with 14 it is 16 * 0.30^6 = 0.0117."""
    pairs = [
        (unit, *sorted(((unit + place) % 15, (unit - place) % 15 if place else 15)))
        for unit in range(6)
        for place in range(8)
    ]
    order = sorted(pairs, key=lambda pair: (pair[1] * 7 + pair[0] * 5) % 16)
    slow = spread(order, {0}, disturbed, 2)
    seconds = [2.0 if 0 in pair[1:] else 1.2 if pair in slow else 1.0 for pair in pairs]
    found = effects(one_condition(pairs, seconds), 16)
    assert found.exceeding == pytest.approx((disturbed + 1) / 50)
    assert found.nodes.loc[0, "probability"] * 16 == pytest.approx(16 * found.exceeding**6)
    assert (found.suspects, found.withheld) == (suspects, "")


@pytest.mark.parametrize(("disturbed", "suspects", "withheld"), [(24, [0], ""), (2, [], SOME_PARTNERS)])
def test_a_node_that_chance_made_slow_contradicts_nobody(disturbed, suspects, withheld):
    """By hand: 16 nodes, each with each other once in 15 matchings. Node 0 is slow with all, node 1 with 8 of 14. Where
    noise makes 25 of 122 pairs slow, chance does that to one of 16 nodes with a probability of 0.04; where it is 3 of
    122, chance does not: then node 1 is slow with some partners only, which a network may do to node 0 as well."""
    others = [(unit, (unit + place) % 15, (unit - place) % 15) for unit in range(15) for place in range(1, 8)]
    pairs = [(unit, *sorted(pair)) for unit, *pair in [*others, *((unit, unit, 15) for unit in range(15))]]
    partly = [pair for pair in pairs if 1 in pair[1:] and 0 not in pair[1:]][:8]
    slow = spread(sorted(pairs, key=lambda pair: (pair[1] * 7 + pair[2] * 3 + pair[0] * 5) % 16), {0, 1}, disturbed, 4)
    assert (len(pairs), len(partly)) == (120, 8)
    seconds = [2.0 if 0 in pair[1:] else 1.25 if pair in partly + slow else 1.0 for pair in pairs]
    found = effects(one_condition(pairs, seconds), 16)
    assert found.exceeding == pytest.approx((disturbed + 1) / 122)
    assert (found.nodes.loc[1, "probability"] * 16 > FALSE_SUSPICION) == (not withheld)
    assert (found.suspects, found.withheld) == (suspects, withheld)


@pytest.mark.parametrize(("fast", "suspects"), [(1, [0, 2]), (2, [])])
def test_among_many_nodes_one_time_in_200_may_be_fast(fast, suspects):
    """By hand: 200 nodes, 16 matchings of 100 pairs, of which 8 may be fast. Of its 16 times, node 1 has seven fast
    ones, which is far more than an eighth, so it is not named; node 2 has one or two."""
    pairs = [(unit, (unit + place) % 199, (unit - place) % 199) for unit in range(16) for place in range(1, 100)]
    pairs += [(unit, unit, 199) for unit in range(16)]
    often, seconds = {1: 7, 2: fast}, []
    for _, *pair in pairs:
        slow = {0, 1, 2} & {*pair}
        quick = len(slow) == 1 and often.get(min(slow), 0) > 0
        if quick:
            often[min(slow)] -= 1
        seconds.append(2.0 if slow and not quick else 1.0)
    assert (len(pairs), set(often.values())) == (1600, {0})
    found = effects(one_condition(pairs, seconds), 200)
    assert list(found.nodes.loc[[1, 2], "fast"]) == [7, fast]
    assert (found.suspects, found.withheld) == (suspects, "" if suspects else SOME_PARTNERS)


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
    table = measured([1.0] * 64)
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


def accessed(units):
    """Of twelve nodes."""
    rows = [(unit, "write", node, node) for unit in range(units) for node in range(12)]
    return pd.DataFrame(rows, columns=["unit", "condition", "first", "second"])


def test_times_of_single_nodes_are_judged_too():
    """As of accesses to files: every node has its own time in every unit."""
    rng = np.random.default_rng(2)
    table = accessed(8)
    seconds = np.where(table["first"] == 3, 1 / 0.7, 1) * np.exp(0.02 * rng.standard_normal(len(table)))
    found = effects(table.assign(seconds=seconds), 12)
    assert found.suspects == [3]
    assert found.nodes.loc[3, "ratio"] == pytest.approx(0.7, rel=0.05)


@pytest.mark.parametrize(
    ("speed", "varied", "suspects"), [(0.82, True, [3]), (0.82, False, []), (0.92, True, []), (0.92, False, [])]
)
def test_a_node_whose_effect_varies_is_fast_above_90_percent(speed, varied, suspects):
    """One that has half of the speed in 13 of 16 units, and in the others 82 % or 92 %."""
    table = accessed(16)
    slow = np.where(table["unit"] % 5 == 2, speed, 0.5)
    seconds = np.where(table["first"] == 3, 1 / slow, 1.0)
    assert effects(table.assign(seconds=seconds), 12, varied=varied).suspects == suspects


@pytest.mark.parametrize(("pairs", "slow"), [([(0, 1)], [1, 1, 0]), ([(0, 1), (2, 3)], [0, 0, 0, 0, 0])])
def test_a_pair_alone_is_compared_with_other_loops_and_pairs_of_a_loop_with_each_other(pairs, slow):
    """One of six loops takes twice as long. The last node communicates with none: nothing is known of it."""
    seconds = [2.0 if unit == 4 else 1.0 for unit in range(6) for _ in pairs]
    rows = [(unit, 8, *pair) for unit in range(6) for pair in pairs]
    table = pd.DataFrame(rows, columns=["unit", "condition", "first", "second"]).assign(seconds=seconds)
    found = effects(table, len(slow)).nodes
    assert list(found["slow"]) == slow
    assert list(found["examined"]) == [6] * (len(slow) - 1) + [0]
    last = found.iloc[-1]
    assert (last["fast"], last["probability"], last["suspect"]) == (0, 1.0, False) and np.isnan(last["ratio"])


@pytest.mark.parametrize("time", [0.0, -1.0, np.nan, np.inf])
def test_impossible_times_are_refused(time):
    table = measured([1.0] * 4)
    table.loc[3, "seconds"] = time
    with pytest.raises(ValueError, match="not positive and finite"):
        effects(table, 4)


def examined(speeds, **network):
    return nodes.examination([f"x{node:04}" for node in range(len(speeds))], {"matchings": measured(speeds, **network)})


def test_examination_names_the_slow_node_in_words():
    found = examined(with_slow(16, [0.5]))
    assert found.verdict == Verdict.SUSPECTS, "never confirmed without a second measurement"
    assert nodes.listed(found.named) == ["x0000: 0.50 of its peers [0.50, 0.50], slow in 16 of 16 matchings"]
    [(key, text)] = nodes.qualifications(found)
    assert (key, text) == (nodes.QUALIFICATION, f"Slow node suspected: {nodes.listed(found.named)[0]}")
    assert nodes.stored(found)["suspects"] == ["x0000"]
    assert nodes.stored(found)["values"]["x0000"] == [0.5, 0.5, 0.5, 16, 16]


def test_examination_without_a_suspect():
    found = examined([1.0] * 16)
    assert found.verdict == Verdict.NONE and list(nodes.qualifications(found)) == []
    assert examined(with_slow(12, [0.5] * 5)).verdict == Verdict.UNCLEAR


def test_two_nodes_and_no_times_are_not_examined():
    two = nodes.examination(["a", "b"], {"matchings": measured([1.0, 0.5])})
    assert two.verdict == Verdict.NOT_EXAMINED and "two nodes" in two.remarks[0]
    assert nodes.sentence(two) == "The nodes were not examined."
    nothing = nodes.examination(["a", "b", "c"], {"matchings": measured([1.0] * 4)[:0]})
    assert nothing.verdict == Verdict.NOT_EXAMINED
    assert nodes.stored(nothing)["values"] == {}


# --- nodes of several generations -------------------------------------------------------------------------------------


def of_generations(older, slow=()):
    """Speeds and processors of 64 nodes, of which the first ones are older and reach 0.85; `slow` nodes have 0.8 of
    their kind."""
    speeds = np.where(np.arange(64) < older, 0.85, 1.0)
    speeds[list(slow)] *= 0.8
    return speeds, ["older" if node < older else "newer" for node in range(64)]


@pytest.mark.parametrize("older", [6, 21, 32, 45])
def test_older_nodes_are_compared_with_each_other_and_the_slow_ones_of_both_kinds_are_found(older):
    noise = NOISE["3 %, 1 % doubled"]
    for seed in (1, 2):
        for slow in ([], [2], [60], [2, 60]):
            speeds, kinds = of_generations(older, slow)
            found = effects(measured(speeds, noise, seed), 64, kinds=kinds)
            assert sorted(found.suspects) == slow and not found.withheld
            assert found.nodes.loc[slow, "ratio"].between(0.75, 0.85).all()
            of_kind = found.nodes["level"]
            assert of_kind[0] / of_kind[63] == pytest.approx(0.85, rel=0.02)


def test_two_nodes_of_a_kind_have_no_peers_and_three_have():
    for older, suspects in ((2, []), (3, [2])):
        speeds, kinds = of_generations(older, [older - 1])
        found = effects(measured(speeds), 64, kinds=kinds)
        assert found.suspects == suspects and list(found.nodes["alone"][:older]) == [older < 3] * older
    with_two = nodes.examination(
        [f"x{node}" for node in range(64)], {"matchings": measured(of_generations(2)[0])}, kinds=of_generations(2)[1]
    )
    [remark] = with_two.remarks
    assert with_two.verdict == Verdict.NONE and remark.endswith(": x0, 0.85 of all nodes; x1, 0.85 of all nodes")


def test_a_kind_of_which_more_than_a_third_is_slow_has_no_suspects_and_others_have():
    speeds, kinds = of_generations(8, [0, 1, 2, 60])
    found = effects(measured(speeds), 64, kinds=kinds)
    assert found.suspects == [60] and found.withheld == TOO_MANY
    assert effects(measured(of_generations(9, [0, 1, 2])[0]), 64, kinds=of_generations(9)[1]).suspects == [0, 1, 2]


def test_an_older_suspect_is_confirmed_only_if_it_is_slow_for_its_kind():
    """Measured again with newer nodes: 0.85 of them is usual, and 0.80 is 0.94 of the kind."""
    names = [f"x{node}" for node in range(64)]
    speeds, kinds = of_generations(6, [2])
    for again, verdict in ((0.85, Verdict.SUSPECTS), (0.8, Verdict.CONFIRMED)):
        found = nodes.examination(names, {"matchings": measured(speeds)}, again={"x2": again}, kinds=kinds)
        assert found.verdict == verdict and list(found.named["node"]) == ["x2"]
        assert found.remarks[0] == (
            "6 nodes with the processor older reach 0.85 of the median node, and are compared with each other"
        )


def test_why_a_node_was_not_examined_is_stated_where_it_is_true():
    """Of four nodes two are slow: a fast one has only 4 of 12 matchings with the other fast one. In five matchings of
    six nodes, none has enough; six are enough."""
    plan = [[(0, 1), (2, 3)], [(0, 2), (1, 3)], [(0, 3), (1, 2)]] * 4
    drawn = times(Machine(np.array([1.0, 1.0, 0.5, 0.5])), np.random.default_rng(1), silent, plan)
    slower = nodes.examination(list("abcd"), {"matchings": drawn})
    assert "Not examined, because the partner was slower in most matchings: 2 nodes" in slower.remarks
    assert not any("too few" in remark for remark in slower.remarks)
    five = nodes.examination(list("abcdef"), {"matchings": measured([1.0] * 6, count=5)})
    assert five.verdict == Verdict.NOT_EXAMINED
    drawn = measured([1.0] * 8, count=9)
    without = (drawn["unit"] < "5") | ~drawn[["first", "second"]].eq(3).any(axis=1)
    few = nodes.examination(list("abcdefgh"), {"matchings": drawn[without]})
    assert "Not examined, because of too few matchings: 1 node" in few.remarks
