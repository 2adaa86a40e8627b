# SPDX-License-Identifier: Apache-2.0
"""The stated probability to pass a contract is the one that arithmetic gives for noise of which it is known, and what
the noise of recorded nights does not tell is refused."""

import json
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from clauses_made import CLAUSE
from commands import run, said
from contracts_made import clause, contract, write_contract
from sessions_made import database, nights, steady, table_of

from coffeecup.postprocess.acceptance.contract import Contract, read_contract
from coffeecup.postprocess.acceptance.evaluation import judged
from coffeecup.postprocess.acceptance.noise import NoiseError, Stated, by_runs, noise_of_history, recorded
from coffeecup.postprocess.acceptance.relations import Relation
from coffeecup.postprocess.acceptance.risk import Assumed, simulation
from coffeecup.postprocess.acceptance.terms import Terms

DRAWS, SIGMAS = 4000, 4.5
BELOW = NormalDist(0, 0.05)
NAIVE = replace(CLAUSE, repetitions=3, statistic="minimum")


def agreed(*clauses, **more):
    return Contract(Path("c.yaml"), "0" * 64, "", "made", Terms(), ("a", "b"), clauses, **more)


def chances(of, noise, percents=(0.0,), **assumed):
    found = simulation(of, Assumed(noise, draws=DRAWS, **assumed)).chances(percents)
    return {(chance.clause, chance.percent_better): chance for chance in found}


def near(chance, expected):
    """Whether it is the expected probability, up to the noise of the draws."""
    return abs(chance.passes - expected) <= SIGMAS * (max(expected * (1 - expected), 1e-4) / DRAWS) ** 0.5


# --- noise that is stated ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("percent", [-5.0, 0.0, 5.0])
@pytest.mark.parametrize("bound", [{"floor": 1000.0}, {"floor": None, "ceiling": 10.0}])
def test_of_independent_runs_the_worst_one_decides(percent, bound):
    floor = bound["floor"] is not None
    one = replace(NAIVE, **bound, statistic="minimum" if floor else "maximum")
    once = 1 - BELOW.cdf(1 / (1 + percent / 100) - 1) if floor else BELOW.cdf(1 / (1 - percent / 100) - 1)
    assert near(chances(agreed(one), Stated(0.05), [percent])["bandwidth", percent], once**3)


@pytest.mark.parametrize(
    ("statistic", "expected"), [("minimum", 1 / 8), ("median", 1 / 2), ("mean", 1 / 2), ("maximum", 7 / 8)]
)
def test_a_machine_at_its_floor(statistic, expected):
    assert near(chances(agreed(replace(NAIVE, statistic=statistic)), Stated(0.05))["bandwidth", 0.0], expected)


def test_all_runs_that_match_a_clause_enter_it():
    """The other clause demands three runs, of which the worst one decides here, too."""
    found = chances(agreed(replace(NAIVE, name="once", repetitions=1), NAIVE), Stated(0.05))
    assert near(found["once", 0.0], 1 / 8)


@pytest.mark.parametrize(("sessions", "expected"), [(1, 1 / 2), (2, 1 / 4), (3, 1 / 8), (5, 1 / 8)])
def test_runs_of_a_session_share_its_deviation(sessions, expected):
    assert near(chances(agreed(NAIVE), Stated(0.0, 0.05), sessions=sessions)["bandwidth", 0.0], expected)


def test_a_run_that_scatters_too_much_fails_whatever_its_value():
    """Of two runs, half the difference over the mean of the median is below 1 % with the probability of |z| < 0.2828,
    z the difference in units of its standard deviation of 0.0707."""
    wide = replace(CLAUSE, repetitions=2, floor=1.0, least_of_median=99)
    found = chances(agreed(wide), Stated(0.05), [10.0])["bandwidth", 10.0]
    assert near(found, 1 - 2 * NormalDist().cdf(-0.02 / (0.05 * 2**0.5)))


@pytest.mark.parametrize(("allowed", "expected"), [(0, 0.8**3), (1, 0.8**3 * (1 + 3 * 0.2))])
def test_refused_runs_count_as_the_contract_says(allowed, expected):
    found = chances(agreed(NAIVE, refused_runs=allowed), Stated(0.0), refused=0.2)
    assert near(found[None, 0.0], expected)
    assert found["bandwidth", 0.0].passes == 1


