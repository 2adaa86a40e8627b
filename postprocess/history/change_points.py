# SPDX-License-Identifier: Apache-2.0
"""Change points in the history: since when a metric is worse, by how much, and what else changed at that time.

history.levels decides where a level ends, history.comparable which values can be compared. A session has one value.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import erfc, sqrt
from typing import Any

import numpy as np
import pandas as pd

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.benchmarks.registry import metric_kind
from coffeecup.postprocess.history.circumstances import causes, most_frequent
from coffeecup.postprocess.history.comparable import same_unit, without_hosts
from coffeecup.postprocess.history.levels import (
    SESSIONS_AFTER,
    SESSIONS_BEFORE,
    Shift,
    begin_of,
    dates_of,
    detections,
    line,
    settled,
    threshold,
    usual_correlation,
    without_episodes,
)
from coffeecup.postprocess.history.table import EVENTS, SERIES

SMALLEST_REGRESSION = 0.03  # a smaller change for the worse is reported and does not alarm
SMALLEST_CHANGE = 0.02  # a smaller lasting change is not worth reporting, however significant it is
MAD_TO_SIGMA = 1.4826  # of a normal distribution
SIGN = {Better.HIGHER: 1, Better.LOWER: -1, Better.NEITHER: 0, Better.UNKNOWN: 0}
RULED = [*SERIES, "better"]  # the columns of session_values on which a rule depends


@dataclass(frozen=True)
class Rule:
    """What counts as a change of a series: its better direction, and the smallest change worth reporting and that may
    be a regression (fractions)."""

    better: Better
    smallest_change: float = SMALLEST_CHANGE
    smallest_regression: float = SMALLEST_REGRESSION

    @property
    def sign(self) -> int:
        return SIGN[self.better]


RuleOf = Callable[[dict], Rule]  # from a series (the columns of RULED) to its rule


@dataclass(frozen=True)
class Change:
    """A change of level at index `index` of the values, or a drift that began there, the number of sessions after which
    it was `detected`, and its deviate. It may have begun `between` these indices; `dated` is the index that it was
    found at first if it is one of them, and `index` otherwise. Of an episode, `until` is the index of the first session
    after it, and `extreme` its value that is farthest from the level before."""

    index: int
    detected: int
    deviate: float
    before: float
    after: float
    drift: bool
    between: tuple[int, int]
    dated: int
    until: int = 0
    extreme: float | None = None

    @property
    def relative(self) -> float:
        """The new level over the old one, minus 1; infinite if the old one is 0."""
        return relative(self.before, self.after)

    @property
    def p_value(self) -> float:
        """Of the change alone, without the correction for the number of looks and series."""
        return erfc(abs(self.deviate) / sqrt(2))


@dataclass(frozen=True)
class Finding:
    """A change of a series: when its first session began, and `between` which times it did, the `previous` session of
    the series, the one that `detected` it, how many sessions its level lasted and whether it still does, the worst
    level until it recovered, the level of today, whether the last session is the first that shows it, what else
    changed, and the hosts since then. It may be `accepted` (history.acknowledgements), or too `small` to alarm."""

    series: dict
    unit: str
    change: Change
    time: pd.Timestamp
    between: tuple[pd.Timestamp, pd.Timestamp]
    previous: pd.Timestamp
    detected: pd.Timestamp
    new: bool
    lasted: int
    lasts: bool
    worst: float
    today: float
    better: Better
    regression: bool
    improvement: bool
    recovered: bool
    causes: tuple[str, ...]
    hosts: str
    last: pd.Timestamp | None = None  # session of an episode
    accepted: bool = False
    small: bool = False

    @property
    def episode(self) -> bool:
        """Whether the change ended by itself within levels.LONGEST sessions."""
        return self.last is not None

    @property
    def suspect(self) -> bool:
        """Whether the change is, or may be, a regression."""
        return self.regression or self.better == Better.UNKNOWN

    @property
    def alarms(self) -> bool:
        return self.suspect and not self.recovered and not self.small


def own_rule(series: dict) -> Rule:
    """The rule of a series without a site's file. Its `better` is the direction of a metric of another test."""
    return Rule(metric_kind(series["benchmark"], series["metric"], series["better"]).better)


