# SPDX-License-Identifier: Apache-2.0
"""`coffeecup accept plan` proposes what the formula for normal noise gives, never moves a bound, and says what no
number of runs reaches."""

import json
import math
import re
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
import yaml
from builds import ROOT
from clauses_made import CLAUSE
from commands import run, said
from contracts_made import clause, contract, write_contract
from test_risk import NAIVE, agreed

from coffeecup.postprocess.acceptance import evaluation
from coffeecup.postprocess.acceptance.noise import NIGHT, RESAMPLED, Stated, recorded
from coffeecup.postprocess.acceptance.plan import STATISTICS, Runs, Wanted, clause_with, drawn, first, plan, sure
from coffeecup.postprocess.acceptance.risk import Assumed
from coffeecup.postprocess.reports.risks import passed_of

WANTED = Wanted(supplier=0.05, centre=0.05, below=5.0, most_runs=40)
Z = NormalDist().inv_cdf(0.95)


def planned(*clauses, noise=None, wanted=WANTED, hours=None, **assumed):
    return plan(agreed(*clauses), Assumed(noise or Stated(0.05), draws=2000, **assumed), wanted, hours or {})


@pytest.mark.parametrize("ceiling", [False, True])
def test_normal_noise_needs_what_the_formula_says(ceiling):
    """The mean of n runs has the standard deviation s = 5 %/sqrt(n). The guard band is z s, and the mean of a machine
    5 % below, (1 -+ 0.05)(1 +- z s), must not reach the bound less the guard band: n = (z 0.05 (2 -+ 0.05)/0.05)^2.
    Of the draws, two standard errors are kept, which at most takes two runs more."""
    side = -1 if ceiling else 1
    needed = (Z * (2 - side * 0.05)) ** 2
    one = replace(NAIVE, floor=None, ceiling=10.0, statistic="mean") if ceiling else replace(NAIVE, statistic="mean")
    found = planned(one)
    [proposal] = found.proposals
    assert needed <= proposal.proposed.repetitions <= needed + 3
    exact = 100 * Z * 0.05 / math.sqrt(proposal.proposed.repetitions)
    assert exact <= proposal.proposed.guard_band <= exact + 0.4
    assert (proposal.proposed.floor, proposal.proposed.ceiling) == (one.floor, one.ceiling)
    passed = passed_of(found.proposed, None)
    assert passed[0.0] >= 0.94
    assert passed[-5.0] <= 0.06


@pytest.mark.parametrize(
    ("scatter", "sequential", "agreed_on", "proposed"),
    [
        (0.01, False, "median", "median"),
        (0.01, False, "mean", "mean"),
        (0.01, False, "minimum", "median"),
        (0.05, False, "median", "mean"),
        (0.05, True, "maximum", "median"),
    ],
)
def test_a_median_or_mean_stays_if_it_serves_and_no_extreme_is_proposed(scatter, sequential, agreed_on, proposed):
    """Of normal noise, the mean needs fewer runs. A sequential clause has none, because each later run changes it."""
    one = replace(NAIVE, statistic=agreed_on, sequential=sequential)
    [proposal] = planned(one, noise=Stated(scatter)).proposals
    assert proposal.proposed.statistic == proposed


# --- recorded nights --------------------------------------------------------------------------------------------------


def nights_of(*values):
    return recorded(pd.DataFrame({NIGHT: range(len(values)), NAIVE.name: values}), [[NAIVE]], "a table")


def test_what_the_nights_may_have_missed_is_part_of_the_risk():
    """Of 20 nights, two neighbours are 20 % slower and two faster. Another record is ten blocks of two of them, so its
    mean has the variance 10 (4/20 0.2^2 + 2/20 0.4^2) / 20^2. The mean of 1000 runs of one record adds hardly any."""
    noise = nights_of(*[1.0] * 4, 0.8, 0.8, *[1.0] * 8, 1.2, 1.2, *[1.0] * 4)
    for of, variance in ((noise, 0.0006), (Stated(0.0), 0.0)):
        [runs] = first(1000, drawn([NAIVE], Assumed(of, draws=1000), 1000), [NAIVE])
        assert runs.values.shape == (1000, 1000)
        assert runs.values.mean(axis=1).std() == pytest.approx(variance**0.5, rel=0.3)


def test_a_resampled_record_is_relative_to_its_own_median():
    """With 8 of 20 nights that are slower, some records have more slow nights than others."""
    noise = nights_of(*[1.0] * 12, *[0.8] * 8)
    found = [record.tests[NAIVE.name,][0] for record in noise.resampled(seed=0)]
    assert {float(np.median(values)) for values in found} == {1.0}
    assert {float(values.max()) for values in found} == {1.0, 1.25, 1 / 0.9}


def test_a_resampled_record_without_a_positive_median_is_left_out():
    """With 9 of 20 nights on which nothing was reached, some records have more than ten of them, and no median."""
    found = [record.tests[NAIVE.name,][0] for record in nights_of(*[1.0] * 11, *[0.0] * 9).resampled(seed=0)]
    assert 0 < len(found) < RESAMPLED
    assert {float(np.median(values)) for values in found} == {1.0}


