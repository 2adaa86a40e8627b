# SPDX-License-Identifier: Apache-2.0
"""The rank-sum test, against all ways to divide the values into two groups."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from coffeecup.postprocess.statistics.ranks import rank_sum


def middle_rank(value, every):
    return Fraction(sum(other < value for other in every)) + Fraction(sum(other == value for other in every) + 1, 2)


def of_all_divisions(first, second):
    every = [*first, *second]
    ranks = [middle_rank(value, every) for value in every]
    usual = Fraction(len(first) * (len(every) + 1), 2)
    seen = abs(sum(ranks[: len(first)]) - usual)
    ways = [abs(sum(some) - usual) >= seen for some in combinations(ranks, len(first))]
    return sum(ways) / len(ways)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1, 2, 3], [4, 5, 6, 7, 8]),
        ([5, 1, 9], [2, 6, 3, 7]),
        ([1, 1, 2, 2], [2, 3, 3, 3, 1]),
        ([4, 4], [4, 4, 4]),
        ([7.5, 2, 8, 9, 10], [1, 2, 3]),
    ],
)
def test_the_p_value_is_the_share_of_divisions_that_differ_as_much(first, second):
    p_value = rank_sum(np.array(first, dtype=float), np.array(second, dtype=float))
    assert p_value == pytest.approx(of_all_divisions(first, second), rel=1e-12)


def test_separate_groups_have_the_two_most_extreme_of_all_divisions():
    """3 of 11 values can be chosen in 165 ways."""
    assert rank_sum(np.arange(8.0), np.arange(10.0, 13.0)) == pytest.approx(2 / 165)
