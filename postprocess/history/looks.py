# SPDX-License-Identifier: Apache-2.0
"""One look at series of session values: how much evidence they contain for a step and for a drift.

Pure functions on arrays. Two hypotheses are compared with "nothing has changed": two levels (the split with the least
squares), and a straight line. Both are t-tests whose variance is corrected for autocorrelation of first order. Values
far from the others have a bounded influence, so that a short excursion is not a level.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

SESSIONS_BEFORE = 8  # sessions that establish a level before it can change
SESSIONS_AFTER = 4  # shorter than this it may be an excursion
# Robust standard deviations from the median, more of which count no more: for small and large changes, and for those
# larger than the bound at the place LEVEL, with which levels, dates and autocorrelation are estimated.
BOUNDS, LEVEL = (2.0, 4.5, 9.0), 1
CLEAR = 6.0  # robust standard deviations; a larger step of a new series is judged without its autocorrelation
UNSEEN = 0.2  # values at the bound that a series may have beside those that it has shown
STEPS, CLOSE = 60, 1e-6  # at most, to a saddlepoint, and the last one, a fraction of it
CANDIDATE = 3.0  # a smaller deviate of the t-test is no change, whatever the distribution of the noise
QUARTILES_TO_SIGMA = 1 / 1.349  # of a normal distribution
SIGNIFICANT, SIGNIFICANT_BESIDE_OTHERS = 2.0, 3.0  # standard errors; a smaller autocorrelation counts as none
LARGEST_CORRELATION = 0.9
# The autocorrelation that is usual at a site decreases by this factor from lag to lag: nights of real years are alike
# for about a week, with only 0.1 to 0.3 at lag 1.
PERSISTENCE = 0.8
TINY = np.finfo(float).tiny
SMALLEST_SQUARE = 1e-200  # so that no quotient overflows


@dataclass(frozen=True)
class Look:
    """What one look at each series (series,) shows: the deviates `step` and `drift`, which are standard normal if
    nothing changed; where the new level begins; and both changes as fractions of the level before. `step` is 0 up to
    the limit of the look, and `drift` may be."""

    step: np.ndarray
    place: np.ndarray
    step_size: np.ndarray
    drift: np.ndarray
    drift_size: np.ndarray


def spread_of(values: np.ndarray) -> np.ndarray:
    """The robust standard deviation (series, 1) of values (series, sessions), from their quartiles: it does not
    collapse if half of the values are of one speed and half of another."""
    return spread_of_ordered(np.sort(values, axis=1))


def spread_of_ordered(ordered: np.ndarray) -> np.ndarray:
    last = ordered.shape[1] - 1
    low, high = (
        ordered[:, [int(place)]] + place % 1 * (ordered[:, [min(int(place) + 1, last)]] - ordered[:, [int(place)]])
        for place in (last / 4, 3 * last / 4)
    )
    return QUARTILES_TO_SIGMA * (high - low)


def middle_and_spread(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The median and the robust standard deviation (series, 1) of values (series, sessions), the latter without a
    change of level, which does not affect the differences of neighbours."""
    ordered, count = np.sort(values, axis=1), values.shape[1]
    middle = (ordered[:, [(count - 1) // 2]] + ordered[:, [count // 2]]) / 2
    return middle, np.minimum(spread_of_ordered(ordered), spread_of(np.diff(values, axis=1)) / np.sqrt(2))


def bounded(values: np.ndarray) -> list[np.ndarray]:
    """Values (series, sessions) minus their median, bounded to each of BOUNDS, robust standard deviations, where these
    are not 0."""
    middle, spread = middle_and_spread(values)
    return [clipped(values - middle, bound, spread) for bound in BOUNDS]


def clipped(centred: np.ndarray, bound: float, spread: np.ndarray) -> np.ndarray:
    most = np.where(spread > 0, bound * spread, np.inf)
    return np.clip(centred, -most, most)


def raw_correlation(rest: np.ndarray, count: np.ndarray, levels: int = 2) -> np.ndarray:
    """Autocorrelation of first order of residuals (series, sessions), `count` (series,), corrected for its bias with so
    many fitted levels: half of what Marriott and Pope (Biometrika 41 (1954) 390) state for two, each."""
    squares = np.maximum((rest**2).sum(axis=1), TINY)
    raw = (rest[:, 1:] * rest[:, :-1]).sum(axis=1) / squares
    return np.minimum(raw + levels / 2 * (1 + 4 * raw) / count, LARGEST_CORRELATION)


def correlation(rest: np.ndarray, count: np.ndarray, usual: float | None) -> np.ndarray:
    """The autocorrelation of each row of residuals (series, sessions) if it is significant. If the one that is usual at
    the site is known, a row has to differ more."""
    own = raw_correlation(rest, count)
    errors = SIGNIFICANT if usual is None else SIGNIFICANT_BESIDE_OTHERS
    return np.where(own > errors / np.sqrt(count), own, 0.0)


def inflation(count: np.ndarray | float, rho: np.ndarray, usual: float | None = None) -> np.ndarray:
    """Variance of a mean of `count` values with autocorrelation rho^lag, over that of independent values; or with the
    one that is `usual` at lag 1 and then decreases by PERSISTENCE, if that is more."""

    def first_order(rho: np.ndarray | float) -> np.ndarray:
        return (1 + rho) / (1 - rho) - 2 * rho * (1 - rho**count) / (count * (1 - rho) ** 2)

    persistent = 1 + (usual or 0.0) / PERSISTENCE * (first_order(PERSISTENCE) - 1)
    return np.maximum(first_order(rho), persistent)


def normal_deviate(t: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """The normal deviate with the tail probability of Student's t: Wallace, Ann. Math. Statist. 30 (1959) 1124."""
    size = (8 * freedom + 1) / (8 * freedom + 3) * np.sqrt(freedom * np.log1p(t**2 / freedom))
    return np.copysign(size, t)


def freedom(count: np.ndarray, rho: np.ndarray, usual: float | None) -> np.ndarray:
    """Degrees of freedom of the variance of `count` autocorrelated values around two fitted parameters."""
    persistent = 1 + 2 * (usual or 0.0) ** 2 / (1 - PERSISTENCE**2)
    return np.maximum(count / np.maximum((1 + rho**2) / (1 - rho**2), persistent) - 2, 1.0)


def look(
    values: np.ndarray,
    usual: float | None = None,
    limit: float = 0.0,
    new: np.ndarray | None = None,
    enough: float = np.inf,
) -> Look:
    """One look at series (series, sessions) of at least SESSIONS_BEFORE + SESSIONS_AFTER sessions, with the
    autocorrelation that is `usual` at the site. Steps with a deviate up to `limit` are not shown. Those of `new` series
    (series,) may be clear. A step with a deviate above `enough` is not sought with wider bounds."""
    rounding, (middle, spread) = least_squares(values), middle_and_spread(values)
    centred = values - middle
    beyond, farthest = np.abs(centred).max(axis=1), spread[:, 0]
    drift, drift_size = drift_of(clipped(centred, BOUNDS[0], spread), rounding, usual, limit)
    (step, step_size), place = np.zeros((2, len(values))), np.zeros(len(values), dtype=int)
    for narrower, bound in pairwise((0.0, *BOUNDS)):
        # The rows of which this bound leaves more than the narrower one did.
        rows = np.flatnonzero((beyond > narrower * farthest) & (np.abs(step) <= enough))
        kept, least = clipped(centred[rows], bound, spread[rows]), np.maximum(np.abs(step[rows]), limit)
        (at, gain), clear = best_places(kept), np.zeros(len(rows), dtype=bool)
        if bound > BOUNDS[LEVEL] and new is not None:
            some = np.flatnonzero(new[rows])
            clear[some] = is_clear(values[rows[some]], at[some], farthest[rows[some]])
        some = clear | (largest_deviate(kept, gain) > least)
        rows, kept, at, clear, least = (each[some] for each in (rows, kept, at, clear, least))
        deviate = step_at(kept, at, bound, rounding[rows], usual, least, clear)
        some = np.abs(deviate) > least
        rows, at, clear, deviate = (each[some] for each in (rows, at, clear, deviate))
        size = difference_of_medians(values[rows], at)
        large = (bound <= BOUNDS[LEVEL]) | clear | (np.abs(size) > bound * farthest[rows])
        right = large & (deviate * size > 0)
        rows = rows[right]
        step[rows], place[rows], step_size[rows] = deviate[right], at[right], size[right]
    with np.errstate(divide="ignore", invalid="ignore"):
        return Look(step, place, relative(step_size, middle[:, 0]), drift, relative(drift_size, middle[:, 0]))


def difference_of_medians(values: np.ndarray, place: np.ndarray) -> np.ndarray:
    """The median of each row from its place on, minus the one before."""
    old, rows = np.arange(values.shape[1]) < place[:, None], np.arange(len(values))
    medians = []
    for side, count in ((old, place), (~old, values.shape[1] - place)):
        ordered = np.sort(np.where(side, values, np.inf), axis=1)
        medians.append((ordered[rows, (count - 1) // 2] + ordered[rows, count // 2]) / 2)
    return medians[1] - medians[0]


def is_clear(values: np.ndarray, place: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Whether the medians of each row before and after its place differ by more than CLEAR times its robust standard
    deviation `spread` (series,), and times that of its level before, which autocorrelation does not make smaller."""
    old, rows = np.arange(values.shape[1]) < place[:, None], np.arange(len(values))
    ordered = np.sort(np.where(old, values, np.inf), axis=1)
    of_level = QUARTILES_TO_SIGMA * (ordered[rows, 3 * place // 4] - ordered[rows, place // 4])
    return np.abs(difference_of_medians(values, place)) > CLEAR * np.maximum(spread, of_level)


def least_squares(values: np.ndarray) -> np.ndarray:
    """A sum of squares (series,) that is nothing but rounding: a constant series has no variance."""
    return np.maximum((1e-9 * np.abs(values).max(axis=1)) ** 2, SMALLEST_SQUARE)


def relative(size: np.ndarray, level: np.ndarray) -> np.ndarray:
    return np.where(size == 0, 0.0, size / np.abs(level))


def best_places(kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the split of each row into two levels, of at least SESSIONS_BEFORE and SESSIONS_AFTER sessions, leaves the
    least squares, and by how much it reduces them."""
    count = kept.shape[1]
    places = np.arange(SESSIONS_BEFORE, count - SESSIONS_AFTER + 1)
    sums = np.cumsum(kept, axis=1)
    gains = (places * sums[:, -1:] - count * sums[:, places[0] - 1 : places[-1]]) ** 2
    gains /= count * places * (count - places)
    best = np.argmax(gains, axis=1)
    return places[best], gains[np.arange(len(kept)), best]


def largest_deviate(kept: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """The deviates (series,) of t-tests of models that reduce the squares of each row so, without autocorrelation, that
    could only make them smaller."""
    count = kept.shape[1]
    squares = (kept**2).sum(axis=1) - kept.sum(axis=1) ** 2 / count
    rest = np.maximum(squares - gain, 1e-18 * squares + SMALLEST_SQUARE)
    return (1 + 1e-9) * normal_deviate(np.sqrt(gain * (count - 2) / rest), np.full(len(kept), count - 2.0))


def step_at(
    kept: np.ndarray,
    place: np.ndarray,
    bound: float,
    rounding: np.ndarray,
    usual: float | None,
    limit: np.ndarray | float = 0.0,
    clear: np.ndarray | None = None,
) -> np.ndarray:
    """Deviate of a step at a place of each row of values that are bounded so; that of the t-test if it is at most
    `limit`. Where the step is `clear` (series,), usual values do not explain it, however autocorrelated, but outliers
    may: their share, and their own autocorrelation."""
    count = kept.shape[1]
    old = np.arange(count) < place[:, None]
    numbers = place, count - place
    means = [np.where(side, kept, 0).sum(axis=1) / number for side, number in zip((old, ~old), numbers)]
    rest = kept - np.where(old, means[0][:, None], means[1][:, None])
    clear = np.zeros(len(kept), dtype=bool) if clear is None else clear
    most = np.where(clear, BOUNDS[LEVEL] / bound * np.abs(kept).max(axis=1), np.inf)[:, None]
    inside = np.clip(rest, -most, most)
    squares = (inside**2).sum(axis=1)
    rho = correlation(np.where(clear[:, None], rest - inside, rest), np.full(len(kept), count), usual)
    inflated = [inflation(number, rho, usual) for number in numbers]
    variance = (squares + rounding) / np.maximum(count - inflated[0] - inflated[1], 1)
    difference = means[1] - means[0]
    t = difference / np.sqrt(variance * (inflated[0] / numbers[0] + inflated[1] / numbers[1]))
    free = freedom(np.full(len(t), count), rho, usual)
    deviate = normal_deviate(t, free)
    some = np.flatnonzero((np.abs(deviate) > np.maximum(limit, CANDIDATE)) & (squares > rounding))
    if len(some):
        effective = [(number / more)[some] for number, more in zip(numbers, inflated)]
        farthest = bound * spread_of(rest[some])[:, 0]
        tails = tail_deviate(difference[some], rest[some], farthest, *effective)
        least = np.where(clear[some], tails, normal_deviate(tails, free[some]))
        deviate[some] = np.copysign(np.minimum(np.abs(deviate[some]), least), t[some])
    return deviate


def tail_deviate(
    difference: np.ndarray, rest: np.ndarray, bound: np.ndarray, before: np.ndarray, after: np.ndarray
) -> np.ndarray:
    """Size of the normal deviates (series,) of differences of the means of so many (effective) values before and after,
    drawn from the distribution of the residuals (series, sessions), UNSEEN values at the bound (series,) on the side of
    the difference, and a normal one of the same variance, which counts as one value: the saddlepoint approximation of
    Lugannani and Rice (Adv. Appl. Prob. 12 (1980) 475)."""
    scale = np.copysign(np.maximum(rest.std(axis=1), TINY), difference)[:, None]
    points = np.hstack([rest, np.copysign(bound[:, None], scale)]) / scale
    weights = np.append(np.ones(rest.shape[1]), UNSEEN)
    goal = difference / scale[:, 0]

    least, most = points.min(axis=1), points.max(axis=1)

    def of_difference(t: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        some, numbers = points[rows], (before[rows], after[rows])
        old = cumulants(some, weights, -t / numbers[0], least[rows])
        new = cumulants(some, weights, t / numbers[1], most[rows])
        return numbers[1] * new[0] + numbers[0] * old[0], new[1] - old[1], new[2] / numbers[1] + old[2] / numbers[0]

    t, value, curvature = saddlepoints(of_difference, goal, goal / (1 / after + 1 / before))
    deviate = np.sqrt(np.maximum(2 * (t * goal - value), TINY))
    curvature = np.maximum(curvature, TINY)  # beyond all residuals they do not differ
    return deviate + np.log(t * np.sqrt(curvature) / deviate) / deviate


def cumulants(
    points: np.ndarray, weights: np.ndarray, t: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cumulant generating function of each row (series,) of points with these weights and a standard normal
    distribution, which counts as one point, at `t`, and its first two derivatives; `end` is the outermost point on the
    side of t."""
    shift = np.maximum(end * t, t**2 / 2)
    own, normal = weights * np.exp(points * t[:, None] - shift[:, None]), np.exp(t**2 / 2 - shift)
    total = np.einsum("ij->i", own) + normal
    mean = (np.einsum("ij,ij->i", own, points) + normal * t) / total
    own *= points
    second = (np.einsum("ij,ij->i", own, points) + normal * (1 + t**2)) / total
    return np.log(total / (weights.sum() + 1)) + shift, mean, second - mean**2


def saddlepoints(function: Callable, goal: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the first derivative of a function of points and rows, which yields its value and two derivatives, is the
    goal of each row (rows,), its value there and its second derivative: by Newton's method from `first` on, or by half
    of the interval that contains the point where that does not halve the last step."""
    t, left, curvature, value = first.copy(), np.arange(len(goal)), np.empty(len(goal)), np.empty(len(goal))
    low, high, last = np.zeros(len(goal)), np.full(len(goal), np.inf), np.full(len(goal), np.inf)
    for _ in range(STEPS):
        at = t[left]
        value[left], slope, curvature[left] = function(at, left)
        low[left], high[left] = np.where(slope < goal[left], (at, high[left]), (low[left], at))
        newton = at + (goal[left] - slope) / np.maximum(curvature[left], SMALLEST_SQUARE)
        most = np.minimum(high[left], 4 * at)
        good = (low[left] < newton) & (newton < most) & (np.abs(newton - at) < last[left] / 2)
        following = np.where(good, newton, (low[left] + most) / 2)
        last[left] = np.abs(following - at)
        more = last[left] > CLOSE * at
        left = left[more]
        if not len(left):
            break
        t[left] = following[more]
    return t, value, curvature


def drift_of(
    kept: np.ndarray, rounding: np.ndarray, usual: float | None, limit: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Deviate, which may be 0 up to `limit`, and size, over all sessions, of a straight line through each row."""
    sessions = kept.shape[1]
    time = np.arange(sessions) - (sessions - 1) / 2
    spread = (time**2).sum()
    slope, deviate = kept @ time / spread, np.zeros(len(kept))
    some = np.flatnonzero(largest_deviate(kept, slope**2 * spread) > limit)
    kept, count = kept[some], np.full(len(some), sessions)
    rest = kept - kept.mean(axis=1, keepdims=True) - slope[some, None] * time
    rho = correlation(rest, count, usual)
    inflated = inflation(np.inf, rho, usual)
    variance = ((rest**2).sum(axis=1) + rounding[some]) / np.maximum(count - 2 * inflated, 1)
    t = slope[some] * np.sqrt(spread / (variance * inflated))
    deviate[some] = normal_deviate(t, freedom(count, rho, usual))
    return deviate, slope * (sessions - 1)
