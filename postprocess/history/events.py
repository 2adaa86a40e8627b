# SPDX-License-Identifier: Apache-2.0
"""Events: changes of several series at about the same time and in the same direction, and where they happened.

Pure functions from the findings of change_points and the table of session_values.
"""

from collections import Counter
from dataclasses import dataclass

import pandas as pd

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.history.change_points import Finding
from coffeecup.postprocess.history.site_files import OfEvent
from coffeecup.postprocess.history.table import SERIES

NEAR = 2  # sessions between the dates of two changes of one event: each date is right within one
WORSE, BETTER, CHANGED, UNKNOWN = "worse", "better", "changed", "unknown"  # the last: worse or better, nobody knows
# Where an event can be, from the narrowest; of scopes with equally many series, the first is named.
SCOPES = {
    "hosts": ("hosts",),
    "partition": ("partition",),
    "file system": ("file_system",),
    "environment": ("partition", "environ"),
    "benchmark": ("benchmark",),
}
NEW, ONGOING, ENDED = "new", "ongoing", "ended"
SERIES_SCOPE, EVERYTHING = "series", "everything"


@dataclass(frozen=True)
class SlowNode:
    """A node that `sessions` sessions one after the other named, the first one `since`; `confirmed` by any of them."""

    name: str
    since: pd.Timestamp
    sessions: int
    confirmed: bool


@dataclass(frozen=True)
class Event:
    """Changes of a system that belong together.

    `direction` is one of WORSE, BETTER, CHANGED and UNKNOWN. `since` is the begin of the session with which most of
    its series changed, `between` the times that their dates have in common, `lasted` the number of sessions until the
    last of its series changed again, and `lasts` whether any has not. `where` are the columns (those of a series, or
    hosts) and values that all its series have in common and that cover the fewest series of the system, `covered`;
    `scope` is the word for them. `causes` are what else changed then in at least half of its series, `nodes` the slow
    nodes that explain it (history.explanations), `acknowledged` the entry of the site's file because of which it does
    not alarm, `unlike` one that announced or accepted another change there.
    """

    system: str
    direction: str
    drift: bool
    since: pd.Timestamp
    between: tuple[pd.Timestamp, pd.Timestamp]
    lasted: int
    lasts: bool
    scope: str
    where: dict[str, str]
    covered: int
    causes: tuple[str, ...]
    findings: tuple[Finding, ...]
    acknowledged: OfEvent | None = None
    unlike: OfEvent | None = None
    nodes: tuple[SlowNode, ...] = ()

    @property
    def smallest(self) -> float:
        """The change of the series that changed least, a fraction of its level before."""
        return min((finding.change.relative for finding in self.findings), key=abs)

    @property
    def largest(self) -> float:
        return max((finding.change.relative for finding in self.findings), key=abs)

    @property
    def last(self) -> pd.Timestamp | None:
        """When the last session of an episode began, None of a lasting change."""
        return max((finding.last for finding in self.findings if finding.last), default=None)

    @property
    def alarming(self) -> bool:
        """Whether any series is, or may be, worse and has not recovered."""
        return any(finding.alarms for finding in self.findings)

    @property
    def recovered(self) -> bool:
        return self.direction in (WORSE, UNKNOWN) and not self.alarming

    @property
    def alarms(self) -> bool:
        return self.alarming and self.acknowledged is None

    @property
    def state(self) -> str:
        """NEW if the last session is the first that shows it, ENDED if it recovered or changed again, or ONGOING."""
        if self.recovered or not self.lasts:
            return ENDED
        return NEW if all(finding.new for finding in self.findings) else ONGOING

    @property
    def name(self) -> str:
        """What identifies the event to people and to `coffeecup acknowledge`."""
        shown = {column: value for column, value in self.where.items() if value and column != "settings"}
        place = ",".join(f"{column}={value}" for column, value in shown.items()) or EVERYTHING
        return f"{self.system}/{self.since:%Y-%m-%d}/{self.direction}/{place}"


def events(values: pd.DataFrame, found: list[Finding]) -> list[Event]:
    """The findings in a table of session_values as events, by system and time."""
    made = []
    for system, of_system in values.groupby("system", sort=True):
        order = {time: place for place, time in enumerate(sorted(of_system["session_time"].unique()))}
        alike: dict[tuple, list[Finding]] = {}
        for finding in found:
            if finding.series["system"] == system:
                kind = direction_of(finding), finding.change.drift, finding.episode
                alike.setdefault(kind, []).append(finding)
        for (direction, drift, _), findings in alike.items():
            made += [event(of_system, together, direction, drift, order) for together in near(findings, order)]
    return sorted(made, key=lambda one: (one.system, one.since))


def direction_of(finding: Finding) -> str:
    if finding.better == Better.UNKNOWN:
        return UNKNOWN
    return WORSE if finding.regression else BETTER if finding.improvement else CHANGED


def near(findings: list[Finding], order: dict[pd.Timestamp, int]) -> list[list[Finding]]:
    """Findings in the order of time, divided where more than NEAR sessions lie between two neighbours."""
    parts: list[list[Finding]] = []
    for finding in sorted(findings, key=lambda one: one.time):
        if not parts or order[finding.time] - order[parts[-1][-1].time] > NEAR:
            parts.append([])
        parts[-1].append(finding)
    return parts


def event(of_system: pd.DataFrame, findings: list[Finding], direction: str, drift: bool, order: dict) -> Event:
    times = sorted(finding.time for finding in findings)
    since = Counter(times).most_common(1)[0][0]
    scope, where, covered = place(of_system[of_system["session_time"] >= times[0]], findings)
    causes = Counter(cause for finding in findings for cause in finding.causes)
    common = tuple(cause for cause, count in causes.most_common() if 2 * count >= len(findings))
    system = findings[0].series["system"]
    ends = since, max(finding.between[0] for finding in findings), min(finding.between[1] for finding in findings)
    between = min(ends), max(ends)
    lasts = any(finding.lasts for finding in findings)
    lasted = len(order) - order[since] if lasts else max(finding.lasted for finding in findings)
    return Event(
        system, direction, drift, since, between, lasted, lasts, scope, where, covered, common, tuple(findings)
    )


def place(recent: pd.DataFrame, findings: list[Finding]) -> tuple[str, dict[str, str], int]:
    """Scope, columns with values, and number of series, of the smallest scope that covers these findings, from the
    sessions of the system since then."""
    every = recent.groupby(SERIES, sort=False, observed=True)["hosts"].agg(usual).reset_index()
    if len(findings) == 1:
        return SERIES_SCOPE, {name: str(findings[0].series[name]) for name in SERIES if name != "system"}, 1
    candidates = []
    for scope, columns in SCOPES.items():
        kinds = {tuple(described(finding)[column] for column in columns) for finding in findings}
        if len(kinds) == 1 and all(kinds := next(iter(kinds))):
            inside = (every[list(columns)].astype(str) == list(kinds)).all(axis=1)
            candidates.append((scope, dict(zip(columns, kinds)), int(inside.sum())))
    best = min(candidates, key=lambda one: one[2], default=None)
    return best if best and best[2] < len(every) else (EVERYTHING, {}, len(every))


def usual(hosts: pd.Series) -> str:
    return Counter(hosts).most_common(1)[0][0]


def described(finding: Finding) -> dict[str, str]:
    """What entries of a site are compared with: the series of a change, and its nodes."""
    return {name: str(value) for name, value in finding.series.items()} | {"hosts": finding.hosts}
