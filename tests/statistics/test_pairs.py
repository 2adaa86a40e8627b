# SPDX-License-Identifier: Apache-2.0
"""Differences of pairs: intervals against enumeration, and the risk of judging again and again."""

from itertools import product

import numpy as np
import pytest

from coffeecup.postprocess.statistics.pairs import RISK, cumulated, fewest_pairs, interval, looks
from coffeecup.postprocess.statistics.shares import share_interval


@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_distribution_of_the_sum_of_positive_ranks_is_that_of_all_signs(count):
    sums = [sum(rank for rank, positive in enumerate(signs, 1) if positive) for signs in product((0, 1), repeat=count)]
    expected = [np.mean(np.array(sums) <= most) for most in range(count * (count + 1) // 2 + 1)]
    assert cumulated(count) == pytest.approx(expected)


SIX = np.array([0.5, 0.1, 0.3, 0.2, 0.9, 0.4])  # all positive with probability 1/64 where nothing differs


@pytest.mark.parametrize(
    "risk, expected",
    [
        (2 / 64, (0.1, 0.9)),
        (2 / 64 - 1e-9, (-np.inf, np.inf)),
        (4 / 64, (0.15, 0.7)),  # the second smallest and largest mean: of 0.1 and 0.2, of 0.5 and 0.9
        (4 / 64 - 1e-9, (0.1, 0.9)),
    ],
)
def test_interval_of_six_pairs_by_hand(risk, expected):
    low, middle, high = interval(SIX, risk)
    assert (low, high) == pytest.approx(expected)
    means = [(one + other) / 2 for place, one in enumerate(SIX) for other in SIX[place:]]
    assert middle == pytest.approx(np.median(means))


@pytest.mark.parametrize(
    "most_pairs, hypotheses, expected",
    [
        (20, 1, [8, 11, 15, 20]),  # with 6 there were five looks of 1 % each, but six equal signs have 2/64
        (20, 10, [11, 15, 20]),  # three looks at ten: 0.17 % each; 11 equal signs have 0.098 %, 8 have 0.78 %
        (300, 1, [11, 15, 20, 27, 36, 48, 64, 86, 115, 154, 205, 300]),  # each a third more than the one before
        (6, 1, [6]),
        (5, 1, []),  # 2/2^5 is more than 5 %
        (7, 2, [7]),
        (6, 2, []),
    ],
)
def test_looks_are_where_something_can_be_decided(most_pairs, hypotheses, expected):
    planned = looks(most_pairs, hypotheses)
    assert list(planned) == expected
    assert sum(planned.values()) * hypotheses <= RISK + 1e-12


def test_fewest_pairs_can_decide_and_one_fewer_cannot():
    for hypotheses in (1, 2, 10, 100):
        fewest = fewest_pairs(hypotheses)
        assert looks(fewest, hypotheses) and not looks(fewest - 1, hypotheses)


@pytest.mark.parametrize("noise", ["normal", "cauchy"])
def test_looking_again_and_again_keeps_the_risk(noise):
    """1,000 comparisons of equals, with ordinary noise and with noise that has no mean."""
    drawn = getattr(np.random.default_rng(1), f"standard_{noise}")((1000, 27))
    planned = looks(27, 1)
    ends = [[interval(values[:look], risk) for look, risk in planned.items()] for values in drawn]
    called = sum(any(low > 0 or high < 0 for low, _, high in each) for each in ends)
    assert share_interval(called, len(drawn))[1] <= 0.06
    assert called > 0  # intervals are not so wide that nothing is ever found
