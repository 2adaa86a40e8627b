# SPDX-License-Identifier: Apache-2.0
"""Acceptance: whether recorded runs fulfil a contract. Pure functions from clauses and runs to verdicts.

A clause passes or fails only by runs that count: enough of them, each with its own valid log, all of one kernel
version, and official if the clause requires it. Every run that is left out is named with the reason. With too few runs,
the clause is not proven.
"""

import hashlib
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coffeecup.postprocess.acceptance.binding import same_host
from coffeecup.postprocess.acceptance.contract import SESSION, Clause, Contract
from coffeecup.postprocess.acceptance.evidence import Run, below
from coffeecup.postprocess.acceptance.refusal import Refusal
from coffeecup.postprocess.acceptance.relations import LARGEST, SCALING, Relation
from coffeecup.postprocess.acceptance.terms import Terms, broken_terms, other_period, unknown_sources
from coffeecup.postprocess.logs.counters import ERRORS, not_counted
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.words import counted, digits, exact, unit_word

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


@dataclass(frozen=True)
class RelationVerdict:
    """The verdict on one relation; `value` is None if one of its clauses has none."""

    relation: Relation
    outcome: str
    value: float | None
    sentence: str


def evaluate_relation(relation: Relation, verdicts: Sequence[Verdict]) -> RelationVerdict:
    """The verdict on a relation, by the verdicts on all clauses."""
    values = []
    for name in relation.clauses:
        [verdict] = [verdict for verdict in verdicts if verdict.clause.name == name]
        if verdict.value is None:
            return RelationVerdict(relation, NOT_PROVEN, None, f"Clause {name!r} has no value.")
        values.append(verdict.value / (verdict.clause.processes if relation.kind == SCALING else 1))
    if relation.kind != LARGEST and not values[1]:
        return RelationVerdict(relation, NOT_PROVEN, None, f"The value of clause {relation.clauses[1]!r} is 0.")
    value = max(values) if relation.kind == LARGEST else values[0] / values[1]
    outcome = PASS if within(relation, value) else FAIL
    reached = f"{exact(value)} {unit_word(relation.unit)}".rstrip()
    return RelationVerdict(relation, outcome, value, f"It is {reached}, {' and '.join(margins(relation, value))}.")


def overall(verdicts: Sequence[Verdict | RelationVerdict], gaps: Sequence[str] = ()) -> str:
    """Passed if all clauses and relations passed and no session is missing, failed if one failed, otherwise not
    proven."""
    outcomes = {verdict.outcome for verdict in verdicts} | ({NOT_PROVEN} if gaps else set())
    return next((outcome for outcome in (FAIL, NOT_PROVEN) if outcome in outcomes), PASS)


def evaluate_clause(clause: Clause, runs: list[Run], terms: Terms) -> Verdict:
    evaluated = tuple(evaluate_run(clause, run, terms) for run in runs if concerns(clause, run))
    values = [entry.value for entry in evaluated if entry.counts and entry.value is not None]
    if problem := next(unproven(clause, evaluated, values), None):
        return Verdict(clause, NOT_PROVEN, None, problem, evaluated)
    outcome, value, wide = judged(clause, values)
    early = [decided(deciding(clause, values) or values, values, clause)] if clause.sequential else []
    text = " ".join([sentence(clause, value), *wide, *early, spread(values, len(evaluated))])
    return Verdict(clause, outcome, value, text, evaluated)


def unproven(clause: Clause, evaluated: Sequence[EvaluatedRun], values: list[float]) -> Iterator[str]:
    """Why the values that count prove nothing, one sentence each."""
    counting = [entry.run for entry in evaluated if entry.counts]
    if not evaluated:
        yield "no session contains such a run."
    elif deciding(clause, values) is None:
        refused = f", {counted(len(evaluated) - len(values), 'run')} refused" if len(values) < len(evaluated) else ""
        undecided = ", which do not decide it yet" if clause.sequential else ""
        yield f"{counted(len(values), 'run')} of {clause.repetitions} counted{undecided}{refused}."
    versions = sorted({run.kernel_version for run in counting})
    if len(versions) > 1:
        yield (
            f"The runs are of kernels {' and '.join(versions)}, which must not be mixed: name kernel_version in the "
            "contract."
        )
    names = sorted({name for run in counting for name in run.parameters})
    if differing := [name for name in names if len({run.parameters.get(name) for run in counting}) > 1]:
        yield f"The runs differ in {' and '.join(differing)} and must not be mixed: name a value under `parameters`."


