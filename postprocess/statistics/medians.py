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
    ordered, count = np.sort(values), len(values)
    tails = np.cumsum(
        [comb(count, place) / 2**count for place in range(count)]
    )  # P(fewer than place + 1 values lie below the median)
    inner = max(int((2 * tails <= 1 - CONFIDENCE).sum()) - 1, 0)
    return float(ordered[inner]), float(ordered[-1 - inner]), float(1 - 2 * tails[inner])
