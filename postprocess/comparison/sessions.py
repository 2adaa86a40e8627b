# SPDX-License-Identifier: Apache-2.0
"""Whether sessions after a change differ from those before it, judged by the noise between sessions of the history.

A difference is compared with those between sessions of the same series that are as many sessions apart and that nothing
changed: the deviations from the levels that the history found. If the named sessions are like these, their deviation is
each of the ranks with the same probability, whatever its distribution is (Vovk, Gammerman and Shafer, Algorithmic
Learning in a Random World, 2005, chapter 2). Where neighbours depend on each other, this holds only approximately: in
nights of two real systems, 5.0 to 6.3 % of the intervals missed instead of 5 % (tests/evidence/bench_compare.py).
"""

from dataclasses import asdict, dataclass
from math import ceil, inf

import numpy as np
import pandas as pd

from coffeecup.postprocess.comparison.result import in_what, laid_out
from coffeecup.postprocess.comparison.verdicts import Verdict, in_words, of_interval, risk_in_words
from coffeecup.postprocess.history.change_points import Levels, site_of
from coffeecup.postprocess.history.circumstances import surroundings
from coffeecup.postprocess.history.noise import BLOCK, residuals
from coffeecup.postprocess.history.table import SERIES
from coffeecup.postprocess.show.words import counted
from coffeecup.postprocess.statistics.pairs import RISK

BEFORE, AFTER = "before", "after"


@dataclass(frozen=True)
class Judged:
    """A series, its verdict (whose `pairs` are those of the history), the pairs that are needed to judge it, and
    whether both sides ran on the same hosts."""

    series: dict
    verdict: Verdict
    needed: int
    same_hosts: bool

    @property
    def sentence(self) -> str:
        one, found, hosts = self.series, self.verdict, "the same hosts" if self.same_hosts else "other hosts"
        where = f"{one['system']}:{one['partition']}+{one['environ']}"
        processes = counted(one["processes"], "process") if one["processes"] else ""
        words = (one["benchmark"], one["metric"], where, one["node"], one["file_system"], processes, one["settings"])
        name = " ".join(filter(None, words))
        if found.high == inf:
            told = f"{found.pairs} of {self.needed} such pairs of sessions on {hosts} are in the history"
            return f"{name}: cannot tell: {told}"
        return f"{name}, {in_words(found, BEFORE)}, on {hosts}"


@dataclass(frozen=True)
class Sessions:
    """The result: identifiers of both sides, verdicts, and the recorded facts in which the sides differ, in each."""

    sides: dict[str, list[str]]
    judged: list[Judged]
    differences: dict[str, dict[str, str]]

    @property
    def holds(self) -> bool:
        return bool(self.judged) and all(each.verdict.decided for each in self.judged)


def compare_sessions(values: pd.DataFrame, sides: dict[str, list[str]], metrics: list[str], minimum: float) -> Sessions:
    """Compares the sessions of both sides (BEFORE, AFTER) in a table of session_values: `metrics`, by default the first
    one of each test, in every series that has values on both sides. Series of too few sessions to have levels are left
    out."""
    chosen = values[values["metric"].isin(metrics)] if metrics else first_metrics(values)
    named = [values["session"].isin(names) for names in sides.values()]
    both = [one for one in site_of(chosen).levels if all(len(places(one, side)) for side in sides.values())]
    risk = RISK / max(len(both), 1)
    facts = [surroundings(values[rows]).drop(columns="hosts", errors="ignore") for rows in named]
    return Sessions(sides, [judge(one, sides, minimum, risk) for one in both], differing(*facts))


def first_metrics(values: pd.DataFrame) -> pd.DataFrame:
    """The rows of the first metric of each test and place."""
    alike = [name for name in SERIES if name != "metric"]
    heads = values.drop_duplicates([*alike, "metric"]).groupby(alike, sort=False, observed=True).head(1)
    return values.merge(heads[SERIES], on=SERIES)


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


def differing(before: pd.DataFrame, after: pd.DataFrame) -> dict[str, dict[str, str]]:
    """The facts that are the same in all runs of each side, and not in both."""
    found = {}
    for name in [column for column in before if column in after]:
        values = [set(side[name]) - {""} for side in (before, after)]
        if all(len(side) <= 1 for side in values) and values[0] != values[1]:
            found[name] = {side: next(iter(each), "") for side, each in zip((BEFORE, AFTER), values)}
    return found


def text(found: Sessions) -> str:
    """For people at a terminal."""
    sides = " and ".join(f"{side} {', '.join(names)}" for side, names in found.sides.items())
    lines = [f"sessions {sides}", *(each.sentence for each in found.judged)]
    lines += [f"({risk_in_words()})"] if found.judged else ["No series has both and enough sessions to be judged."]
    return laid_out(lines, in_what(found.differences, "they"))


def as_object(found: Sessions) -> dict:
    """The same for machines, with the names of a comparison of arms."""
    return {
        "sessions": found.sides,
        "holds": found.holds,
        "verdicts": [
            each.series | asdict(each.verdict) | {"needed": each.needed, "same_hosts": each.same_hosts}
            for each in found.judged
        ],
        "differences": [{"fact": name, "values": values} for name, values in found.differences.items()],
    }
