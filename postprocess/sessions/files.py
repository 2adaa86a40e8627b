# SPDX-License-Identifier: Apache-2.0
"""Reading what ReFrame stored: session reports (JSON) and the results database (SQLite), as one list of sessions.

Nothing is ever changed: a database is opened read-only. A file that cannot be read is refused with one line that states
the remedy.
"""

import json
import re
import shlex
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import orjson
from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert

from coffeecup.postprocess.logs import paths
from coffeecup.postprocess.logs.paths import files_below, regular
from coffeecup.postprocess.logs.reader import LogError

SQLITE_MAGIC = b"SQLite format 3\0"
DATABASE_VERSION = "1.0"  # of ReFrame 4.7 to 4.10
LOCK_SECONDS = 5.0  # another process may need this long to store its session
NOT_FINITE = re.compile(rb"\b(NaN|Infinity)\b")
LARGEST = 2**31 - 1
LARGEST_SESSION = 2**28  # byte; a test case has about 20 000
LAST_SECOND = 2**53 / 1e6  # the year 2255: later times have no microseconds in a floating point number, nor in pandas

Text = str | None
Second = Annotated[float, Meta(ge=0, le=LAST_SECOND)]
Ratio = Annotated[float, Meta(ge=0, le=1e9)]


# The parts of a session report that are read, by which it is validated; ReFrame's own schema requires less. A metric's
# value may be anything: whatever is no finite number was not measured.
class TestCase(Struct, kw_only=True):
    name: str
    system: Text
    partition: Text
    environ: Text
    result: Text
    perfvalues: dict[str, tuple[Any, float | None, float | None, float | None, Text, Text]]
    job_completion_time_unix: Second | None = None
    fixture: bool = False
    time_run: Second | None = None
    run_index: Annotated[int, Meta(ge=0, le=LARGEST)] = 0
    job_nodelist: list | Text = None
    executable_opts: list | None = None
    dependencies_actual: list[list[str]] = []
    unique_name: Text = None
    display_name: Text = None
    fail_phase: Text = None
    fail_reason: Text = None
    uuid: Text = None
    stagedir: Text = None
    outputdir: Text = None
    scheduler: Text = None


class Effects(Struct):
    suspects: list[str] = []
    confirmed: list[str] = []
    values: dict[str, Annotated[list[Ratio | None], Meta(min_length=5, max_length=5)]] = {}


class Hang(Struct):
    verdict: str
    nodes: list[str] = []


class Links(Struct):
    compared: int = 0
    named: dict[str, str] = {}


class NodeEffects(Effects):
    servers: Effects | UnsetType = UNSET
    links: Links | UnsetType = UNSET
    hang: Hang | UnsetType = UNSET


class OwnVariables(Struct):
    """Variables of a test case beside a log. Other tests may log anything under their names."""

    num_processes: Annotated[int, Meta(ge=1, le=LARGEST)] = 1
    official: bool = False
    facts: dict[str, str | float] = {}
    node_effects: NodeEffects | UnsetType = UNSET
    slurm_energy: dict[str, Annotated[int, Meta(ge=0)]] = {}
    log_sha256: Text = None
    benchmark: Text = None
    file_system: Text = None
    qualifications: Text = None
    breaches: Text = None
    reference_status: Text = None
    variant: Text = None
    kernel_version: Text = None
    mpi_library: Text = None
    spack_hash: Text = None
    git_revision: Text = None


class Run(Struct):
    testcases: list[TestCase]


class Info(Struct, kw_only=True):
    uuid: Annotated[str, Meta(min_length=1)]
    data_version: str
    time_start_unix: Second
    time_end_unix: Second
    cmdline: Text = None


class Session(Struct):
    runs: list[Run]
    session_info: Info


@dataclass(frozen=True)
class SessionReport:
    """One session as ReFrame wrote it, and the file that it was read from."""

    source: Path
    content: dict

    @property
    def info(self) -> dict:
        return self.content["session_info"]


def hosts_of(case: dict) -> list[str]:
    """The hosts of the job of a test case; none if ReFrame does not know them. It writes the name "None" for a job that
    ended before its scheduler `squeue` looked."""
    nodes = case.get("job_nodelist") or []
    names = nodes.split(",") if isinstance(nodes, str) else map(str, nodes)
    return [name for name in names if name != "None"]


def read_reports(
    sources: Iterable, since: datetime | None = None, until: datetime | None = None
) -> list[SessionReport]:
    """The sessions of reports, databases and directories (session*.json at any depth), by their start; each once.

    `since` leaves out sessions that began earlier, `until` those that began later. Raises LogError for a file that is
    neither, is of another version of ReFrame, is damaged, or is locked by another process.
    """
    found = {}
    earliest = since.timestamp() if since else float("-inf")
    latest = until.timestamp() if until else float("inf")
    for path in files_of(sources):
        for report in (
            read_database(path, earliest, latest) if is_database(path) else [SessionReport(path, load_report(path))]
        ):
            if earliest <= report.info["time_start_unix"] <= latest:
                found.setdefault(report.info["uuid"], report)
    return sorted(found.values(), key=lambda report: report.info["time_start_unix"])


def files_of(sources: Iterable) -> list[Path]:
    """The files that sources (files and directories) name, and the session reports below directories."""
    files = []
    for source in map(Path, sources):
        inside = files_below(source, "session*.json")
        if not inside:
            raise LogError(
                source,
                "the directory contains no session*.json; name the file of --report-file, or the results database",
            )
        files += inside
    return files


