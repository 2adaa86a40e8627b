# SPDX-License-Identifier: Apache-2.0
"""Events: changes of several series at about the same time and in the same direction, and where they happened.

Pure functions from the findings of change_points and the table of session_values.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import orjson
import pandas as pd

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.history.change_points import Change, Finding
from coffeecup.postprocess.history.circumstances import most_frequent
from coffeecup.postprocess.history.numbers import compared
from coffeecup.postprocess.history.site_files import OfEvent
from coffeecup.postprocess.history.table import SERIES

NEAR = 2  # sessions between the dates of two changes of one event: each date is right within one
WORSE, BETTER, CHANGED, UNKNOWN = "worse", "better", "changed", "unknown"  # the last: worse or better, nobody knows
RETURNED = 0.25  # part of a change that another one may leave, or go beyond it, when it reverts it
NEW, ONGOING, ENDED = "new", "ongoing", "ended"
SERIES_SCOPE, EVERYTHING = "series", "everything"
# Of the attributes of a series that tell where a change is, those that are named first if several tell it equally well.
FIRST = ("file_system", "partition", "environ", "node", "benchmark", "metric", "processes")


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

    `direction` is one of WORSE, BETTER, CHANGED and UNKNOWN. `since` is the begin of the session with which most of the
    series that were detected first changed, `between` the times that the dates of all have in common, `lasted` the
    number of sessions until the last of its series changed again, and `lasts` whether any has not. `where` is the
    extent of its `series`, which contains `covered` series of the system; `others` are how many of the series outside
    changed in the same way at that time, and how many there are; `first` is the extent of the series that were detected
    first. `causes` are what else changed then in at least half of its series, `tested` what comparisons say of them
    (comparison.causes), `nodes` the slow nodes that explain it (history.explanations), `acknowledged` the entry of the
    site's file because of which it does not alarm, `unlike` one that announced or accepted another change there. It
    `reverts` the event of that name, or is `reverted` by it.
    """

    system: str
    direction: str
    drift: bool
    since: pd.Timestamp
    between: tuple[pd.Timestamp, pd.Timestamp]
    lasted: int
    lasts: bool
    first: dict[str, str]
    where: dict[str, str]
    covered: int
    others: tuple[int, int]
    causes: tuple[str, ...]
    findings: tuple[Finding, ...]
    series: tuple[dict[str, str], ...]
    acknowledged: OfEvent | None = None
    unlike: OfEvent | None = None
    nodes: tuple[SlowNode, ...] = ()
    reverts: str = ""
    reverted: str = ""
    tested: Mapping[str, str] = field(default_factory=dict)

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
        """Whether any series is, or may be, worse by more than a little and has not recovered."""
        return any(finding.alarms for finding in self.findings)

    @property
    def recovered(self) -> bool:
        return self.direction in (WORSE, UNKNOWN) and all(finding.recovered for finding in self.findings)

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
        """What identifies the event to people and to `coffeecup acknowledge`: the date, and where it was seen first."""
        return f"{self.system}/{self.since:%Y-%m-%d}/{self.direction}/{scope_of(self.first, ',')}"

    @property
    def scope(self) -> str:
        return scope_of(self.where) if len(self.findings) > 1 else SERIES_SCOPE


def scope_of(where: dict[str, str], between: str = " ") -> str:
    return between.join(f"{name}={value}" for name, value in where.items()) or EVERYTHING


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
            for together in near(findings, order):
                known = attributes(of_system[of_system["session_time"] >= together[0].time])
                of_time = [event(known, part, together, direction, drift, order) for part in parts(known, together)]
                made += [with_numbers(one, of_system, order) for one in of_time]
    return linked(sorted(made, key=lambda one: (one.system, one.since)))


def with_numbers(one: Event, of_system: pd.DataFrame, order: dict) -> Event:
    """The event with the numeric facts that differ during it, after what else changed."""
    own = pd.MultiIndex.from_tuples([key_of(finding) for finding in one.findings])
    inside = pd.MultiIndex.from_frame(of_system[SERIES]).isin(own)
    return replace(one, causes=(*one.causes, *compared(of_system[inside], order, one.since, one.lasted)))


def direction_of(finding: Finding) -> str:
    if finding.better == Better.UNKNOWN:
        return UNKNOWN
    return WORSE if finding.regression else BETTER if finding.improvement else CHANGED


def near(findings: list[Finding], order: dict[pd.Timestamp, int]) -> list[list[Finding]]:
    """Findings in the order of time, divided where more than NEAR sessions lie between two neighbours. The later one
    may have happened since the previous session of its series."""
    groups: list[list[Finding]] = []
    for finding in sorted(findings, key=lambda one: one.time):
        if not groups or order[finding.previous] + 1 - order[groups[-1][-1].time] > NEAR:
            groups.append([])
        groups[-1].append(finding)
    return groups


def key_of(finding: Finding) -> tuple:
    return tuple(finding.series.values())


def parts(known: dict[tuple, dict[str, str]], findings: list[Finding]) -> list[list[Finding]]:
    """Findings of about the same time, divided if they are less than half of the series in the place that all of them
    have in common: the largest part that is at least half of a place of its own first."""
    if len(findings) < 2 or 2 * len(findings) >= place(known, findings)[1]:
        return [findings]
    pairs = sorted({pair for finding in findings for pair in known[key_of(finding)].items() if pair[1]})
    groups = [[one for one in findings if known[key_of(one)].get(name) == value] for name, value in pairs]
    exact = [part for part in groups if 1 < len(part) < len(findings) and 2 * len(part) >= place(known, part)[1]]
    if not exact:
        return [findings]
    best = max(exact, key=lambda part: (len(part), -place(known, part)[1]))
    return [best, *parts(known, [one for one in findings if not any(one is other for other in best)])]


