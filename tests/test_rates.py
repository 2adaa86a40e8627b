# SPDX-License-Identifier: Apache-2.0
"""The comparison of rates: it passes what was disturbed, fails what is wrong, and is as sure as it says."""

import random
from math import comb

import pytest
from rates import FOR_MEDIAN, MOST_DISTURBED, MOST_DISTURBED_BOTH_WAYS, RUNS, about, assert_rates

EXPECTED = {"disk": about(100, 0.1), "link": about(50, 0.03)}


def runs(*rates):
    """A measurement that gives these rates of the disk, one after the other, and the last one again and again; the link
    is as it should be."""
    left = list(rates)
    return lambda: {"disk": left.pop(0) if len(left) > 1 else left[0], "link": 50}


def test_one_undisturbed_run_of_seven_is_enough():
    assert RUNS == 7
    assert_rates(runs(10, 20, 89, 89, 89, 89, 100), EXPECTED)
    with pytest.raises(AssertionError, match="disk: less than the limit lets pass, in each of 7 runs"):
        assert_rates(runs(10, 20, 89, 89, 89, 89, 89, 100), EXPECTED)


@pytest.mark.parametrize("right", [90.1, 100, 109.9])
def test_rate_within_its_tolerance_passes(right):
    assert_rates(runs(right), EXPECTED)


@pytest.mark.parametrize("wrong", [(89.9,), (110.1,), (50, 60, 200)])
def test_rate_beyond_its_tolerance_fails_on_both_sides(wrong):
    with pytest.raises(AssertionError, match=r"^disk: (less|more) than the limit lets pass"):
        assert_rates(runs(*wrong), EXPECTED)


def test_rates_may_be_undisturbed_in_different_runs():
    disk, link = iter([100, 80]), iter([30, 50])
    assert_rates(lambda: {"disk": next(disk), "link": next(link)}, EXPECTED)


def test_a_rate_that_is_missing_fails():
    with pytest.raises(AssertionError):
        assert_rates(lambda: {"disk": 100}, EXPECTED)


def test_good_machine_fails_less_than_once_in_ten_thousand_times():
    """By arithmetic, and by trying with many more disturbances: half of the runs, of which 2 ** -7 fail."""
    assert MOST_DISTURBED**RUNS < 1e-4
    noise, failed = random.Random(1), 0
    for _ in range(2000):
        try:
            assert_rates(lambda: {"disk": noise.choice([100, noise.uniform(0, 89)]), "link": 50}, EXPECTED)
        except AssertionError:
            failed += 1
    assert 2000 / 2**7 / 2 < failed < 2000 / 2**7 * 2


def test_five_medians_fail_less_than_once_in_ten_thousand_times():
    """The binomial distribution: more than half of the repetitions are disturbed."""
    p, n = MOST_DISTURBED_BOTH_WAYS, FOR_MEDIAN
    wrong = sum(
        comb(n, disturbed) * p**disturbed * (1 - p) ** (n - disturbed) for disturbed in range(n // 2 + 1, n + 1)
    )
    assert 1e-5 < wrong < 1.4e-5 and 5 * wrong < 1e-4
