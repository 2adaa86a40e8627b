# SPDX-License-Identifier: Apache-2.0
"""A site's own files: thresholds of changes, and what is known about events: acknowledged, accepted and expected ones,
and maintenance. Both are lists in YAML that people keep under version control."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import orjson
import pandas as pd
import yaml

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.history.change_points import Rule, own_rule
from coffeecup.postprocess.history.table import SERIES
from coffeecup.postprocess.logs import paths, trees

SAME_DAYS = timedelta(days=3)  # outside the dates between which an event began that its acknowledgement may state
COLUMNS = frozenset(SERIES) - {"system"} | {"hosts"}  # with which an entry states a place, beside parameters


class SiteFileError(Exception):
    """A site's file that cannot be used: one sentence."""


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    """What is known about a system, who states it, and why. `where` are attributes (events.attributes) of the series or
    tests that it concerns; without any, it is the whole system."""

    system: str
    who: str
    why: str
    where: dict[str, str] = {}

    def __post_init__(self):
        for name in ("who", "why"):
            if not getattr(self, name).strip():
                raise ValueError(f"`{name}` must not be empty")

    def is_at(self, table: pd.DataFrame) -> pd.Series:
        """Which rows of a table with the columns of a place it concerns."""
        there = table["system"] == self.system
        for name, value in self.where.items():
            there &= (table[name].astype(str) if name in COLUMNS else parameter(table, name)) == value
        return there


class OfEvent(Entry, frozen=True, kw_only=True):
    """An entry on events of one direction. A change by a larger fraction than `at_most` is another one."""

    direction: Literal["worse", "better", "changed", "unknown"]
    at_most: Annotated[float, msgspec.Meta(gt=0)] | None = None

    def __post_init__(self):
        super().__post_init__()
        if self.at_most is not None and not self.at_most < inf:
            raise ValueError(f"`at_most` is a fraction, such as 0.1 for 10 %, not {self.at_most:g}")
        if self.at_most is None and self.direction != "better" and not isinstance(self, Acknowledgement):
            raise ValueError("`at_most` is missing: the largest change that does not alarm, a fraction such as 0.1")

    def near(self, between: list[date]) -> bool:
        """Whether an event that began between these days is near in time."""
        begin, end = self.window
        return between[0] <= end and begin <= between[1]

    @property
    def window(self) -> tuple[date, date]:
        """The days between which the event may have begun."""
        raise NotImplementedError


class Since(OfEvent, frozen=True, kw_only=True):
    """An entry on an event that there has been."""

    since: date

    @property
    def window(self) -> tuple[date, date]:
        return self.since - SAME_DAYS, self.since + SAME_DAYS


class Acknowledgement(Since, frozen=True, kw_only=True, tag="acknowledged"):
    """An event is known and does not alarm until a day."""

    until: date

    def __post_init__(self):
        super().__post_init__()
        if self.until < self.since:
            raise ValueError(f"`until` ({self.until}) is before `since` ({self.since})")


class Acceptance(Since, frozen=True, kw_only=True, tag="accepted"):
    """The new level of an event is the usual one from now on."""


class Expectation(OfEvent, frozen=True, kw_only=True, tag="expected"):
    """A lasting change that was announced for the time between two days."""

    begin: date
    end: date

    def __post_init__(self):
        super().__post_init__()
        in_order(self)

    @property
    def window(self) -> tuple[date, date]:
        return self.begin, self.end


class Maintenance(Entry, frozen=True, kw_only=True, tag="maintenance"):
    """From `begin` to `end` (UTC), runs say nothing about the system."""

    begin: datetime
    end: datetime

    def __post_init__(self):
        super().__post_init__()
        in_order(self)
        if of_values := {"metric", "hosts"} & set(self.where):
            raise ValueError(f"`where` of maintenance cannot state {' and '.join(sorted(of_values))}")

    @property
    def times(self) -> tuple[datetime, datetime]:
        begin, end = (time if time.tzinfo else time.replace(tzinfo=UTC) for time in (self.begin, self.end))
        return begin, end

    def covers(self, table: pd.DataFrame) -> pd.Series:
        """Which rows of a case_table or history_table are of runs in it. It is known of runs with a value only when
        they began; others may have begun with their session."""
        begin, end = self.times
        seconds = table["seconds"].where(table["measured"])
        began = (table["time"] - pd.to_timedelta(seconds, unit="s")).fillna(table["session_time"])
        return self.is_at(table) & (began <= end) & (table["time"] >= begin)


class Replacement(Entry, frozen=True, kw_only=True, tag="replaced"):
    """The hardware of a node was replaced: sessions before `since` say nothing about it."""

    node: str
    since: date

    def ended(self, table: pd.DataFrame) -> pd.Series:
        """Which rows of a history.nodes.node_table, which may be empty, are of the former node."""
        times = pd.to_datetime(table["session_time"], utc=True)
        named = (table["node"] == self.node) | (table["node"].str.split(".").str[0] == self.node)
        return (table["system"] == self.system) & named & (times.dt.date < self.since)


EVERY_KIND = (Acknowledgement, Acceptance, Expectation, Maintenance, Replacement)
KINDS = {str(kind.__struct_config__.tag): kind for kind in EVERY_KIND}
ANY_KIND = Acknowledgement | Acceptance | Expectation | Maintenance | Replacement


