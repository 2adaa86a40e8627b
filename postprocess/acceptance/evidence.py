# SPDX-License-Identifier: Apache-2.0
"""Evidence: the runs of sessions with their logs as they are now, and reasons not to rely on them.

A session identifies a log by its SHA-256; the log contains what was measured. A value counts only if both agree, and it
is always computed from the log, never taken from the session.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import orjson
import pandas as pd

from coffeecup.postprocess.acceptance.binding import Issued, Place, places, unbound, unbound_session
from coffeecup.postprocess.acceptance.ledger import Entry, file_sha256
from coffeecup.postprocess.acceptance.refusal import Refusal
from coffeecup.postprocess.acceptance.signatures import Signature
from coffeecup.postprocess.benchmarks.benchmark import SIMULATED, STANDARD, VARIANT
from coffeecup.postprocess.benchmarks.score import Metric, Score
from coffeecup.postprocess.benchmarks.scoring import score_logs
from coffeecup.postprocess.history.table import case_table, history_table
from coffeecup.postprocess.logs.format import COMMON
from coffeecup.postprocess.logs.lines import kind_of_line
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.logs.records import Filesystem, kind_of
from coffeecup.postprocess.sessions.files import SessionReport
from coffeecup.postprocess.sessions.verdicts import differing
from coffeecup.postprocess.show.tables import each_row


@dataclass(frozen=True, kw_only=True)
class Run:
    """A test case of a session, and its log as it is now; without a score if the log yields none. `measurements` is the
    hash of what was planned and measured; `refusals` are those that apply to every clause. A test of another suite has
    no log: `reported` are its metrics in the session. `parameters` are those of the test, of a run with a log its
    VARIANT. `outside` says that the log is not below the folder of the session's file.
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
    measurements: str | None
    refusals: tuple[Refusal, ...]
    kernel_version: str = ""
    git_revision: str = ""
    log: Path | None = None
    sha256_recorded: str = ""
    sha256_now: str | None = None
    score: Score | None = None
    reported: Mapping[str, Metric] | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    outside: bool = False

    @property
    def filesystem(self) -> Filesystem | None:
        """From the log; None if it has none."""
        return self.score.log.run.filesystem if self.score else None

    def metric(self, name: str) -> Metric | None:
        return (self.score.metrics if self.score else self.reported or {}).get(name)


def gather(
    reports: list[SessionReport], entries: list[Entry], signatures: Mapping[Path, Signature], now: datetime
) -> list[Run]:
    """The runs of sessions, by time, each with its log as it is now. `entries` are those of the acceptance's ledger,
    `signatures` those of the sessions' files, if the contract demands them."""
    cases, history, where = case_table(reports), history_table(reports), places(reports)
    issued = Issued({entry.nonce: entry for entry in entries}, now)
    logs = {row.case: located(Path(row.log), Path(row.source)) for row in each_row(cases) if row.log}
    each = list(dict.fromkeys(logs.values()))
    results, metrics = dict(zip(each, score_logs(each))), dict(list(history.groupby("case")))
    runs = []
    for row in each_row(cases):
        rows = metrics.get(row.case, history[:0])
        if log := logs.get(row.case):
            reported = dict(zip(rows["metric"], rows["value"]))
            runs.append(run_of(row, log, results[log], reported, where[row.case], issued))
        else:
            runs.append(reported_run(row, rows, where[row.case], issued))
    return without_twins([unsigned(run, signatures) for run in sorted(runs, key=lambda run: run.time)])


def unsigned(run: Run, signatures: Mapping[Path, Signature]) -> Run:
    """The run, refused if its session was not signed as the contract demands."""
    signature = signatures.get(Path(run.source))
    if signature is None or signature.signer:
        return run
    return replace(run, refusals=(*run.refusals, Refusal("unsigned", signature.problem)))


def located(log: Path, source: Path) -> Path:
    """Where the log of a session is now: below the folder of the session's file, at the longest end of the recorded
    path that exists there, so that a copy of a session with its logs is evaluated by itself; else at that path, which
    is never that of another folder in which a command runs."""
    inside = [log] if log.is_relative_to(source.parent) else []
    copies = [source.parent.joinpath(*log.parts[start:]) for start in range(log.is_absolute(), len(log.parts))]
    return next((path for path in (*inside, *copies) if path.exists()), source.parent / log)