def ruled(key: Iterable, series: pd.DataFrame) -> dict:
    """What the rule of a series depends on, of its key, the columns of SERIES, and its rows of session_values."""
    return dict(zip(SERIES, key)) | {"better": series["better"].iat[-1]}


def session_values(table: pd.DataFrame) -> pd.DataFrame:
    """One row per series and session, by time: the median of the session's runs that count, and the circumstances of
    the last one."""
    circumstances = "unit better parameters time reference lower upper outcome facts hosts source name".split()
    circumstances += ["qualifications", "breaches", "selection", "log_sha256", *EVENTS]
    last = {name: (name, "last") for name in circumstances}
    return (
        counted_runs(table)
        .groupby([*SERIES, "session_time", "session"], sort=False, observed=True)
        .agg(value=("value", "median"), runs=("value", "size"), **last)
        .reset_index()
        .sort_values([*SERIES, "session_time"], kind="stable", ignore_index=True)
    )


def counted_runs(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a history_table with a value that counts, by time.

    A run that failed and was run again (ReFrame's --max-retries) counts by its last retry: so a suspected regression is
    confirmed before it enters the history. Repeats (--repeat, --reruns) all count.
    """
    test = ["session", "name", "system", "partition", "environ", "node", "metric"]
    retried = (table["result"] == "fail") & (table["run"] < table.groupby(test)["run"].transform("max"))
    return table[~retried].dropna(subset="value").sort_values("time", kind="stable")


def undirected(values: pd.DataFrame, rules: RuleOf = own_rule) -> list[dict]:
    """The metrics of which nothing states whether more or less is better: `benchmark`, `metric` and `unit`."""
    last = values.drop_duplicates(SERIES, keep="last")
    unknown = [rules(series).better == Better.UNKNOWN for series in last[RULED].to_dict("records")]
    return (
        last.loc[unknown, ["benchmark", "metric", "unit"]].drop_duplicates(["benchmark", "metric"]).to_dict("records")
    )


def changes(values: np.ndarray, rule: Rule, series: int = 1) -> list[Change]:
    """Changes of values (sessions,), one of so many series of a site, in the order of time; none if there are too few
    sessions."""
    limit = threshold(series)
    [shifts] = detections(values[None], limit, np.array([rule.smallest_change]), np.array([rule.sign]))
    return described(values, settled(values, shifts, limit), rule)


def described(values: np.ndarray, shifts: list[Shift], rule: Rule, dates: bool = True) -> list[Change]:
    """The lasting changes with their levels, and between which sessions they began unless `dates` is unset, without
    those that are smaller than what is worth reporting."""
    kept, sessions = without_episodes(shifts, len(values))
    values, made = values[sessions], []
    for shift, begin, end in zip(kept, [0, *(s.index for s in kept)], [*(s.index for s in kept[1:]), len(values)]):
        between, dated = (shift.index, shift.index), shift.index
        if shift.drift:
            before, after = line(values[shift.index : end])
        else:
            before, after = level(values[begin : shift.index], rule), level(values[shift.index : end], rule)
        if dates and not shift.drift:
            first, last = dates_of(values[begin:end], shift.index - begin)
            between = begin + first, begin + last
            dated = begin + begin_of(values[begin : int(np.searchsorted(sessions, shift.detected))], shift.deviate)
        dated = dated if between[0] <= dated <= between[1] else shift.index
        index, dated, first, last = (int(sessions[place]) for place in (shift.index, dated, *between))
        made.append(Change(index, shift.detected, shift.deviate, before, after, shift.drift, (first, last), dated))
    return [change for change in made if abs(change.relative) >= rule.smallest_change]


def episodes(values: np.ndarray, shifts: list[Shift], rule: Rule) -> list[Change]:
    """The episodes with the level before, the median and the extreme value of each."""
    made = []
    for shift in (one for one in shifts if one.until):
        since = max((one.ended for one in shifts if not one.until and one.ended <= shift.index), default=0)
        quiet = [place for place in range(since, shift.index) if not any(s.index <= place < s.until for s in shifts)]
        part, before = values[shift.index : shift.until], level(values[quiet], rule)
        after, extreme = float(np.median(part)), float(part[np.argmax(np.abs(part - before))])
        dates, end = ((shift.index, shift.index), shift.index), (shift.until, extreme)
        made.append(Change(shift.index, shift.detected, shift.deviate, before, after, shift.drift, *dates, *end))
    return [change for change in made if abs(change.relative) >= rule.smallest_change]


def relative(before: float, after: float) -> float:
    """The change as a fraction of the size of the old level; infinite if this is 0."""
    if before == after:
        return 0.0
    return (after - before) / abs(before) if before else float(np.copysign(np.inf, after - before))


def level(values: np.ndarray, rule: Rule) -> float:
    """The median; of an even number of values the better one of the two in the middle, so that half of the values are
    not enough for a new level."""
    ordered = np.sort(values)
    return (
        float(ordered[(len(ordered) - (rule.better == Better.LOWER)) // 2])
        if rule.better in (Better.HIGHER, Better.LOWER)
        else float(np.median(values))
    )


@dataclass(frozen=True)
class Levels:
    """A series with enough sessions to be judged: its rows of session_values, its values (sessions,) as if all had run
    on the most frequent set of hosts, its rule, and its changes of level."""

    sessions: pd.DataFrame
    measured: np.ndarray
    rule: Rule
    shifts: list[Shift]


@dataclass(frozen=True)
class Site:
    """The judged series of a table of session_values, the deviate above which a change counts there, and the
    autocorrelation that is usual there."""

    levels: list[Levels]
    limit: float
    usual: float | None


def site_of(values: pd.DataFrame, rules: RuleOf = own_rule) -> Site:
    """The levels of every series in a table of session_values. The more series there are, the stronger a change has
    to be, so that the whole table keeps the promise of levels.FALSE_ALARMS."""
    every = [(key, same_unit(series)) for key, series in values.groupby(SERIES, sort=False, observed=True)]
    every = [(key, series) for key, series in every if len(series) >= SESSIONS_BEFORE + SESSIONS_AFTER]
    judged, rule = [series for _, series in every], [rules(ruled(key, series)) for key, series in every]
    measured = [without_hosts(series["value"].to_numpy(), series["hosts"].to_numpy()) for series in judged]
    limit, usual = threshold(sum(one.better != Better.NEITHER for one in rule)), usual_correlation(measured)
    smallest, better = np.array([one.smallest_change for one in rule]), np.array([one.sign for one in rule])
    found = detections(measured, limit, smallest, better, usual)
    kept = [settled(series, shifts, limit, usual) for series, shifts in zip(measured, found)]
    return Site([Levels(*one) for one in zip(judged, measured, rule, kept)], limit, usual)


def findings(values: pd.DataFrame, rules: RuleOf = own_rule) -> list[Finding]:
    """Every change of every series in a table of session_values."""
    return [finding for one in site_of(values, rules).levels for finding in of_levels(one)]


def of_levels(one: Levels) -> list[Finding]:
    """The changes of one series, and its episodes, in the order of time."""
    measured, rule, count = one.measured, one.rule, len(one.sessions)
    lasting, found = described(measured, one.shifts, rule), []
    begins, ends = [0, *(change.index for change in lasting[:-1])], [*(change.index for change in lasting[1:]), count]
    for number, (change, begin, end) in enumerate(zip(lasting, begins, ends)):
        state = {"lasted": end - change.dated, "lasts": end == count, "worst": worst(measured, rule, lasting, number)}
        state |= {"today": lasting[-1].after, "recovered": recovery(measured, rule, lasting, number) is not None}
        found.append(finding(one, change, (begin, end), one.sessions.iloc[change.index :], **state))
    for change in episodes(measured, one.shifts, rule):
        part, today = one.sessions.iloc[change.index : change.until], lasting[-1].after if lasting else change.before
        state = {"lasted": len(part), "lasts": False, "worst": change.extreme, "today": today, "recovered": True}
        found.append(finding(one, change, (0, count), part, last=part["session_time"].iloc[-1], **state))
    return sorted(found, key=lambda finding: finding.time)


def finding(one: Levels, change: Change, around: tuple[int, int], shown: pd.DataFrame, **state: Any) -> Finding:
    """A change of a series, with its `state`: the other fields. Its causes are sought in the sessions `around` it, from
    one index to another; its hosts are those of the sessions in which it is `shown`."""
    begin, end = around
    times = one.sessions["session_time"]
    return Finding(
        series=dict(one.sessions.iloc[0][SERIES]),
        unit=one.sessions["unit"].iloc[-1],
        change=change,
        time=times.iloc[change.dated],
        between=tuple(times.iloc[list(change.between)]),
        previous=times.iloc[max(change.dated - 1, 0)],
        detected=times.iloc[change.detected - 1],
        new=change.detected == len(times),
        better=one.rule.better,
        regression=is_worse(change, one.rule),
        improvement=one.rule.sign * (change.after - change.before) > 0,
        causes=tuple(causes(one.sessions.iloc[begin:end], change.index - begin)),
        hosts=most_frequent(shown["hosts"]),
        small=is_small(change, one.rule),
        **state,
    )


def alarming(measured: np.ndarray, rule: Rule, found: list[Change]) -> list[Change]:
    """The changes of a series that are, or may be, regressions and have not recovered."""
    return [
        change
        for number, change in enumerate(found)
        if (is_worse(change, rule) or rule.better == Better.UNKNOWN)
        and not is_small(change, rule)
        and recovery(measured, rule, found, number) is None
    ]


def is_small(change: Change, rule: Rule) -> bool:
    return abs(change.relative) < rule.smallest_regression


def is_worse(change: Change, rule: Rule) -> bool:
    return rule.sign * (change.after - change.before) < 0


def worst(measured: np.ndarray, rule: Rule, found: list[Change], number: int) -> float:
    """The worst level since a change until it recovered, or until today; without a better direction, the one that
    differs most from that before."""
    before = found[number].before
    levels = [change.after for change in found[number : recovery(measured, rule, found, number) or len(found)]]
    levels = levels or [found[number].after]
    return min(levels, key=lambda level: rule.sign * level or -abs(level - before))


def recovery(measured: np.ndarray, rule: Rule, found: list[Change], number: int) -> int | None:
    """The number of the change, of all of a series, with the level of which the one of this number recovered first. A
    loss after that is another change."""
    ends = [*(change.index for change in found[1:]), len(measured)]
    for place in range(number, len(found)):
        later, before = found[place], undone(found, number, rule)
        if any(recovered(measured[: ends[place]], rule, one, later.after, later.index) for one in before):
            return place
    return None


def undone(found: list[Change], number: int, rule: Rule) -> list[Change]:
    """The changes of which one must have recovered if a change, of this number, is to count as recovered: itself; of
    unknown direction also those before it, because the return to an earlier level is no second change."""
    return found[: number + 1] if rule.better == Better.UNKNOWN else [found[number]]


def recovered(measured: np.ndarray, rule: Rule, change: Change, later: float, since: int) -> bool:
    """Whether a later level, since index `since`, is not worse than that before the change: by less than the
    smallest change worth reporting, or than two standard errors of the difference. A level of unknown direction may be
    worse if it differs."""
    before = measured[: max(change.index, 1)]
    spread = MAD_TO_SIGMA * np.median(np.abs(before - np.median(before)))
    error = spread * np.sqrt(1 / len(before) + 1 / (len(measured) - since))
    higher = later - change.before
    worse = abs(higher) if rule.better == Better.UNKNOWN else -rule.sign * higher
    return worse < max(rule.smallest_change * abs(change.before), 2 * error)
