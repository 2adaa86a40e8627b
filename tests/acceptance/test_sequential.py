# SPDX-License-Identifier: Apache-2.0
"""A sequential clause is decided as soon as the missing runs cannot change its verdict: its risks are those of all
repetitions, and nobody can choose when to stop."""

import json
from dataclasses import replace
from itertools import product
from math import comb, inf

import pytest
from clauses_made import CLAUSE
from commands import run, said
from contracts_made import begin, clause, contract, write_contract
from evidence_made import official_session
from test_risk import DRAWS, SIGMAS, agreed, near

from coffeecup.postprocess.acceptance.evaluation import deciding, judged
from coffeecup.postprocess.acceptance.noise import Stated
from coffeecup.postprocess.acceptance.risk import PERCENT, Assumed, Chance, simulation
from coffeecup.postprocess.reports import risks

FIVE = replace(CLAUSE, repetitions=5, sequential=True)
BETWEEN = replace(FIVE, floor=990.0, ceiling=1010.0)
GOOD, BAD = 1000.0, 999.0


@pytest.mark.parametrize(
    ("statistic", "values", "used"),
    [
        ("median", [GOOD, GOOD, GOOD], 3),
        ("median", [BAD, BAD, BAD], 3),
        ("median", [GOOD, GOOD, BAD, BAD], None),
        ("median", [GOOD, BAD, GOOD, BAD, GOOD], 5),
        ("median", [GOOD, GOOD, GOOD, BAD, BAD], 3),
        ("minimum", [GOOD, BAD], 2),
        ("minimum", [GOOD] * 4, None),
        ("minimum", [GOOD] * 5, 5),
        ("maximum", [BAD, GOOD], 2),
        ("maximum", [BAD] * 4, None),
    ],
)
def test_it_is_decided_when_nothing_is_open(statistic, values, used):
    found = deciding(replace(FIVE, statistic=statistic), values)
    assert (None if found is None else len(found)) == used


@pytest.mark.parametrize("one", [FIVE, replace(FIVE, statistic="minimum"), BETWEEN, replace(FIVE, repetitions=4)])
def test_all_orders_of_runs_have_the_verdict_of_all_repetitions(one):
    """Two-sided bounds, too: a value below the floor and one above the ceiling leave the median open."""
    fixed = replace(one, sequential=False)
    for values in product([900.0, 1000.0, 1100.0], repeat=one.repetitions):
        assert judged(one, list(values))[0] == judged(fixed, list(values))[0]
        used = deciding(one, list(values))
        for end in (-inf, inf, 1000.0):
            rest = [end] * (one.repetitions - len(used))
            assert judged(fixed, [*used, *rest])[0] == judged(one, used)[0]


def test_risks_are_those_of_all_runs_and_clear_cases_need_half_of_them():
    """At its floor, the number of runs until 3 of 5 are on one side is 3, 4 or 5 with 1/4, 3/8 and 3/8."""
    chances = {}
    for name, one in (("fixed", replace(FIVE, sequential=False)), ("sequential", FIVE)):
        found = simulation(agreed(one), Assumed(Stated(0.05), draws=DRAWS)).chances([0.0, 50.0])
        chances[name] = [chance for chance in found if chance.clause]
    assert [one.passes for one in chances["fixed"]] == [one.passes for one in chances["sequential"]]
    assert near(chances["sequential"][0], 1 / 2)
    ways = {count: 2 * comb(count - 1, 2) / 2**count for count in (3, 4, 5)}
    mean = sum(count * share for count, share in ways.items())
    assert abs(chances["sequential"][0].runs - mean) <= SIGMAS * (0.61 / DRAWS) ** 0.5  # the variance is 0.61
    assert chances["sequential"][1].runs == 3
    assert {one.runs for one in chances["fixed"]} == {5}


