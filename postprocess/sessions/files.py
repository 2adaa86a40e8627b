# SPDX-License-Identifier: Apache-2.0
"""Reading what ReFrame stored: session reports (JSON) and the results database (SQLite), as one list of sessions.

Nothing is ever changed: a database is opened read-only. A file that cannot be read is refused with one line that states
the remedy.
"""

import json
import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

import jsonschema_rs
import orjson

from postprocess.logs import paths
from postprocess.logs.paths import files_below, regular
from postprocess.logs.reader import LogError

SQLITE_MAGIC = b"SQLite format 3\0"
DATABASE_VERSION = "1.0"  # of ReFrame 4.7 to 4.10
LOCK_SECONDS = 5.0  # another process may need this long to store its session
NOT_FINITE = re.compile(rb"\b(NaN|Infinity)\b")
TEXT = {"type": ["string", "null"]}
NUMBER = {"type": ["number", "null"]}
LARGEST = 2**31 - 1
LARGEST_SESSION = 2**28  # byte; a test case has about 20 000
LAST_SECOND = 2**53 / 1e6  # the year 2255: later times have no microseconds in a floating point number, nor in pandas

# The parts of a session report that are read; ReFrame's own schema requires less. Other tests may log anything under
# the names of our variables, so that these have a type only beside a log. A metric's value may be anything: whatever is
# no finite number was not measured.
EFFECTS = {
    "suspects": {"type": "array", "items": {"type": "string"}},
    "confirmed": {"type": "array", "items": {"type": "string"}},
    "values": {
        "type": "object",
        "additionalProperties": {
            "type": "array",
            "minItems": 5,
            "maxItems": 5,
            "items": {"type": ["number", "null"], "minimum": 0, "maximum": 1e9},
        },
    },
}
NODE_EFFECTS = {"type": "object", "properties": EFFECTS | {"servers": {"type": "object", "properties": EFFECTS}}}
TESTCASE = {
    "type": "object",
    "required": ["name", "system", "partition", "environ", "result", "perfvalues"],
    "properties": {
        "perfvalues": {
            "type": "object",
            "additionalProperties": {
                "type": "array",
                "minItems": 6,
                "maxItems": 6,
                "prefixItems": [{}, *[NUMBER] * 3, TEXT, TEXT],
            },
        },
        "job_completion_time_unix": {"type": ["number", "null"], "minimum": 0, "maximum": LAST_SECOND},
        "fixture": {"type": "boolean"},
        "time_run": {"type": ["number", "null"], "minimum": 0, "maximum": LAST_SECOND},
        "run_index": {"type": "integer", "minimum": 0, "maximum": LARGEST},
        "job_nodelist": {"type": ["array", "string", "null"]},
        "executable_opts": {"type": ["array", "null"]},
        "dependencies_actual": {"type": "array"},
        **dict.fromkeys(
            (
                "name",
                "display_name",
                "system",
                "partition",
                "environ",
                "result",
                "fail_phase",
                "fail_reason",
                "uuid",
                "stagedir",
                "outputdir",
                "scheduler",
            ),
            TEXT,
        ),
    },
    "if": {"required": ["log_sha256"]},
    "then": {
        "properties": {
            "num_processes": {"type": "integer", "minimum": 1, "maximum": LARGEST},
            "official": {"type": "boolean"},
            "facts": {"type": "object", "additionalProperties": {"type": "string"}},
            "node_effects": NODE_EFFECTS,
            "slurm_energy": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
            **dict.fromkeys(
                (
                    "log_sha256",
                    "benchmark",
                    "file_system",
                    "qualifications",
                    "breaches",
                    "reference_status",
                    "variant",
                    "kernel_version",
                    "mpi_library",
                    "spack_hash",
                    "git_revision",
                ),
                TEXT,
            ),
        },
    },
}
RUNS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["testcases"],
        "properties": {"testcases": {"type": "array", "items": TESTCASE}},
    },
}
SESSION = {
    "type": "object",
    "required": ["runs", "session_info"],
    "properties": {
        "runs": RUNS,
        "session_info": {
            "type": "object",
            "required": ["uuid", "time_start_unix", "time_end_unix", "data_version"],
            "properties": {
                "uuid": {"type": "string", "minLength": 1},
                "data_version": {"type": "string"},
                "time_start_unix": {"type": "number", "minimum": 0, "maximum": LAST_SECOND},
                "time_end_unix": {"type": "number", "minimum": 0, "maximum": LAST_SECOND},
                "cmdline": TEXT,
            },
        },
    },
}


@dataclass(frozen=True)
class SessionReport:
    """One session as ReFrame wrote it, and the file that it was read from."""

    source: Path
    content: dict

    @property
    def info(self) -> dict:
        return self.content["session_info"]


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
        error = next(validator().iter_errors(content), None)
    except ValueError:
        raise LogError(path, f"no ReFrame session report: {what} is nested too deeply") from None
    if error:
        where = ".".join(map(str, error.instance_path))
        raise LogError(
            path,
            f"no ReFrame session report of version 4.10: {what}{', ' if where else ''}{where}: {error.message:.200}",
        )
    for testcase in [testcase for run in content["runs"] for testcase in run["testcases"]]:
        metrics = [key.rsplit(":", 1)[-1] for key in testcase["perfvalues"]]
        if len(set(metrics)) < len(metrics):
            raise LogError(path, f"{what}: the test {testcase['name']!r:.80} has two values of one metric")
    return content


@cache
def validator():
    return jsonschema_rs.Draft202012Validator(SESSION)


def read_database(path: Path, earliest: float, latest: float) -> list[SessionReport]:
    """The sessions of a results database that began between `earliest` and `latest` (seconds since 1970), and those of
    which the table does not state when they began."""
    try:
        with closing(
            sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=LOCK_SECONDS)
        ) as connection:
            refuse_other_versions(path, connection)
            rows = connection.execute(
                "SELECT uuid, json_blob FROM sessions WHERE session_start_unix BETWEEN ? AND ? "
                "OR typeof(session_start_unix) NOT IN ('real', 'integer') ORDER BY session_start_unix",
                (earliest, latest),
            ).fetchall()
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise LogError(
                path,
                f"another process has been writing to this results database for {LOCK_SECONDS:g} s: try again when "
                "its session has ended",
            ) from None
        raise LogError(path, f"cannot be read as a results database of ReFrame 4.10: {error}") from None
    except sqlite3.DatabaseError as error:
        raise LogError(
            path,
            f"this results database is damaged ({error}): take a copy from a backup, or the sessions' own reports "
            "(--report-file)",
        ) from None
    return [SessionReport(path, stored(path, uuid, blob)) for uuid, blob in rows]


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


def stored(path: Path, uuid: str, blob: str) -> dict:
    try:
        content = parsed(blob.encode())
    except (json.JSONDecodeError, AttributeError):
        raise LogError(
            path,
            f"session {uuid} of this results database is damaged: remove it with "
            f"`reframe --delete-stored-sessions={uuid}`, or leave out older ones with --since",
        ) from None
    return checked(path, content, f"session {uuid} (--since leaves out older ones)")
