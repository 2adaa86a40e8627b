"""Reading the kernels' logs.

A log is evidence: either all of it is as docs/log.md says, or it is refused with one line that names the file, the line and the
remedy. Nothing here knows a benchmark beyond what log_schema.json says about its records.
"""

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path

import jsonschema_rs
import orjson

SCHEMA_VERSION = 2
RUN_AGAIN = "run the benchmark again"
COPY_AGAIN = "copy the log again from where the run wrote it, or run the benchmark again"
# How a run that did not complete ended, and what to do. The launcher interrupts rank 0 where another process failed.
ENDS = {
    "failed": ("failed", "mend the cause"),
    "interrupted": ("was interrupted", "mend the cause, a time limit or another process's failure, which the run's output then shows,"),
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


@dataclass(frozen=True)
class State:
    """How far a run has come, from a log that may still grow or was cut off."""

    path: Path
    benchmark: str
    status: str  # "running or cut off" where the log has no end record, else the end record's status
    reason: str | None
    part: str  # what the plan lists and a measurement names: "pattern", "stage" or "case"
    planned_patterns: int
    measured_patterns: int
    measurements: int
    last_measurement: dict | None

    def __str__(self) -> str:
        if self.last_measurement is None:
            return f"none of the {self.planned_patterns} planned {self.part}s was measured"
        last = self.last_measurement.get(self.part)
        return f"{self.measured_patterns} of the {self.planned_patterns} planned {self.part}s had been begun, the last one {last}"


def printable(text: str) -> str:
    """One line that is safe on any terminal: what is not printable is shown as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


@cache
def schema() -> dict:
    """The contract of a record, log_schema.json."""
    return json.loads(resources.files("postprocess.logs").joinpath("log_schema.json").read_text("utf-8"))


@cache
def benchmarks() -> frozenset[str]:
    """The benchmarks whose logs can be read."""
    return frozenset(name.split(".")[0] for name in schema()["$defs"] if name.endswith(".plan"))


@cache
def validator(benchmark: str, kind: str, many: bool) -> jsonschema_rs.Draft202012Validator | None:
    """The validator of one record, or of a list of records, of a kind; None where the benchmark has no such record."""
    records = {entry["$ref"].removeprefix("#/$defs/") for entry in schema()["oneOf"]}
    name = next((name for name in (f"{benchmark}.{kind}", kind) if name in records), None)
    if name is None:
        return None
    record = {"$ref": f"#/$defs/{name}"}
    return jsonschema_rs.Draft202012Validator(
        {"$defs": schema()["$defs"], **({"type": "array", "items": record} if many else record)}
    )


def read_log(path) -> Log:
    """Reads a complete log.

    Raises LogError for everything else: unreadable, cut off, interrupted or failed, altered, or of another schema.
    """
    path = Path(path)
    data = read_bytes(path)
    lines, rest = split_lines(data)
    records = parse(path, lines)
    state = checked_state(path, records)
    if state.status == "running or cut off":
        raise LogError(path, f"the log was cut off, it has no end record: {state}; wait for the run to end, or {RUN_AGAIN}")
    if state.status != "complete":
        ended, remedy = ENDS[state.status]
        raise LogError(path, f"the run {ended}: {state.reason or 'the kernel gave no reason'} ({state}); {remedy} and {RUN_AGAIN}")
    if rest:
        raise LogError(path, f"line {len(lines) + 1}: data after the end record; {COPY_AGAIN}")
    if not data.endswith(b"\n"):
        raise LogError(path, f"line {len(lines)}: the log was cut off in its last byte, a newline; {COPY_AGAIN}")
    if records[-1]["records"] != len(records):
        raise LogError(path, f"line {len(records)}: the end record counts {records[-1]['records']} records, "
                             f"the log has {len(records)}; {COPY_AGAIN}")
    refuse_duplicate_keys(path, lines, records)
    check_hosts(path, records)
    check_activity(path, records)
    return Log(path, hashlib.sha256(data).hexdigest(), records[0], records[1], by_kind(records[2:]))


def read_state(path) -> State:
    """How far the run of a log has come; the log may be incomplete, but what it holds must be sound.

    Raises LogError for a log that is not readable, was altered, or does not hold its first record yet.
    """
    path = Path(path)
    lines, _ = split_lines(read_bytes(path), growing=True)
    return checked_state(path, parse(path, lines))


def read_bytes(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise LogError(path, "not a regular file; name the log itself" if not path.is_dir()
                           else "a directory, not a log; name the log in it")
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
    if last and (never_a_log or not growing and is_json(last)):
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
            raise LogError(path, f"line {number}: sequence {record.get('sequence')!r:.40} where {number - 1} belongs: records are "
                                 f"missing, repeated or reordered; {COPY_AGAIN}")
    return records


def why_not_json(line: bytes) -> str:
    try:
        orjson.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        return "not UTF-8"
    except orjson.JSONDecodeError as error:
        return "an empty line" if not line.strip() else f"not JSON ({error.msg} at column {error.colno})"
    return "not JSON"


def checked_state(path: Path, records: list[dict]) -> State:
    """The state of a run, of whose records all have been checked against the schema."""
    if not records:
        raise LogError(path, f"the log was cut off in its first record: look into the job's output and {RUN_AGAIN}")
    benchmark = checked_benchmark(path, records[0])
    kinds = [record["record"] for record in records]
    check_schema(path, benchmark, kinds, records)
    ends = [number for number, kind in enumerate(kinds) if kind == "end"]
    if ends and ends[0] != len(records) - 1:
        raise LogError(path, f"line {ends[0] + 2}: data after the end record; {COPY_AGAIN}")
    check_order(path, kinds)
    plan = records[1] if kinds[1:2] == ["plan"] else {}
    part = next((part for part in ("stage", "case") if f"{part}s" in plan), "pattern")
    measurements = [record for record in records if record["record"] == "measurement"]
    return State(
        path=path,
        benchmark=benchmark,
        status=records[-1]["status"] if ends else "running or cut off",
        reason=records[-1]["reason"] if ends else None,
        part=part,
        planned_patterns=len(plan.get(f"{part}s", [])),
        measured_patterns=len({measurement.get(part) for measurement in measurements}),
        measurements=len(measurements),
        last_measurement=measurements[-1] if measurements else None,
    )


def checked_benchmark(path: Path, run: dict) -> str:
    if run["record"] != "run":
        raise LogError(path, "line 1: the first record is not 'run'; is this a whole log of a coffeecup kernel?")
    version, benchmark = run.get("schema_version"), run.get("benchmark")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise LogError(path, f"line 1: schema_version {version} is newer than {SCHEMA_VERSION}, which this coffeecup reads; "
                             "upgrade coffeecup")
    if type(benchmark) is not str or benchmark not in benchmarks():
        raise LogError(path, f"line 1: unknown benchmark {benchmark!r:.80}; this coffeecup knows {', '.join(sorted(benchmarks()))}")
    return benchmark


def check_schema(path: Path, benchmark: str, kinds: list[str], records: list[dict]) -> None:
    """Every record is as log_schema.json says."""
    for kind in dict.fromkeys(kinds):
        found = [record for record in records if record["record"] == kind]
        if validator(benchmark, kind, many=True) is None:
            raise LogError(path, f"line {kinds.index(kind) + 1}: {benchmark} has no record {kind!r:.80}; "
                                 "is the log of another coffeecup version?")
        if not validator(benchmark, kind, many=True).is_valid(found):
            one = validator(benchmark, kind, many=False)
            broken = next(record for record in found if not one.is_valid(record))
            error = next(one.iter_errors(broken))
            where = ".".join(map(str, error.instance_path)) or "the record"
            raise LogError(path, f"line {broken['sequence'] + 1}: {kind} record, {where}: {error.message:.300}; {COPY_AGAIN}")


def check_order(path: Path, kinds: list[str]) -> None:
    """First run, second plan, each once; a run that failed early may have no plan."""
    if kinds[1:2] not in ([], ["plan"], ["end"]):
        raise LogError(path, f"line 2: the second record is {kinds[1]!r}, not 'plan'; {COPY_AGAIN}")
    for kind in ("run", "plan"):
        if kinds.count(kind) > 1:
            again = [number for number, other in enumerate(kinds, 1) if other == kind][1]
            raise LogError(path, f"line {again}: a second {kind} record; {COPY_AGAIN}")


def check_activity(path: Path, records: list[dict]) -> None:
    """At most one activity record, with as many hosts as the run has."""
    found, hosts = [record for record in records if record["record"] == "activity"], len(records[0]["hosts"])
    if any(len(record["hosts"]) != hosts for record in found) or len(found) > 1:
        raise LogError(path, f"{len(found)} activity records with {len(found[0]['hosts'])} hosts, where one with {hosts} belongs; {COPY_AGAIN}")


def check_hosts(path: Path, records: list[dict]) -> None:
    """Where the log tells of cores, it does so for each rank."""
    if any(len(host.get("core_sets", host["ranks"])) != len(host["ranks"]) for host in records[0]["hosts"]):
        raise LogError(path, f"line 1: the hosts do not tell the cores of each rank; {COPY_AGAIN}")


def refuse_duplicate_keys(path: Path, lines: list[bytes], records: list[dict]) -> None:
    """A repeated key would let one line hold two values. A line has at least as many colons as keys, so equality with the
    number of keys that were kept shows cheaply that none was repeated; the few other lines are parsed again."""
    for number, (line, record) in enumerate(zip(lines, records), 1):
        if line.count(b":") != len(record):
            try:
                json.loads(line, object_pairs_hook=unique_keys)
            except KeyError as error:
                raise LogError(path, f"line {number}: the key {error.args[0]!r:.80} occurs twice; {COPY_AGAIN}") from None


def unique_keys(pairs: list[tuple]) -> dict:
    kept = dict(pairs)
    if len(kept) != len(pairs):
        names = [name for name, _ in pairs]
        raise KeyError(next(name for name in names if names.count(name) > 1))
    return kept


def by_kind(records: list[dict]) -> dict[str, list[dict]]:
    kinds = dict.fromkeys(record["record"] for record in records)
    return {kind: [record for record in records if record["record"] == kind] for kind in kinds}