def deciding(clause: Clause, values: list[float]) -> list[float] | None:
    """The values that decide a clause, of runs in the order of their times; None if there are too few. Those of a
    sequential clause are the first ones that leave nothing open, so no other runs can be chosen, and its risks are
    exactly those of all repetitions (curtailed sampling)."""
    if not clause.sequential:
        return values if len(values) >= clause.repetitions else None
    most = min(len(values), clause.repetitions)
    return next((values[:count] for count in range(1, most + 1) if leaves_nothing_open(clause, values[:count])), None)


def leaves_nothing_open(clause: Clause, values: list[float]) -> bool:
    """Whether all values that the missing runs could have lead to the same verdict."""
    missing = clause.repetitions - len(values)
    least, most = (STATISTICS[clause.statistic]([*values, *[end] * missing]) for end in (-math.inf, math.inf))
    return side(clause, least) == side(clause, most)


def decided(used: list[float], values: list[float], clause: Clause) -> str:
    later = len(values) - len(used)
    more = f", {counted(later, 'later run')} not used" if later else ""
    return f"Decided by the first {counted(len(used), 'run')} of at most {clause.repetitions}{more}."


def judged(clause: Clause, values: list[float]) -> tuple[str, float, list[str]]:
    """The outcome of a clause by the values of enough runs, PASS or FAIL, its statistic, and how the runs scatter more
    than it allows, one sentence each."""
    values = deciding(clause, values) or values
    value = STATISTICS[clause.statistic](values)
    wide = list(too_wide(clause, values))
    return PASS if within(clause, value) and not wide else FAIL, value, wide


def concerns(clause: Clause, run: Run) -> bool:
    """Whether a run is of the clause's kind: benchmark, place, size and parameters. If the log is not the one that the
    session states, or a test of another suite has no value, file system and hosts are not compared: otherwise whoever
    alters them in the log of a slow run would remove it from the evaluation."""
    asked = (clause.benchmark, clause.system, clause.partition, clause.processes)
    if (run.benchmark, run.system, run.partition, run.processes) != asked:
        return False
    if not clause.parameters.items() <= run.parameters.items():
        return False
    if run.reported is not None or clause.evidence == SESSION:
        same = clause.evidence == SESSION and run.reported is not None
        return same and (not run.reported or clause.hosts in (None, len(run.hosts)))
    if run.score is None or run.sha256_now != run.sha256_recorded:
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
    if run.reported is not None:
        yield from unfit_values(clause, run, terms)
    if run.score is None:
        return
    yield from broken_terms(terms, run.score.log)
    if run.metric(clause.metric) is None:
        yield Refusal("not_measured", f"the run did not measure {clause.metric}")
    yield from other_workload(clause, run.score.log)
    yield from other_interfaces(clause, run.score.log)
    unknown = "activity_unknown" if "load_of_others" in clause.forbidden else None  # proves nothing about others
    rules = (*run.score.breaches, *run.score.cache_affected) if clause.official else ()
    forbidden = [found for found in run.score.qualifications if found.key in (*clause.forbidden, unknown)]
    for qualification in dict.fromkeys((*rules, *forbidden)):
        yield Refusal(qualification.key, qualification.text.rstrip("."))
    for key in clause.forbidden:
        if key in ERRORS and (reason := not_counted(run.score.log, key)):
            yield Refusal("not_counted", f"it does not prove that there were no {key.replace('_', ' ')}: {reason}")
    if clause.official:
        yield from unknown_sources(run.score.log.run.build, terms)


def unfit_values(clause: Clause, run: Run, terms: Terms) -> Iterator[Refusal]:
    """Reasons why the values of a test without a log do not count."""
    yield from other_period(terms, run.time.date())
    metric = run.metric(clause.metric)
    if metric is None and run.reported:
        yield Refusal("not_measured", f"the session has no value of {clause.metric}")
    elif metric and metric.unit != clause.unit:
        yield Refusal("other_unit", f"the session states {clause.metric} in {metric.unit!r:.80}")


