# SPDX-License-Identifier: Apache-2.0
"""Levels, drifts and episodes of series of session values: where a level begins that differs from the one before, and
which deviations ended by themselves.

Pure functions on arrays. A series is looked at after every session, as a nightly check does (history.looks). The
threshold follows from the number of series and the promise of FALSE_ALARMS; docs/changes.md states how well it is kept,
tests/evidence/bench_history.py and bench_real_year.py show it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush, heappushpop
from statistics import NormalDist

import numpy as np

from coffeecup.postprocess.history.looks import (
    BOUNDS,
    LARGEST_CORRELATION,
    LEVEL,
    SESSIONS_AFTER,
    SESSIONS_BEFORE,
    SIGNIFICANT,
    best_places,
    bounded,
    inflation,
    is_clear,
    least_squares,
    look,
    middle_and_spread,
    raw_correlation,
    spread_of,
    step_at,
)

SHORTEST, LONGEST = 3, 14  # sessions of an episode
RETURNED = 3.0  # standard errors by which the sessions after an episode differ from it
FALSE_ALARMS = 0.05  # share of stable sites that may alarm within NIGHTS
NIGHTS = 90
LOOKS = 3000.0  # independent looks that NIGHTS looks at all places of a change are worth; determined by simulation
IMPROVEMENT = 0.7  # added to the limit of a change for the better
NEW = 40  # sessions; shorter series are new
SERIES_OF_A_SITE, SESSIONS_OF_A_SITE = 8, 20  # fewer series, or shorter ones, do not tell what is usual at a site
ERROR_OF_MEDIAN = 1.25  # over that of the mean of as many normal values: sqrt(pi / 2)
TIE = 1e-9  # of sums of absolute deviations, relative to that of all
UNLIKELY = 0.05  # of a date, in comparison with the likeliest one


@dataclass(frozen=True)
class Shift:
    """A change of one series: `index` of its first session, the number of sessions after which it was `detected`, its
    deviate, whether it is a drift, and where it `ended` at the earliest: at its first session if it is a step. Of an
    episode, `until` is the index of the first session after it."""

    index: int
    detected: int
    deviate: float
    drift: bool
    ended: int
    until: int = 0


def threshold(series: int) -> float:
    """The deviate that counts as a change if so many series are looked at."""
    return NormalDist().inv_cdf(1 - FALSE_ALARMS / (LOOKS * max(series, 1)))


def usual_correlation(every: list[np.ndarray]) -> float | None:
    """The autocorrelation that is usual at a site, from its series (sessions,): the median over the series, without the
    changes of level and the episodes of each; 0 if it is not significant. None if there are too few. The last LONGEST
    sessions do not count: what all series lose at once would, as long as none of them shows it alone."""
    long = [series for series in every if len(series) >= SESSIONS_OF_A_SITE]
    if len(long) < SERIES_OF_A_SITE:
        return None
    own = []
    for series in long:
        rest, levels = without_levels(series, max(len(series) - LONGEST, SESSIONS_OF_A_SITE))
        own.append(float(raw_correlation(rest[None], np.array([len(rest)]), levels)[0]))
    middle, error = float(np.median(own)), ERROR_OF_MEDIAN / np.sqrt(sum(map(len, long)))
    return middle if middle > SIGNIFICANT * error else 0.0


def without_levels(series: np.ndarray, until: int) -> tuple[np.ndarray, int]:
    """The bounded deviations of the first sessions of a series (sessions,) from its levels without episodes, which are
    SHORTEST sessions or more beyond the bound and at most half of a level, and the number of levels."""
    rest, parts = [], [(begin, min(end, until)) for begin, end in parts_of(series) if begin + SHORTEST <= until]
    for begin, end in parts:
        part = series[begin:end]
        kept = bounded(part[None])[LEVEL][0]
        beyond = np.abs(part - np.median(part)) > np.abs(kept)
        begins = np.convolve(beyond, np.ones(SHORTEST), "valid") == SHORTEST
        usual = kept[np.convolve(begins, np.ones(SHORTEST)) == 0]
        if 2 * len(usual) < len(kept):
            usual = kept
        rest.append(usual - usual.mean())
    return np.concatenate(rest), len(parts)


def parts_of(series: np.ndarray) -> list[tuple[int, int]]:
    """Where the levels of a series (sessions,) begin and end: it is divided at its best place as long as both parts
    differ. Differences of neighbours and of every other session tell variance and autocorrelation, because levels do
    not affect them."""
    near, far = (float(spread_of(series[None, lag:] - series[None, :-lag])[0, 0]) for lag in (1, 2))
    rho = np.array(min(max((far / near) ** 2 - 1, 0.0), LARGEST_CORRELATION) if near else 0.0)
    parts, levels = [(0, len(series))], []
    while parts:
        begin, end = parts.pop()
        kept = bounded(series[None, begin:end])[LEVEL]
        if end - begin >= SESSIONS_BEFORE + SESSIONS_AFTER:
            place = int(best_places(kept)[0][0])
            sides = np.array([place, end - begin - place])
            error = near * np.sqrt((inflation(sides, rho) / sides).sum() / (2 * (1 - rho)))
            if abs(kept[0, :place].mean() - kept[0, place:].mean()) > threshold(1) * error > 0:
                parts += [(begin, begin + place), (begin + place, end)]
                continue
        levels.append((begin, end))
    return sorted(levels)


def deviations(part: np.ndarray) -> np.ndarray:
    """The sums of absolute deviations from the medians of both levels, with the new level of a series (sessions,) from
    each of its sessions on but the first."""
    kept = bounded(part[None])[-1][0]
    forwards, backwards = around_medians(kept), around_medians(kept[::-1])
    return np.array(forwards[:-1]) + backwards[-2::-1]


def around_medians(values: np.ndarray) -> list[float]:
    """The sums of absolute deviations from the median of the first 1, 2, ... values (sessions,): what is above it minus
    what is below."""
    low: list[float] = []  # negative, so that the heap begins with the largest
    high: list[float] = []
    sums: list[float] = []
    below = above = 0.0
    for value in map(float, values):
        largest = -heappushpop(low, -value)
        heappush(high, largest)
        below, above = below + value - largest, above + largest
        if len(high) > len(low) + 1:
            least = heappop(high)
            heappush(low, -least)
            below, above = below + least, above - least
        sums.append(above - below - (high[0] if len(high) > len(low) else 0))
    return sums


def best_of(part: np.ndarray) -> int:
    """Where the new level of a series (sessions,) leaves the least absolute deviations. Where running sums tie but for
    rounding, those of each level tell."""
    sums, kept = deviations(part), bounded(part[None])[-1][0]
    ties = np.flatnonzero(sums <= sums.min() + TIE * np.abs(kept).sum()) + 1
    if len(ties) > 1:
        both = ((kept[:at], kept[at:]) for at in ties)
        sums = np.array([sum(float(np.abs(level - np.median(level)).sum()) for level in two) for two in both])
        return int(ties[np.argmin(sums)])
    return int(ties[0])


def line(values: np.ndarray) -> tuple[float, float]:
    """Both ends of the straight line through values (sessions,), without the influence of excursions: the slope is the
    median of all slopes between two sessions (Theil and Sen)."""
    time = np.arange(len(values))
    first, second = np.triu_indices(len(values), 1)
    slope = np.median((values[second] - values[first]) / (second - first))
    start = np.median(values - slope * time)
    return float(start), float(start + slope * (len(values) - 1))


def dates_of(part: np.ndarray, place: int) -> tuple[int, int]:
    """The earliest and the latest session around `place` with which the new level of a series (sessions,) may begin:
    the likelihood of Laplace's distribution is at least UNLIKELY times that of the place."""
    sums = deviations(part)
    most = sums[place - 1] * (1 - np.log(UNLIKELY) / len(part))
    first = last = place
    while first > 1 and sums[first - 2] <= most:
        first -= 1
    while last < len(part) - 1 and sums[last] <= most:
        last += 1
    return first, last


