# SPDX-License-Identifier: Apache-2.0
"""Levels and drifts of series of session values: where a level begins that differs from the one before.

Pure functions on arrays. A series is looked at after every session, as a nightly check does. Each look compares two
hypotheses with "nothing has changed": two levels (the split with the least squares), and a straight line. Both are
t-tests whose variance is corrected for autocorrelation of first order. Values far from the others have a bounded
influence, so that a short excursion is not a level. The threshold follows from the number of series and the promise of
FALSE_ALARMS; docs/history.md states how well it is kept, tests/evidence/bench_history.py shows it.
"""

from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

SESSIONS_BEFORE = 8  # sessions that establish a level before it can change
SESSIONS_AFTER = 4  # shorter than this it may be an excursion
FALSE_ALARMS = 0.05  # share of stable sites that may alarm within NIGHTS
NIGHTS = 90
LOOKS = 1000.0  # independent looks that NIGHTS looks at all places of a change are worth; determined by simulation
IMPROVEMENT = 0.7  # added to the limit of a change for the better
EXCURSION = 4.5  # robust standard deviations from the median beyond which a value counts no more
SMALL_INFLUENCE = 2.5  # what it counts then in a series that has OFTEN of them before its NEW_SESSIONS
OFTEN = 1
NEW_SESSIONS = 8
SERIES_OF_A_SITE, SESSIONS_OF_A_SITE = 10, 20  # fewer series, or shorter ones, do not tell what is usual at a site
QUARTILES_TO_SIGMA = 1 / 1.349  # of a normal distribution
SIGNIFICANT, SIGNIFICANT_BESIDE_OTHERS = 2.0, 3.0  # standard errors; a smaller autocorrelation counts as none
LARGEST_CORRELATION = 0.9
SMALLEST_SQUARE = 1e-200  # so that no quotient overflows


@dataclass(frozen=True)
class Look:
    """What one look at each series (series,) shows: the deviates `step` and `drift`, which are standard normal if
    nothing changed; where the new level begins; and both changes as fractions of the level before."""

    step: np.ndarray
    place: np.ndarray
    step_size: np.ndarray
    drift: np.ndarray
    drift_size: np.ndarray


@dataclass(frozen=True)
class Shift:
    """A change of one series: `index` of its first session, the number of sessions after which it was `detected`, its
    deviate, whether it is a drift, and where it `ended` at the earliest: at its first session if it is a step."""

    index: int
    detected: int
    deviate: float
    drift: bool
    ended: int


def threshold(series: int) -> float:
    """The deviate that counts as a change if so many series are looked at."""
    return NormalDist().inv_cdf(1 - FALSE_ALARMS / (LOOKS * max(series, 1)))