def place(known: dict[tuple, dict[str, str]], findings: list[Finding]) -> tuple[dict[str, str], int]:
    """The extent of findings in series with these attributes, and how many of the series it contains."""
    keys = {key_of(finding) for finding in findings}
    where = extent([known[key] for key in keys], [one for key, one in known.items() if key not in keys])
    return where, sum(where.items() <= one.items() for one in known.values())


def event(
    known: dict[tuple, dict[str, str]],
    findings: list[Finding],
    together: list[Finding],
    direction: str,
    drift: bool,
    order: dict,
) -> Event:
    """An event of `findings`, which are a part of those `together` at about the same time. Its date and name are those
    of the findings that were detected first, so that later ones do not change them."""
    first = [finding for finding in findings if finding.detected == min(one.detected for one in findings)]
    since = Counter(sorted(finding.time for finding in first)).most_common(1)[0][0]
    where, covered = place(known, findings)
    if len(findings) == 1:  # whoever acknowledges it acknowledges this series alone
        where = {name: value for name, value in known[key_of(findings[0])].items() if value and name != "hosts"}
    causes = Counter(cause for finding in findings for cause in finding.causes)
    common = tuple(cause for cause, count in causes.most_common() if 2 * count >= len(findings))
    ends = since, max(finding.between[0] for finding in findings), min(finding.between[1] for finding in findings)
    lasts = any(finding.lasts for finding in findings)
    return Event(
        system=findings[0].series["system"],
        direction=direction,
        drift=drift,
        since=since,
        between=(min(ends), max(ends)),
        lasted=len(order) - order[since] if lasts else max(finding.lasted for finding in findings),
        lasts=lasts,
        first=place(known, first)[0],
        where=where,
        covered=covered,
        others=(len(together) - len(findings), len(known) - covered),
        causes=common,
        findings=tuple(findings),
        series=tuple(known[key_of(finding)] for finding in findings),
    )


def linked(found: list[Event]) -> list[Event]:
    """The events with the name of the one that undid at least half of the series of each, all but RETURNED of the
    change; and, if it went not farther back than that, with the name of the one that each of them reverts."""
    changed: dict[tuple, list[tuple[Event, Change]]] = {}
    for one in sorted(found, key=lambda one: one.since):
        for finding in one.findings:
            if not finding.episode:
                changed.setdefault(key_of(finding), []).append((one, finding.change))
    undone, exact = Counter(), Counter()
    for of_series in changed.values():
        for number, (one, change) in enumerate(of_series):
            shares = [(other.name, share_undone(change, later.after)) for other, later in of_series[number + 1 :]]
            for name, share in [pair for pair in shares if pair[1] > 1 - RETURNED][:1]:
                undone[one.name, name] += 1
                exact[one.name, name] += share < 1 + RETURNED
    sizes = {one.name: len(one.findings) for one in found}
    reverted = dict(pair for pair, count in undone.items() if 2 * count >= sizes[pair[0]])
    reverts = {by: name for (name, by), count in exact.items() if 2 * count >= sizes[name]}
    return [replace(one, reverts=reverts.get(one.name, ""), reverted=reverted.get(one.name, "")) for one in found]


def share_undone(change: Change, later: float) -> float:
    """Which part of a change a later level has undone: 1 if it is that before the change, more if it is beyond it."""
    return (later - change.after) / (change.before - change.after)


def attributes(recent: pd.DataFrame) -> dict[tuple, dict[str, str]]:
    """What may tell where a change is, of each series in these rows of session_values: the columns of SERIES, the most
    frequent hosts, and every parameter; a parameter with the name of a column and another value has a "%" before it."""
    last = recent.drop_duplicates(SERIES, keep="last").set_index(SERIES, drop=False)
    hosts = recent.groupby(SERIES, sort=False, observed=True)["hosts"].agg(most_frequent)
    every = {}
    for key, row in zip(last.index, last[[*SERIES, "parameters"]].to_dict("records")):
        named = {name: str(value) for name, value in orjson.loads(row.pop("parameters")).items()}
        own = {name: str(row[name]) for name in FIRST}
        free = {f"%{name}" if name in own else name: value for name, value in named.items() if own.get(name) != value}
        settings = row["settings"] if row["settings"] != scope_of(named) else ""
        every[key] = own | free | {"settings": settings, "hosts": hosts[key]}
    return every


def extent(affected: list[dict[str, str]], others: list[dict[str, str]]) -> dict[str, str]:
    """The attributes that all `affected` series have in common and that exclude as many of the `others` as possible,
    without any that is not needed for it. Each step takes the attribute that excludes most, which compares at most
    (attributes)^2 * (series) values; of equal ones, the first."""
    common = {name: value for name, value in affected[0].items() if value}
    common = {name: value for name, value in common.items() if all(one.get(name) == value for one in affected)}
    where, rest = {}, others
    while common and rest:
        left = {name: [one for one in rest if one.get(name) == value] for name, value in common.items()}
        best = min(left, key=lambda name: len(left[name]))
        if len(left[best]) == len(rest):
            break
        where[best], rest = common.pop(best), left[best]
    for name in list(where):
        without = {other: value for other, value in where.items() if other != name}
        if sum(without.items() <= one.items() for one in others) == len(rest):
            where = without
    return where
