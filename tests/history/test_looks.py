# SPDX-License-Identifier: Apache-2.0
"""Parts of a look at a series, against sums and medians. test_levels.py has looks as a whole."""

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