def bounded(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values (series, sessions) minus their median, bounded; which of them are excursions, more than EXCURSION robust
    standard deviations away; and which series (series,) have them now and then.

    An excursion counts as much as that distance, and as SMALL_INFLUENCE in a series that has them now and then, of
    which several in a row are no news. The spread is that of the quartiles: it does not collapse if half of the values
    are of one speed and half of another.
    """
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=1, keepdims=True)
    spread = QUARTILES_TO_SIGMA * (high - low)
    centred = values - middle
    beyond = (spread > 0) & (np.abs(centred) > EXCURSION * spread)
    often = beyond[:, :-NEW_SESSIONS].sum(axis=1) >= OFTEN
    bound = np.where(often[:, None], SMALL_INFLUENCE, EXCURSION) * spread
    return np.where(beyond, np.sign(centred) * bound, centred), beyond, often


def raw_correlation(rest: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Autocorrelation of first order of residuals (series, sessions), of which `count` (series,) are not 0, corrected
    for its bias with two fitted parameters (Marriott and Pope, Biometrika 41 (1954) 390)."""
    squares = np.maximum((rest**2).sum(axis=1), np.finfo(float).tiny)
    raw = (rest[:, 1:] * rest[:, :-1]).sum(axis=1) / squares
    return np.minimum(raw + (1 + 4 * raw) / count, LARGEST_CORRELATION)


def correlation(rest: np.ndarray, count: np.ndarray, usual: float | None) -> np.ndarray:
    """The autocorrelation of each row if it is significant, and at least the one that is usual at the site. If the
    latter is known, a row has to differ more."""
    own = raw_correlation(rest, count)
    errors = SIGNIFICANT if usual is None else SIGNIFICANT_BESIDE_OTHERS
    return np.maximum(np.where(own > errors / np.sqrt(count), own, 0.0), usual or 0.0)


def usual_correlation(every: list[np.ndarray]) -> float | None:
    """The autocorrelation that is usual at a site, from its series (sessions,): the median over the series, each around
    its best two levels; 0 unless it is significant for one series. None if there are too few."""
    long = [series for series in every if len(series) >= SESSIONS_OF_A_SITE]
    if len(long) < SERIES_OF_A_SITE:
        return None
    own = []
    for series in long:
        kept = bounded(series[None])[0]
        counted = np.ones(kept.shape, dtype=bool)
        old = np.arange(len(series)) < best_places(kept, counted)[0]
        rest = kept - np.where(old, kept[0, old].mean(), kept[0, ~old].mean())
        own.append(float(raw_correlation(rest, np.array([len(series)]))[0]))
    middle, count = float(np.median(own)), float(np.median([len(series) for series in long]))
    return middle if middle > SIGNIFICANT / np.sqrt(count) else 0.0


def inflation(count: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """Variance of a mean of `count` values with autocorrelation rho^lag, over that of independent values."""
    return (1 + rho) / (1 - rho) - 2 * rho * (1 - rho**count) / (count * (1 - rho) ** 2)


def normal_deviate(t: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """The normal deviate with the tail probability of Student's t: Wallace, Ann. Math. Statist. 30 (1959) 1124."""
    size = (8 * freedom + 1) / (8 * freedom + 3) * np.sqrt(freedom * np.log1p(t**2 / freedom))
    return np.copysign(size, t)


def freedom(count: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """Degrees of freedom of the variance of `count` autocorrelated values around two fitted parameters."""
    return np.maximum(count * (1 - rho**2) / (1 + rho**2) - 2, 1.0)


def look(values: np.ndarray, usual: float | None = None) -> Look:
    """One look at series (series, sessions) of at least SESSIONS_BEFORE + SESSIONS_AFTER sessions, with the
    autocorrelation that is `usual` at the site."""
    kept, beyond, often = bounded(values)
    middle, rounding = np.median(values, axis=1), least_squares(values)
    step, place = step_of(kept, np.ones(kept.shape, dtype=bool), rounding, usual)
    if often.any():  # a second look without the excursions
        rest = step_of(kept[often], ~beyond[often], rounding[often], usual)
        stronger = np.abs(rest[0]) > np.abs(step[often])
        for all_rows, part in zip((step, place), rest):
            all_rows[often] = np.where(stronger, part, all_rows[often])
    old = np.arange(values.shape[1]) < place[:, None]
    step_size = np.mean(values, axis=1, where=~old) - np.mean(values, axis=1, where=old)
    drift, drift_size = drift_of(kept, rounding, usual)
    with np.errstate(divide="ignore", invalid="ignore"):
        return Look(step, place, relative(step_size, middle), drift, relative(drift_size, middle))


def least_squares(values: np.ndarray) -> np.ndarray:
    """A sum of squares (series,) that is nothing but rounding: a constant series has no variance."""
    return np.maximum((1e-9 * np.abs(values).max(axis=1)) ** 2, SMALLEST_SQUARE)


def relative(size: np.ndarray, level: np.ndarray) -> np.ndarray:
    return np.where(size == 0, 0.0, size / np.abs(level))


def step_of(
    kept: np.ndarray, counted: np.ndarray, rounding: np.ndarray, usual: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """Deviate and place of the best step in each row, of the sessions that are counted (series, sessions); the
    deviate is 0 where too few of them are on one side."""
    place = best_places(kept, counted)
    old = np.arange(kept.shape[1]) < place[:, None]
    enough = (counted & old).sum(axis=1) >= SESSIONS_BEFORE
    enough &= (counted & ~old).sum(axis=1) >= SESSIONS_AFTER
    return np.where(enough, step_at(kept, counted, place, rounding, usual), 0.0), place


def best_places(kept: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Where the split of each row into two levels leaves the least squares."""
    places = np.arange(1, kept.shape[1])
    sums, numbers = np.cumsum(np.where(counted, kept, 0), axis=1), np.cumsum(counted, axis=1)
    before, after = numbers[:, places - 1], numbers[:, -1:] - numbers[:, places - 1]
    low, high = sums[:, places - 1] / np.maximum(before, 1), (sums[:, -1:] - sums[:, places - 1]) / np.maximum(after, 1)
    return places[np.argmax((high - low) ** 2 * (before * after), axis=1)]


def step_at(
    kept: np.ndarray, counted: np.ndarray, place: np.ndarray, rounding: np.ndarray, usual: float | None
) -> np.ndarray:
    """Deviate of a step at a place of each row."""
    old = np.arange(kept.shape[1]) < place[:, None]
    both, means, inflated = [], [], []
    rest = np.where(counted, kept, 0)
    for side in (counted & old, counted & ~old):
        both.append(np.maximum(side.sum(axis=1), 1))
        means.append(np.where(side, kept, 0).sum(axis=1) / both[-1])
        rest = np.where(side, kept - means[-1][:, None], rest)
    count = both[0] + both[1]
    rho = correlation(rest, count, usual)
    inflated = [inflation(number, rho) for number in both]
    variance = ((rest**2).sum(axis=1) + rounding) / np.maximum(count - inflated[0] - inflated[1], 1)
    error = np.sqrt(variance * (inflated[0] / both[0] + inflated[1] / both[1]))
    return normal_deviate((means[1] - means[0]) / error, freedom(count, rho))


def drift_of(kept: np.ndarray, rounding: np.ndarray, usual: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Deviate and size, over all sessions, of a straight line through each row."""
    count = np.full(len(kept), kept.shape[1])
    time = np.arange(kept.shape[1]) - (kept.shape[1] - 1) / 2
    spread = (time**2).sum()
    slope = kept @ time / spread
    rest = kept - kept.mean(axis=1, keepdims=True) - slope[:, None] * time
    rho = correlation(rest, count, usual)
    inflated = (1 + rho) / (1 - rho)
    variance = ((rest**2).sum(axis=1) + rounding) / np.maximum(count - 2 * inflated, 1)
    deviate = normal_deviate(slope * np.sqrt(spread / (variance * inflated)), freedom(count, rho))
    return deviate, slope * (count - 1)


def detections(
    values: np.ndarray, limit: float, smallest: np.ndarray, better: np.ndarray, usual: float | None = None
) -> list[list[Shift]]:
    """The changes of each row of values (series, sessions) that a look after every session detects: deviates above
    `limit`, and sizes of at least `smallest` (series,), fractions. After a change, its level is what can change.
    `better` (series,) is the sign of an improvement, or 0; an improvement needs a deviate larger by IMPROVEMENT,
    because the return from one that is none would be a false alarm."""
    found: list[list[Shift]] = [[] for _ in values]
    pending: list[tuple[np.ndarray, int, int]] = [(np.arange(len(values)), 0, SESSIONS_BEFORE + SESSIONS_AFTER)]
    while pending:
        rows, start, now = pending.pop()
        for night in range(now, values.shape[1] + 1):
            if not len(rows):
                break
            seen = look(values[rows, start:night], usual)
            beyond = [
                np.abs(deviate) > limit + IMPROVEMENT * (deviate * better[rows] > 0)
                for deviate in (seen.step, seen.drift)
            ]
            stepped = beyond[0] & (np.abs(seen.step_size) >= smallest[rows])
            drifted = beyond[1] & (np.abs(seen.drift_size) >= smallest[rows])
            drifted &= (np.abs(seen.drift) > np.abs(seen.step)) | ~stepped
            for place in np.flatnonzero(stepped | drifted):
                row, drift = rows[place], bool(drifted[place])
                index = start if drift else start + int(seen.place[place])
                deviate = float((seen.drift if drift else seen.step)[place])
                begin = night if drift else index
                found[row].append(Shift(index, night, deviate, drift, begin))
                pending.append((rows[[place]], begin, max(night + 1, begin + SESSIONS_BEFORE + SESSIONS_AFTER)))
            rows = rows[~(stepped | drifted)]
    return found


def settled(values: np.ndarray, shifts: list[Shift], limit: float, usual: float | None = None) -> list[Shift]:
    """The changes of one series (sessions,) that all its sessions confirm, with the places that these support best. The
    parts of a drift that was detected several times are one."""
    kept: list[Shift] = []
    for number, shift in enumerate(shifts):
        if shift.drift and kept and kept[-1].drift and kept[-1].deviate * shift.deviate > 0:
            kept[-1] = replace(kept[-1], ended=shift.ended)
            continue
        end = shifts[number + 1].index if number + 1 < len(shifts) else len(values)
        if shift.drift:
            kept.append(shift)
        elif end > shift.index:  # otherwise a drift begins with the new level: the step is a part of it
            begin = (kept[-1].ended if kept[-1].drift else kept[-1].index) if kept else 0
            kept += confirmed(values[begin:end], shift, begin, limit, usual)
    return kept


def confirmed(part: np.ndarray, shift: Shift, begin: int, limit: float, usual: float | None) -> list[Shift]:
    """The step in the sessions `part`, from `begin` on, dated anew if they show it more clearly than those that
    detected it; none if they do not confirm it: without the excursions from both levels, half of the limit is enough.
    """
    seen = look(part[None], usual)
    deviate, sign = float(seen.step[0]), np.sign(shift.deviate)
    if sign * deviate > abs(shift.deviate):
        place = begin + int(seen.place[0])
        return [Shift(place, shift.detected, deviate, drift=False, ended=place)]
    place = shift.index - begin
    levels = np.repeat([np.median(part[:place]), np.median(part[place:])], [place, len(part) - place])
    counted = ~bounded((part - levels)[None])[1]
    for side in (slice(None, place), slice(place, None)):
        if counted[0, side].sum() < SESSIONS_AFTER:  # where most are excursions, none is: the spread may be nearly 0
            counted[0, side] = True
    there = step_at(part[None] - levels[0], counted, np.array([place]), least_squares(part[None]), usual)
    return [shift] if sign * there[0] > limit / 2 else []