def is_outside(log: Path, source: Path) -> bool:
    """Whether a log lies elsewhere than below the folder of its session's file, links followed."""
    return not Path(os.path.realpath(log)).is_relative_to(os.path.realpath(source.parent))


def of_case(row) -> dict:
    """The fields of a Run that only the session states."""
    fields = ("session", "source", "time", "benchmark", "system", "partition", "processes")
    return {"case": row.name, **{name: getattr(row, name) for name in fields}}


def hosts_of(row) -> tuple[str, ...]:
    """Those that the session states."""
    return tuple(filter(None, row.hosts.split(",")))


def run_of(row, log: Path, result: Score | LogError, reported: dict[str, float], place: Place, issued: Issued) -> Run:
    score = result if isinstance(result, Score) else None
    now = score.log.sha256 if score else sha256(log)
    return Run(
        **of_case(row),
        hosts=tuple(host.name for host in score.log.run.hosts) if score else hosts_of(row),
        kernel_version=score.log.run.kernel_version if score else row.kernel_version,
        git_revision=row.git_revision,
        log=log,
        outside=is_outside(log, Path(row.source)),
        sha256_recorded=row.log_sha256,
        sha256_now=now,
        score=score,
        measurements=measurements_sha256(log) if score else None,
        refusals=(
            *refusals(row, result, now, reported),
            *(unbound(place, score.log, issued) if score and not score.log.run.simulated else ()),
        ),
        parameters={VARIANT: STANDARD} | parameters_of(row),
    )


def reported_run(row, metrics: pd.DataFrame, place: Place, issued: Issued) -> Run:
    """A test case of another suite, by its row of case_table and its rows of history_table."""
    values = metrics.dropna(subset="value")
    reported = {found.metric: Metric(found.value, found.unit) for found in each_row(values)}
    without_value = Refusal("failed", f"the test ended without a value: {row.reason or row.result}")
    measured = json.dumps([place.end, row.name, {name: metric.value for name, metric in reported.items()}])
    return Run(
        **of_case(row),
        hosts=hosts_of(row),
        measurements=hashlib.sha256(measured.encode()).hexdigest(),
        refusals=(*(() if reported else (without_value,)), *unbound_session(place, issued)),
        reported=reported,
        parameters=parameters_of(row),
    )


def parameters_of(row) -> dict[str, str]:
    return {name: str(value) for name, value in json.loads(row.parameters).items()}


def sha256(path: Path) -> str | None:
    try:
        return file_sha256(path)
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
            "other_log",
            "the log was altered or replaced since the session, for example by a later session with the same --prefix: "
            f"its SHA-256 is now {now}, the session recorded {row.log_sha256}",
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
        yield Refusal(*SIMULATED)


def measurements_sha256(log: Path) -> str:
    """The hash of the records that the benchmark itself wrote, however they are formatted, without what states time,
    place and end. Two runs never measure the same times to the last digit."""
    common, hash_ = {kind_of(record) for record in COMMON}, hashlib.sha256()
    for line in log.read_bytes().splitlines():
        if kind_of_line(line) not in common:
            hash_.update(orjson.dumps(orjson.loads(line) | {"sequence": 0}, option=orjson.OPT_SORT_KEYS))
    return hash_.hexdigest()


def without_twins(runs: list[Run]) -> list[Run]:
    """Measurements count once, even if several sessions or logs contain them."""
    first: dict[str | None, Run] = {}
    return [
        run
        if run.refusals or (known := first.setdefault(run.measurements, run)) is run
        else replace(run, refusals=(duplicate(run, known),))
        for run in runs
    ]


def duplicate(run: Run, known: Run) -> Refusal:
    same_log = run.sha256_now and run.sha256_now == known.sha256_now
    what = "the same log as" if same_log else "the same measurements, to the last digit, as"
    return Refusal("duplicate", f"{what} in session {known.session} of {known.time:%Y-%m-%d %H:%M:%S}: it counts once")


def below(directory: str, of: str) -> bool:
    """Whether a directory is `of` or below it."""
    return Path(os.path.normpath(directory)).is_relative_to(os.path.normpath(of))
