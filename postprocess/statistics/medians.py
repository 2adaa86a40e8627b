# SPDX-License-Identifier: Apache-2.0
"""Medians and their intervals, valid for every distribution."""

from math import comb

import numpy as np

CONFIDENCE = 0.95


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """(low, high, confidence) of the median of values (measurements,): the innermost order statistics that enclose it
    with CONFIDENCE, for any distribution (the interval of the sign test); with too few values, the whole range with its
    own confidence; of a single value, which shows no noise, NaN."""
    if len(values) < 2:
        return np.nan, np.nan, np.nan
    ordered, chances = np.sort(values), tails(len(values))
    inner = max(int((2 * chances <= 1 - CONFIDENCE).sum()) - 1, 0)
    return float(ordered[inner]), float(ordered[-1 - inner]), float(1 - 2 * chances[inner])


def upper_limit(values: np.ndarray, chance: float) -> float:
    """The innermost order statistic of values (measurements,) that is below their median with at most this probability,
    for any distribution; with too few values, NaN."""
    beyond = int((tails(len(values)) <= chance).sum())
    return float(np.sort(values)[-beyond]) if beyond else np.nan


def tails(count: int) -> np.ndarray:
    """The probability that at most 0, 1, ... of so many values lie below the median: (count,)."""
    return np.cumsum([comb(count, place) / 2**count for place in range(count)])
