# SPDX-License-Identifier: Apache-2.0
"""Means and their intervals."""

import numpy as np

CONFIDENCE, RESAMPLES, FEWEST = 0.95, 10_000, 3


def bootstrap_interval(*groups: np.ndarray) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of the mean of the groups' means, NaN for fewer than FEWEST values. Values
    are drawn within each group, so that only their differences from values of the same group widen it; for a group of
    one value, which shows no noise, from those of all groups. The same values give the same interval."""
    every = np.concatenate(groups)
    if len(every) < FEWEST:
        return np.nan, np.nan
    generator = np.random.default_rng(0)
    drawn = [
        generator.choice(values if len(values) > 1 else every, size=(RESAMPLES, len(values))).mean(axis=1)
        for values in groups
    ]
    return tuple(np.quantile(np.mean(drawn, axis=0), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]))
