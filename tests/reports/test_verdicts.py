# SPDX-License-Identifier: Apache-2.0
"""The verdict on a performance variable of a session report, from ReFrame's tuple; test_report_session.py reads the
report of a session that ran."""

import json
from math import inf, nan
from types import SimpleNamespace

import pytest
from sessions_made import case, session

from coffeecup.postprocess.benchmarks.score import Metric
from coffeecup.postprocess.sessions.verdicts import Case, Verdict, case_of, differing, read_session, statement, verdict


@pytest.mark.parametrize(
    ("reference", "low", "high", "result", "expected"),
    [
        (10.0, -0.1, 0.2, "pass", (10.0, 9.0, 12.0, "pass")),
        (10.0, -0.1, None, "fail", (10.0, 9.0, None, "fail")),
        (10.0, None, 0.2, "xfail", (10.0, None, 12.0, "expected failure")),
        (10.0, None, 0.2, "xpass", (10.0, None, 12.0, "unexpected pass")),
        (10.0, None, 0.2, "new", (10.0, None, 12.0, "unknown (new)")),
        (-10.0, -0.1, 0.2, "pass", (-10.0, -11.0, -8.0, "pass")),  # fractions of its size
        (0, -0.1, 0.2, "pass", (0, -0.1, 0.2, "pass")),  # absolute
        (0, None, None, "pass", (None, None, None, "no reference")),
        (None, None, None, "pass", (None, None, None, "no reference")),
        (8, None, None, "pass", (8, None, None, "no bounds")),
    ],
)
def test_bounds_are_fractions_of_the_reference_and_nothing_passes_without_them(reference, low, high, result, expected):
    found = verdict("m", 5.0, reference, low, high, None, result)
    assert (found.reference, found.lower, found.upper, found.outcome) == expected
    assert (found.metric, found.value, found.unit) == ("m", 5.0, "")


@pytest.mark.parametrize("value", [None, nan, inf, -inf, True, "5"])
def test_what_is_no_finite_number_was_not_measured(value):
    found = verdict("m", value, 10.0, -0.1, None, "s", "pass")
    assert (found.value, found.outcome) == (None, "not measured")


def test_a_metric_without_a_value_has_no_reference_of_0_without_bounds():
    assert verdict("m", None, 0, None, None, "s", "pass").reference is None
    assert verdict("m", None, 0, -0.1, None, "s", "pass").reference == 0


def test_a_case_counts_what_was_compared():
    made = [
        verdict(name, value, reference, low, None, "s", result)
        for name, value, reference, low, result in (
            ("a", 1.0, 1.0, -0.1, "pass"),
            ("b", 1.0, 2.0, -0.1, "fail"),
            ("c", 1.0, 0, None, "pass"),
            ("d", 1.0, 1.0, None, "pass"),
            ("e", None, 1.0, -0.1, "pass"),
        )
    ]
    whole = Case("n", "s:p+e", "fail", "too slow", "", {found.metric: found for found in made})
    assert whole.compared == 2 and whole.values == {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0, "e": None}
    words = "ReFrame's test n on s:p+e ended with 'fail' (too slow); 2 of 5 metrics were compared with a reference."
    assert statement(whole) == words
    none = Case("n", "s:p+e", "pass", "", "", {"c": made[2]})
    assert statement(none) == (
        "ReFrame's test n on s:p+e ended with 'pass'; no metric was compared with a reference, so this says nothing "
        "about the machine's speed."
    )


def test_cases_of_a_session_are_those_of_all_its_runs(tmp_path):
    why = {"result": "fail", "fail_reason": "performance error:\n  b_eff"}
    metrics = {"b_eff": (5.0, 10.0, -0.1, None, "MByte/s", "fail")}
    first = case(metrics, log_sha256="a" * 64, slurm_energy={"0": 1400}, **why)
    other = case({}, processes=4, result=None, log_sha256=None, slurm_energy={"0": 7})
    plain = case({"b_eff": (5.0, "MByte/s")})
    report = session([first])
    report["runs"] += session([other, plain])["runs"]
    (tmp_path / "session.json").write_text(json.dumps(report))
    place, low = "local:default+mpi", Verdict("b_eff", 5.0, "MByte/s", 10.0, 9.0, None, "fail")
    free = Verdict("b_eff", 5.0, "MByte/s", None, None, None, "no reference")
    two = "b_eff %num_processes=2"
    assert read_session(tmp_path / "session.json") == [
        Case(two, place, "fail", "performance error: b_eff", "a" * 64, {"b_eff": low}, {"0": 1400}),
        Case("b_eff %num_processes=4", place, "unknown", "", "", {}, {}),  # without a log, its energy is not the run's
        Case(two, place, "pass", "", "0" * 64, {"b_eff": free}, {}),
    ]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ({"a": 100.0, "b": -2.0, "c": 0.0}, []),
        ({"a": 100 * (1 + 0.9e-9), "b": -2 * (1 - 0.9e-9)}, []),
        ({"a": 100 * (1 + 1.1e-9), "b": -2 * (1 - 1.1e-9)}, ["a", "b"]),
        ({"c": 1e-12}, ["c"]),
        ({"a": None, "other": 1.0}, []),
    ],
)
def test_a_session_states_the_values_of_the_score_up_to_rounding(values, names):
    score = SimpleNamespace(metrics={"a": Metric(100.0, ""), "b": Metric(-2.0, ""), "c": Metric(0.0, "")})
    assert differing(score, values) == names


def test_a_log_belongs_to_the_last_case_with_its_hash():
    found = [Case(name, "", "", "", sha256, {}) for name, sha256 in (("a", "1"), ("b", "1"), ("c", "2"))]
    scores = [SimpleNamespace(log=SimpleNamespace(sha256=sha256)) for sha256 in "123"]
    assert [one and one.name for one in (case_of(score, found) for score in scores)] == ["b", "c", None]
