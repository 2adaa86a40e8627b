# SPDX-License-Identifier: Apache-2.0
"""Verdicts of clauses on made-up runs: every rule of acceptance/evaluation.py from both sides, with answers that can be
read off the numbers. test_acceptance.py evaluates contracts against sessions of ReFrame."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from clauses_made import CLAUSE, run, verdict

from coffeecup.postprocess.acceptance.contract import SESSION, Contract
from coffeecup.postprocess.acceptance.evaluation import concerns, evaluate, overall, within
from coffeecup.postprocess.acceptance.refusal import Refusal
from coffeecup.postprocess.acceptance.terms import Terms
from coffeecup.postprocess.benchmarks.score import Qualification


@pytest.mark.parametrize(("count", "outcome"), [(2, "not proven"), (3, "pass"), (4, "pass")])
def test_three_repetitions_are_three_runs(count, outcome):
    assert verdict(replace(CLAUSE, repetitions=3), *[run(1001.0)] * count).outcome == outcome


# --- the statistic and its bounds -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statistic", "value"), [("median", 1000), ("mean", 1100), ("minimum", 900), ("maximum", 1400)]
)
def test_the_statistic_is_that_of_the_clause(statistic, value):
    found = verdict(replace(CLAUSE, statistic=statistic), run(1400.0), run(900.0), run(1000.0))
    assert found.value == value
    assert found.outcome == ("pass" if value >= 1000 else "fail")
    assert found.sentence.endswith("3 runs counted, from 900 to 1400.")


FLOOR, CEILING = {"floor": 1000.0}, {"floor": None, "ceiling": 10.0}
BOTH = {"floor": 5.0, "ceiling": 10.0}


@pytest.mark.parametrize(
    ("bounds", "reached", "missed"),
    [
        (FLOOR, (1000.0, 1000.1, 1000.0 * (1 - 0.9e-9)), (999.9, 1000.0 * (1 - 1.1e-9))),
        (CEILING, (10.0, 9.9, 10.0 * (1 + 0.9e-9)), (10.1, 10.0 * (1 + 1.1e-9))),
        (BOTH, (7.0,), (4.0, 11.0)),
    ],
)
def test_a_bound_is_reached_up_to_the_rounding_of_a_computation(bounds, reached, missed):
    clause = replace(CLAUSE, **bounds)
    assert [value for value in reached + missed if within(clause, value)] == list(reached)


@pytest.mark.parametrize(
    ("bounds", "value", "words"),
    [
        (FLOOR, 1000.0, "1000 MByte/s, just the floor 1000."),
        (FLOOR, 1250.0, "1250 MByte/s, 25 % above the floor 1000."),
        (FLOOR, 900.0, "900 MByte/s, 10 % below the floor 1000."),
        ({"floor": 100.0}, 999.0, "999 MByte/s, 899 % above the floor 100."),
        ({"floor": 100.0}, 1050.0, "1050 MByte/s, 10.50 times the floor 100."),
        ({"floor": 100.0}, 1200.0, "1200 MByte/s, 12 times the floor 100."),
        ({"floor": -1.0}, 50.0, "50 MByte/s, above the floor -1."),
        ({"floor": 0.0}, 3.0, "3 MByte/s, above the floor 0."),
        ({"floor": None, "ceiling": 0.0}, -3.0, "-3 MByte/s, below the ceiling 0."),
        (BOTH, 8.0, "8 MByte/s, 60 % above the floor 5 and 20 % below the ceiling 10."),
        ({"floor": 0.5, "unit": "1"}, 0.5, "0.5, just the floor 0.5."),
    ],
)
def test_the_sentence_states_the_margin(bounds, value, words):
    sentence = verdict(replace(CLAUSE, **bounds), run(value), run(value)).sentence
    assert sentence.startswith(f"The median is {words} 2 runs counted")


# --- which runs count -------------------------------------------------------------------------------------------------


def test_too_few_runs_prove_nothing_and_the_sentence_counts_them():
    assert (verdict(CLAUSE).outcome, verdict(CLAUSE).sentence) == ("not proven", "no session contains such a run.")
    one = verdict(CLAUSE, run())
    assert (one.outcome, one.value, one.sentence) == ("not proven", None, "1 run of 2 counted.")
    refused = verdict(CLAUSE, run(), run(refusals=(Refusal("other_log", "altered"),)), run(None))
    assert refused.sentence == "1 run of 2 counted, 2 runs refused."
    assert [entry.counts for entry in refused.runs] == [True, False, False]
    assert refused.counting == [refused.runs[0]]


def test_a_refused_run_does_not_enter_the_statistic():
    found = verdict(CLAUSE, run(1100.0), run(1.0, refusals=(Refusal("other_log", "altered"),)), run(1300.0))
    assert (found.outcome, found.value) == ("pass", 1200)
    assert found.sentence.endswith("2 runs counted, from 1100 to 1300; 1 run refused.")


def test_a_run_without_the_metric_is_refused_unless_its_log_is_unreadable_anyway():
    cut = Refusal("unreadable", "cut")
    assert verdict(CLAUSE, run(None)).runs[0].refusals == (Refusal("not_measured", "the run did not measure b_eff"),)
    assert verdict(CLAUSE, run(None, score=None, refusals=(cut,))).runs[0].refusals == (cut,)


@pytest.mark.parametrize(
    "other", [{}, {"benchmark": "b_eff_io"}, {"system": "other"}, {"partition": "other"}, {"processes": 255}]
)
def test_benchmark_place_and_size_are_those_of_the_clause(other):
    for score in ({}, {"score": None}):
        assert concerns(CLAUSE, run(**score, **other)) is (not other)


@pytest.mark.parametrize(
    ("asked", "concerned", "without_file_system"),
    [
        ({"hosts": 2}, True, True),
        ({"hosts": 1}, False, False),
        ({"hosts": 3}, False, False),
        ({"filesystem": "lustre"}, True, False),
        ({"filesystem": "nfs"}, False, False),
        ({"directory": "/scratch"}, True, False),
        ({"directory": "/scratch/run"}, True, False),
        ({"directory": "/scratch/run/a"}, False, False),
        ({"directory": "/scratch", "filesystem": "nfs"}, False, False),
        ({"directory": "/home", "filesystem": "lustre"}, False, False),
        ({"hosts": 1, "directory": "/scratch"}, False, False),
    ],
)
def test_hosts_and_file_system_are_compared_where_the_clause_names_them_and_the_log_is_readable(
    asked, concerned, without_file_system
):
    clause = replace(CLAUSE, **asked)
    assert concerns(clause, run()) is concerned
    assert concerns(clause, run(filesystem=None)) is without_file_system
    assert concerns(clause, run(score=None))


@pytest.mark.parametrize(
    ("reported", "hosts", "concerned"),
    [({}, (), True), ({"b_eff": 1}, (), False), ({"b_eff": 1}, ("n1",), False), ({"b_eff": 1}, ("n1", "n2"), True)],
)
def test_hosts_of_another_suite_are_compared_where_the_test_has_a_value(reported, hosts, concerned):
    """A test that was killed may not have recorded its hosts, and is a refused run all the same."""
    clause = replace(CLAUSE, evidence=SESSION, hosts=2)
    assert concerns(clause, run(score=None, reported=reported, hosts=hosts)) is concerned


def test_an_official_clause_refuses_breaches_and_caches_with_their_reason_and_no_other_clause_does():
    breach, cache = Qualification("repetitions", "1 repetition."), Qualification("cached", "In the cache.")
    runs = [run(breaches=(breach,), cache_affected=(cache,)), run(), run()]
    official = verdict(replace(CLAUSE, official=True), *runs)
    assert official.runs[0].refusals == (Refusal("repetitions", "1 repetition"), Refusal("cached", "In the cache"))
    assert (official.outcome, len(official.counting)) == ("pass", 2)
    assert len(verdict(CLAUSE, *runs).counting) == 3


def test_a_run_on_an_excluded_node_is_refused_with_the_reason():
    found = verdict(
        replace(CLAUSE, excluded_nodes={"n2": "broken fan", "n9": "new"}), run(), run(hosts=("n3",)), run(hosts=())
    )
    assert found.runs[0].refusals == (Refusal("excluded_node", "it ran on n2, which is excluded: broken fan"),)
    assert [entry.counts for entry in found.runs] == [False, True, True]


@pytest.mark.parametrize(
    ("host", "excluded", "refused"), [("vm.cluster.example", "vm", True), ("vm1", "vm", False), ("10.1", "10", False)]
)
def test_an_excluded_node_is_recognised_by_its_short_and_its_full_name(host, excluded, refused):
    """test_binding.py has all forms of names of one host."""
    found = verdict(replace(CLAUSE, excluded_nodes={excluded: "broken"}), run(hosts=(host,)))
    assert found.runs[0].counts is not refused


BLOCK, STANDARD = {"variant": "placement=block"}, {"variant": "standard"}


@pytest.mark.parametrize(
    ("named", "runs", "outcome", "counted"),
    [
        ({}, (STANDARD, STANDARD), "pass", 2),
        ({}, (BLOCK, BLOCK), "pass", 2),
        ({}, (STANDARD, STANDARD, BLOCK), "not proven", 3),
        (STANDARD, (STANDARD, STANDARD, BLOCK), "pass", 2),
        (BLOCK, (STANDARD, STANDARD, BLOCK), "not proven", 1),
    ],
)
def test_a_clause_counts_runs_of_one_variant(named, runs, outcome, counted):
    found = verdict(replace(CLAUSE, parameters=named), *(run(parameters=parameters) for parameters in runs))
    assert (found.outcome, len(found.counting)) == (outcome, counted)
    assert ("differ in variant and must not be mixed" in found.sentence) is (not named and outcome == "not proven")


def test_an_unreadable_run_of_another_variant_is_no_refused_run_of_the_clause():
    clause = replace(CLAUSE, parameters=STANDARD)
    assert not concerns(clause, run(score=None, parameters=BLOCK))
    assert concerns(clause, run(score=None, parameters=STANDARD))


# --- versions and several clauses -------------------------------------------------------------------------------------


def test_versions_are_not_mixed_unless_the_contract_names_one():
    runs = [run(2000.0, kernel_version="1.1"), run(), run()]
    mixed = verdict(CLAUSE, *runs)
    assert (mixed.outcome, mixed.value) == ("not proven", None)
    assert mixed.sentence == (
        "The runs are of kernels 1.0 and 1.1, which must not be mixed: name kernel_version in the contract."
    )
    assert mixed.clause == CLAUSE and len(mixed.runs) == 3
    named = verdict(CLAUSE, *runs, kernel_version="1.0")
    assert (named.outcome, named.value) == ("pass", 1000)
    assert named.runs[0].refusals == (
        Refusal("kernel_version", "its kernel version is 1.1, the contract requires 1.0"),
    )
    assert verdict(CLAUSE, run(), run()).outcome == "pass"


def test_a_refused_version_does_not_mix():
    assert verdict(CLAUSE, run(), run(), run(kernel_version="1.1", refusals=(Refusal("a", "b"),))).outcome == "pass"


def test_each_clause_gets_its_verdict_with_the_kernel_version_of_the_contract():
    clauses = (CLAUSE, replace(CLAUSE, floor=1001.0), replace(CLAUSE, processes=2))
    contract = Contract(path=None, sha256="", text="", title="", terms=Terms("1.0"), parties=(), clauses=clauses)
    verdicts = evaluate(contract, [run(), run(), run(kernel_version="1.1")])
    assert [found.outcome for found in verdicts] == ["pass", "fail", "not proven"]
    assert [found.clause for found in verdicts] == list(clauses)


@pytest.mark.parametrize(
    ("outcomes", "result"),
    [("pass", "pass"), ("pass, not proven", "not proven"), ("not proven, fail, pass", "fail"), ("fail", "fail")],
)
def test_one_failed_clause_fails_the_contract_and_one_unproven_leaves_it_unproven(outcomes, result):
    verdicts = [SimpleNamespace(outcome=outcome) for outcome in outcomes.split(", ")]
    assert overall(verdicts) == result
    assert overall(verdicts, ["Session 1 is missing."]) == ("not proven" if result == "pass" else result)