def parameter(table: pd.DataFrame, name: str) -> pd.Series:
    """A parameter of the tests in a table; one with the name of a column has a "%" before it (events.attributes)."""
    rows = [orjson.loads(text) for text in table["parameters"].tolist()]
    return pd.Series([str(row.get(name.removeprefix("%"), "")) for row in rows], index=table.index)


def in_order(entry: Expectation | Maintenance) -> None:
    if entry.end < entry.begin:
        raise ValueError(f"`end` ({entry.end}) is before `begin` ({entry.begin})")


def in_maintenance(table: pd.DataFrame, entries: Iterable[Entry]) -> pd.Series:
    """Which rows of a case_table or history_table are of runs in any maintenance."""
    covered = pd.Series(data=False, index=table.index)
    for entry in entries:
        if isinstance(entry, Maintenance):
            covered |= entry.covers(table)
    return covered


def of_present_nodes(table: pd.DataFrame, entries: Iterable[Entry]) -> pd.DataFrame:
    """The rows of a history.nodes.node_table without those of nodes that were replaced since then."""
    for entry in entries:
        if isinstance(entry, Replacement):
            table = table[~entry.ended(table)]
    return table


class Threshold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What counts as a change of the series that have these values; the last entry that matches a series counts."""

    benchmark: str | None = None
    metric: str | None = None
    system: str | None = None
    partition: str | None = None
    environ: str | None = None
    node: str | None = None
    file_system: str | None = None
    processes: int | None = None
    better: Better | None = None
    smallest_change: float | None = None
    smallest_regression: float | None = None

    def __post_init__(self):
        if all(getattr(self, name) is None for name in STATED):
            raise ValueError(f"states none of {', '.join(f'`{name}`' for name in STATED)}")
        if self.better == Better.UNKNOWN:
            raise ValueError(f"`better` is {Better.HIGHER}, {Better.LOWER} or {Better.NEITHER}")
        for name in STATED[1:]:
            if (size := getattr(self, name)) is not None and not 0 < size <= 10:
                raise ValueError(f"`{name}` is a fraction, such as 0.05 for 5 %, not {size:g}")

    def matches(self, series: dict) -> bool:
        wanted = {name: getattr(self, name) for name in PLACES}
        return all(value is None or series[name] == value for name, value in wanted.items())


STATED = ("better", "smallest_change", "smallest_regression")
PLACES = ("benchmark", "metric", "system", "partition", "environ", "node", "file_system", "processes")


class SiteRules:
    """Rules of series: those of the benchmarks, changed by a site's thresholds."""

    def __init__(self, thresholds: list[Threshold]):
        self.thresholds = thresholds

    def __call__(self, series: dict) -> Rule:
        rule = own_rule(series)
        for threshold in self.thresholds:
            if threshold.matches(series):
                stated = {name: value for name in STATED if (value := getattr(threshold, name)) is not None}
                rule = replace(rule, **stated)
        return rule

    def unused(self, every: list[dict]) -> list[int]:
        """The numbers, from 1, of thresholds that match none of these series."""
        return [
            number
            for number, threshold in enumerate(self.thresholds, 1)
            if not any(threshold.matches(series) for series in every)
        ]


def read_list(path: Path, kind: Any) -> list[Any]:
    """The entries of a site's file. Raises SiteFileError, which names the entry and its fault."""
    try:
        content, root = trees.read(path)
    except trees.TreeError as error:
        raise SiteFileError(f"{path}: {error}") from None
    if content is None:
        return []
    if not isinstance(content, list) or root is None:
        raise SiteFileError(f"{path}: expected a list of entries, each beginning with `- `")
    entries = []
    for number, entry in enumerate(content, 1):
        try:
            entries.append(entry_of(entry, kind))
        except ValueError as error:
            line = root.value[number - 1].start_mark.line + 1
            raise SiteFileError(f"{path}: line {line}, entry {number}: {error}") from None
    return entries


def entry_of(content: Any, kind: Any = ANY_KIND) -> Any:
    """An entry of its content. Raises ValueError with the fault and the remedy."""
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{error}; {remedy(content, kind)}") from None


def remedy(entry: Any, kind: Any) -> str:
    """What an entry that cannot be used may contain."""
    if kind == ANY_KIND:
        kind = KINDS.get(str(entry.get("kind"))) if isinstance(entry, dict) else None
        if kind is None:
            return f"state its `kind`: {', '.join(KINDS)}"
    times = "; times as 2026-02-03 08:00:00, in UTC" if kind is Maintenance else ""
    return f"its fields are {', '.join(field.name for field in msgspec.structs.fields(kind))}{times}"


def add(path: Path, entry: Entry) -> None:
    """Appends an entry to a site's file; what it already contains, with its comments, and what others append meanwhile
    stays as it is. Raises SiteFileError, and writes nothing, if the file could not be read with it."""
    with paths.locked(path):
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        text = yaml.safe_dump([stated(entry)], sort_keys=False, allow_unicode=True)
        separator = "" if not before or before.endswith("\n") else "\n"
        try:
            trees.parsed(before + separator + text)
        except trees.TreeError:
            raise SiteFileError(
                f"{path}: no entry can be appended to this list: begin each entry with `- ` in the first column, "
                "without [] around the list or ... after it"
            ) from None
        paths.replace_text(path, before + separator + text)


def stated(entry: Entry) -> dict:
    """The fields of an entry that have a value, beginning with its kind."""
    content = msgspec.to_builtins(entry, builtin_types=(date, datetime))
    return {name: value for name, value in content.items() if value not in (None, {})}
