# SPDX-License-Identifier: Apache-2.0
"""How much two things differ that were measured in pairs, judged while the pairs come in.

Wilcoxon's signed ranks (Lehmann, Nonparametrics, 1975, chapter 3): valid for every distribution of the differences that
is symmetric about their median. Pairs in random order of measurement make it symmetric where nothing differs, whatever
else changes with time. Intervals hold at all LOOKS together, so that one may stop at any of them.
"""

from functools import cache

import numpy as np

RISK = 0.05  # that any interval of a comparison misses its true difference
# Numbers of pairs after which the intervals are computed: each look costs a share of RISK, so that they are few.
LOOKS = (6, 8, 11, 15, 20, 27, 36, 48, 64, 86, 115, 154, 205)


def looks(most_pairs: int, hypotheses: int) -> dict[int, float]:
    """The numbers of pairs at which so many hypotheses are judged, none above `most_pairs`, and the risk that each
    judgement of each may take: RISK in equal parts (Bonferroni), which needs no assumption on how they depend on each
    other. Numbers of pairs that are too small to decide anything at this risk are left out; empty if all are."""
    planned = sorted({*(look for look in LOOKS if look < most_pairs), most_pairs})
    while planned and 2.0 ** (1 - planned[0]) > RISK / hypotheses / len(planned):
        del planned[0]
    return dict.fromkeys(planned, RISK / hypotheses / max(len(planned), 1))


def fewest_pairs(hypotheses: int) -> int:
    """The smallest number of pairs that can decide."""
    return next(count for count in range(1, max(LOOKS)) if looks(count, hypotheses))


def interval(differences: np.ndarray, risk: float) -> tuple[float, float, float]:
    """(low, middle, high) of differences (pairs,): their median as the median of all means of two of them (Hodges and
    Lehmann), and the interval that misses the true one with at most `risk`. It is infinite if there are too few."""
    first, second = np.triu_indices(len(differences))
    means = np.sort((differences[first] + differences[second]) / 2)
    outside = int(np.searchsorted(cumulated(len(differences)), risk / 2, side="right"))
    if not outside:
        return -np.inf, float(np.median(means)), np.inf
    return float(means[outside - 1]), float(np.median(means)), float(means[-outside])


@cache
def cumulated(count: int) -> np.ndarray:
    """P(sum of the positive ranks <= s) for s from 0, of so many differences that are symmetric about 0."""
    ways = np.ones(1)
    for rank in range(1, count + 1):
        ways = np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))
    return np.cumsum(ways) / 2.0**count
