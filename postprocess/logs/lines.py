# SPDX-License-Identifier: Apache-2.0
"""One line of a log: the kind of its record, or why it is not a valid one."""

import re
from collections.abc import Mapping

import msgspec

from coffeecup.postprocess.logs.records import Record

COPY_AGAIN = "copy the log again from where the run wrote it, or rerun the benchmark"
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)  # what decoding raises


def is_json(line: bytes) -> bool:
    """Whether a line is JSON that a record could be."""
    try:
        msgspec.json.decode(line)
    except UNREADABLE:
        return False
    return True


def is_end(line: bytes) -> bool:
    """Whether a line is the last one of a complete log."""
    return kind_of_line(line) == "end"


def kind_of_line(line: bytes) -> str | None:
    """The value of its field `record`; None if it is not a JSON object with one."""
    try:
        return msgspec.json.decode(line, type=_Kind).record
    except UNREADABLE:
        return None


class _Kind(msgspec.Struct):
    record: str


def why_refused(line: bytes, error: Exception, benchmark: str, kinds: Mapping[str, type[Record]]) -> str:
    """Why a line is not a valid record of `kinds`, and the remedy."""
    kind = kind_of_line(line)
    if kind is None or isinstance(error, UnicodeDecodeError):
        return why_no_record(line)
    if kind not in kinds:
        return f"{benchmark} has no record {kind!r:.80}; is the log of another coffeecup version?"
    return f"{kind} record, {what_is_wrong(line, error)}; {COPY_AGAIN}"


def why_no_record(line: bytes) -> str:
    """The reason why a line is no record."""
    try:
        line.decode("utf-8")
        msgspec.json.decode(line)
    except UnicodeDecodeError:
        return f"not UTF-8; {COPY_AGAIN}"
    except RecursionError:
        return f"nested more deeply than any record; {COPY_AGAIN}"
    except msgspec.DecodeError as error:
        why = "an empty line" if not line.strip() else f"not JSON ({str(error).rpartition(': ')[2]})"
        return f"{why}; {COPY_AGAIN}"
    return "not a record of a log; is this a log of a coffeecup kernel?"


def what_is_wrong(line: bytes, error: Exception) -> str:
    """The field, what is expected there, and what was found."""
    what, _, place = str(error).rstrip("`").partition(" - at `$")
    keys = re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", place)
    why = what.replace("`", "")
    if checked := re.match(r"(\w+): ", why):  # by a __post_init__
        keys, why = [*keys, (checked[1], "")], why[checked.end() :]
    where = ".".join(name or number for name, number in keys) or "the record"
    return f"{where}: {why[:1].lower()}{why[1:]:.300}{value_at(line, keys)}"


def value_at(line: bytes, keys: list[tuple[str, str]]) -> str:
    """The value at a place of a line, if it is a single one."""
    try:
        value = msgspec.json.decode(line)
        for name, number in keys:
            value = value[name or int(number)]
    except (*UNREADABLE, LookupError, TypeError, ValueError):
        return ""
    return "" if isinstance(value, dict | list) else f", found {value!r:.40}"