def begin_of(part: np.ndarray, sign: float) -> int:
    """Where the new level of a series (sessions,) with a step begins: where the absolute deviations from the medians of
    both levels are least. 0 if it is too short, or does not differ in the direction of the sign."""
    best = best_of(part)
    right = sign * (np.median(part[best:]) - np.median(part[:best])) > 0
    return best if right and best <= len(part) - SESSIONS_AFTER else 0


def end_of(values: np.ndarray, index: int, sign: float, usual: float | None) -> int:
    """Where the deviation from the level of values (sessions,) that begins at `index` ended by itself; 0 if it did not.

    It ended where absolute deviations from its median, and from that of the level after it, are least; if it is not
    shorter than SHORTEST and not longer than LONGEST; and if the sessions after it differ from it in the opposite
    direction by more than RETURNED standard errors, with the autocorrelation that is usual."""
    level, part = np.median(values[:index]), values[index : index + LONGEST + SESSIONS_BEFORE]
    sums = [np.abs(part[:n] - np.median(part[:n])).sum() + np.abs(part[n:] - level).sum() for n in range(1, len(part))]
    length = int(np.argmin([*sums, np.abs(part - np.median(part)).sum()])) + 1
    if not SHORTEST <= length <= min(LONGEST, len(part) - 1):
        return 0
    sides, numbers = (part[:length], part[length:]), np.array([length, len(part) - length])
    before = float(spread_of(values[None, :index])[0, 0])
    spreads = np.array([max(float(spread_of(sides[0][None])[0, 0]), before), before])
    error = np.sqrt((spreads**2 * inflation(numbers, np.zeros(2), usual) / numbers).sum())
    returned = (np.median(sides[1]) - np.median(sides[0])) * -np.sign(sign)
    return index + length if returned > RETURNED * error else 0


