# SPDX-License-Identifier: Apache-2.0
"""A site's own files: thresholds of changes, and acknowledgements of events. Both are lists in YAML that people keep
under version control."""

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import msgspec
import yaml

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.history.change_points import Rule, own_rule
from coffeecup.postprocess.history.table import SERIES
from coffeecup.postprocess.logs import paths
from coffeecup.postprocess.logs.trees import LARGEST_FILE, TreeError, parsed

SAME_DAYS = 3  # days outside the dates between which an event began that its acknowledgement may state
COLUMNS = frozenset(SERIES) - {"system"} | {"hosts"}  # with which an acknowledgement states a place


class SiteFileError(Exception):
    """A site's file that cannot be used: one sentence."""


class Acknowledgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who knows about an event, why it need not alarm, and until when. `where` are the columns that its series have in
    common; without any, it is the whole system."""

    system: str
    since: date
    direction: str
    who: str
    why: str
    until: date
    where: dict[str, str] = {}

    def __post_init__(self):
        for name in ("who", "why"):
            if not getattr(self, name).strip():
                raise ValueError(f"`{name}` must not be empty")
        if unknown := set(self.where) - COLUMNS:
            raise ValueError(f"`where` has no {min(unknown)!r}; valid are {', '.join(sorted(COLUMNS))}")
        if self.until < self.since:
            raise ValueError(f"`until` ({self.until}) is before `since` ({self.since})")

    def matches(self, system: str, direction: str, between: list[date], series: list[dict[str, str]]) -> bool:
        """Whether it covers all of these series of an event that began between two days. An event that spreads is no
        longer covered."""
        near = timedelta(days=SAME_DAYS)
        return (
            (system, direction) == (self.system, self.direction)
            and between[0] - near <= self.since <= between[1] + near
            and all(self.where.items() <= one.items() for one in series)
        )


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

    def __post_init__(self):
        if self.better is None and self.smallest_change is None:
            raise ValueError("states neither `better` nor `smallest_change`")
        if self.better == Better.UNKNOWN:
            raise ValueError(f"`better` is {Better.HIGHER}, {Better.LOWER} or {Better.NEITHER}")
        if self.smallest_change is not None and not 0 < self.smallest_change <= 10:
            raise ValueError(f"`smallest_change` is a fraction, such as 0.05 for 5 %, not {self.smallest_change:g}")

    def matches(self, series: dict) -> bool:
        wanted = {name: getattr(self, name) for name in PLACES}
        return all(value is None or series[name] == value for name, value in wanted.items())


PLACES = ("benchmark", "metric", "system", "partition", "environ", "node", "file_system", "processes")


class SiteRules:
    """Rules of series: those of the benchmarks, changed by a site's thresholds."""

    def __init__(self, thresholds: list[Threshold]):
        self.thresholds = thresholds

    def __call__(self, series: dict) -> Rule:
        rule = own_rule(series)
        for threshold in self.thresholds:
            if threshold.matches(series):
                stated = {
                    name: value
                    for name in ("better", "smallest_change")
                    if (value := getattr(threshold, name)) is not None
                }
                rule = replace(rule, **stated)
        return rule

    def unused(self, every: list[dict]) -> list[int]:
        """The numbers, from 1, of thresholds that match none of these series."""
        return [
            number
            for number, threshold in enumerate(self.thresholds, 1)
            if not any(threshold.matches(series) for series in every)
        ]


def read_list(path: Path, kind: type) -> list[Any]:
    """The entries of a site's file. Raises SiteFileError, which names the entry and its fault."""
    try:
        content, _ = parsed(paths.content(path, LARGEST_FILE).decode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SiteFileError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except TreeError as error:
        raise SiteFileError(f"{path}: {error}") from None
    if content is None:
        return []
    if not isinstance(content, list):
        raise SiteFileError(f"{path}: expected a list of entries, each beginning with `- `")
    entries = []
    for number, entry in enumerate(content, 1):
        try:
            entries.append(msgspec.convert(entry, kind))
        except (msgspec.ValidationError, ValueError) as error:
            raise SiteFileError(f"{path}: entry {number}: {error}") from None
    return entries


def add(path: Path, entry: Acknowledgement) -> None:
    """Appends an entry to a site's file; what it already contains, with its comments, stays as it is."""
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    text = yaml.safe_dump([msgspec.to_builtins(entry, builtin_types=(date,))], sort_keys=False, allow_unicode=True)
    separator = "" if not before or before.endswith("\n") else "\n"
    path.write_text(before + separator + text, encoding="utf-8")
