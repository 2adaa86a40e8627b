# SPDX-License-Identifier: Apache-2.0
"""Reading the kernels' logs.

A log is evidence: either all of it conforms to docs/log.md, or it is rejected with one line that names the file, the
line and the remedy. Nothing here depends on a benchmark except the format of its records, which the caller passes.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import repeat
from operator import ne
from pathlib import Path
from typing import Generic, TypeVar, cast

import msgspec

from coffeecup.postprocess.logs.format import LogFormat
from coffeecup.postprocess.logs.growing import Course
from coffeecup.postprocess.logs.hangs import verdict
from coffeecup.postprocess.logs.lines import (
    COPY_AGAIN,
    UNREADABLE,
    is_end,
    is_json,
    kind_of_line,
    what_is_wrong,
    why_no_record,
    why_refused,
)
from coffeecup.postprocess.logs.records import SCHEMA_VERSION, End, Record, Run, kind_of
from coffeecup.postprocess.show.words import printable, size

RUN_AGAIN = "rerun the benchmark"
# A record of a million processes has about 60 MB.
LARGEST_LOG, LONGEST_LINE = 2**30, 2**26
SESSION = re.compile(rb'\s*\{\s*"session_info"')  # how ReFrame's session reports begin
# How a run that did not complete ended, and what to do. The launcher interrupts rank 0 where another process failed.
ENDS = {
    "failed": ("failed", "fix the cause"),
    "hung": ("hangs", "fix the cause"),
    "interrupted": (
        "was interrupted",
        "fix the cause (a time limit, or the failure of another process, which the output of the run shows)",
    ),
}


class LogError(ValueError):
    """A log that yields no score; the message is one printable line naming the file and the remedy. `invariant` is the
    name in docs/log.md of what does not hold; it ends the message in brackets."""

    def __init__(self, path, problem: str, invariant: str = ""):
        self.path = Path(path)
        self.problem = printable(f"{problem} [{invariant}]" if invariant else problem)
        super().__init__(f"{printable(str(path))}: {self.problem}")

    def __reduce__(self) -> tuple:
        return LogError, (self.path, self.problem)


Plan = TypeVar("Plan", bound=Record, covariant=True)
Kind = TypeVar("Kind", bound=Record)


@dataclass(frozen=True)
class Log(Generic[Plan]):
    """A complete log: its first two records, and all others by class, each in the order of writing."""

    path: Path
    sha256: str
    run: Run
    plan: Plan
    by_class: Mapping[type[Record], Sequence[Record]]

    @property
    def benchmark(self) -> str:
        return self.run.benchmark

    @property
    def end(self) -> End:
        return self.only(End)

    def all(self, kind: type[Kind]) -> list[Kind]:
        """The records of a class, none where the log has none."""
        return cast(list[Kind], self.by_class.get(kind, []))

    def only(self, kind: type[Kind]) -> Kind:
        """The record of a class of which a log has one (rules.problems_of_single)."""
        return self.all(kind)[0]

    def brief(self) -> "Log[Plan]":
        """The same log without its measurements and trials, which are nearly all of its size."""
        left_out = ("measurement", "trial")
        return replace(
            self, by_class={kind: found for kind, found in self.by_class.items() if kind_of(kind) not in left_out}
        )


def read_log(path, formats: Mapping[str, LogFormat]) -> Log:
    """Reads a complete log of one of the benchmarks in `formats`, which maps their names to their formats.

    Raises LogError for everything else: unreadable, cut off, interrupted or failed, altered, or of another schema.
    """
    path = Path(path)
    data = read_bytes(path)
    if SESSION.match(data):
        raise LogError(
            path,
            "a session report of ReFrame, not a log: `coffeecup history` shows sessions; the log of a run is in the "
            "output directory of its test",
            "record",
        )
    lines, rest = split_lines(path, data)
    records, log_format = read_records(path, lines, formats)
    end = refuse_incomplete(path, records, log_format)
    if rest:
        raise LogError(path, f"line {len(lines) + 1}: data after the end record; {COPY_AGAIN}", "kinds")
    if not data.endswith(b"\n"):
        raise LogError(
            path, f"line {len(lines)}: the log was cut off in its last byte, a newline; {COPY_AGAIN}", "lines"
        )
    if end.records != len(lines):
        raise LogError(
            path,
            f"line {len(lines)}: the end record counts {end.records} records, the log has {len(lines)}; {COPY_AGAIN}",
            "count",
        )
    refuse_duplicate_keys(path, lines, records)
    run, plan, *others = records
    refuse_other_options(path, cast(Run, run), set(log_format.options.split()))
    return Log(path, hashlib.sha256(data).hexdigest(), cast(Run, run), plan, grouped(others))


def read_bytes(path: Path) -> bytes:
    """The content of a log. Raises LogError if it is no readable file, or larger than any log."""
    try:
        if path.is_dir():
            next(path.iterdir(), None)  # a directory that cannot be searched is an error of its own
            raise LogError(path, "a directory, not a log; name the log in it")
        if path.exists() and not path.is_file():
            raise LogError(path, "not a regular file; name the log itself")
        if path.stat().st_size > LARGEST_LOG:
            raise LogError(path, f"larger than any log, {size(LARGEST_LOG)}; name the log itself", "size")
        data = path.read_bytes()
    except LogError:
        raise
    except FileNotFoundError:
        raise LogError(path, "no such file; check the path, and the job's output for why no log was written") from None
    except PermissionError:
        raise LogError(path, "no permission to read it; ask its owner for read permission") from None
    except (OSError, ValueError) as error:
        raise LogError(path, f"cannot be read: {error}") from None
    if not data:
        raise LogError(path, f"the log is empty, the kernel wrote nothing: look into the job's output and {RUN_AGAIN}")
    return data


def split_lines(path: Path, data: bytes) -> tuple[list[bytes], bytes]:
    """The log's lines, and what follows the end record's newline.

    A last line without its newline counts as a line only if it is a whole record: a record that was cut off is no
    record.
    """
    lines = data.split(b"\n")
    if (longest := max(map(len, lines))) > LONGEST_LINE:
        number = [*map(len, lines)].index(longest) + 1
        raise LogError(path, f"line {number}: longer than any record, {size(LONGEST_LINE)}; {COPY_AGAIN}", "size")
    last = lines.pop()
    never_a_log = not lines and not last.startswith(b"{")
    if last and (never_a_log or is_json(last)):
        lines.append(last)
    elif last and lines and is_end(lines[-1]):
        return lines, last
    return lines, b""


def read_records(path: Path, lines: list[bytes], formats: Mapping[str, LogFormat]) -> tuple[list[Record], LogFormat]:
    """The records of a log that may be incomplete, and its format. Each record conforms to its class, and they are in
    sequence and in the order of a log."""
    if not lines:
        raise LogError(path, f"the log was cut off in its first record: look into the job's output and {RUN_AGAIN}")
    benchmark = origin(path, lines[0], formats)
    log_format = formats[benchmark]
    decode, records = log_format.decoder.decode, []
    for number, line in enumerate(lines):
        try:
            record = decode(line)
        except UNREADABLE as error:
            raise LogError(
                path, f"line {number + 1}: {why_refused(line, error, benchmark, log_format.records)}", "record"
            ) from None
        if record.sequence != number:
            raise LogError(
                path,
                f"line {number + 1}: sequence {record.sequence} where {number} belongs: records are missing, repeated "
                f"or reordered; {COPY_AGAIN}",
                "sequence",
            )
        records.append(record)
    kinds = {kind: kind_of(kind) for kind in log_format.records.values()}
    check_order(path, [kinds[type(record)] for record in records])
    return records, log_format


def origin(path: Path, line: bytes, formats: Mapping[str, LogFormat]) -> str:
    """The benchmark that wrote the log, by the log's first line."""
    kind = kind_of_line(line)
    if kind is None:
        raise LogError(path, f"line 1: {why_no_record(line)}", "record")
    if kind != "run":
        raise LogError(
            path, "line 1: the first record is not 'run'; is this a whole log of a coffeecup kernel?", "kinds"
        )
    try:
        origin = msgspec.json.decode(line, type=_Origin)
    except UNREADABLE as error:
        raise LogError(path, f"line 1: run record, {what_is_wrong(line, error)}; {COPY_AGAIN}", "record") from None
    if origin.schema_version != SCHEMA_VERSION:
        raise LogError(
            path,
            f"line 1: schema_version {origin.schema_version}, and this coffeecup reads {SCHEMA_VERSION} only; use the "
            "coffeecup of the kernel's version",
            "version",
        )
    if origin.benchmark not in formats:
        raise LogError(
            path,
            f"line 1: unknown benchmark {origin.benchmark!r:.80}; this coffeecup knows {', '.join(sorted(formats))}",
            "version",
        )
    return origin.benchmark


