# SPDX-License-Identifier: Apache-2.0
"""Whether sessions after a change differ from those before it, judged by the noise between sessions of the history.

A difference is compared with those between sessions of the same series that are as many sessions apart and that nothing
changed: the deviations from the levels that the history found. If the named sessions are like these, their deviation is
each of the ranks with the same probability, whatever its distribution is (Vovk, Gammerman and Shafer, Algorithmic
Learning in a Random World, 2005, chapter 2). Where neighbours depend on each other, this holds only approximately: in
nights of two real systems, 5.0 to 6.3 % of the intervals missed instead of 5 % (tests/evidence/bench_compare.py).
"""

from math import ceil, inf

import msgspec
import numpy as np
import pandas as pd

from coffeecup.postprocess.comparison.arms import differing
from coffeecup.postprocess.comparison.verdicts import Verdict, of_interval
from coffeecup.postprocess.history.change_points import Levels, site_of
from coffeecup.postprocess.history.circumstances import surroundings
from coffeecup.postprocess.history.noise import BLOCK, residuals
from coffeecup.postprocess.history.standing import ranks
from coffeecup.postprocess.history.table import SERIES, WITHOUT_METRIC
from coffeecup.postprocess.statistics.pairs import RISK

BEFORE, AFTER = "before", "after"


class Judged(msgspec.Struct, frozen=True):
    """A series, its verdict (whose `pairs` are those of the history), the pairs that are needed to judge it, and
    whether both sides ran on the same hosts."""

    series: dict
    verdict: Verdict
    needed: int
    same_hosts: bool


class NotJudged(msgspec.Struct, frozen=True):
    """A series of which a side has a value, but which cannot be judged, and why."""

    series: dict
    reason: str


class Sessions(msgspec.Struct, frozen=True):
    """The result: identifiers of both sides, whether every series that one of them has is decided, verdicts, the series
    without one, and the recorded facts in which the sides differ, with the value in each."""

    sessions: dict[str, list[str]]
    holds: bool
    verdicts: list[Judged]
    not_judged: list[NotJudged]
    differences: dict[str, dict[str, str]]


def compare_sessions(values: pd.DataFrame, sides: dict[str, list[str]], metrics: list[str], minimum: float) -> Sessions:
    """Compares the sessions of both sides (BEFORE, AFTER) in a table of session_values: `metrics`, by default the first
    one of each test, in every series that has values on both sides, and enough sessions to have levels."""
    chosen = values[values["metric"].isin(metrics)] if metrics else first_metrics(values)
    both = [one for one in site_of(chosen).levels if all(len(places(one, side)) for side in sides.values())]
    risk = RISK / max(len(both), 1)
    judged = [judge(one, sides, minimum, risk) for one in both]
    recorded = [
        (side, {str(fact): value for fact, value in of_session.items() if value and fact != "hosts"})
        for side, names in sides.items()
        for of_session in surroundings(values[values["session"].isin(names)]).to_dict("records")
    ]
    others = not_judged(chosen, sides, [each.series for each in judged])
    holds = bool(judged) and not others and all(each.verdict.decided for each in judged)
    return Sessions(sides, holds, judged, others, differing(recorded))


def not_judged(values: pd.DataFrame, sides: dict[str, list[str]], judged: list[dict]) -> list[NotJudged]:
    """The other series that a side has."""
    found = []
    for key, rows in values.groupby(SERIES, sort=False, observed=True):
        series, there = dict(zip(SERIES, key)), [rows["session"].isin(names).any() for names in sides.values()]
        if any(there) and series not in judged:
            lacking = [f"no value {side}" for side, has in zip(sides, there) if not has]
            found.append(NotJudged(series, (lacking or ["too few sessions with the same unit"])[0]))
    return found


def first_metrics(values: pd.DataFrame) -> pd.DataFrame:
    """The rows of the first metric of each test and place."""
    series = values.drop_duplicates(SERIES)
    first = series.assign(rank=ranks(series)).sort_values("rank", kind="stable").drop_duplicates(WITHOUT_METRIC)
    return values.merge(first[SERIES], on=SERIES)


def places(one: Levels, sessions: list[str]) -> np.ndarray:
    return np.flatnonzero(one.sessions["session"].isin(sessions))


def judge(one: Levels, sides: dict[str, list[str]], minimum: float, risk: float) -> Judged:
    """The verdict on one series, at this risk."""
    before, after = (places(one, sides[side]) for side in (BEFORE, AFTER))
    hosts = one.sessions["hosts"].to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(one.measured)
        deviations = np.log1p(residuals(one.measured, one.shifts))
    deviations[[*before, *after]] = np.nan
    same = set(hosts[before]) == set(hosts[after])
    noise = differences_of_history(deviations, hosts, before, after)
    middle, half = float(logs[after].mean() - logs[before].mean()), half_width(noise, risk)
    ends = (middle - half, middle, middle + half) if np.isfinite(middle) else (-inf, 0.0, inf)
    series = dict(one.sessions.iloc[-1][SERIES])
    verdict = of_interval(AFTER, series["metric"], len(noise), ends, one.rule.better, minimum)
    return Judged(series, verdict, ceil(1 / risk) - 1, same)


def differences_of_history(
    deviations: np.ndarray, hosts: np.ndarray, before: np.ndarray, after: np.ndarray
) -> np.ndarray:
    """The differences (pairs,) that sessions of the history have which are placed to each other as those `before` and
    `after` are, on the same hosts or others as they are. Deviations (sessions,) are logarithms, NaN where they do not
    count. Of sides that are farther apart than a BLOCK of sessions, those a BLOCK apart are taken."""
    first, second = before - before.min(), after - before.min()
    second = second - max(second.min() - first.max() - BLOCK, 0)
    shift = -min(second.min(), 0)
    first, second = first + shift, second + shift
    same = set(hosts[before]) == set(hosts[after])
    starts = np.arange(max(len(deviations) - max(first.max(), second.max()), 0))
    found = deviations[starts[:, None] + second].mean(axis=1) - deviations[starts[:, None] + first].mean(axis=1)
    alike = [(set(hosts[start + first]) == set(hosts[start + second])) == same for start in starts]
    return found[np.isfinite(found) & np.array(alike, dtype=bool)]


def half_width(noise: np.ndarray, risk: float) -> float:
    """What a difference (one more of these) exceeds with at most this risk; infinite if they are too few to tell."""
    exceeded = int(risk * (len(noise) + 1) + 1e-9)
    return float(np.sort(np.abs(noise))[-exceeded]) if exceeded else inf
