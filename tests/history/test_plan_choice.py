# SPDX-License-Identifier: Apache-2.0
"""Which tests `coffeecup plan` chooses, of series whose detections are known. test_plan.py has noise and command."""

import numpy as np
import pandas as pd
import pytest

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.history.change_points import Levels, Rule, Site
from coffeecup.postprocess.history.noise import Noise
from coffeecup.postprocess.history.plan import (
    OfferedTest,
    Simulation,
    Terms,
    cheapest,
    coverage,
    first,
    groups,
    most_repeats,
    plan,
    subsets,
)
from coffeecup.postprocess.history.power import MOST_BEFORE, SOON, alarms, detectable, with_loss
from coffeecup.postprocess.history.table import SERIES

HIGHER = Rule(Better.HIGHER)


def simulation(detections, power=0.5):
    """Of series whose detections with one run a night are known: a string of 0 and 1 each."""
    noise = Noise({}, HIGHER, np.zeros(20), np.empty(0), 1)
    terms = Terms(10, 7, 0.1, power)
    known = {(n, 1, 7, 0.1): np.array(list(text * 20)) == "1" for n, text in enumerate(detections)}
    return Simulation([noise] * len(detections), Site([], 4.0, None), terms, _known=known)


def repeated(*detections, minutes=10):
    """Of series that have runs: for each, what 1, 2, 3, 5 and 8 repeats detect."""
    noise = Noise({}, HIGHER, np.zeros(20), np.ones(16), 2)
    known = {
        (n, repeats, 7, 0.1): np.full(40, letter == "1")
        for n, text in enumerate(detections)
        for repeats, letter in zip((1, 2, 3, 5, 8), text)
    }
    return Simulation([noise] * len(detections), Site([], 4.0, None), Terms(minutes, 7, 0.1, 0.5), _known=known)


def offered(*seconds):
    return [OfferedTest(f"t{n}", cost, cost, 1, "", (n,)) for n, cost in enumerate(seconds)]


def test_cheapest_set_covers_every_target_and_counts_what_sizes_detect_together():
    """Half of the histories each, and others: only together they detect all."""
    by = simulation(["10", "01", "11", "11"], power=0.9)
    one, other = ("b_eff",), ("b_eff_io",)
    choice = cheapest(offered(1, 2, 4, 7), [one, one, one, other], by)
    assert [test.name for test in choice.tests] == ["t0", "t1", "t3"] and choice.seconds == 10
    choice = cheapest(offered(1, 4, 4, 7), [one, one, one, other], by)
    assert [test.name for test in choice.tests] == ["t2", "t3"]
    assert cheapest(offered(1, 2), [one, one], simulation(["10", "10"], power=0.9)) is None


def test_probability_is_proven_by_the_low_end_of_its_interval():
    """389 of 400 have the interval 95.1 % to 98.4 %; 388 begin at 94.9 %."""
    noise = Noise({}, HIGHER, np.zeros(20), np.empty(0), 1)
    by = Simulation([noise], Site([], 4.0, None), Terms(10, 7, 0.1, 0.95))
    assert by.terms.draws == 400
    assert [by.proven(np.arange(400) < count) for count in (388, 389)] == [False, True]


@pytest.mark.parametrize(("missed", "draws"), [(0, 100), (100, 200), (33, 400), (20, 400), (2, 50), (1, 50)])
def test_as_many_histories_are_drawn_as_decide(missed, draws):
    """One of so many histories is without a detection, none if 0; 95 % are wanted. The intervals of 50 of 50 and of 99
    of 100 begin below 95 %; those of 100 of 100 at 96.3 %, of 198 of 200 at 96.4 %."""
    by = simulation(["1"], power=0.95)
    alarmed = np.ones(400, dtype=bool)
    alarmed[:: missed or 400] = not missed
    by._known[0, 1, 7, 0.1] = alarmed
    assert len(by.any_detected([0], 1)) == draws


def test_what_would_be_enough():
    """Without noise, a loss of 2.9 % is below the 3 % that may be a regression; 3.2 % is above."""
    noise = Noise({}, HIGHER, np.zeros(20), np.empty(0), 1)
    by = Simulation([noise], Site([], 4.0, None), Terms(10, 4, 0.029, 0.5))
    found = coverage(("t",), [0], 1, by)
    assert (found.reached, found.power.count, found.nights) == (False, 0, None)
    assert found.loss == pytest.approx(0.0319)


def names(tests):
    return [test.name for test in tests]