class _Origin(msgspec.Struct):
    """What the first line tells before its class is known."""

    benchmark: str
    schema_version: int


def refuse_incomplete(path: Path, records: list[Record], log_format: LogFormat) -> End:
    end = records[-1]
    if isinstance(end, End) and end.status == "complete" and len(records) > 2:
        return end
    course = Course(log_format.progress)
    for record in records:
        course.take(record)
    if course.end is None:
        raise LogError(
            path,
            f"the log was cut off, it has no end record: {course}; wait for the run to end, or {RUN_AGAIN}",
            "complete",
        )
    if course.end.status != "complete":
        ended, remedy = ENDS[course.end.status]
        raise LogError(
            path,
            f"the run {ended}: {reason_of(course.end) or 'the kernel gave no reason'} ({course}); {remedy} and "
            f"{RUN_AGAIN}",
            "complete",
        )
    if course.plan is None:
        raise LogError(path, f"line 2: the second record is 'end', not 'plan'; {COPY_AGAIN}", "kinds")
    return course.end


def reason_of(end: End) -> str | None:
    """Why the run ended, with the process that failed if the log names one, or what hangs."""
    if end.status == "hung":
        return f"{end.reason}; {verdict(end.processes or [])}"
    if end.rank is None:
        return end.reason
    return f"rank {end.rank} on {end.host or 'an unknown host'}: {end.reason}"


