# SPDX-License-Identifier: Apache-2.0
"""Reading the kernels' logs.

A log is evidence: either all of it conforms to docs/log.md, or it is rejected with one line that names the file, the
line and the remedy. Nothing here depends on a benchmark except the format of its records, which the caller passes.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from postprocess.logs.format import LogFormat
from postprocess.logs.growing import Course
from postprocess.show.words import printable

SCHEMA_VERSION = 2
RUN_AGAIN = "rerun the benchmark"
COPY_AGAIN = "copy the log again from where the run wrote it, or rerun the benchmark"
# How a run that did not complete ended, and what to do. The launcher interrupts rank 0 where another process failed.
ENDS = {
    "failed": ("failed", "fix the cause"),
    "interrupted": (
        "was interrupted",
        "fix the cause (a time limit, or the failure of another process, which the output of the run shows)",
    ),
}


class LogError(ValueError):
    """A log that yields no score; the message is one printable line naming the file and the remedy."""

    def __init__(self, path, problem: str):
        self.path = Path(path)
        self.problem = printable(problem)
        super().__init__(f"{printable(str(path))}: {self.problem}")

    def __reduce__(self):
        return LogError, (self.path, self.problem)


@dataclass(frozen=True)
class Log:
    """A complete log: its first two records, and all others by kind, each in the order of writing."""

    path: Path
    sha256: str
    run: dict
    plan: dict
    records: dict[str, list[dict]]

    @property
    def benchmark(self) -> str:
        return self.run["benchmark"]

    @property
    def end(self) -> dict:
        return self.records["end"][0]

    def brief(self) -> "Log":
        """The same log without its measurements, which are nearly all of its size."""
        return replace(self, records={kind: found for kind, found in self.records.items() if kind != "measurement"})


def read_log(path, formats: Mapping[str, LogFormat]) -> Log:
    """Reads a complete log of one of the benchmarks in `formats`, which maps their names to their formats.

    Raises LogError for everything else: unreadable, cut off, interrupted or failed, altered, or of another schema.
    """
    path = Path(path)
    data = read_bytes(path)
    lines, rest = split_lines(data)
    records = parse(path, lines)
    check_records(path, records, formats)
    refuse_incomplete(path, records, formats[records[0]["benchmark"]])
    if rest:
        raise LogError(path, f"line {len(lines) + 1}: data after the end record; {COPY_AGAIN}")
    if not data.endswith(b"\n"):
        raise LogError(path, f"line {len(lines)}: the log was cut off in its last byte, a newline; {COPY_AGAIN}")
    if records[-1]["records"] != len(records):
        raise LogError(
            path,
            f"line {len(records)}: the end record counts {records[-1]['records']} records, "
            f"the log has {len(records)}; {COPY_AGAIN}",
        )
    refuse_duplicate_keys(path, lines, records)
    check_hosts(path, records)
    check_activity(path, records)
    return Log(path, hashlib.sha256(data).hexdigest(), records[0], records[1], by_kind(records[2:]))


def read_bytes(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise LogError(
                path,
                "not a regular file; name the log itself"
                if not path.is_dir()
                else "a directory, not a log; name the log in it",
            )
        data = path.read_bytes()
    except FileNotFoundError:
        raise LogError(path, "no such file; check the path, and the job's output for why no log was written") from None
    except PermissionError:
        raise LogError(path, "no permission to read it; ask its owner for read permission") from None
    except (OSError, ValueError) as error:
        raise LogError(path, f"cannot be read: {error}") from None
    if not data:
        raise LogError(path, f"the log is empty, the kernel wrote nothing: look into the job's output and {RUN_AGAIN}")
    return data


def split_lines(data: bytes, growing: bool = False) -> tuple[list[bytes], bytes]:
    """The log's lines, and what follows the end record's newline.

    A last line without its newline counts as a line only if it is a whole record and the log is not growing:
    a record that was cut off is no record.
    """
    lines = data.split(b"\n")
    last = lines.pop()
    never_a_log = not lines and not last.startswith(b"{")
    if last and (never_a_log or (not growing and is_json(last))):
        lines.append(last)
    elif last and lines and is_end(lines[-1]):
        return lines, last
    return lines, b""


def is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True


def is_end(line: bytes) -> bool:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return isinstance(record, dict) and record.get("record") == "end"


def parse(path: Path, lines: list[bytes]) -> list[dict]:
    """One JSON object a line, in sequence; orjson refuses NaN, Infinity, and bytes that are not UTF-8."""
    try:
        records = [orjson.loads(line) for line in lines]
    except orjson.JSONDecodeError:
        number = next(number for number, line in enumerate(lines, 1) if not is_json(line))
        raise LogError(path, f"line {number}: {why_not_json(lines[number - 1])}; {COPY_AGAIN}") from None
    for number, record in enumerate(records, 1):
        if type(record) is not dict or type(record.get("record")) is not str:
            raise LogError(path, f"line {number}: not a record of a log; is this a log of a coffeecup kernel?")
        if record.get("sequence") != number - 1:
            raise LogError(
                path,
                f"line {number}: sequence {record.get('sequence')!r:.40} where {number - 1} belongs: records are "
                f"missing, repeated or reordered; {COPY_AGAIN}",
            )
    return records


def why_not_json(line: bytes) -> str:
    try:
        orjson.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        return "not UTF-8"
    except orjson.JSONDecodeError as error:
        return "an empty line" if not line.strip() else f"not JSON ({error.msg} at column {error.colno})"
    return "not JSON"


def check_records(path: Path, records: list[dict], formats: Mapping[str, LogFormat]) -> None:
    """Each record conforms to its schema, and records are in the order of a log; the log may be incomplete."""
    if not records:
        raise LogError(path, f"the log was cut off in its first record: look into the job's output and {RUN_AGAIN}")
    check_benchmark(path, records[0], formats)
    kinds = [record["record"] for record in records]
    check_schema(path, kinds, records, formats[records[0]["benchmark"]])
    ends = [number for number, kind in enumerate(kinds) if kind == "end"]
    if ends and ends[0] != len(records) - 1:
        raise LogError(path, f"line {ends[0] + 2}: data after the end record; {COPY_AGAIN}")
    check_order(path, kinds)


def refuse_incomplete(path: Path, records: list[dict], log_format: LogFormat) -> None:
    course = Course(log_format.progress)
    for record in records:
        course.take(record)
    if course.end is None:
        raise LogError(
            path, f"the log was cut off, it has no end record: {course}; wait for the run to end, or {RUN_AGAIN}"
        )
    if course.status != "complete":
        ended, remedy = ENDS[course.status]
        raise LogError(
            path,
            f"the run {ended}: {reason_of(course.end) or 'the kernel gave no reason'} ({course}); {remedy} and "
            f"{RUN_AGAIN}",
        )


def reason_of(end: dict) -> str | None:
    """Why the run ended, with the process that failed if the log names one."""
    if "rank" not in end:
        return end["reason"]
    return f"rank {end['rank']} on {end.get('host', 'an unknown host')}: {end['reason']}"


def check_benchmark(path: Path, run: dict, formats: Mapping[str, LogFormat]) -> None:
    if run["record"] != "run":
        raise LogError(path, "line 1: the first record is not 'run'; is this a whole log of a coffeecup kernel?")
    version, benchmark = run.get("schema_version"), run.get("benchmark")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise LogError(
            path,
            f"line 1: schema_version {version} is newer than {SCHEMA_VERSION}, which this coffeecup reads; "
            "upgrade coffeecup",
        )
    if type(benchmark) is not str or benchmark not in formats:
        raise LogError(
            path, f"line 1: unknown benchmark {benchmark!r:.80}; this coffeecup knows {', '.join(sorted(formats))}"
        )


def check_schema(path: Path, kinds: list[str], records: list[dict], log_format: LogFormat) -> None:
    """Every record conforms to the schema."""
    for kind in dict.fromkeys(kinds):
        found = [record for record in records if record["record"] == kind]
        if kind not in log_format.kinds:
            raise LogError(
                path,
                f"line {kinds.index(kind) + 1}: {records[0]['benchmark']} has no record {kind!r:.80}; "
                "is the log of another coffeecup version?",
            )
        if not log_format.validators[kind, True].is_valid(found):
            one = log_format.validators[kind, False]
            broken = next(record for record in found if not one.is_valid(record))
            error = next(one.iter_errors(broken))
            where = ".".join(map(str, error.instance_path)) or "the record"
            raise LogError(
                path, f"line {broken['sequence'] + 1}: {kind} record, {where}: {error.message:.300}; {COPY_AGAIN}"
            )


def check_order(path: Path, kinds: list[str]) -> None:
    """First run, second plan, each once; a run that failed early may have no plan."""
    if kinds[1:2] not in ([], ["plan"], ["end"]):
        raise LogError(path, f"line 2: the second record is {kinds[1]!r}, not 'plan'; {COPY_AGAIN}")
    for kind in ("run", "plan"):
        if kinds.count(kind) > 1:
            again = [number for number, other in enumerate(kinds, 1) if other == kind][1]
            raise LogError(path, f"line {again}: a second {kind} record; {COPY_AGAIN}")


def check_activity(path: Path, records: list[dict]) -> None:
    """At most one activity record, with the same number of hosts as the run."""
    found, hosts = [record for record in records if record["record"] == "activity"], len(records[0]["hosts"])
    if any(len(record["hosts"]) != hosts for record in found) or len(found) > 1:
        raise LogError(
            path,
            f"{len(found)} activity records with {len(found[0]['hosts'])} hosts, where one with {hosts} belongs; "
            f"{COPY_AGAIN}",
        )


def check_hosts(path: Path, records: list[dict]) -> None:
    """If the log states cores, it does so for each rank."""
    if any(len(host.get("core_sets", host["ranks"])) != len(host["ranks"]) for host in records[0]["hosts"]):
        raise LogError(path, f"line 1: the hosts do not state the cores of each rank; {COPY_AGAIN}")


def refuse_duplicate_keys(path: Path, lines: list[bytes], records: list[dict]) -> None:
    """A repeated key would let one line hold two values. A line has at least as many colons as keys. If it has exactly
    as many as keys were parsed, none was repeated; only the few other lines are parsed again."""
    for number, (line, record) in enumerate(zip(lines, records), 1):
        if line.count(b":") != len(record):
            try:
                json.loads(line, object_pairs_hook=unique_keys)
            except KeyError as error:
                raise LogError(
                    path, f"line {number}: the key {error.args[0]!r:.80} occurs twice; {COPY_AGAIN}"
                ) from None


def unique_keys(pairs: list[tuple]) -> dict:
    kept = dict(pairs)
    if len(kept) != len(pairs):
        names = [name for name, _ in pairs]
        raise KeyError(next(name for name in names if names.count(name) > 1))
    return kept


def by_kind(records: list[dict]) -> dict[str, list[dict]]:
    kinds = dict.fromkeys(record["record"] for record in records)
    return {kind: [record for record in records if record["record"] == kind] for kind in kinds}