def of_sessions(shift: Shift, kept: np.ndarray, count: int) -> Shift:
    """A change in the sessions `kept` (indices) of `count` as one of all sessions."""
    every = [*map(int, kept), count]
    until = every[shift.until] if shift.until else 0
    return replace(shift, index=every[shift.index], ended=every[shift.ended], until=until)


def without_episodes(shifts: list[Shift], count: int) -> tuple[list[Shift], np.ndarray]:
    """The lasting changes among those of `count` sessions as changes in the sessions outside of episodes, and the
    indices of these sessions. They were detected after so many of all sessions."""
    inside = [np.arange(shift.index, shift.until) for shift in shifts]
    kept = np.setdiff1d(np.arange(count), np.concatenate([[], *inside]))
    return [
        replace(one, index=int(np.searchsorted(kept, one.index)), ended=int(np.searchsorted(kept, one.ended)))
        for one in shifts
        if not one.until
    ], kept


def detections(
    values: Sequence[np.ndarray] | np.ndarray,
    limit: float,
    smallest: np.ndarray,
    better: np.ndarray,
    usual: float | None = None,
) -> list[list[Shift]]:
    """The changes of each series of values (sessions,) that a look after every session detects: deviates above `limit`,
    and sizes of at least `smallest` (series,), fractions. After a change, its level is what can change; after an
    episode, the level before it; after a change that leaves fewer than SESSIONS_BEFORE sessions before it, which is
    not reported, the sessions since then. `better` (series,) is the sign of an improvement, or 0; an improvement needs
    a deviate larger by IMPROVEMENT, because the return from one that is none would be a false alarm."""
    found: list[list[Shift]] = [[] for _ in values]
    fewest, new = SESSIONS_BEFORE + SESSIONS_AFTER, np.array([len(series) < NEW for series in values])
    pending = [(row, np.arange(len(series)), fewest) for row, series in enumerate(values)]  # sessions, the next look
    while pending:
        of_rows, begins, ends = (np.array(each) for each in zip(*((row, at, len(kept)) for row, kept, at in pending)))
        again, rows = [], np.empty((len(pending), ends.max()))
        for place, (row, kept, _) in enumerate(pending):
            rows[place, : len(kept)] = values[row][kept]
        for night in range(begins.min(), ends.max() + 1):
            now = np.flatnonzero((begins <= night) & (night <= ends))
            if not len(now):
                continue
            some = rows[now, :night], limit, smallest[of_rows[now]], better[of_rows[now]], usual, new[of_rows[now]]
            for place, shift in seen_at(*some):
                row, kept, _ = pending[now[place]]
                placed = placed_in(values[row][kept], shift, usual)
                if placed is None:
                    continue
                change, rest, following = placed
                if change:
                    change = replace(change, detected=int(kept[night - 1]) + 1)
                    found[row].append(of_sessions(change, kept, len(values[row])))
                again.append((row, kept[rest], max(following, fewest)))
                ends[now[place]] = 0
        pending = again
    return found


def seen_at(
    values: np.ndarray, limit: float, smallest: np.ndarray, better: np.ndarray, usual: float | None, new: np.ndarray
) -> Iterator[tuple[int, Shift]]:
    """The rows of values (series, sessions) that one look takes for changed, each with its change without a place."""
    seen, night = look(values, usual, limit, new), values.shape[1]
    beyond = [np.abs(deviate) > limit + IMPROVEMENT * (deviate * better > 0) for deviate in (seen.step, seen.drift)]
    stepped = beyond[0] & (np.abs(seen.step_size) >= smallest)
    drifted = beyond[1] & (np.abs(seen.drift_size) >= smallest)
    drifted &= (np.abs(seen.drift) > np.abs(seen.step)) | ~stepped
    for place in map(int, np.flatnonzero(stepped | drifted)):
        deviates = seen.drift if drifted[place] else seen.step
        yield place, Shift(0, night, float(deviates[place]), bool(drifted[place]), night)