def other_workload(clause: Clause, log: Log) -> Iterator[Refusal]:
    """Only the plan of some benchmarks has the text of a workload."""
    if clause.workload_sha256 is None:
        return
    text = getattr(log.plan, "workload_text", None)
    found = "unknown" if text is None else hashlib.sha256(text.encode()).hexdigest()
    if found != clause.workload_sha256:
        required = clause.workload_sha256
        yield Refusal("workload", f"the workload's SHA-256 is {found}, the contract requires {required}")


def other_interfaces(clause: Clause, log: Log) -> Iterator[Refusal]:
    """Only the plan of some benchmarks has interfaces that were loaded: programs that the contract has to know."""
    loaded = {entry.sha256: entry.name for entry in getattr(log.plan, "interfaces", ())}
    for sha256, name in loaded.items():
        if sha256 not in clause.interface_sha256:
            yield Refusal(
                "interface", f"it loaded the interface {name} with the SHA-256 {sha256}, which is not in the contract"
            )
    for sha256 in clause.interface_sha256:
        if sha256 not in loaded:
            yield Refusal("interface", f"it did not load the interface with the SHA-256 {sha256}")


def too_wide(clause: Clause, values: list[float]) -> Iterator[str]:
    """How the runs scatter more than the clause allows, one sentence each. At least 90 % of the median is a tenth of
    the median's size below it, whatever its sign."""
    if clause.variation is not None:
        yield from too_variable(clause.variation, values)
    median = statistics.median(values)
    for bound, worst, side in (
        (clause.least_of_median, min(values), "below"),
        (clause.most_of_median, max(values), "above"),
    ):
        if bound is None:
            continue
        limit = median + abs(median) * (bound - 100) / 100
        if not math.isclose(worst, limit, rel_tol=ROUNDING) and (worst < limit) == (side == "below"):
            yield f"A run reached {digits(worst)}, {side} {exact(bound)} % of the median."


def too_variable(most_percent: float, values: list[float]) -> Iterator[str]:
    """The coefficient of variation is the standard deviation of the sample divided by the absolute mean."""
    mean = statistics.fmean(values)
    if len(values) < 2 or not mean:
        yield "These runs have no coefficient of variation."
        return
    # statistics.stdev takes 100 times as long, most of the time of simulated acceptances.
    deviation = math.dist(values, [mean] * len(values)) / (len(values) - 1) ** 0.5
    if (percent := 100 * deviation / abs(mean)) > most_percent * (1 + ROUNDING):
        yield f"The coefficient of variation is {digits(percent)} %, above {exact(most_percent)} %."


def within(clause: Clause | Relation, value: float) -> bool:
    """Whether a value reaches its bounds, a clause's less its guard band. A difference within the rounding of the
    computation counts as reached."""
    return side(clause, value) == 0


def side(clause: Clause | Relation, value: float) -> int:
    """-1 below the floor, 1 above the ceiling, otherwise 0."""
    floor, ceiling = clause.limits

    def reached(bound: float) -> bool:
        return math.isclose(value, bound, rel_tol=ROUNDING)

    if floor is not None and value < floor and not reached(floor):
        return -1
    return int(ceiling is not None and value > ceiling and not reached(ceiling))


def sentence(clause: Clause, value: float) -> str:
    reached = f"{exact(value)} {unit_word(clause.unit)}".rstrip()
    guard = f", with a guard band of {exact(clause.guard_band)} %" if clause.guard_band else ""
    return f"The {clause.statistic} is {reached}, {' and '.join(margins(clause, value))}{guard}."


def margins(clause: Clause | Relation, value: float) -> list[str]:
    return [
        f"{margin(value, bound)} the {name} {exact(bound)}"
        for name, bound in (("floor", clause.floor), ("ceiling", clause.ceiling))
        if bound is not None
    ]


def margin(value: float, bound: float) -> str:
    if math.isclose(value, bound, rel_tol=ROUNDING):
        return "just"
    side = "above" if value > bound else "below"
    ratio = value / bound if bound else math.inf
    if abs(ratio - 1) < 9:
        return f"{100 * abs(ratio - 1):.3g} % {side}"
    return f"{digits(ratio)} times" if bound > 0 and value > 0 else side


def spread(values: list[float], seen: int) -> str:
    refused = f"; {counted(seen - len(values), 'run')} refused" if seen > len(values) else ""
    return f"{counted(len(values), 'run')} counted, from {digits(min(values))} to {digits(max(values))}{refused}."
