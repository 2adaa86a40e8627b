# SPDX-License-Identifier: Apache-2.0
"""What a site's file of acknowledged, accepted and expected events, and of maintenance, says about the events of its
sessions."""

from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import pandas as pd

from coffeecup.postprocess.history.events import Event
from coffeecup.postprocess.history.levels import SESSIONS_AFTER
from coffeecup.postprocess.history.site_files import Acknowledgement, Entry, Expectation, Maintenance, OfEvent
from coffeecup.postprocess.show.words import counted


@dataclass(frozen=True)
class Match:
    """How an entry fits an event: it is near in time and concerns `some` or `every` of the series that alarm (of all,
    if none does), the direction is the `same`, and the change `small` enough."""

    some: bool
    every: bool
    same: bool
    small: bool

    @property
    def full(self) -> bool:
        return self.every and self.same and self.small


def match(entry: OfEvent, event: Event, sessions: pd.Series) -> Match:
    """`sessions` are the times of the system's sessions: a change began after the last one without it, so what was
    expected may have happened since then."""
    first, last = event.between
    if isinstance(entry, Expectation):
        first = sessions[sessions < first].max() if (sessions < first).any() else first
    every = list(zip(event.findings, event.series))
    meant = [pair for pair in every if pair[0].alarms] or every
    there = [entry.where.items() <= series.items() for _, series in meant]
    lasting = event.last is None or not isinstance(entry, Expectation)
    near = lasting and entry.system == event.system and entry.near([first.date(), last.date()])
    largest = max(abs(finding.change.relative) for finding, _ in meant)
    small = entry.at_most is None or largest <= entry.at_most
    return Match(near and any(there), near and all(there), entry.direction == event.direction, small)


def acknowledged(
    found: list[Event], entries: list[Entry], values: pd.DataFrame, today: date, is_part: bool = False
) -> tuple[list[Event], list[tuple[str, Entry]]]:
    """The events, each with the entry that acknowledges it or that it is unlike; and entries of which a person should
    know something, with what that is. `values` is the table of session_values that has the events; if it
    `is_part` of what there is, an entry without an event may be of the rest, and is not named."""
    on_events = [entry for entry in entries if isinstance(entry, OfEvent)]
    sessions = {str(system): times for system, times in values.groupby("system")["session_time"]}
    matches = [[match(entry, event, sessions[event.system]) for event in found] for entry in on_events]
    shown, expired = [], set()
    for place, event in enumerate(found):
        full = [number for number, row in enumerate(matches) if row[place].full]
        valid = [number for number in full if not is_over(on_events[number], today)]
        unlike = [number for number, row in enumerate(matches) if is_unlike(on_events[number], row, place)]
        expired |= set() if valid or not event.alarming else set(full)
        known: dict[str, Any] = {"unlike": on_events[unlike[-1]]} if unlike and not valid else {}
        if valid:
            for_good = not isinstance(entry := on_events[valid[-1]], Acknowledgement)
            findings = tuple(replace(finding, accepted=for_good) for finding in event.findings)
            known = {"acknowledged": entry, "findings": findings}
        shown.append(replace(event, **known))
    notes = [(f"acknowledgement expired on {on_events[number].until}", on_events[number]) for number in sorted(expired)]
    notes += [(text, entry) for entry, row in zip(on_events, matches) if (text := unseen(entry, row, values, is_part))]
    return shown, notes


def kind(entry: Entry) -> str:
    """Which kind of entry it is, as its file names it."""
    return str(entry.__struct_config__.tag)


def is_over(entry: OfEvent, today: date) -> bool:
    """Whether an acknowledgement has expired."""
    return isinstance(entry, Acknowledgement) and entry.until < today


def is_unlike(entry: OfEvent, matches: list[Match], place: int) -> bool:
    """Whether the event of this place is what the entry states but for its size, or, if no event is an expected change,
    for its direction or further series."""
    fit = matches[place]
    if isinstance(entry, Expectation):
        return fit.some and not any(other.full for other in matches)
    return fit.every and fit.same and not fit.small


def unseen(entry: OfEvent, matches: list[Match], values: pd.DataFrame, is_part: bool) -> str:
    """What to tell of an entry that fits no event; empty if it does, or if its time has not come."""
    if not isinstance(entry, Expectation):
        fits = is_part or any(fit.every and fit.same for fit in matches)
        return "" if fits else f"{kind(entry)} without an event"
    if any(fit.some for fit in matches):
        return ""
    times = values["session_time"][entry.is_at(values)].drop_duplicates().dt.date
    if times.empty:
        return "" if is_part else "expected, but nothing measures this place"
    if times.max() < entry.begin:
        return ""
    return "expected and not seen yet" if (times > entry.end).sum() < SESSIONS_AFTER else "expected and did not come"


def unexpected(suspected: pd.DataFrame, entries: list[Entry]) -> pd.DataFrame:
    """The rows of suspicions.suspicions that are not an expected change."""
    days = suspected["session_time"].dt.date
    for entry in entries:
        if isinstance(entry, Expectation) and entry.direction == "worse":
            there = entry.is_at(suspected) & (days >= entry.begin) & (days <= entry.end)
            suspected = suspected[~there | (suspected["relative"].abs() > (entry.at_most or 0.0))]
    return suspected


def maintained(cases: pd.DataFrame, entries: list[Entry], is_part: bool = False) -> list[tuple[str, Entry]]:
    """Each maintenance that leaves out runs of a case_table, with their number, or that concerns no test, unless this
    `is_part` of what there is."""
    notes = []
    for entry in entries:
        if isinstance(entry, Maintenance):
            count = int(entry.covers(cases).sum())
            if count or not (is_part or entry.is_at(cases).any()):
                text = f"maintenance, {counted(count, 'test run')} left out" if count else "maintenance of no test"
                notes.append((text, entry))
    return notes
