# SPDX-License-Identifier: Apache-2.0
"""The comparison of rates: it passes what was disturbed, fails what is wrong, and is as sure as it says."""

import random
import time
from math import comb

import pytest
from rates import FOR_MEDIAN, MOST_DISTURBED, MOST_DISTURBED_BOTH_WAYS, PAUSE, RUNS, about, assert_rates

EXPECTED = {"disk": about(100, 0.1), "link": about(50, 0.03)}


def compare(measure):
    assert_rates(measure, EXPECTED, pause=0)


def runs(*rates):
    """A measurement that gives these rates of the disk, one after the other, and the last one again and again; the link
    is as it should be."""
    left = list(rates)
    return lambda: {"disk": left.pop(0) if len(left) > 1 else left[0], "link": 50}


def test_one_undisturbed_run_of_seven_is_enough():
    assert RUNS == 7
    compare(runs(10, 20, 89, 89, 89, 89, 100))
    with pytest.raises(AssertionError, match="disk: not what the limit lets pass, in each of 7 runs"):
        compare(runs(10, 20, 89, 89, 89, 89, 89, 100))


@pytest.mark.parametrize("right", [90.1, 100, 109.9])
def test_rate_within_its_tolerance_passes(right):
    compare(runs(right))


@pytest.mark.parametrize("wrong", [(89.9,), (110.1,), (50, 60, 200), (89.9, 110.1)])
def test_rate_beyond_its_tolerance_fails_on_both_sides(wrong):
    with pytest.raises(AssertionError, match=r"^disk: (not what|more than) the limit lets pass"):
        compare(runs(*wrong))


def test_rate_that_is_too_high_fails_in_the_first_run_without_one_that_is_too_low():
    with pytest.raises(AssertionError, match=r"^disk: more than the limit lets pass"):
        compare(runs(200, 100))
    rates = iter([{"disk": 200, "link": 30}, {"disk": 100, "link": 30}, {"disk": 90, "link": 50}])
    compare(lambda: next(rates))
    with pytest.raises(AssertionError, match=r", .*not what the limit lets pass"):
        compare(lambda: {"disk": 200, "link": 30})


def test_runs_are_spread_in_time_as_long_as_they_are_disturbed(monkeypatch):
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    assert_rates(runs(100), EXPECTED)
    assert pauses == []
    assert_rates(runs(10, 89, 100), EXPECTED)
    assert pauses == [PAUSE, PAUSE] and PAUSE >= 5


def test_rates_may_be_undisturbed_in_different_runs():
    disk, link = iter([100, 80]), iter([30, 50])
    compare(lambda: {"disk": next(disk), "link": next(link)})


def test_a_rate_that_is_missing_fails():
    with pytest.raises(AssertionError):
        compare(lambda: {"disk": 100})


def test_good_machine_fails_less_than_once_in_ten_thousand_times():
    """By arithmetic, and by trying with many more disturbances: half of the runs, of which 2 ** -7 fail."""
    assert MOST_DISTURBED**RUNS < 1e-4
    noise, failed = random.Random(1), 0
    for _ in range(2000):
        try:
            compare(lambda: {"disk": noise.choice([100, noise.uniform(0, 89)]), "link": 50})
        except AssertionError:
            failed += 1
    assert 2000 / 2**7 / 2 < failed < 2000 / 2**7 * 2


def test_five_medians_fail_less_than_once_in_ten_thousand_times():
    """The binomial distribution: more than half of the repetitions are disturbed."""
    p, n = MOST_DISTURBED_BOTH_WAYS, FOR_MEDIAN
    wrong = sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n // 2 + 1, n + 1))
    assert 1e-5 < wrong < 1.4e-5 and 5 * wrong < 1e-4