def test_the_same_seed_draws_the_same_refused_runs_and_all_repetitions_are_needed():
    first, again = (chances(agreed(NAIVE, refused_runs=0), Stated(0.05), refused=0.2) for _ in range(2))
    assert first == again
    assert first["bandwidth", 0.0].runs == 3


def test_relations_count_for_the_whole_contract():
    other = replace(CLAUSE, name="other", processes=2)
    ratio = Relation("same", "ratio", ("bandwidth", "other"), 1.0, None)
    never = replace(CLAUSE, floor=1.0, ceiling=None)
    found = chances(agreed(never, replace(other, floor=1.0), relations=(ratio,)), Stated(0.001), [5.0])
    assert near(found[None, 5.0], 1 / 2)
    assert found["bandwidth", 5.0].passes == found["other", 5.0].passes == 1


# --- recorded nights --------------------------------------------------------------------------------------------------


def table(values, name="bandwidth", nights=None):
    return pd.DataFrame({"night": nights or list(map(str, range(len(values)))), name: values})


def test_each_night_is_drawn_with_those_after_it():
    """Four bad nights in a row of 60: of three neighbours, the first one of which may be any, six sets contain one."""
    values = [1000.0] * 30 + [900.0] * 4 + [1000.0] * 26
    noise = recorded(table(values), [[NAIVE]], "a table")
    assert near(chances(agreed(NAIVE), noise)["bandwidth", 0.0], 54 / 60)


def test_few_nights_are_drawn_in_short_blocks():
    """Not all 20 nights in each acceptance, which would have one mean. The sum of ten blocks of two nights, which are
    both bad in 9 of 20 places and both good in as many, is as often above the floor as below."""
    noise = recorded(table([900.0] * 10 + [1100.0] * 10), [[CLAUSE]], "a table")
    tie = np.linalg.matrix_power(np.diag([0.1] * 41) + 0.45 * (np.eye(41, k=1) + np.eye(41, k=-1)), 10)[20, 20]
    one = replace(CLAUSE, repetitions=20, statistic="mean")
    assert near(chances(agreed(one), noise)["bandwidth", 0.0], 0.5 + tie / 2)
    two = replace(CLAUSE, repetitions=2, statistic="minimum")
    assert near(chances(agreed(two), noise)["bandwidth", 0.0], 9 / 20)