def check_order(path: Path, kinds: list[str]) -> None:
    """First run, second plan, each once; a run that failed early may have no plan. Nothing after the end."""
    if kinds[1:2] not in ([], ["plan"], ["end"]):
        raise LogError(path, f"line 2: the second record is {kinds[1]!r}, not 'plan'; {COPY_AGAIN}", "kinds")
    for kind in ("run", "plan"):
        if kinds.count(kind) > 1:
            again = [number for number, other in enumerate(kinds, 1) if other == kind][1]
            raise LogError(path, f"line {again}: a second {kind} record; {COPY_AGAIN}", "kinds")
    if "end" in kinds[:-1]:
        raise LogError(path, f"line {kinds.index('end') + 2}: data after the end record; {COPY_AGAIN}", "kinds")


def refuse_duplicate_keys(path: Path, lines: list[bytes], records: list[Record]) -> None:
    """A repeated key would let one line hold two values. A line has at least as many colons as keys. If all fields are
    required and it has exactly as many, none was repeated; only the other lines are parsed again."""
    keys = {kind: 1 + len(kind.__struct_fields__) for kind in set(map(type, records)) if all_required(kind)}
    colons, fewest = map(bytes.count, lines, repeat(b":")), map(keys.get, map(type, records))
    for number in (number for number, different in enumerate(map(ne, colons, fewest)) if different):
        try:
            json.loads(lines[number], object_pairs_hook=unique_keys)
        except KeyError as error:
            raise LogError(
                path, f"line {number + 1}: the key {error.args[0]!r:.80} occurs twice; {COPY_AGAIN}", "keys"
            ) from None


def refuse_other_options(path: Path, run: Run, known: set[str]) -> None:
    """A log states exactly the options that its kernel has."""
    if unknown := sorted(run.options.keys() - known):
        raise LogError(path, f"line 1: the kernel has no option {unknown[0]!r:.80}; {COPY_AGAIN}", "options")
    if missing := sorted(known - run.options.keys()):
        raise LogError(path, f"line 1: the log does not state the option {missing[0]}; {COPY_AGAIN}", "options")


@cache
def all_required(kind: type[Record]) -> bool:
    return all(field.required for field in msgspec.structs.fields(kind))


def unique_keys(pairs: list[tuple]) -> dict:
    kept = dict(pairs)
    if len(kept) != len(pairs):
        names = [name for name, _ in pairs]
        raise KeyError(next(name for name in names if names.count(name) > 1))
    return kept


def grouped(records: list[Record]) -> dict[type[Record], list[Record]]:
    found = defaultdict(list)
    for record in records:
        found[type(record)].append(record)
    return dict(found)
