# SPDX-License-Identifier: Apache-2.0
"""How likely `coffeecup check-history` alarms after a loss, and without one: histories drawn from a series' own noise,
judged by the functions that judge the site (levels, change_points)."""

import numpy as np

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.history.change_points import Levels, Rule, Site, alarming, described
from coffeecup.postprocess.history.levels import detections, settled
from coffeecup.postprocess.history.looks import SESSIONS_AFTER, look
from coffeecup.postprocess.history.noise import Noise, drawn_sessions, histories, residuals
from coffeecup.postprocess.history.table import SERIES

FEWEST_SESSIONS = 20  # that tell the noise of a series: its standard deviation is then known to about 16 %
MOST_BEFORE = 40  # sessions before a loss: more of them hardly make a detection more likely
# The loss of which `history` tells how large it has to be: it is found so many nights later with this probability, of
# so many drawn histories; it is found by this many bisections of the losses up to LARGEST.
SOON, PROBABILITY, DRAWS, BISECTIONS, LARGEST = 14, 0.9, 50, 6, 0.95
AT_ONCE = 50  # series, which bounds the memory


def with_loss(values: np.ndarray, rule: Rule, before: int, loss: float) -> np.ndarray:
    """Values (draws, nights) that get worse by a fraction after `before` nights: higher if lower is better."""
    worse = values.copy()
    worse[:, before:] *= 1 + loss if rule.better == Better.LOWER else 1 - loss
    return worse


def alarms(values: np.ndarray, rule: Rule, site: Site, before: int = 0) -> np.ndarray:
    """Whether each history (draws, nights), looked at after every night as one of a series of the site, shows after the
    last one a change that alarms and that was detected after more than `before` nights."""
    smallest, better = np.full(len(values), rule.smallest_change), np.full(len(values), rule.sign)
    found = detections(values, site.limit, smallest, better, site.usual)
    alarmed = np.zeros(len(values), dtype=bool)
    for place, (row, shifts) in enumerate(zip(values, found)):
        if shifts:
            kept = settled(row, shifts, site.limit, site.usual)
            changes = alarming(row, rule, described(row, kept, rule, dates=False))
            alarmed[place] = any(change.detected > before for change in changes)
    return alarmed


def detectable(site: Site) -> dict[tuple, float]:
    """By series (a tuple of SERIES), the smallest lasting loss, a fraction, that a look SOON nights later shows with
    PROBABILITY, to about 5 % of it; infinite if it is more than LARGEST. Series without a better direction, or with
    fewer than FEWEST_SESSIONS that tell their noise, are left out."""
    noise = [(one, residuals(one.measured, one.shifts)) for one in site.levels if one.rule.better != Better.NEITHER]
    known = [pair for pair in noise if np.isfinite(pair[1]).sum() >= FEWEST_SESSIONS]
    counts, losses = [sessions_soon(one) for one, _ in known], np.empty(len(known))
    for count in set(counts):
        alike = np.flatnonzero(np.array(counts) == count)
        for begin in range(0, len(alike), AT_ONCE):
            places = alike[begin : begin + AT_ONCE]
            losses[places] = smallest_losses([known[at] for at in places], count, site)
    keys = (tuple(one.sessions[name].iat[-1] for name in SERIES) for one, _ in known)
    return {key: float(loss) for key, loss in zip(keys, losses)}


def sessions_soon(one: Levels) -> int:
    """How many sessions of a series there are in SOON nights, one a night at most: as often as in its last ones."""
    times = one.sessions["session_time"].iloc[-MOST_BEFORE:]
    days = (times.iloc[-1] - times.iloc[0]).total_seconds() / 86400
    return SOON if days <= len(times) - 1 else round(SOON * (len(times) - 1) / days)


def smallest_losses(some: list[tuple[Levels, np.ndarray]], after: int, site: Site) -> np.ndarray:
    """As detectable, of series of a site with the deviations of their sessions, so many sessions after the loss:
    bisections of the logarithm of the loss."""
    if after < SESSIONS_AFTER:
        return np.full(len(some), np.inf)
    rng, made = np.random.default_rng(0), []
    for one, rest in some:
        drawn = drawn_sessions(len(rest), (DRAWS, MOST_BEFORE + after), rng)
        made.append(histories(Noise({}, one.rule, rest, np.empty(0), 1), drawn, 1, rng))
    rules = [one.rule for one, _ in some]
    least = np.array([rule.smallest_regression for rule in rules])
    # Of each history, the largest loss that is not found and the smallest one that is: others need no look.
    hidden, seen = np.zeros((len(some), DRAWS)), np.full((len(some), DRAWS), np.inf)

    def is_found(losses: np.ndarray) -> np.ndarray:
        each = np.broadcast_to(losses[:, None], seen.shape)
        unknown = (hidden < each) & (each < seen)
        of_series, sizes = np.nonzero(unknown)[0], each[unknown]
        drawn = zip(made, unknown, rules, losses)
        worse = [with_loss(values[some], rule, MOST_BEFORE, loss) for values, some, rule, loss in drawn]
        found = look(np.concatenate(worse), site.usual, site.limit, enough=site.limit)
        sign = np.array([1 if rule.better == Better.LOWER else -1 for rule in rules])[of_series]
        shown = (sign * found.step > site.limit) & (np.abs(found.step_size) >= least[of_series])
        seen[unknown], hidden[unknown] = np.where(shown, (sizes, hidden[unknown]), (seen[unknown], sizes))
        return (seen <= each).mean(axis=1) >= PROBABILITY

    low, high = least, np.maximum(least, LARGEST)
    for _ in range(BISECTIONS):
        middle = np.sqrt(low * high)
        enough = is_found(middle)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(is_found(high), high, np.inf)