def test_runs_of_a_night_are_drawn_from_it():
    """Ten of 40 nights have one bad run of two: three draws miss it in an eighth of them."""
    values = [1000.0, 900.0] * 10 + [1000.0, 1000.0] * 30
    noise = recorded(table(values, nights=[str(row // 2) for row in range(80)]), [[NAIVE]], "a table")
    assert near(chances(agreed(NAIVE), noise)["bandwidth", 0.0], 30 / 40 + 10 / 40 / 8)


def test_clauses_of_the_same_runs_depend_on_each_other():
    values = [1000.0, 900.0, 1000.0] * 20
    rows = table(values).assign(other=values)
    for other, expected in (
        (replace(CLAUSE, name="other"), 2 / 3),
        (replace(CLAUSE, name="other", processes=2), 2 / 3),
    ):
        both = replace(CLAUSE, repetitions=1), replace(other, repetitions=1)
        noise = recorded(rows, by_runs(both), "a table")
        assert near(chances(agreed(*both), noise)[None, 0.0], expected)


@pytest.mark.parametrize(("count", "known"), [(19, False), (20, True)])
def test_too_few_nights_tell_no_noise(count, known):
    if known:
        assert recorded(table([1.0] * count), [[CLAUSE]], "a table").nights == count
    else:
        with pytest.raises(NoiseError, match="19 nights with values of all clauses, at least 20"):
            recorded(table([1.0] * count), [[CLAUSE]], "a table")


def test_ninety_nights_without_a_failure_leave_a_risk():
    """Three nights of each acceptance are not independent of its neighbours: 30 trials without a failure."""
    noise = recorded(table([1000.0] * 90), [[NAIVE]], "a table")
    chance = chances(agreed(NAIVE), noise)["bandwidth", 0.0]
    assert chance.passes_low == pytest.approx(30 / (30 + 1.959964**2))  # Wilson's of 30 of 30
    assert chance.passes_high == pytest.approx(1)


def test_ninety_nights_of_which_half_fail_are_as_many_trials():
    """Wilson's interval of 45 of 90, up to the noise of the draws."""
    one = replace(NAIVE, repetitions=1)
    noise = recorded(table([900.0, 1100.0] * 45), [[one]], "a table")
    chance = chances(agreed(one), noise)[None, 0.0]
    assert (chance.passes_low, chance.passes_high) == pytest.approx((0.3990, 0.6010), abs=0.05)


def test_the_history_tells_the_noise_of_other_places_and_says_so(tmp_path):
    values = [*steady(20), 500.0]
    history = table_of(tmp_path, nights(values))
    noise = noise_of_history(history, [[CLAUSE]])
    assert noise.nights == 21
    assert noise.remarks == ("the noise of 'bandwidth' is that of local:default, 2 processes",)
    [(relative, _)] = noise.tests.values()
    assert relative.ravel() == pytest.approx(pd.Series(values) / pd.Series(values).median())
    with pytest.raises(NoiseError, match="no session has a value of b_eff ping_pong_latency"):
        noise_of_history(history, [[replace(CLAUSE, metric="ping_pong_latency")]])


# --- guard band -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "outcome"), [(980.0, "pass"), (979.9, "fail")])
def test_a_guard_band_lets_a_value_miss_its_floor(value, outcome):
    assert judged(replace(CLAUSE, guard_band=2.0), [value])[:2] == (outcome, value)


@pytest.mark.parametrize(("value", "outcome"), [(10.2, "pass"), (10.21, "fail")])
def test_a_guard_band_lets_a_value_miss_its_ceiling(value, outcome):
    assert judged(replace(CLAUSE, floor=None, ceiling=10.0, guard_band=2.0), [value])[:2] == (outcome, value)


def test_a_guard_band_is_read_and_stated(tmp_path):
    path = write_contract(tmp_path, contract(clause(guard_band=2.5)))
    assert read_contract(path).clauses[0].limits == (975, None)
    assert "guard band of 2.5 %" in run("accept", "--explain", path).stdout


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ([], "state the noise, in one way"),
        (["--scatter", "5", "--noise", "n.csv"], "state the noise, in one way"),
        (["--noise", "n.csv", "--night-scatter", "1"], "--night-scatter adds to --scatter"),
        (["--scatter", "100"], "--scatter must be at least 0 and below 100, not 100"),
        (["--scatter", "5", "--since", "2026-01-01"], "--since and --until select sessions of --history"),
        (["--noise", "none.csv"], "none.csv: cannot be read as CSV"),
        (["--noise", "n.csv"], "n.csv: no column 'network': name `night` and the clauses, or '*'"),
    ],
)
def test_noise_that_is_not_clear_is_refused(tmp_path, monkeypatch, options, problem):
    monkeypatch.chdir(tmp_path)
    Path("n.csv").write_text("night,other\n1,2\n")
    done = run("accept", "risk", write_contract(tmp_path, contract(clause())), *options)
    assert done.exit_code == 2
    assert problem in said(done)


def test_a_shared_column_is_a_rate(tmp_path):
    """Times are its inverse: no night is worse than the median, for a clause on a rate or on a time."""
    rate = clause(statistic="minimum", repetitions=1)
    time = {"clause": "latency", "metric": "ping_pong_latency", "unit": "us", "floor": None, "ceiling": 2}
    time = {key: value for key, value in (rate | time).items() if value is not None}
    rows = "".join(f"{night},{1 + (night % 2) / 10}\n" for night in range(41))  # 21 of 1.0, the median, and 20 of 1.1
    (tmp_path / "n.csv").write_text(f"night,*\n{rows}")
    path = write_contract(tmp_path, contract(rate, time))
    done = run("accept", "risk", path, "--noise", tmp_path / "n.csv", "--json", "--draws", "500")
    assert done.exit_code == 0, done.output
    assert '"passes": 1.0' in done.stdout
    at_bound = pd.DataFrame(json.loads(done.stdout)["chances"])
    assert (at_bound[at_bound["percent_better"] == 0]["passes"] == 1).all()


def test_a_history_and_a_figure(tmp_path):
    path = write_contract(tmp_path, contract(clause(repetitions=1)))
    stored = database(tmp_path / "r.db", nights(steady(30)))
    done = run("accept", "risk", path, "--history", stored, "--figures", tmp_path / "f", "--draws", "500")
    assert done.exit_code == 0, done.output
    assert "Noise: 30 nights of the sessions, one run of each" in said(done)
    rows = pd.read_csv(tmp_path / "f" / "contract-operating-characteristic.csv")
    assert sorted(set(rows["percent_better"])) == [-10, -5, -2, -1, 0, 1, 2, 5, 10]
    assert rows[rows["percent_better"] == 10]["passes_percent"].min() == 100
