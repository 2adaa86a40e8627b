# SPDX-License-Identifier: Apache-2.0
"""An earlier acceptance as the baseline of a contract: its evidence is verified before anything is compared with it.

A value counts only if its log is still the one that was accepted, and it is computed from that log again.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson

from coffeecup.postprocess.acceptance.contract import LOG, Baseline, Clause, Contract
from coffeecup.postprocess.acceptance.evaluation import (
    FAIL,
    NOT_PROVEN,
    PASS,
    ROUNDING,
    STATISTICS,
    RelationVerdict,
    Verdict,
)
from coffeecup.postprocess.acceptance.evidence import located
from coffeecup.postprocess.acceptance.ledger import file_sha256
from coffeecup.postprocess.acceptance.relations import SINCE, Relation
from coffeecup.postprocess.acceptance.signatures import verify
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.benchmarks.scoring import score_logs
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.words import counted, exact
from coffeecup.postprocess.statistics.means import half_width_of_difference

PLACES = ("log", "directory")  # options that say where a run keeps its files
SAME_CLAUSE = ("benchmark", "metric", "unit", "statistic", "evidence")


class BaselineError(ValueError):
    """The evidence of an earlier acceptance does not count; the message is a sentence without its full stop."""


@dataclass(frozen=True)
class Accepted:
    """What an earlier acceptance states about a clause, the values of the runs that counted, and their logs, none for a
    test of another suite. The accepted value of a sequential clause is that of its first runs."""

    clause: dict
    values: list[float]
    logs: list[Log]


def read_baseline(contract: Contract, baseline: Baseline) -> dict[str, Accepted]:
    """The clauses of an earlier acceptance by name. Raises BaselineError unless it passed, its result is signed if the
    contract demands signatures, and each session and log is still the one that was accepted; SigningError."""
    file = baseline.file
    if contract.signers and not (signature := verify(file, contract.signers)).signer:
        raise BaselineError(signature.problem)
    try:
        content = orjson.loads(file.read_bytes())
        if content["result"] != PASS:
            raise BaselineError(f"the acceptance of {file} did not pass")
        for session in content["sessions"]:
            same_file(session["file"], session["file_sha256"], file)
        return {clause["clause"]: accepted(clause, file) for clause in content["clauses"]}
    except (orjson.JSONDecodeError, LookupError, TypeError):
        raise BaselineError(f"{file} is not the result of an acceptance") from None


def accepted(clause: dict, file: Path) -> Accepted:
    runs = [run for run in clause["runs"] if run["counts"]]
    logs = [same_file(run["log"], run["sha256_now"], file) for run in runs if clause["evidence"] == LOG]
    scores = []
    for run, result in zip(runs, score_logs(logs)):
        metric = result.metrics.get(clause["metric"]) if isinstance(result, Score) else None
        if metric is None or not math.isclose(metric.value, run["value"], rel_tol=ROUNDING):
            raise BaselineError(f"the log {run['log']} does not yield the accepted value {run['value']} any more")
        scores.append(result)
    values = [run["value"] for run in runs]
    first = 1 if clause["sequential"] else len(values)
    reached = (STATISTICS[clause["statistic"]](values[:count]) for count in range(first, len(values) + 1))
    if not any(math.isclose(clause["value"], value, rel_tol=ROUNDING) for value in reached):
        raise BaselineError(f"the runs of {clause['clause']!r} do not yield the accepted value {clause['value']}")
    return Accepted(clause, values, [score.log for score in scores])


def same_file(recorded: str, sha256: str, baseline: Path) -> Path:
    """Where a file of the earlier acceptance is now. Raises BaselineError if it is missing or another one."""
    path = located(Path(recorded), baseline)
    try:
        now = file_sha256(path)
    except (OSError, ValueError):
        raise BaselineError(f"{recorded} is missing: keep the evidence with {baseline.name}") from None
    if now != sha256:
        since = "was altered or replaced since the acceptance"
        raise BaselineError(f"{path} {since}: its SHA-256 was {sha256} and is now {now}")
    return path


def compare(contract: Contract, verdicts: Sequence[Verdict], earlier: dict[str, Accepted]) -> list[RelationVerdict]:
    """A verdict for each clause that has to reach a part of what was accepted; `earlier` is empty if nothing of it
    counts."""
    return [
        compared_with(verdict, verdict.clause.at_least, contract.baseline, earlier.get(verdict.clause.name))
        for verdict in verdicts
        if contract.baseline and verdict.clause.at_least is not None
    ]


def compared_with(verdict: Verdict, at_least: float, baseline: Baseline, then: Accepted | None) -> RelationVerdict:
    """Passed if the whole interval of the ratio is at `at_least` or above, failed if it is below; else the runs cannot
    tell. Of values with a ceiling alone, such as times, the ratio is the inverse."""
    clause = verdict.clause
    relation = Relation(f"{clause.name}, since the earlier acceptance", SINCE, (clause.name,), at_least, None)
    if problem := next(incomparable(verdict, baseline, then), None):
        return RelationVerdict(relation, NOT_PROVEN, None, problem)
    assert then is not None and verdict.value is not None  # incomparable()
    before, now = then.values, [entry.value for entry in verdict.counting if entry.value is not None]
    ratio = verdict.value / then.clause["value"]
    ratio = 1 / ratio if clause.floor is None else ratio
    width = math.exp(half_width_of_difference(np.log(now), np.log(before)))
    low, high = ratio / width, ratio * width
    reached = low >= at_least or math.isclose(low, at_least, rel_tol=ROUNDING)
    text = (
        f"{exact(100 * round(ratio, 4))} % of the accepted value, 95 % interval {100 * low:.1f} to {100 * high:.1f} %"
    )
    if reached or high < at_least:
        return RelationVerdict(relation, PASS if reached else FAIL, ratio, f"It reaches {text}.")
    unclear = f"It reaches {text}, which does not tell whether it is {exact(100 * at_least)} %: repeat more runs."
    return RelationVerdict(relation, NOT_PROVEN, None, unclear)


def incomparable(verdict: Verdict, baseline: Baseline, then: Accepted | None) -> Iterator[str]:
    """Why a clause cannot be compared with the earlier acceptance, one sentence each."""
    clause = verdict.clause
    if then is None:
        yield "The earlier acceptance has no such clause whose evidence counts."
        return
    if verdict.value is None:
        yield f"Clause {clause.name!r} has no value."
        return
    if others := [name for name in SAME_CLAUSE if then.clause[name] != getattr(clause, name)]:
        yield f"The earlier clause has another {' and '.join(others)}."
    now = [entry.run.score.log for entry in verdict.counting if entry.run.score]
    differing = list(dict.fromkeys(changed(clause, then, now)))
    if refused := [text for kind, text in differing if kind not in baseline.allow]:
        yield f"It was measured with another {'; another '.join(refused)}; `allow` in the contract permits that."
    values = [*then.values, *(entry.value or 0 for entry in verdict.counting)]
    if min(len(then.values), len(verdict.counting)) < 2 or min(values) <= 0:
        yield "The uncertainty of the ratio is unknown: at least two runs with positive values are needed in each."


def changed(clause: Clause, then: Accepted, now: Sequence[Log]) -> Iterator[tuple[str, str]]:
    """What differs between the runs of the two acceptances: `kernel`, `options` or `size`, with both values."""
    size = then.clause["processes"], then.clause["hosts"]
    if size != (clause.processes, clause.hosts):
        yield "size", f"size ({size_words(*size)}, now {size_words(clause.processes, clause.hosts)})"
    for before in then.logs:
        for after in now:
            if kernel(before) != kernel(after):
                yield "kernel", f"kernel ({kernel(before)}, now {kernel(after)})"
            one, other = options(before), options(after)
            for name in sorted(one.keys() | other.keys()):
                if one.get(name) != other.get(name):
                    yield "options", f"option {name} ({one.get(name)!s:.60}, now {other.get(name)!s:.60})"


def size_words(processes: int, hosts: int | None) -> str:
    return counted(processes, "process") + (f" on {counted(hosts, 'host')}" if hosts else "")


def kernel(log: Log) -> str:
    return f"{log.run.kernel_version} of sources {(log.run.build.source_sha256 or 'unknown')[:12]}"


def options(log: Log) -> dict:
    """What was measured: the options in effect without PLACES, and the content of a workload."""
    text = getattr(log.plan, "workload_text", None)
    content = {"workload's content": hashlib.sha256(text.encode()).hexdigest()} if text else {}
    return {name: value for name, value in log.run.options.items() if name not in PLACES} | content