def is_database(path: Path) -> bool:
    """Whether a file is one of SQLite. Raises LogError if it cannot be read."""
    try:
        with regular(path).open("rb") as file:
            return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except OSError as error:
        raise LogError(
            path, f"cannot be read: {error.strerror}; name a session report or a results database of ReFrame"
        ) from None


def load_report(path) -> dict:
    """The content of one session report, validated as far as it is read."""
    path = Path(path)
    try:
        content = parsed(paths.content(path, LARGEST_SESSION))
    except json.JSONDecodeError as error:
        raise LogError(
            path, f"no ReFrame session report: not JSON ({error.msg}); name the file that --report-file wrote"
        ) from None
    except (OSError, ValueError) as error:
        raise LogError(
            path,
            f"cannot be read: {getattr(error, 'strerror', None) or error}; "
            "name the file that ReFrame's --report-file wrote",
        ) from None
    return checked(path, content, "the file")


def parsed(text: bytes):
    """The content of JSON. NaN and Infinity, which JSON does not have and ReFrame writes for such values, are None."""
    try:
        return orjson.loads(text)
    except json.JSONDecodeError as error:
        if not NOT_FINITE.search(text):
            raise
        try:
            return json.loads(text, parse_constant=lambda _: None)
        except RecursionError:
            raise error from None


def checked(path: Path, content, what: str) -> dict:
    try:
        orjson.dumps(content)  # at most 254 levels, and texts that can be written
        convert(content, Session)
    except ValidationError as error:
        raise LogError(path, f"no ReFrame session report (of version 4.8 or later): {what}: {error}") from None
    except TypeError as error:
        raise LogError(path, f"no ReFrame session report: {what} is nested too deeply, or no JSON ({error})") from None
    for testcase in [testcase for run in content["runs"] for testcase in run["testcases"]]:
        metrics = [key.rsplit(":", 1)[-1] for key in testcase["perfvalues"]]
        try:
            if "log_sha256" in testcase:
                convert(testcase, OwnVariables)
            if len(set(metrics)) < len(metrics):
                raise ValidationError("it has two values of one metric")
        except ValidationError as error:
            raise LogError(path, f"{what}: the test {testcase['name']!r:.80}: {error}") from None
    return content


def read_database(path: Path, earliest: float, latest: float) -> list[SessionReport]:
    """The sessions of a results database that began between `earliest` and `latest` (seconds since 1970), and those of
    which the table does not state when they began."""
    return [SessionReport(path, stored(path, uuid, blob)) for uuid, blob in blobs(path, earliest, latest)]


def blobs(path: Path, earliest: float, latest: float) -> Iterator[tuple[str, bytes]]:
    """Identifier and JSON of the sessions of read_database. Nothing is locked between two sessions."""
    try:
        with closing(
            sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=LOCK_SECONDS)
        ) as connection:
            refuse_other_versions(path, connection)
            rows = connection.execute(
                "SELECT rowid, uuid FROM sessions WHERE session_start_unix BETWEEN ? AND ? "
                "OR typeof(session_start_unix) NOT IN ('real', 'integer') ORDER BY session_start_unix",
                (earliest, latest),
            ).fetchall()
            connection.text_factory = bytes
            for row, uuid in rows:
                for (blob,) in connection.execute("SELECT json_blob FROM sessions WHERE rowid = ?", (row,)).fetchall():
                    yield uuid, blob if isinstance(blob, bytes) else b""
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise LogError(
                path,
                f"another process has been writing to this results database for {LOCK_SECONDS:g} s: try again when "
                "its session has ended",
            ) from None
        if error.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK:
            raise LogError(
                path,
                "ReFrame ended while it stored a session in this results database: repair it with `sqlite3 "
                f"{shlex.quote(str(path))} .schema`; the next session of ReFrame does so, too",
            ) from None
        raise LogError(path, f"cannot be read as a results database of ReFrame: {error}") from None
    except sqlite3.DatabaseError as error:
        raise LogError(
            path,
            f"this results database is damaged ({error}): take a copy from a backup, or the sessions' own reports "
            "(--report-file)",
        ) from None


def refuse_other_versions(path: Path, connection: sqlite3.Connection) -> None:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    version = connection.execute("SELECT schema_version FROM metadata").fetchone() if "metadata" in tables else None
    if "sessions" not in tables:
        raise LogError(path, "an SQLite database, but none of ReFrame's results: it has no table of sessions")
    if version is None or version[0] != DATABASE_VERSION:
        raise LogError(
            path,
            f"this results database has version {version[0] if version else 'none'}, and {DATABASE_VERSION} is read: "
            "it was written by another version of ReFrame; name the sessions' own reports (--report-file) instead",
        )


def stored(path: Path, uuid: str, blob: bytes) -> dict:
    """The content of a session of a results database, validated as far as it is read."""
    try:
        content = parsed(blob)
    except json.JSONDecodeError:
        raise LogError(
            path,
            f"session {uuid} of this results database is damaged: remove it with "
            f"`reframe --delete-stored-sessions={uuid}`, or leave out older ones with --since",
        ) from None
    return checked(path, content, f"session {uuid} (--since leaves out older ones)")
