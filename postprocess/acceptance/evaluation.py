# SPDX-License-Identifier: Apache-2.0
"""Acceptance: whether recorded runs fulfil a contract. Pure functions from clauses and runs to verdicts.

A clause passes or fails only by runs that count: enough of them, each with its own valid log, all of one kernel
version, and official if the clause requires it. Every run that is left out is named with the reason. With too few runs,
the clause is not proven.
"""

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from postprocess.acceptance.binding import same_host
from postprocess.acceptance.contract import Clause, Contract
from postprocess.acceptance.evidence import Run, below
from postprocess.acceptance.refusal import Refusal
from postprocess.acceptance.terms import Terms, broken_terms, unknown_sources
from postprocess.show.words import counted, digits, exact, unit_word

PASS, FAIL, NOT_PROVEN = "pass", "fail", "not proven"
STATISTICS = {"median": statistics.median, "mean": statistics.fmean, "minimum": min, "maximum": max}
ROUNDING = 1e-9


@dataclass(frozen=True)
class EvaluatedRun:
    """A run evaluated for a clause: its value of the clause's metric, and why it does not count. Without a reason it
    counts."""

    run: Run
    value: float | None
    refusals: tuple[Refusal, ...]

    @property
    def counts(self) -> bool:
        return not self.refusals


@dataclass(frozen=True)
class Verdict:
    """The verdict on one clause. `value` is the clause's statistic over the runs that count, None if there are too
    few."""

    clause: Clause
    outcome: str
    value: float | None
    sentence: str
    runs: tuple[EvaluatedRun, ...]

    @property
    def counting(self) -> list[EvaluatedRun]:
        return [evaluated for evaluated in self.runs if evaluated.counts]


def evaluate(contract: Contract, runs: list[Run]) -> list[Verdict]:
    """A verdict for each clause of the contract."""
    return [evaluate_clause(clause, runs, contract.terms) for clause in contract.clauses]


def overall(verdicts: list[Verdict], gaps: Sequence[str] = ()) -> str:
    """Passed if all clauses passed and no session is missing, failed if a clause failed, otherwise not proven."""
    outcomes = {verdict.outcome for verdict in verdicts} | ({NOT_PROVEN} if gaps else set())
    return next((outcome for outcome in (FAIL, NOT_PROVEN) if outcome in outcomes), PASS)


def evaluate_clause(clause: Clause, runs: list[Run], terms: Terms) -> Verdict:
    evaluated = tuple(evaluate_run(clause, run, terms) for run in runs if concerns(clause, run))
    values = [entry.value for entry in evaluated if entry.counts and entry.value is not None]
    versions = sorted({entry.run.kernel_version for entry in evaluated if entry.counts})
    if len(values) < clause.repetitions:
        refused = f", {counted(len(evaluated) - len(values), 'run')} refused" if len(values) < len(evaluated) else ""
        found = (
            f"{counted(len(values), 'run')} of {clause.repetitions} counted{refused}"
            if evaluated
            else "no session contains such a run"
        )
        return Verdict(clause, NOT_PROVEN, None, f"{found}.", evaluated)
    if len(versions) > 1:
        return Verdict(
            clause,
            NOT_PROVEN,
            None,
            f"The runs are of kernels {' and '.join(versions)}, which must not be mixed: name "
            "kernel_version in the contract.",
            evaluated,
        )
    value = STATISTICS[clause.statistic](values)
    outcome = PASS if within(clause, value) else FAIL
    return Verdict(clause, outcome, value, f"{sentence(clause, value)} {spread(values, len(evaluated))}", evaluated)


def concerns(clause: Clause, run: Run) -> bool:
    """Whether a run is of the clause's kind: benchmark, place and size. If the log cannot be read, file system and
    hosts are not compared."""
    asked = (clause.benchmark, clause.system, clause.partition, clause.processes)
    if (run.benchmark, run.system, run.partition, run.processes) != asked:
        return False
    if run.score is None:
        return True
    files = run.filesystem
    return (
        (clause.hosts is None or len(run.hosts) == clause.hosts)
        and (clause.directory is None or (files is not None and below(files.directory, clause.directory)))
        and (clause.filesystem is None or (files is not None and files.type == clause.filesystem))
    )


def evaluate_run(clause: Clause, run: Run, terms: Terms) -> EvaluatedRun:
    metric = run.metric(clause.metric)
    return EvaluatedRun(run, metric and metric.value, (*run.refusals, *refusals(clause, run, terms)))


def refusals(clause: Clause, run: Run, terms: Terms) -> Iterator[Refusal]:
    """Reasons why a run does not count for this clause."""
    if terms.kernel_version and run.kernel_version and run.kernel_version != terms.kernel_version:
        yield Refusal(
            "kernel_version",
            f"its kernel version is {run.kernel_version}, the contract requires {terms.kernel_version}",
        )
    for node in run.hosts:
        for excluded, reason in clause.excluded_nodes.items():
            if same_host(node, excluded):
                yield Refusal("excluded_node", f"it ran on {node}, which is excluded: {reason}")
    if run.score is None:
        return
    yield from broken_terms(terms, run.score.log)
    if run.metric(clause.metric) is None:
        yield Refusal("not_measured", f"the run did not measure {clause.metric}")
    if clause.official:
        for qualification in (*run.score.breaches, *run.score.cache_affected):
            yield Refusal(qualification.key, qualification.text.rstrip("."))
        yield from unknown_sources(run.score.log.run.build, terms)


def within(clause: Clause, value: float) -> bool:
    """Whether a value reaches a bound. A difference within the rounding of the computation counts as reached."""

    def reached(bound: float) -> bool:
        return math.isclose(value, bound, rel_tol=ROUNDING)

    return (clause.floor is None or value >= clause.floor or reached(clause.floor)) and (
        clause.ceiling is None or value <= clause.ceiling or reached(clause.ceiling)
    )


def sentence(clause: Clause, value: float) -> str:
    margins = [
        f"{margin(value, bound)} the {name} {exact(bound)}"
        for name, bound in (("floor", clause.floor), ("ceiling", clause.ceiling))
        if bound is not None
    ]
    return f"The {clause.statistic} is {f'{exact(value)} {unit_word(clause.unit)}'.rstrip()}, {' and '.join(margins)}."


def margin(value: float, bound: float) -> str:
    if math.isclose(value, bound, rel_tol=ROUNDING):
        return "just"
    side = "above" if value > bound else "below"
    return f"{100 * abs(value / bound - 1):.3g} % {side}" if bound else side


def spread(values: list[float], seen: int) -> str:
    refused = f"; {counted(seen - len(values), 'run')} refused" if seen > len(values) else ""
    return f"{counted(len(values), 'run')} counted, from {digits(min(values))} to {digits(max(values))}{refused}."
