# SPDX-License-Identifier: Apache-2.0
"""Evidence: the runs of sessions with their logs as they are now, and reasons not to rely on them.

A session identifies a log by its SHA-256; the log contains what was measured. A value counts only if both agree, and it
is always computed from the log, never taken from the session.
"""

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from postprocess.benchmarks.score import Metric, Score
from postprocess.benchmarks.scoring import score_logs
from postprocess.logs.reader import LogError
from postprocess.logs.records import Filesystem
from postprocess.sessions.verdicts import differing
from postprocess.show.tables import each_row


@dataclass(frozen=True)
class Refusal:
    """Why a run does not count: a key for programs, a sentence for people."""

    key: str
    text: str


@dataclass(frozen=True)
class Run:
    """A test case of a session, and its log as it is now; without a score if the log yields none. `reported` are the
    metrics in the session; `refusals` are those that apply to every clause.
    """

    session: str
    source: str
    case: str
    time: pd.Timestamp
    benchmark: str
    system: str
    partition: str
    processes: int
    hosts: tuple[str, ...]
    kernel_version: str
    git_revision: str
    log: Path
    sha256_recorded: str
    sha256_now: str | None
    score: Score | None
    refusals: tuple[Refusal, ...]

    @property
    def filesystem(self) -> Filesystem | None:
        """From the log; None if it has none."""
        return self.score.log.run.filesystem if self.score else None

    def metric(self, name: str) -> Metric | None:
        return self.score.metrics.get(name) if self.score else None


def gather(cases: pd.DataFrame, history: pd.DataFrame) -> list[Run]:
    """The runs of a case_table, by time, each with its log as it is now. `history` is the history_table of the same
    sessions."""
    logs = [located(Path(row.log), Path(row.source)) for row in each_row(cases)]
    each = list(dict.fromkeys(logs))
    results = dict(zip(each, score_logs(each)))
    reported = {case: dict(zip(rows["metric"], rows["value"])) for case, rows in history.groupby("case")}
    runs = [run_of(row, log, results[log], reported.get(row.case, {})) for row, log in zip(each_row(cases), logs)]
    return without_twins(runs)


def located(log: Path, source: Path) -> Path:
    """Where the log is now: at the recorded path or, if the session was moved with its logs, below the folder of the
    session's file, at the longest end of its path that exists there. The recorded path if it is nowhere."""
    if not log.exists():
        for start in range(1, len(log.parts)):
            moved = source.parent.joinpath(*log.parts[start:])
            if moved.exists():
                return moved
    return log


def run_of(row, log: Path, result: Score | LogError, reported: dict[str, float]) -> Run:
    score = result if isinstance(result, Score) else None
    now = score.log.sha256 if score else sha256(log)
    return Run(
        session=row.session,
        source=row.source,
        case=row.name,
        time=row.time,
        benchmark=row.benchmark,
        system=row.system,
        partition=row.partition,
        processes=row.processes,
        hosts=tuple(host.name for host in score.log.run.hosts) if score else tuple(filter(None, row.hosts.split(","))),
        kernel_version=score.log.run.kernel_version if score else row.kernel_version,
        git_revision=row.git_revision,
        log=log,
        sha256_recorded=row.log_sha256,
        sha256_now=now,
        score=score,
        refusals=tuple(refusals(row, result, now, reported)),
    )


def sha256(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, ValueError):
        return None


def refusals(row, result: Score | LogError, now: str | None, reported: dict[str, float]):
    """Reasons not to rely on a run for any clause."""
    if not row.log_sha256:
        yield Refusal("failed", f"the test ended before its log was accepted: {row.reason or row.result}")
    if now is None:
        yield Refusal("missing", f"its log {row.log} is missing: keep the logs with the sessions")
    elif row.log_sha256 and now != row.log_sha256:
        yield Refusal(
            "altered",
            f"the log was altered since the session: its SHA-256 is now {now}, the session recorded {row.log_sha256}",
        )
    if isinstance(result, LogError):
        if now is not None:
            yield Refusal("incomplete", f"the log yields no score: {result.problem}")
        return
    run = result.log.run
    if (run.benchmark, run.ranks) != (row.benchmark, row.processes):
        yield Refusal("other_run", f"the log belongs to {run.benchmark} on {run.ranks} processes")
    if others := differing(result, reported):
        yield Refusal("differs", f"the session reports other values than the log yields for {', '.join(others)}")
    if run.simulated:
        yield Refusal("simulated", "the machine was simulated, nothing was measured on it")


def without_twins(runs: list[Run]) -> list[Run]:
    """A log counts once, even if several sessions contain it."""
    first: dict[str | None, Run] = {}
    return [
        run
        if run.refusals or (known := first.setdefault(run.sha256_now, run)) is run
        else replace(
            run,
            refusals=(
                Refusal(
                    "duplicate",
                    f"the same log as in session {known.session} of {known.time:%Y-%m-%d %H:%M:%S}: it counts once",
                ),
            ),
        )
        for run in runs
    ]


def below(directory: str, of: str) -> bool:
    """Whether a directory is `of` or below it."""
    return Path(os.path.normpath(directory)).is_relative_to(os.path.normpath(of))
