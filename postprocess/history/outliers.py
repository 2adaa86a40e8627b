# SPDX-License-Identifier: Apache-2.0
"""Which value of a test is extreme: a limit from the noise that the tests of its own site show, for a check that should
fail at once, while a lasting change of level is found over sessions (history.levels)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf, isfinite

import numpy as np
import pandas as pd

from coffeecup.postprocess.history.acknowledgements import is_over
from coffeecup.postprocess.history.change_points import RuleOf, own_rule, ruled, same_unit
from coffeecup.postprocess.history.levels import SESSIONS_AFTER, SESSIONS_BEFORE, parts_of
from coffeecup.postprocess.history.looks import spread_of
from coffeecup.postprocess.history.site_files import Entry, Maintenance, OfEvent
from coffeecup.postprocess.history.table import SERIES

FALSE_FAILURES = 0.002  # share of the site's values that are beyond the limit
LEAST = 4.5  # robust standard deviations of a limit, however quiet the site is


@dataclass(frozen=True)
class Limit:
    """The level of a metric, the value beyond which one is extreme, and the sessions that tell both."""

    level: float
    limit: float
    sessions: int


def limits(
    values: pd.DataFrame,
    series: dict,
    rules: RuleOf = own_rule,
    entries: Sequence[Entry] = (),
    now: datetime | None = None,
) -> dict[str, Limit]:
    """By metric, of a series without its metric: the limits from a table of session_values of its site, for a value
    that is measured now, with what the site's file knows. Metrics with fewer sessions than tell a level, without a
    direction, or of which every value may be expected, have none."""
    every = [(key, same_unit(one)) for key, one in values.groupby(SERIES, sort=False, observed=True)]
    judged = [(ruled(key, one), one) for key, one in every if len(one) >= SESSIONS_BEFORE + SESSIONS_AFTER]
    signs = [rules(last).sign for last, _ in judged]
    rest = [deviations(one["value"].to_numpy()) for _, one in judged]
    worse = [-sign * these / spread for sign, (these, spread, _) in zip(signs, rest) if sign and spread > 0]
    most, found = farthest(np.concatenate([[], *worse])), {}
    for (last, one), sign, (_, spread, level) in zip(judged, signs, rest):
        if sign and series.items() <= last.items():
            apart = max(most * spread, rules(last).smallest_change * abs(level))
            there = [entry for entry in entries if entry.is_at(one.iloc[-1:]).all()]
            bounds = [level - sign * apart, *expected(one, sign, there, now or datetime.now(UTC))]
            limit = min(bounds, key=lambda bound: sign * bound)
            if isfinite(limit):
                found[last["metric"]] = Limit(level, limit, len(one))
    return found


def expected(one: pd.DataFrame, sign: int, entries: Sequence[Entry], now: datetime) -> Iterator[float]:
    """How bad values of a series (rows of session_values) may be for what entries on it state: in maintenance, as bad
    as they get; with a known change for the worse, by its largest size, until SESSIONS_AFTER sessions after the days
    on which it may have begun tell the new level."""
    days = one["session_time"].dt.date
    for entry in entries:
        if isinstance(entry, Maintenance) and entry.times[0] <= now <= entry.times[1]:
            yield -sign * inf
        if isinstance(entry, OfEvent) and entry.direction == "worse" and not is_over(entry, now.date()):
            begin, end = entry.window
            before = one["value"].to_numpy()[days < begin]
            told = (days > end).sum() >= SESSIONS_AFTER or len(before) < SESSIONS_BEFORE + SESSIONS_AFTER
            if begin <= now.date() and not told:
                level = deviations(before)[2]
                yield level - sign * (inf if entry.at_most is None else entry.at_most * abs(level))


def deviations(values: np.ndarray) -> tuple[np.ndarray, float, float]:
    """The deviations of values (sessions,) from their levels, their robust standard deviation, and the last level."""
    parts = parts_of(values)
    rest = np.concatenate([values[begin:end] - np.median(values[begin:end]) for begin, end in parts])
    return rest, float(spread_of(rest[None])[0, 0]), float(np.median(values[slice(*parts[-1])]))


def farthest(worse: np.ndarray) -> float:
    """The number of robust standard deviations beyond which a value is extreme: that which the share FALSE_FAILURES of
    the site's values exceed, or none, if there are too few to tell."""
    kept = int(FALSE_FAILURES * (len(worse) + 1))  # of so many values and a new one, as many are farther
    return max(LEAST, float(np.sort(worse)[len(worse) - max(kept, 1)])) if len(worse) else LEAST
