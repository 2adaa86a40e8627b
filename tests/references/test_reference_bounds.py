# SPDX-License-Identifier: Apache-2.0
"""Values and bounds that references are proposed with: by hand, the share of nights that pass, and simulated ones."""

import numpy as np
import pytest
import yaml
from commands import said
from sessions_made import case, database, each_night, night, nights, session, values_of
from test_references import at_least, propose, proposed

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.references.proposals import allowance


def test_bound_is_the_usual_reach_widened_until_the_next_session_is_inside(tmp_path):
    """By hand. The session with 80 falls short by 20 where the others reach 10: rated 2. That with 90 is rated 10 / 20,
    the others 0. With probability 10/11 the next session is rated no worse than the worst of ten: so it may be twice as
    far below the median as 80 is."""
    values = values_of(tmp_path, nights([100.0] * 4 + [80.0] + [100.0] * 4 + [90.0]))
    made, new = proposed(values, coverage=0.95)
    [row] = made.itertuples()
    assert (row.value, row.sessions, row.covered) == (100, 10, pytest.approx(10 / 11))
    assert new["b_eff"]["local:default"][2]["b_eff"] == [100.0, -0.4, None, "MByte/s"]
    # 9 of 11: the second worst rating, 1/2, of 20.
    assert proposed(values, coverage=9 / 11)[1]["b_eff"]["local:default"][2]["b_eff"] == [100.0, -0.1, None, "MByte/s"]


def test_bound_is_on_the_bad_side_of_a_metric(tmp_path):
    measured = [(100.0, 2.0)] * 9 + [(200.0, 1.0)]

    def of_night(number):
        rate, time = measured[number]
        return [case({"b_eff": (rate, "MByte/s"), "ring_latency": (time, "us"), "own": (5.0, "1")})]

    _, new = proposed(values_of(tmp_path, each_night(10, of_night)))
    assert new["b_eff"]["local:default"][2] == {
        "b_eff": at_least(100.0),
        "ring_latency": [2.0, None, 0.05, "us"],
        "own": [5.0, -0.05, 0.05, "1"],
    }, "an improvement widens nothing; of an unknown metric no direction is better"


def test_worst_metric_of_a_session_widens_the_bounds_of_all(tmp_path):
    """By hand: one session has 80 instead of 100, twice the reach of 10 of the others; the latency's is its floor."""
    rates = [100.0] * 8 + [90.0, 80.0]
    made = each_night(10, lambda number: [case({"b_eff": (rates[number], "MByte/s"), "ring_latency": (2.0, "us")})])
    _, new = proposed(values_of(tmp_path, made))
    assert new["b_eff"]["local:default"][2] == {
        "b_eff": [100.0, -0.4, None, "MByte/s"],
        "ring_latency": [2.0, None, 0.1, "us"],
    }


def test_metric_that_some_sessions_lack_is_judged_by_the_others(tmp_path):
    latency = {"ring_latency": (2.0, "us")}
    made = each_night(10, lambda number: [case({"b_eff": (100.0, "MByte/s")} | (latency if number % 2 else {}))])
    _, new = proposed(values_of(tmp_path, made))
    assert new["b_eff"]["local:default"][2]["ring_latency"] == [2.0, None, 0.05, "us"]


def test_share_of_nights_that_pass_all_metrics_is_the_stated_one():
    """Ten metrics, of which one is slow in a fifth of the nights. Bounds that hold for each metric alone pass less than
    half of the nights."""
    rng, together, alone = np.random.default_rng(20261122), [], []
    better = [Better.HIGHER] * 8 + [Better.LOWER] * 2
    worse = np.where([side == Better.HIGHER for side in better], 1, -1)
    for _ in range(400):
        drawn = 100 * (1 + 0.03 * rng.standard_t(4, (21, 10)))
        drawn[:, 0] *= np.where(rng.random(21) < 0.2, 0.5, 1)
        shortfalls = worse * (np.median(drawn[:20], axis=0) - drawn)
        together.append((shortfalls[20] <= allowance(drawn[:20], better, 0.001, 0.9)).all())
        alone.append((shortfalls[20] <= np.quantile(shortfalls[:20], 0.9, axis=0, method="weibull")).all())
    print(f"nights that pass: {np.mean(together):.0%}; with bounds for each metric alone {np.mean(alone):.0%}")
    assert np.mean(together) == pytest.approx(0.9, abs=0.045), "three standard errors of 400 trials"
    assert np.mean(alone) < 0.5


def test_one_excursion_moves_neither_the_value_nor_the_spread(tmp_path):
    made, _ = proposed(values_of(tmp_path, nights([100.0, 101.0, 99.0, 100.5, 99.5, 30.0, 100.0])))
    assert made["value"].tolist() == [100] and made["spread"][0] < 0.01