def test_tests_are_chosen_together_if_they_have_a_target_in_common():
    """t1 has one target with t0 and one with t2."""
    tests = [OfferedTest(f"t{n}", 1.0, 1.0, 1, "", series) for n, series in enumerate([(0,), (3,), (4,), (1, 2)])]
    assert [names(part) for part in groups(tests, ["a", "a", "b", "b", "c"])] == [["t2"], ["t0", "t1", "t3"]]


def test_a_cheaper_test_of_one_target_does_not_cover_the_other():
    tests = [OfferedTest("t0", 10.0, 10.0, 1, "", (0, 1)), OfferedTest("t1", 1.0, 1.0, 1, "", (2,))]
    choice = cheapest(tests, ["a", "b", "b"], simulation(["11", "11", "11"]))
    assert names(choice.tests) == ["t0"]


def test_subsets_are_tried_by_their_cost_and_of_one_cost_the_smaller_first():
    found = [(names(some), sum(test.seconds for test in some)) for some in subsets(offered(3, 1, 2))]
    alone, pairs = [(["t1"], 1), (["t2"], 2), (["t0"], 3)], [(["t1", "t2"], 3), (["t0", "t1"], 4), (["t0", "t2"], 5)]
    assert found == [*alone, *pairs, (["t0", "t1", "t2"], 6)]


@pytest.mark.parametrize(("tests", "count"), [(12, 2**12 - 1), (13, 13 + 78 + 286)])
def test_of_more_than_twelve_tests_three_at_most_are_combined(tests, count):
    assert sum(1 for _ in subsets(offered(*range(tests)))) == count


@pytest.mark.parametrize(
    ("seconds", "detections", "chosen", "repeats"),
    [
        ((10, 4), ("11111", "01111"), ["t1"], 2),  # 8 s instead of 10 s
        ((10, 5), ("11111", "01111"), ["t0"], 1),  # no cheaper
        ((10, 3), ("11111", "00111"), ["t1"], 3),
        ((10, 3), ("11111", "00011"), ["t0"], 1),  # 15 s
        ((10, 4), ("00001", "00000"), ["t0"], 8),
    ],
)
def test_repeats_of_a_short_test_may_be_cheaper_than_a_long_one(seconds, detections, chosen, repeats):
    choice = cheapest(offered(*seconds), ["a", "a"], repeated(*detections))
    assert (names(choice.tests), choice.repeats) == (chosen, repeats)


def test_every_group_has_the_same_repeats():
    """The first target needs two repeats, so that the second one has two as well."""
    choice = cheapest(offered(1, 2), ["a", "b"], repeated("01111", "11111"))
    assert (names(choice.tests), choice.repeats, choice.seconds) == (["t0", "t1"], 2, 6)
    assert cheapest(offered(1, 2), ["a", "b"], repeated("01111", "00000")) is None


@pytest.mark.parametrize(
    ("seconds", "by", "repeats"),
    [
        (20, repeated("00000", minutes=1), 3),
        (20.1, repeated("00000", minutes=1), 2),
        (61, repeated("00000", minutes=1), 1),
        (1, repeated("00000", minutes=1), 8),
        (1, simulation(["0"]), 1),  # the sessions do not tell how repeats differ
    ],
)
def test_repeats_that_the_minutes_allow(seconds, by, repeats):
    assert most_repeats(offered(seconds), by) == repeats


@pytest.mark.parametrize(("limit", "found"), [(10, 10), (11, 14), (14, 14), (22, None)])
def test_first_that_is_enough(limit, found):
    assert first([10, 14, 21], lambda value: value >= limit) == found


@pytest.mark.slow
def test_a_plan_takes_what_was_chosen_or_all_tests_with_the_repeats_that_fit():
    """At 10 minutes a night, tests of 100 s and 101 s fit together twice."""
    by = repeated("11111", "11111")
    made = plan(offered(100, 101), ["a", "a"], by)
    assert (names(made.choice.tests), made.found, made.reached, made.before) == (["t0"], True, True, 20)
    assert [(one.target, one.numbers, one.reached) for one in made.coverage] == [("a", (0,), True)]
    assert made.most_repeats == 8 and made.false_alarms.count == 0
    short = plan(offered(100, 101), ["a", "a"], repeated("11111", "11111", minutes=1.6))
    assert (short.found, short.affordable, short.reached) == (True, False, False)
    none = plan(offered(100, 101), ["a", "a"], repeated("00000", "00000"))
    assert (names(none.choice.tests), none.choice.repeats, none.found, none.reached) == (["t0", "t1"], 2, False, False)


NIGHTS = (10, 14, 21, 28, 42, 60, 90)
LOSSES = (0.11, 0.12, 0.13, 0.14, 0.16, 0.18, 0.2, 0.25, 0.3, 0.4, 0.5)