def test_the_risk_of_the_contract_is_divided_among_its_clauses():
    """Each of two clauses may fail in 2.5 %: z of 0.975 on the supplier's side."""
    both = [replace(NAIVE, name=name, processes=count, statistic="mean") for name, count in (("a", 2), ("b", 4))]
    found = planned(*both)
    needed = (Z * 0.95 + NormalDist().inv_cdf(0.975)) ** 2
    assert all(needed <= one.proposed.repetitions <= needed + 4 for one in found.proposals)
    assert passed_of(found.proposed, None)[0.0] >= 0.94


def test_clauses_on_the_same_runs_share_them_and_their_cost():
    both = replace(NAIVE, name="a"), replace(NAIVE, name="b", metric="ping_pong_latency", floor=None, ceiling=2.0)
    found = planned(*both, hours={"a": 10.0, "b": 10.0})
    [count] = {one.proposed.repetitions for one in found.proposals}
    assert found.cost(proposed=False) == 30
    assert found.cost(proposed=True) == 10 * count


@pytest.mark.parametrize(("below", "reached"), [(11.0, False), (15.0, True)])
def test_no_number_of_runs_tells_what_sessions_hide(below, reached):
    """All runs of a session share its deviation of 4 %: 1 - (1 - z s)/(1 + z s) is 12.3 %."""
    found = planned(NAIVE, noise=Stated(0.005, 0.04), wanted=replace(WANTED, below=below))
    [proposal] = found.proposals
    assert (proposal.proposed is not None) == reached
    assert bool(found.proposed) == reached
    if not reached:
        assert proposal.clause == NAIVE
        assert proposal.smallest == pytest.approx((12.3, 12.3), abs=1.5)


def test_no_guard_band_helps_good_machines_that_scatter_more_than_is_allowed():
    """Of runs that scatter by 5 %, nearly all have one that is 2 % below their median."""
    narrow = replace(CLAUSE, repetitions=10, least_of_median=98)
    [proposal] = planned(narrow, wanted=replace(WANTED, most_runs=10), noise=Stated(0.05)).proposals
    # With one run there is no scatter, so the risks could be kept only by a guard band that no slow machine would miss.
    assert proposal.proposed is None
    assert proposal.smallest == (math.inf, math.inf)


@pytest.mark.parametrize(
    ("share", "guard"), [(1.01, 0.0), (0.975, 2.5), (0.9749, 2.6), (0.52, 48.0), (0.5, 50.0), (0.4999, None)]
)
def test_the_guard_band_is_the_smallest_one_in_tenths_up_to_half_of_the_bound(share, guard):
    """All runs are the same part of the true value: a machine 5 % below never passes."""
    found = clause_with(Runs(NAIVE, np.full((200, 3), share), np.zeros(200, dtype=bool)), 0.05, WANTED)
    assert (found and found.guard_band) == guard


@pytest.mark.parametrize(("risk", "draws", "expected"), [(0.05, 1900, 0.04), (0.05, 100, 0.025)])
def test_two_standard_errors_are_kept_but_at_most_half_of_the_risk(risk, draws, expected):
    """The standard error of 0.05 in 1900 draws is 0.005."""
    assert sure(risk, draws) == pytest.approx(expected)


@pytest.mark.parametrize(("runs", "sessions"), [(2, [0, 1]), (4, [0, 0, 1, 2]), (7, [0, 0, 0, 1, 1, 2, 2])])
def test_fewer_runs_are_divided_among_all_sessions(runs, sessions):
    """Of three sessions with three runs each: as equally many of each as possible, the first ones of each. All values
    differ, so none is taken twice."""
    values = np.arange(9.0).reshape(1, 3, 3, 1)
    [found] = first(runs, values, [NAIVE])
    assert found.clause.repetitions == runs
    assert [int(value) // 3 for value in found.values[0]] == sessions
    assert found.values[0].tolist() == [3 * at + sessions[:place].count(at) for place, at in enumerate(sessions)]


@pytest.mark.parametrize(("sessions", "inside"), [(1, 7), (3, 3), (9, 1)])
def test_enough_runs_of_each_session_are_drawn(sessions, inside):
    """Runs of a session share its deviation, which is all that differs here."""
    values = drawn([NAIVE], Assumed(Stated(0.0, 0.05), sessions=sessions, draws=500), 7)
    assert values.shape == (500, sessions, inside, 1)
    assert (values == values[:, :, :1]).all()
    assert len(np.unique(values)) == 500 * sessions


class Chosen(Stated):
    """Noise that is small in the draws that choose a proposal, those of seed 0, and large in all others."""

    def draw(self, tests, draws, sessions, seed):
        return (Stated(0.001) if seed == 0 else Stated(0.2)).draw(tests, draws, sessions, seed)


def test_a_proposal_is_judged_by_other_draws_than_those_that_chose_it():
    """One run with a scatter of 20 % and a guard band near 0: half of the good machines fail."""
    found = planned(NAIVE, noise=Chosen(0.0))
    [proposal] = found.proposals
    assert proposal.proposed.repetitions == 1
    passed = passed_of(found.proposed, None)
    assert passed[0.0] == pytest.approx(0.5, abs=0.06)


def test_the_same_statistics_as_in_the_evaluation():
    values = [3.0, 1.0, 2.0, 9.0]
    assert {name: of(values) for name, of in STATISTICS.items()} == {
        name: evaluation.STATISTICS[name](values) for name in ("median", "mean")
    }


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_prints_lines_for_the_contract(tmp_path):
    path = write_contract(tmp_path, contract(clause(repetitions=3, statistic="minimum")))
    before = path.read_bytes()
    done = run("accept", "plan", path, "--scatter", "3", "--node-hours", "4", "--figures", tmp_path / "f")
    assert done.exit_code == 0, done.output
    [line] = yaml.safe_load(done.stdout.split("\n\n")[-1])["clauses"]
    assert (line["clause"], line["floor"]) == ("network", 1000)
    assert line["repetitions"] > 3
    assert "Noise: normal, 3 % between runs" in said(done)
    assert path.read_bytes() == before
    assert (tmp_path / "f" / "contract-plan.svg").exists()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--supplier", "0"], "must be above 0"),
        (["--below", "100"], "--below below 100"),
        (["--node-hours", "other=3"], "HOURS or CLAUSE=HOURS is expected, not 'other=3'"),
        (["--node-hours", "-1"], "HOURS or CLAUSE=HOURS is expected, not '-1'"),
    ],
)
def test_what_cannot_be_planned_is_refused(tmp_path, options, problem):
    done = run("accept", "plan", write_contract(tmp_path, contract(clause())), "--scatter", "5", *options)
    assert done.exit_code == 2
    assert problem in said(done)