def test_bounds_are_never_nearer_than_the_floor(tmp_path):
    _, new = proposed(values_of(tmp_path, nights([100.0] * 12)), floor=0.03)
    assert new["b_eff"]["local:default"][2]["b_eff"] == [100.0, -0.03, None, "MByte/s"]


@pytest.mark.parametrize(("sessions", "proposed_value"), [(9, None), (10, 123.5)])
def test_a_reference_needs_ten_sessions_and_has_four_digits(tmp_path, sessions, proposed_value):
    stored, file = database(tmp_path / "results.db", nights([123.4567] * sessions)), tmp_path / "b_eff.yaml"
    done = propose(stored, file, "--write")
    assert done.exit_code == (0 if proposed_value else 2), done.output
    found = yaml.safe_load(file.read_text())["b_eff"]["local:default"][2]["b_eff"][0] if file.exists() else None
    assert found == proposed_value


def test_a_simulated_session_gives_a_reference_within_one_percent(tmp_path):
    digest = {f"environment SMPI_{name}": "x" for name in ("PLATFORM", "PLATFORM_SHA256", "PLACEMENT")}
    stored = database(tmp_path / "results.db", nights([100.0], qualifications="simulated", facts=digest))
    file = tmp_path / "b_eff.yaml"
    done = propose(stored, file, "--write")
    assert done.exit_code == 0, done.output
    assert yaml.safe_load(file.read_text())["b_eff"]["local:default"][2]["b_eff"] == [100.0, -0.01, 0.01, "MByte/s"]


def test_sessions_that_scatter_too_much_for_any_reference_are_not_said_to_be_too_few(tmp_path):
    """The night with 1 falls short by 99, where the others reach the floor of 5: the bound is 99 * 99 / 5 below 100."""
    done = propose(database(tmp_path / "r.db", nights([100.0] * 9 + [1.0])), tmp_path / "b_eff.yaml")
    assert done.exit_code == 2 and "scatter so much that no value of any metric would fail" in said(done)


def test_a_law_of_another_metric_keeps_the_earlier_one(tmp_path):
    values = {"b_eff": (50.0, "MByte/s"), "own": (1.0, "1")}
    stored = database(tmp_path / "r.db", each_night(10, lambda _: [case(values)]))
    file = tmp_path / "b_eff.yaml"
    for law in ("b_eff=1", "own=0.5", "own=0.7"):
        done = propose(stored, file, "--write", "--scaling", law)
        assert done.exit_code == 0, done.output
    laws = {"b_eff": {"exponent": 1.0}, "own": {"exponent": 0.7}}
    assert yaml.safe_load(file.read_text())["_meta"]["scaling"] == laws


def test_a_simulated_value_has_bounds_on_both_sides_and_tells_what_repeats_it(tmp_path):
    """One session is enough; another one counts with its own revision, and the newest platform is recorded."""
    files = {"environment SMPI_PLATFORM": "tree.xml", "environment SMPI_PLACEMENT": "block"}
    values = {"b_eff": (50.0, "MByte/s"), "own": (1.0, "1")}
    made = [
        session(
            [case(values, git_revision=revision, facts=files | {"environment SMPI_PLATFORM_SHA256": sha256})],
            night(number),
            cmdline="reframe -r -n b_eff --prefix=/tmp/x",
        )
        for number, (revision, sha256) in enumerate((("b", "aa"), ("a", "bb")))
    ]
    rows, new = proposed(values_of(tmp_path, made), simulated=True, floor=0.01, min_sessions=1, scaling=(("own", 0.5),))
    assert (rows[["lower", "upper", "covered"]] == [-0.01, 0.01, 1]).all(axis=None)
    assert new["b_eff"]["local:default"][2] == {"b_eff": [50.0, -0.01, 0.01, "MByte/s"], "own": [1.0, -0.01, 0.01, "1"]}
    assert new["_meta"]["scaling"] == {"own": {"exponent": 0.5}}
    [told] = new["_meta"]["simulated"]["local:default"][2]
    assert (told["command"], told["git_revision"]) == ("reframe -r -n b_eff", ["a", "b"])
    assert (told["platform"], told["platform_sha256"], told["placement"]) == ("tree.xml", "bb", "block")


def test_references_of_a_single_process_are_by_size(tmp_path):
    _, new = proposed(values_of(tmp_path, nights([100.0] * 3, processes=1)))
    assert new["b_eff"] == {"$index": ["$partition", "num_processes"], "local:default": {1: {"b_eff": at_least(100.0)}}}