def test_no_interval_is_cut_off():
    """All intervals of the nine true values have their longest form."""
    both = (("bandwidth", 0.5), (None, 0.4))
    made = [Chance(name, percent, passes, 0.334, 0.727, 3.0) for percent in PERCENT for name, passes in both]
    shown = risks.text(agreed(FIVE), Assumed(Stated(0.05)), made)
    assert shown.count("33.4-72.7") == 18
    assert [shown.count(words) for words in ("mean runs", "whole contract")] == [1, 1]


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"statistic": "mean"}, "later runs can always change a mean"),
        ({"variation": 5}, "clauses.1.variation: it needs all runs"),
        ({"every_run": {"least": 90}}, "clauses.1.every_run: it needs all runs"),
    ],
)
def test_what_needs_all_runs_is_refused(tmp_path, changed, problem):
    path = write_contract(tmp_path, contract(clause(sequential=True, **changed)))
    done = run("accept", "--explain", path)
    assert done.exit_code == 2
    assert problem in said(done)


def test_relations_need_all_runs(tmp_path):
    both = clause(sequential=True), clause(clause="other")
    ratio = {"relation": "r", "ratio": {"of": "network", "to": "other"}, "floor": 1}
    done = run("accept", "--explain", write_contract(tmp_path, contract(*both, relations=[ratio])))
    assert done.exit_code == 2
    assert "is sequential, and a relation needs the values of all runs" in said(done)


# --- attempts to choose when to stop ----------------------------------------------------------------------------------


@pytest.fixture
def acceptance(tmp_path):
    """A contract of at most five runs, and its sessions: one bad run, one good one, and twice two better ones."""
    path = write_contract(tmp_path, contract(clause(repetitions=5, sequential=True), refused_runs=0))
    reports, after = [], ()
    for number, values in enumerate(([900], [1001], [1100, 1101], [1102, 1103])):
        reports.append(official_session(tmp_path / str(number), begin(path, *after), values))
        after = ("--after", reports[-1])
    return path, reports


def evaluated(path, *reports):
    done = run("accept", path, *reports, "-o", path.parent / "acceptance.html")
    return done, json.loads((path.parent / "acceptance.json").read_text())


def test_later_runs_do_not_enter(acceptance):
    """Decided by one bad run and three good ones; the last two runs would not change that and are not used."""
    path, reports = acceptance
    _, result = evaluated(path, *reports)
    assert result["result"] == "pass"
    assert "Decided by the first 4 runs of at most 5, 2 later runs not used." in result["clauses"][0]["sentence"]


def test_whoever_stops_before_the_decision_proves_nothing(acceptance):
    path, reports = acceptance
    ledger = path.with_suffix(".acceptance.jsonl")
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:2]))  # as if nothing had begun since
    _, result = evaluated(path, *reports[:2])
    assert result["result"] == "not proven"
    assert "2 runs of 5 counted, which do not decide it yet." in result["clauses"][0]["sentence"]
    assert "network: 2 runs are missing: " in said(run("accept", "--dry-run", path, *reports[:2]))


def test_a_bad_session_cannot_be_left_out(acceptance):
    path, reports = acceptance
    _, result = evaluated(path, *reports[1:])
    assert result["result"] == "not proven"
    assert any("Session 1, begun" in gap and "is missing" in gap for gap in result["gaps"])


def test_runs_cannot_be_put_in_another_order(acceptance):
    """The bad session claims to have run last."""
    path, reports = acceptance
    content = json.loads(reports[0].read_text())
    content["session_info"]["time_start_unix"] += 10**4
    reports[0].write_text(json.dumps(content))
    _, result = evaluated(path, *reports)
    assert result["result"] == "not proven"
    assert any("Session 1, begun" in gap and "was altered" in gap for gap in result["gaps"])


def test_going_on_after_a_failure_does_not_help(tmp_path):
    path = write_contract(tmp_path, contract(clause(repetitions=3, sequential=True), refused_runs=0))
    first = official_session(tmp_path / "0", begin(path), [900, 901])
    more = official_session(tmp_path / "1", begin(path, "--after", first), [1100, 1101, 1102, 1103])
    _, result = evaluated(path, first, more)
    assert result["result"] == "fail"
    assert "Decided by the first 2 runs of at most 3, 4 later runs not used." in result["clauses"][0]["sentence"]