@pytest.mark.parametrize(
    ("clauses", "options", "rows"),
    [
        ([clause()], [], 0),
        ([clause()], ["--refused", "20"], 1),
        ([clause(), clause(clause="latency", metric="ping_pong_latency", unit="us")], [], 1),
    ],
)
def test_the_whole_contract_has_a_row_unless_it_repeats_its_only_clause(tmp_path, clauses, options, rows):
    path = write_contract(tmp_path, contract(*clauses))
    for command in ("risk", "plan"):
        done = run("accept", command, path, "--scatter", "1", *options, "--figures", tmp_path)
        assert said(done).count("whole contract") == rows, done.output
    drawn = pd.read_csv(tmp_path / "contract-operating-characteristic.csv")
    assert drawn["clause"].nunique() == len(clauses) + rows


@pytest.mark.parametrize(("nights", "high"), [(40, 0.0876), (0, 0.00096)])
def test_the_risks_of_a_proposal_have_the_interval_of_what_is_known(tmp_path, nights, high):
    """Without noise, no good machine fails and no slow one passes. That is 0 of 40 nights, as each of the acceptances
    that share no night has one run, or 0 of 4000 draws of a stated noise: up to z^2 / (n + z^2) (Wilson)."""
    path, table = write_contract(tmp_path, contract(clause())), tmp_path / "nights.csv"
    table.write_text("night,*\n" + "".join(f"{night},1\n" for night in range(nights)))
    words = ["accept", "plan", path, *(["--noise", table] if nights else ["--scatter", "0"])]
    found = json.loads(run(*words, "--json").stdout)
    for part in (found, found["clauses"][0]):
        assert part["proposed"]["fails_at_bound"] == part["proposed"]["passes_below"] == 0
        for risk in ("fails_at_bound", "passes_below"):
            assert part["proposed"][f"{risk}_interval"] == pytest.approx([0, high], rel=0.001)
    printed = said(run(*words))
    assert printed.count(f"0.0 (0.0-{100 * high:.1f})") >= 2
    assert ("The noise is known from 40 nights only" in printed) is bool(nights)


def test_unreachable_risks_exit_with_1_and_say_why(tmp_path):
    path = write_contract(tmp_path, contract(clause()))
    done = run("accept", "plan", path, "--scatter", "1", "--night-scatter", "4", "--most-runs", "5", "--json")
    assert done.exit_code == 1
    content = json.loads(done.stdout)
    assert content["proposed"] is content["clauses"][0]["proposed"] is None
    assert content["limits"][0].startswith("network: 5 runs tell a") and "no price reaches 5 %" in content["limits"][0]
    assert "network: 1 run tells a machine" in said(run("accept", "plan", path, "--scatter", "5", "--most-runs", "1"))


@pytest.mark.parametrize(("name", "command"), [("risk", "risk"), ("contract-plan", "plan")])
def test_the_page_shows_what_the_command_prints(tmp_path, name, command):
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    risk = (ROOT / "docs" / "risk.md").read_text(encoding="utf-8")
    (tmp_path / "naive.yaml").write_text(re.search(r"^```yaml\n(.*?)^```", risk, re.DOTALL | re.MULTILINE)[1])
    options = re.search(rf"^    coffeecup accept {command} naive.yaml (.*)$", page, re.MULTILINE)[1].split()
    shown = re.search(r"^```text\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[1]
    done = run("accept", command, tmp_path / "naive.yaml", *options)
    assert [line.split() for line in done.stdout.splitlines()] == [line.split() for line in shown.splitlines()]