def placed_in(values: np.ndarray, shift: Shift, usual: float | None) -> tuple[Shift | None, np.ndarray, int] | None:
    """A change with its place in values (sessions,), if it leaves a level before it; the sessions to look at from now
    on, and after how many of them. None if the change has no place."""
    sessions, seen = np.arange(len(values)), shift.detected
    if shift.drift:
        return shift, sessions[seen:], 0
    index = begin_of(values[:seen], shift.deviate)
    if not index:
        return None
    if index < SESSIONS_BEFORE:
        return None, sessions[index:], seen + 1 - index
    shift = replace(shift, index=index, ended=index)
    end = end_of(values, index, shift.deviate, usual)
    if end:
        return replace(shift, until=end), np.delete(sessions, slice(index, end)), index + 1
    return shift, sessions[index:], seen + 1 - index


def settled(values: np.ndarray, shifts: list[Shift], limit: float, usual: float | None = None) -> list[Shift]:
    """The changes of one series (sessions,) that all its sessions confirm, with the places that these support best, and
    its episodes. The parts of a drift that was detected several times are one."""
    lasting, sessions = without_episodes(shifts := resumed(values, shifts), len(values))
    quiet, kept = values[sessions], []
    for number, shift in enumerate(lasting):
        if shift.drift and kept and kept[-1].drift and kept[-1].deviate * shift.deviate > 0:
            kept[-1] = replace(kept[-1], ended=shift.ended)
            continue
        end = lasting[number + 1].index if number + 1 < len(lasting) else len(quiet)
        if shift.drift:
            kept.append(shift)
        elif end > shift.index:  # otherwise a drift begins with the new level: the step is a part of it
            begin = (kept[-1].ended if kept[-1].drift else kept[-1].index) if kept else 0
            kept += confirmed(quiet[begin:end], shift, begin, limit, usual, np.array([len(values) < NEW]))
    every = [of_sessions(shift, sessions, len(values)) for shift in kept] + [one for one in shifts if one.until]
    return sorted(every, key=lambda shift: shift.index)


def resumed(values: np.ndarray, shifts: list[Shift]) -> list[Shift]:
    """The changes of one series (sessions,) in the order of time. If a step goes back to about the level of an episode
    after fewer sessions than the episode had, the episode is the begin of the new level."""
    kept: list[Shift] = []
    for shift in sorted(shifts, key=lambda one: one.index):
        last, step = kept[-1] if kept else shift, not (shift.until or shift.drift)
        interrupted = shift.index - last.until < last.until - last.index
        if last.until and step and interrupted and last.deviate * shift.deviate > 0:
            since = kept[-2].index if len(kept) > 1 else 0
            edges = (since, last.index), (last.index, last.until), (shift.index, len(values))
            before, episode, after = (np.median(values[begin:end]) for begin, end in edges)
            if abs(after - episode) < abs(after - before):
                kept[-1] = replace(last, deviate=shift.deviate, ended=last.index, until=0)
                continue
        kept.append(shift)
    return kept


def confirmed(
    part: np.ndarray, shift: Shift, begin: int, limit: float, usual: float | None, new: np.ndarray
) -> list[Shift]:
    """The step in the sessions `part`, from `begin` on, dated anew if they show it more clearly than those that
    detected it; none if they do not confirm it, for which half of the limit is enough."""
    seen = look(part[None], usual, max(limit, abs(shift.deviate)), new)
    deviate, sign = float(seen.step[0]), np.sign(shift.deviate)
    if sign * deviate > abs(shift.deviate):
        best = begin_of(part, deviate)
        place = begin + (best if best >= SESSIONS_BEFORE else int(seen.place[0]))
        return [Shift(place, shift.detected, deviate, drift=False, ended=place)]
    at, rounding = np.array([shift.index - begin]), least_squares(part[None])
    clear = new & is_clear(part[None], at, middle_and_spread(part[None])[1][:, 0])
    there = (
        sign * step_at(kept, at, bound, rounding, usual, clear=clear & (bound > BOUNDS[LEVEL]))[0]
        for kept, bound in zip(bounded(part[None]), BOUNDS)
    )
    return [shift] if any(deviate > limit / 2 for deviate in there) else []
