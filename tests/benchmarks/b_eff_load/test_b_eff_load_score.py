# SPDX-License-Identifier: Apache-2.0
"""The reduction of b_eff_load against arithmetic by hand, on made-up loops. test_b_eff_load.py runs the kernel on
simulated machines."""

from math import isnan, nan, sqrt
from pathlib import Path
from types import SimpleNamespace

import logs_made
import pandas as pd
import pytest
from mutator import kernel_log

from coffeecup.postprocess.benchmarks.b_eff_load import reduction
from coffeecup.postprocess.benchmarks.b_eff_load.records import Load, Loaded
from coffeecup.postprocess.benchmarks.load_records import PlannedVictims
from coffeecup.postprocess.benchmarks.load_section import in_words
from coffeecup.postprocess.benchmarks.scoring import read_log
from coffeecup.postprocess.logs.reader import Log

LONG = 100


def calls(fast, slow=0):
    """Calls in the bins from 1 to 2 s and from 8 to 16 s, the middles of which are 1.5 and 12 s."""
    bins = [entry for entry in ((1.0, 2.0, fast), (8.0, 16.0, slow)) if entry[2]]
    low, high, counts = map(list, zip(*bins))
    return SimpleNamespace(
        from_seconds=low, to_seconds=high, bin_calls=counts, shortest_seconds=low[0], longest_seconds=high[-1]
    )


def loop(seconds, exchanges=None, **more):
    """Ten exchanges that take so many seconds each."""
    return SimpleNamespace(elapsed_seconds=10 * seconds, loop_length=10, exchanges=exchanges, **more)


def made(loads=(), loops=(), kinds=("incast", "alltoall"), repetitions=2, **more):
    """A log of a ring and a random pattern on five nodes, of which two are victims."""
    patterns = [
        SimpleNamespace(name="ring-1", group="ring", messages_per_exchange=8),
        SimpleNamespace(name="random-01", group="random", messages_per_exchange=6),
    ]
    load = PlannedVictims(
        kinds=list(kinds), victims_percent=40, victims=[0, 3], victim_processes=2, latency_relative_error=0.01
    )
    plan = SimpleNamespace(
        load=load, patterns=patterns, repetitions=repetitions, message_bytes=[1, LONG], l_max_bytes=LONG, **more
    )
    run = SimpleNamespace(hosts=[None] * 5)
    return Log(Path("log.jsonl"), "", run, plan, {Loaded: list(loops), Load: list(loads)})


# The phases before and after take 1 s together on average, or 2 s; those with load 3 and 4 s.
PHASES = reduction.Phases(
    {1: loop(3.0, calls(98, 2)), LONG: loop(4.0, calls(1, 99))},
    {1: loop(0.5, calls(50)), LONG: loop(1.0)},
    {1: loop(1.5, calls(49, 1)), LONG: loop(3.0, calls(100))},
)


def test_load_is_compared_with_the_mean_of_the_phases_around_it():
    assert (reduction.slowdown(PHASES, 1), reduction.slowdown(PHASES, LONG)) == (3.0, 2.0)
    longer = reduction.Phases({1: SimpleNamespace(elapsed_seconds=12.0, loop_length=2)}, PHASES.before, PHASES.after)
    assert reduction.slowdown(longer, 1) == 6.0


def test_percentiles_are_those_of_both_phases_without_load_together():
    """Of 100 exchanges, two or one took 12 s: the 99th is 12 s with load, 1.5 s without. A phase without a histogram
    counts nothing."""
    assert (reduction.slowdown_at(PHASES, 1, 0.5), reduction.slowdown_at(PHASES, 1, 0.99)) == (1.0, 8.0)
    assert reduction.slowdown_at(PHASES, LONG, 0.5) == 8.0


def test_a_pattern_is_slower_by_its_mean_bandwidth_over_the_lengths():
    assert reduction.slowdown_of_pattern(PHASES) == pytest.approx((1 / 1 + LONG / 2) / (1 / 3 + LONG / 4), rel=1e-12)


def loops_of(repetition, pattern, *seconds):
    """A loop of each length in phases 0, 1, ...; the longest length takes twice as long. In phase 1 of
    rings, two of 100 short exchanges were slow, and all long ones but one."""
    return [
        loop(
            factor * taken,
            slow if (phase, pattern) == (1, "ring-1") else calls(1),
            repetition=repetition,
            pattern=pattern,
            phase=phase,
            message_bytes=length,
        )
        for phase, taken in enumerate(seconds)
        for length, factor, slow in ((1, 1, calls(98, 2)), (LONG, 2, calls(1, 99)))
    ]


RING, RANDOM = (1.0, 6.0, 2.0, 9.0, 4.0), (1.0, 2.0, 1.0, 4.0, 1.0)
LOOPS = [*loops_of(1, "ring-1", *RING), *loops_of(1, "random-01", *RANDOM), *loops_of(2, "ring-1", *RING)]


def test_each_load_has_the_phases_beside_it_in_complete_repetitions():
    """Phases: none, incast, none, alltoall, none. The second repetition stopped before the random pattern."""
    log = made(loops=LOOPS)
    assert log.plan.load.phases == [None, "incast", None, "alltoall", None]
    assert reduction.complete_repetitions(log) == [1]
    found = reduction.units(log, "alltoall")
    assert list(found) == [(1, "ring-1"), (1, "random-01")]
    ring = found[1, "ring-1"]
    assert [phase[1].elapsed_seconds for phase in (ring.loaded, ring.before, ring.after)] == [90.0, 20.0, 40.0]
    assert reduction.complete_repetitions(made(loops=[*LOOPS, *loops_of(2, "random-01", *RANDOM)])) == [1, 2]


