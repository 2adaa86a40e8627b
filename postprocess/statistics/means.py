# SPDX-License-Identifier: Apache-2.0
"""Means and their intervals."""

import numpy as np

CONFIDENCE, RESAMPLES = 0.95, 10_000


def bootstrap_interval(values: np.ndarray) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of the mean, NaN for a single value. The same values give the same
    interval."""
    if len(values) < 2:
        return np.nan, np.nan
    drawn = np.random.default_rng(0).choice(values, size=(RESAMPLES, len(values)))
    return tuple(np.quantile(drawn.mean(axis=1), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]))
