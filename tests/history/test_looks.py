# SPDX-License-Identifier: Apache-2.0
"""Parts of a look at a series, against sums and medians. test_levels.py has looks as a whole."""

from statistics import NormalDist

import numpy as np
import pytest

from coffeecup.postprocess.history import looks


@pytest.mark.parametrize(("own", "usual"), [(0.6, 0.0), (0.0, 0.4)])
def test_degrees_of_freedom_are_those_of_the_variance_of_autocorrelated_values(own, usual):
    """As many independent values as the sum of the squares of all autocorrelations leaves, minus two parameters."""
    lags = np.arange(1, 1000)
    squares = np.maximum((own**lags) ** 2, (usual * 0.8 ** (lags - 1.0)) ** 2)
    expected = 100 / (1 + 2 * squares.sum()) - 2
    assert looks.freedom(np.array(100.0), np.array(own), usual) == pytest.approx(expected)


def test_the_size_of_a_step_is_the_difference_of_the_medians_on_both_sides():
    values = np.random.default_rng(9).standard_normal((4, 31))
    place = np.array([8, 9, 20, 27])
    expected = [np.median(row[at:]) - np.median(row[:at]) for row, at in zip(values, place)]
    assert looks.difference_of_medians(values, place) == pytest.approx(expected)


def test_the_deviate_of_a_tail_grows_with_the_difference():
    """Between the largest residual and the normal part of the distribution, the mean hardly grows and then steeply:
    Newton's method alone leaves such a place again and again."""
    differences = np.linspace(1, 25, 2000)
    rest = np.tile([NormalDist().inv_cdf((place + 0.5) / 54) for place in range(54)], (2000, 1)).clip(-2, 2)
    bound, before, after = np.full(2000, 4.5), np.full(2000, 21.3), np.full(2000, 8.44)
    found = looks.tail_deviate(differences, rest, bound, before, after)
    assert (np.diff(found) > 0).all() and found[-1] < 100
