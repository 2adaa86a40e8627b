# SPDX-License-Identifier: Apache-2.0
"""Whether an arm of a comparison differs from the first one: pure functions on the metrics of their runs."""

from enum import StrEnum
from math import ceil, exp, inf, isfinite, log, log1p, nan

import msgspec
import numpy as np
import pandas as pd

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.show.words import counted
from coffeecup.postprocess.statistics.pairs import RISK, interval

MOST_FORESEEN = 10  # times the pairs that were measured: a longer forecast is a guess


class Standing(StrEnum):
    BETTER = "better"
    WORSE = "worse"
    DIFFERENT = "different"  # of a metric that has no better direction
    SAME = "same"
    OPEN = "open"


class Verdict(msgspec.Struct, frozen=True):
    """How a metric of an arm differs from that of the first one. `low`, `middle` and `high` are ratios, None where they
    are not finite; the interval misses the true one with at most the risk of the whole comparison. `more_pairs` would
    probably decide; None if no number can be foreseen, 0 if it is decided."""

    arm: str
    metric: str
    pairs: int
    low: float
    middle: float | None
    high: float | None
    standing: Standing
    minimum: float
    more_pairs: int | None = 0

    @property
    def decided(self) -> bool:
        return self.standing != Standing.OPEN

    @property
    def differs(self) -> bool:
        return self.standing not in (Standing.OPEN, Standing.SAME)

    @property
    def matters(self) -> bool:
        """Whether it differs, and not only by less than the minimum."""
        return self.differs and max(-log(self.low), log(self.high or 1)) >= log1p(self.minimum)


def ratios(metrics: pd.DataFrame, metric: str, arm: str, first: str) -> np.ndarray:
    """The logarithms (pairs,) of the ratios of an arm to the first one in each block in which both have a positive
    value. `metrics` has the columns block and arm, and one for each metric."""
    table = metrics.pivot(index="block", columns="arm", values=metric).reindex(columns=[arm, first])
    both = table[(table > 0).all(axis=1)]
    return np.log(both[arm].to_numpy() / both[first].to_numpy())


def verdict(arm: str, metric: str, differences: np.ndarray, better: Better, minimum: float, risk: float) -> Verdict:
    """The verdict on logarithms of ratios (pairs,), with the risk of this one judgement (pairs.looks)."""
    ends = interval(differences, risk) if len(differences) else (-inf, nan, inf)
    found = of_interval(arm, metric, len(differences), ends, better, minimum)
    if found.decided:
        return found
    return msgspec.structs.replace(found, more_pairs=further(len(differences), *ends, log1p(minimum)))


def of_interval(
    arm: str, metric: str, pairs: int, ends: tuple[float, float, float], better: Better, minimum: float
) -> Verdict:
    """The verdict of an interval (low, middle, high) of the logarithm of a ratio, of so many pairs."""
    low, middle, high = ends
    state = standing_of(low, high, better, minimum)
    ratio, most = (exp(end) if end < inf else None for end in (middle, high))
    return Verdict(arm, metric, pairs, exp(low), ratio, most, state, minimum, None if state is Standing.OPEN else 0)


def standing_of(low: float, high: float, better: Better, minimum: float) -> Standing:
    """What an interval of the logarithm of a ratio decides, where a fraction below `minimum` does not matter."""
    if low > 0 or high < 0:
        if better not in (Better.HIGHER, Better.LOWER):
            return Standing.DIFFERENT
        return Standing.BETTER if (low > 0) == (better is Better.HIGHER) else Standing.WORSE
    return Standing.SAME if max(-low, high) < log1p(minimum) else Standing.OPEN


def further(count: int, low: float, middle: float, high: float, margin: float) -> int | None:
    """How many more pairs would decide, if the interval shrinks around its middle with the root of their number."""
    half = (high - low) / 2
    aim = max(abs(middle), margin - abs(middle))
    if not isfinite(half):
        return None
    needed = ceil(count * (half / aim) ** 2)
    return max(needed - count, 1) if needed <= MOST_FORESEEN * count else None


def in_words(found: Verdict, first: str) -> str:
    """The verdict as a sentence without its subject, the arm."""
    against = f"{found.arm} beside {first}"
    if found.middle is None or found.high is None:
        return f"{against}: cannot tell from {counted(found.pairs, 'pair')}"
    size = found.middle - 1
    range_ = f"[{percent(found.low - 1)}, {percent(found.high - 1)}]"
    if found.standing is Standing.SAME:
        return f"{against}: no difference above {percent(found.minimum)} % {range_}"
    if found.standing is Standing.OPEN:
        more = f": about {counted(found.more_pairs, 'more pair')} would" if found.more_pairs else ""
        return f"{against}: cannot tell {range_}{more}"
    direction = {Standing.DIFFERENT: "higher" if size > 0 else "lower"}.get(found.standing, found.standing.value)
    below = "" if found.matters else f", below {percent(found.minimum)} %"
    return f"{against}: {direction} by {percent(abs(size))} % {range_}{below}"


def percent(fraction: float) -> str:
    """A fraction in per cent, with two significant digits."""
    value = 100 * fraction
    return f"{value:.2g}" if abs(value) < 99.5 else f"{value:.0f}"


def risk_in_words() -> str:
    """What the intervals promise."""
    return f"all intervals together miss a true difference with a risk of at most {percent(RISK)} %"
