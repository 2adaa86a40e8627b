# SPDX-License-Identifier: Apache-2.0
"""The noise of series of a stable system, from the site's own sessions, and histories drawn from it.

Deviations are relative to the level that the history found, so that neither a change of level nor a drift counts as
noise. Sessions are drawn in blocks of neighbours, which keeps the correlation from night to night, and the same
sessions for all series, which keeps what their values have in common. Repeats of a run in a session (ReFrame's
--repeat) share the deviation of the session; its variance is what the runs of a session do not explain (a random
effect; Davison and Hinkley, Bootstrap Methods and Their Application, 1997, section 3.8).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from coffeecup.postprocess.history.change_points import Levels, Rule
from coffeecup.postprocess.history.levels import SESSIONS_AFTER, SESSIONS_BEFORE, Shift, without_episodes
from coffeecup.postprocess.history.table import SERIES

BLOCK = 14  # sessions that are drawn together: two weeks of nights
SESSIONS_WITH_REPEATS = SESSIONS_BEFORE  # fewer do not tell how runs of one session differ
DRAWS_OF_MEDIANS = 10_000


@dataclass(frozen=True)
class Noise:
    """The noise of a series with a rule: `sessions` (sessions of the system,) are the deviations of session values, NaN
    where there is none that counts; `runs` (runs,) are those of runs from the mean of their session, empty if too few
    sessions have repeats; `repeats` is the usual number of runs in a session. All are fractions of the level."""

    series: dict
    rule: Rule
    sessions: np.ndarray
    runs: np.ndarray
    repeats: int

    @property
    def known(self) -> int:
        """The number of sessions that tell the noise."""
        return int(np.isfinite(self.sessions).sum())

    @property
    def spread(self) -> float:
        """The standard deviation between sessions."""
        return float(np.nanstd(self.sessions, ddof=1))


def residuals(measured: np.ndarray, shifts: list[Shift]) -> np.ndarray:
    """The deviations of values (sessions,) from their levels, as fractions of these, scaled to the variance around the
    true level. NaN where the level is not positive or too short, in episodes, and beside a change, of which the date is
    right within one session."""
    every = np.full(len(measured), np.nan)
    shifts, kept = without_episodes(shifts, len(measured))
    measured, rest = measured[kept], np.full(len(kept), np.nan)
    begins, ends = [0, *(shift.index for shift in shifts)], [*(shift.index for shift in shifts), len(measured)]
    for place, (begin, end) in enumerate(zip(begins, ends)):
        drift = place > 0 and shifts[place - 1].drift
        times = np.arange(begin + (begin > 0), end - (end < len(measured)))
        if len(times) < SESSIONS_AFTER:
            continue
        parameters = np.polyfit(times, measured[times], int(drift))
        fitted = np.polyval(parameters, times)
        if (fitted > 0).all():
            rest[times] = (measured[times] / fitted - 1) * np.sqrt(len(times) / (len(times) - len(parameters)))
    every[kept] = rest
    return every


def noises(levels: list[Levels], runs: pd.DataFrame) -> Iterator[Noise]:
    """The noise of each series of one system; `runs` are the change_points.counted_runs of the same table."""
    order = {session: place for place, session in enumerate(runs.drop_duplicates("session")["session"])}
    of_series = runs.groupby(SERIES, sort=False, observed=True)
    for one in levels:
        series = dict(one.sessions.iloc[-1][SERIES])
        deviations = np.full(len(order), np.nan)
        deviations[[order[session] for session in one.sessions["session"]]] = residuals(one.measured, one.shifts)
        repeats = int(one.sessions["runs"].median())
        yield Noise(series, one.rule, deviations, within(of_series.get_group(tuple(series.values()))), repeats)


def within(runs: pd.DataFrame) -> np.ndarray:
    """The deviations of the runs of one series from the mean of their session, as fractions of it, scaled to the
    variance of a single run; empty if too few sessions have several runs."""
    by_session = runs.groupby("session")["value"]
    size, mean = by_session.transform("size"), by_session.transform("mean")
    repeated = runs[(size > 1) & (mean > 0)]
    if repeated["session"].nunique() < SESSIONS_WITH_REPEATS:
        return np.empty(0)
    scale = np.sqrt(size / (size - 1))
    return ((repeated["value"] / mean - 1) * scale)[repeated.index].to_numpy()


def drawn_sessions(sessions: int, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Indices of sessions (draws, nights), in blocks of neighbours; the first one follows the last one. The first block
    is cut anywhere, so that blocks do not end at the same night in all draws."""
    draws, nights = shape
    begins = rng.integers(sessions, size=(draws, -(-nights // BLOCK) + 1))
    blocks = ((begins[..., None] + np.arange(BLOCK)) % sessions).reshape(draws, -1)
    return np.take_along_axis(blocks, rng.integers(BLOCK, size=(draws, 1)) + np.arange(nights), axis=1)


def histories(noise: Noise, drawn: np.ndarray, repeats: int, rng: np.random.Generator) -> np.ndarray:
    """Session values (draws, nights) of a stable series with the level 1, of drawn sessions, each the median of so many
    runs. A session without a value is replaced by another one."""
    known = noise.sessions[np.isfinite(noise.sessions)]
    values = noise.sessions[drawn]
    missing = ~np.isfinite(values)
    values[missing] = rng.choice(known, missing.sum())
    if repeats == noise.repeats or not len(noise.runs):
        return 1 + values
    own = np.var(medians(noise.runs, noise.repeats, (DRAWS_OF_MEDIANS,), rng))
    between = np.sqrt(max(1 - own / max(np.var(known), np.finfo(float).tiny), 0))
    return 1 + between * values + medians(noise.runs, repeats, values.shape, rng)


def medians(runs: np.ndarray, repeats: int, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Medians of so many drawn runs each."""
    return np.median(rng.choice(runs, (*shape, repeats)), axis=-1)
