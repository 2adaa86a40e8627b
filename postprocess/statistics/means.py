# SPDX-License-Identifier: Apache-2.0
"""Means and their intervals."""

import numpy as np

CONFIDENCE, RESAMPLES, FEWEST, DRAWN = 0.95, 10_000, 3, 100_000


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


def half_width_of_difference(first: np.ndarray, second: np.ndarray) -> float:
    """Half of the 95 % interval of the difference of two means, by two samples of normal noise whose scatter may differ
    (Behrens and Fisher: Fisher, Annals of Eugenics 6 (1935) 391), drawn with a fixed seed. A sample has two values at
    least."""
    generator = np.random.default_rng(0)
    drawn = [
        np.std(sample, ddof=1) / len(sample) ** 0.5 * generator.standard_t(len(sample) - 1, DRAWN)
        for sample in (first, second)
    ]
    return float(np.quantile(np.abs(drawn[0] - drawn[1]), CONFIDENCE))