def coverage_from(nights=None, loss=None):
    """Of a loss of 10 % that is detected from so many nights on, or of a larger one that is detected at once."""
    by = simulation(["0"])
    by._known |= {(0, 1, some, 0.1): np.full(40, bool(nights and some >= nights)) for some in NIGHTS}
    by._known |= {(0, 1, 7, some): np.full(40, bool(loss and some >= loss)) for some in LOSSES}
    found = coverage("a", [0], 1, by)
    return found.reached, found.nights, found.loss


@pytest.mark.parametrize("nights", NIGHTS)
def test_longer_times_that_are_tried(nights):
    assert coverage_from(nights=nights) == (False, nights, None)


@pytest.mark.parametrize("loss", LOSSES)
def test_larger_losses_that_are_tried(loss):
    """1.1 times to five times of 10 %."""
    assert coverage_from(loss=loss) == (False, None, loss)


def test_a_loss_of_more_than_half_is_not_tried():
    """Five times of 11 %."""
    known = {round(0.11 * times, 4): False for times in (1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2, 2.5, 3, 4)} | {0.55: True}
    by = simulation(["0"])
    by.terms = Terms(10, 7, 0.11, 0.5)
    by._known |= {(0, 1, nights, 0.11): np.zeros(40, dtype=bool) for nights in (7, *NIGHTS)}
    by._known |= {(0, 1, 7, loss): np.full(40, found) for loss, found in known.items()}
    assert coverage("a", [0], 1, by).loss is None


# --- the smallest loss that would be found ----------------------------------------------------------------------------


def sites(spread, better=Better.HIGHER, count=60, limit=4.5, apart=1.0):
    """A judged site of one series of normal noise, with a session after so many days each."""
    values = 100 * (1 + spread * np.random.default_rng(5).standard_normal(count))
    times = pd.Timestamp("2026-01-01", tz="UTC") + apart * pd.to_timedelta(np.arange(count), unit="D")
    sessions = pd.DataFrame([dict.fromkeys(SERIES, "x")] * count).assign(session_time=times)
    return Site([Levels(sessions, values, Rule(better), [])], limit, 0.0)


@pytest.mark.parametrize(
    ("better", "apart", "after"),
    [
        (Better.HIGHER, 1, SOON),
        (Better.LOWER, 1, SOON),
        (Better.UNKNOWN, 1, SOON),
        (Better.HIGHER, 0.25, SOON),
        pytest.param(Better.HIGHER, 1.25, 11, id="a fifth of the nights is missing"),
        (Better.HIGHER, 2, 7),
    ],
)
def test_the_smallest_loss_is_found_nine_times_in_ten_and_a_much_smaller_one_is_not(better, apart, after):
    """By the functions that judge the history, in other histories of the same noise, after the sessions that there are
    in 14 nights."""
    [loss] = detectable(sites(0.05, better, apart=apart)).values()
    stable = 1 + 0.05 * np.random.default_rng(8).standard_normal((60, MOST_BEFORE + after))

    def found(size):
        return alarms(
            with_loss(stable, Rule(better), MOST_BEFORE, size), Rule(better), Site([], 4.5, 0.0), MOST_BEFORE
        ).mean()

    assert 0.04 < loss < 0.18 and found(1.15 * loss) > 0.85 > 0.7 > found(0.6 * loss)


def test_a_loss_that_is_found_is_stated_even_if_outliers_hide_a_larger_one():
    """A fifth of the sessions is 8 standard deviations lower. A look bounds all values, so that far lower ones do not
    show more; and the less they scatter, the narrower are the bounds."""
    site = sites(0.002, limit=5.9)
    site.levels[0].measured[::5] -= 1.6
    [loss] = detectable(site).values()
    assert 0.03 < loss < 0.04


def test_more_noise_hides_more_and_no_loss_is_found_in_noise_alone():
    sizes = [loss for spread in (0.001, 0.03, 0.06, 0.9) for loss in detectable(sites(spread)).values()]
    assert sizes[0] == pytest.approx(0.03, rel=0.06) and sizes[1] < sizes[2] < 1 and sizes[3] == np.inf


@pytest.mark.parametrize(("apart", "found"), [(3.5, True), (4.1, False), (7.0, False)])
def test_fewer_than_four_sessions_in_14_nights_find_no_loss(apart, found):
    [loss] = detectable(sites(0.01, apart=apart)).values()
    assert np.isfinite(loss) == found


@pytest.mark.parametrize(("count", "known"), [(19, 0), (20, 1)])
def test_twenty_sessions_tell_what_would_be_found(count, known):
    assert len(detectable(sites(0.02, count=count))) == known


def test_a_metric_without_a_direction_has_no_loss():
    assert detectable(sites(0.02, Better.NEITHER)) == {}
