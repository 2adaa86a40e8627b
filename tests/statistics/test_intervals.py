# SPDX-License-Identifier: Apache-2.0
"""Intervals of medians, means and shares against published tables and arithmetic by hand."""

import math

import numpy as np
import pytest

from coffeecup.postprocess.statistics.means import bootstrap_interval
from coffeecup.postprocess.statistics.medians import interval
from coffeecup.postprocess.statistics.shares import share_interval

# --- medians ----------------------------------------------------------------------------------------------------------


def test_the_interval_is_that_of_the_sign_test():
    # Conover, Practical Nonparametric Statistics: the binomial distribution with p = 1/2.
    assert interval(np.arange(1.0, 7)) == (1, 6, 1 - 2 / 64)
    assert interval(np.random.default_rng(1).permutation(np.arange(1.0, 21))) == (
        6,
        15,
        pytest.approx(0.9586, abs=5e-5),
    )
    assert interval(np.arange(1.0, 4)) == (1, 3, 1 - 2 / 8), "too few for 95 %: what they do state"
    assert np.isnan(interval(np.array([7.0]))).all(), "one value shows no noise"


def test_the_interval_holds_the_median_as_often_as_it_says():
    rng = np.random.default_rng(20261121)
    inside = [low <= 0 <= high for low, high, _ in (interval(rng.standard_cauchy(20)) for _ in range(1000))]
    assert np.mean(inside) == pytest.approx(0.9586, abs=0.02), "three standard errors"


@pytest.mark.parametrize(
    ("count", "low", "high", "confidence"),
    [
        (2, 1, 2, 1 - 2 / 4),
        (5, 1, 5, 1 - 2 / 32),
        (8, 1, 8, 1 - 2 / 256),  # without the outermost values it would be 1 - 2 * 9 / 256 = 0.930
        (9, 2, 8, 1 - 2 * 10 / 512),
        (11, 2, 10, 1 - 2 * 12 / 2048),  # the next would be 1 - 2 * 67 / 2048 = 0.935
        (12, 3, 10, 1 - 2 * 79 / 4096),
    ],
)
def test_the_interval_is_the_narrowest_of_at_least_95_percent(count, low, high, confidence):
    """Sums of binomial coefficients: 1, 1 + 9 = 10, 1 + 11 = 12, 1 + 12 + 66 = 79."""
    assert interval(np.arange(count, 0, -1.0)) == (low, high, pytest.approx(confidence))


# --- means ------------------------------------------------------------------------------------------------------------


def test_interval_is_the_middle_95_percent_of_the_resampled_means():
    """Of three values, one of 27 draws is three times the lowest and one three times the highest: each more than the
    2.5 % of a tail. Means of many are normally distributed: 1.96 standard errors to each side."""
    assert bootstrap_interval(np.array([0.2, 0.5, 0.8])) == pytest.approx((0.2, 0.8))
    assert np.isnan(bootstrap_interval(np.array([0.2, 0.8]))).all()
    evenly = np.linspace(0, 1, 101)
    standard_error = math.sqrt((101**2 - 1) / 12) / 100 / math.sqrt(101)
    low, high = bootstrap_interval(evenly)
    # Three standard errors of a quantile of 10 000 means are 4 % of its distance from the middle.
    assert (0.5 - low, high - 0.5) == pytest.approx((1.96 * standard_error, 1.96 * standard_error), rel=0.04)
    assert bootstrap_interval(evenly.copy()) == (low, high), "the same values have the same interval"


# --- shares -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662)],
)
def test_interval_of_a_share(successes, trials, low, high):
    """81 of 263: Newcombe, Statistics in Medicine 17 (1998) 857, table I."""
    assert share_interval(successes, trials) == pytest.approx((low, high), abs=6e-5)