def test_factors_of_units():
    ring, random = reduction.factors(made(loops=LOOPS), "alltoall").to_dict("records")
    assert (ring["repetition"], ring["pattern"], ring["group"]) == (1, "ring-1", "ring")
    assert (ring["b_eff_at_l_max_impact"], random["b_eff_at_l_max_impact"]) == (3.0, 4.0)
    assert (ring["b_eff_impact"], random["b_eff_impact"]) == (pytest.approx(3.0), pytest.approx(4.0))
    ring = reduction.factors(made(loops=LOOPS), "incast").iloc[0]
    names = ("latency_impact", "latency_impact_99", "bandwidth_impact", "bandwidth_impact_99")
    assert [ring[name] for name in names] == [1.0, 8.0, 8.0, 8.0]


def test_groups_weigh_the_same_whatever_their_patterns():
    """Logarithms: the geometric means of the groups are 4 and 1, that of both is 2."""
    found = pd.DataFrame({"group": ["ring", "random", "ring"], "x": [2.0, 1.0, 8.0]})
    assert reduction.of_groups(found, "x")[0] == pytest.approx(2.0)
    found = pd.DataFrame({"group": ["ring", "random", "random"], "x": [2.0, 8.0, 8.0]})
    assert reduction.of_groups(found, "x") == pytest.approx((4, 4, 8)), "the ring is drawn from all three"


def test_the_value_of_units_is_their_median_with_its_interval():
    assert reduction.of_units(pd.Series([6.0, 1, 2, 3, 5, 4])) == (3.5, 1, 6)
    assert reduction.of_units(pd.Series([1.0, 2, 3, 5, 4])) == pytest.approx((3, nan, nan), nan_ok=True), "93.75 %"


def test_a_factor_of_few_units_is_stated_without_an_interval():
    values = {"x_incast": 1.5, "x_incast_low": 1.25, "x_incast_high": 2.0, "x_alltoall": 3.0}
    score = SimpleNamespace(metrics={name: SimpleNamespace(value=value) for name, value in values.items()})
    assert in_words(score, "x", "incast") == "1.500 (95 % interval 1.250 to 2)"
    assert in_words(score, "x", "alltoall") == "3 (too few units for an interval)"


def moved(load, received, sent, seconds):
    return SimpleNamespace(load=load, received_bytes=received, sent_bytes=sent, elapsed_seconds=seconds)


LOADS = [
    moved("incast", 3_000_000, 9_000_000, 2.0),
    moved("incast", 5_000_000, 9_000_000, 2.0),
    moved("io", 3_000_000, 9_000_000, 4.0),
    moved("broadcast", 9_000_000, 3_000_000, 1.0),
    moved("alltoall", 9_000_000, 3_000_000, 1.0),
]


def test_bandwidth_of_the_load_is_what_it_received_or_wrote_and_read():
    log = made(LOADS)
    assert [reduction.load_bandwidth(log, kind) for kind in ("incast", "io", "broadcast")] == [2.0, 3.0, 9.0]
    metrics = reduction.metrics([made([LOADS[0], LOADS[4]], LOOPS)], pd.DataFrame({"log": [0]})).loc[0]
    assert (metrics["load_bandwidth_incast"], metrics["load_bandwidth_alltoall"]) == (1.5, 9.0)
    assert metrics["b_eff_at_l_max_impact_alltoall"] == pytest.approx(sqrt(3 * 4))
    assert metrics["latency_impact_99_incast"] == (8 + 1) / 2, "the median of the units"
    assert isnan(metrics["b_eff_at_l_max_impact_alltoall_low"]), "two units have no interval"


def test_the_busiest_node_receives_an_incast_sends_a_broadcast_and_is_one_of_three_otherwise():
    found = [reduction.of_busiest_node(made(), record) for record in LOADS[1:]]
    assert found == [2.5e6, 1e6, 3e6, 3e6]


def test_a_victims_node_receives_what_random_patterns_send_without_load():
    """6 messages of 100 byte to two nodes, in 1, 2 and 4 s: the median is 150 byte/s."""
    counted = [loop(seconds, pattern="random-01", message_bytes=LONG, load=None) for seconds in (1.0, 2.0, 4.0)]
    others = (("random-01", LONG, "incast"), ("random-01", 1, None), ("ring-1", LONG, None))
    loops = counted + [loop(9.0, pattern=name, message_bytes=length, load=load) for name, length, load in others]
    assert reduction.of_victim_node(made(loops=loops)) == 150.0


def test_rows_state_their_phase_and_load(tmp_path):
    """Phases with an even number have no load (docs/log.md)."""
    records = kernel_log("b_eff_load")
    table = reduction.measurement_table([read_log(logs_made.write(tmp_path / "log.jsonl", records))])
    expected = [(r["phase"], r["load"] if r["phase"] % 2 else "none") for r in records if r["record"] == "loaded"]
    assert list(table[["phase", "load"]].itertuples(index=False, name=None)) == expected
