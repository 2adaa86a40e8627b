# SPDX-License-Identifier: Apache-2.0
"""The verdicts of a ReFrame session report (JSON, data version 4), and which log each belongs to.

ReFrame writes a missing reference as 0 without bounds and marks it as passed. Here the verdict is "no reference",
because nothing was compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite

from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.sessions.files import load_report
from coffeecup.postprocess.show.words import printable

OUTCOMES = {"pass": "pass", "fail": "fail", "xfail": "expected failure", "xpass": "unexpected pass"}


@dataclass(frozen=True)
class Verdict:
    """A metric against its reference. `lower` and `upper` are the allowed values in the metric's unit, None if
    unbounded."""

    metric: str
    value: float | None
    unit: str
    reference: float | None
    lower: float | None
    upper: float | None
    outcome: str


@dataclass(frozen=True)
class Case:
    """A test case of a session: its own result, and a verdict per metric."""

    name: str
    where: str
    result: str
    reason: str
    log_sha256: str
    verdicts: dict[str, Verdict]
    slurm_energy: dict[str, int] = field(default_factory=dict)  # joules of the job's steps, by Slurm's accounting

    @property
    def values(self) -> dict[str, float | None]:
        return {name: verdict.value for name, verdict in self.verdicts.items()}

    @property
    def compared(self) -> int:
        """How many metrics were compared with a reference."""
        return sum(
            verdict.outcome not in ("no reference", "not measured", "no bounds") for verdict in self.verdicts.values()
        )


def read_session(path) -> list[Case]:
    """All test cases of a ReFrame session report, of all its runs. Raises LogError if the file is not a session
    report."""
    report = load_report(path)
    return [case_of_json(testcase) for run in report["runs"] for testcase in run["testcases"]]


def verdicts_of(testcase: dict) -> list[Verdict]:
    """The verdict on each performance variable of a test case."""
    place = f"{testcase['system']}:{testcase['partition']}:"
    return [verdict(key.removeprefix(place), *values) for key, values in testcase["perfvalues"].items()]


def case_of_json(testcase: dict) -> Case:
    return Case(
        name=testcase["name"],
        where=f"{testcase['system']}:{testcase['partition']}+{testcase['environ']}",
        result=testcase["result"] or "unknown",
        reason=" ".join((testcase.get("fail_reason") or "").split()),
        log_sha256=testcase.get("log_sha256") or "",
        verdicts={verdict.metric: verdict for verdict in verdicts_of(testcase)},
        slurm_energy=(testcase.get("slurm_energy") or {}) if testcase.get("log_sha256") else {},
    )


def verdict(metric: str, value, reference, low, high, unit, result) -> Verdict:
    value = number(value)
    if value is None:
        outcome = "not measured"
    elif low is None and high is None:
        outcome = "no bounds" if reference else "no reference"
    else:
        outcome = OUTCOMES.get(result, f"unknown ({result})")
    return Verdict(
        metric,
        value,
        unit or "",
        reference if reference or low is not None or high is not None else None,
        bound(reference, low),
        bound(reference, high),
        outcome,
    )


def number(value) -> float | None:
    """A measured value; None for whatever is no finite number."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
    return value if known else None


def bound(reference: float, fraction: float | None) -> float | None:
    """ReFrame's bounds are fractions of the reference, and absolute where the reference is 0."""
    return (
        None if fraction is None or reference is None else reference + (abs(reference) if reference else 1) * fraction
    )


def case_of(score: Score, cases: list[Case]) -> Case | None:
    """The test case that wrote exactly this log, by the log's hash; the last one if there are several (reruns)."""
    return next((case for case in reversed(cases) if case.log_sha256 == score.log.sha256), None)


def differing(score: Score, values: Mapping[str, float | None]) -> list[str]:
    """Metrics whose value in a session differs from the score: one of the two was computed by another version, or
    altered."""
    return [
        name
        for name, metric in score.metrics.items()
        if (value := values.get(name)) is not None and abs(value - metric.value) > 1e-9 * abs(metric.value)
    ]


def statement(case: Case) -> str:
    """The session's verdict as a sentence, which states clearly if references are missing."""
    total, where = len(case.verdicts), f"{printable(case.name)} on {printable(case.where)}"
    compared = (
        f"{case.compared} of {total} metrics were compared with a reference"
        if case.compared
        else "no metric was compared with a reference, so this says nothing about the machine's speed"
    )
    reason = f" ({printable(case.reason)})" if case.reason else ""
    return f"ReFrame's test {where} ended with {case.result!r}{reason}; {compared}."
