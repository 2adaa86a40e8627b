# SPDX-License-Identifier: Apache-2.0
"""Levels and drifts: deviates against scipy and arithmetic, and series whose truth is known. bench_history.py in
tests/evidence counts false alarms and detections."""

from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.history import levels, looks
from coffeecup.postprocess.history.change_points import Rule, changes
from coffeecup.postprocess.history.comparable import without_hosts
from coffeecup.postprocess.history.levels import detections, threshold
from coffeecup.postprocess.history.looks import inflation, look, normal_deviate, raw_correlation

HIGHER = Rule(Better.HIGHER)


def noise(count, spread=0.03, seed=1):
    return 1000 * (1 + spread * np.random.default_rng(seed).standard_normal(count))


# --- statistics -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("freedom", [10, 25, 90])
@pytest.mark.parametrize("t", [-6.0, -3.0, 0.0, 2.0, 5.0])
def test_the_deviate_has_the_tail_probability_of_students_t(t, freedom):
    expected = np.sign(t) * stats.norm.isf(stats.t.sf(abs(t), freedom))
    assert normal_deviate(np.array(t), np.array(freedom)) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(("count", "rho"), [(1, 0.6), (5, 0.6), (30, 0.3), (7, 0.0)])
def test_the_variance_of_a_mean_of_autocorrelated_values(count, rho):
    """The sum over all pairs of rho to the power of their distance."""
    lags = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    assert inflation(np.array(count), np.array(rho)) == pytest.approx((rho**lags).sum() / count)


@pytest.mark.parametrize(("count", "usual", "own"), [(4, 0.3, 0.0), (30, 0.2, 0.3), (30, 0.2, 0.8)])
def test_the_usual_autocorrelation_decreases_slowly(count, usual, own):
    """The sum over all pairs of 0.8 to the power of their distance minus 1, times the one at lag 1; or that of an
    autoregressive series of first order, if it is larger: only in the last case."""
    lags = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    persistent = np.where(lags, usual * 0.8 ** (lags - 1.0), 1).sum() / count
    alone = (own ** lags.astype(float)).sum() / count
    assert inflation(np.array(count), np.array(own), usual) == pytest.approx(max(persistent, alone))
    assert bool(alone > persistent) == (own == 0.8)


def test_a_small_step_is_the_t_test_of_its_two_parts():
    """Less than CANDIDATE: the distribution of the residuals is not asked. Values 1 above and below 0, then 0.7 lower:
    quartiles 1.85 apart, so that no value is bounded."""
    values = np.append(np.tile([1.0, -1.0], 15), np.tile([0.3, -1.7], 5))
    t = stats.ttest_ind(values[30:], values[:30])
    expected = -stats.norm.isf(stats.t.sf(abs(t.statistic), len(values) - 2))
    rounding = looks.least_squares(values[None])
    [step] = looks.step_at(looks.bounded(values[None])[looks.LEVEL], np.array([30]), 4.5, rounding, 0.0)
    assert step == pytest.approx(expected, abs=0.02)
    assert -looks.CANDIDATE < expected < -1.5


def test_the_deviate_of_a_tail_is_that_of_drawn_means():
    """The mean of 4 values minus that of 20, drawn from 40 residuals of which 4 are outliers, 0.2 values at the bound
    and a normal one: how often it is at least so large in 300 000 draws."""
    rng = np.random.default_rng(0)
    rest = np.append(rng.standard_normal(36), [3.0] * 4)
    rest -= rest.mean()
    weights = np.append(np.ones(40), [looks.UNSEEN, 1.0])

    def means(count):
        drawn = rng.choice(42, (300_000, count), p=weights / weights.sum())
        values = np.append(rest, [3.0, 0.0])[drawn]
        return np.where(drawn == 41, rest.std() * rng.standard_normal(drawn.shape), values).mean(axis=1)

    differences = means(4) - means(20)
    for least in (1.0, 1.5, 2.0):
        [tail] = looks.tail_deviate(np.array([least]), rest[None], np.array([3.0]), np.array([20.0]), np.array([4.0]))
        assert tail == pytest.approx(stats.norm.isf((differences >= least).mean()), abs=0.03)


def test_outliers_on_the_bad_side_weaken_a_loss_and_no_gain():
    """The same residuals, and a step of the same size: low nights are likelier where such nights have been before."""
    values = np.append(np.tile([1.0, -1.0, 0.5, -0.5, 0.0], 8), [0.0] * 5)
    values[[3, 11, 19, 26, 33]] = -9
    loss, gain = values.copy(), values.copy()
    loss[40:] -= 4
    gain[40:] += 4
    assert look(gain[None], 0.0).step[0] > 1.2 * -look(loss[None], 0.0).step[0] > 0


def test_a_drift_is_the_test_of_a_regression_line():
    """Values 30 above and below a line that falls by 1: their quartiles are far apart, so that none is bounded."""
    values = 1000 + np.tile([30.0, -30.0, -30.0, 30.0], 15) - np.arange(60)
    line = stats.linregress(np.arange(60), values)
    expected = -stats.norm.isf(stats.t.sf(abs(line.slope / line.stderr), 58))
    seen = look(values[None], 0.0)
    assert seen.drift[0] == pytest.approx(expected, abs=0.02)
    assert seen.drift_size[0] == pytest.approx(line.slope * 59 / np.median(values))


def test_autocorrelation_weakens_a_step():
    """Every value twice in a row: half as many say anything, so the deviate is smaller by about a factor of 1.4."""
    alone = np.concatenate([noise(40), noise(20, seed=2) - 60])
    twice = np.repeat(alone[::2], 2)
    free = look(alone[None], 0.0).step[0]
    assert 0.5 < look(twice[None], 0.5).step[0] / look(twice[None], 0.0).step[0] < 0.95
    assert look(alone[None], 0.5).step[0] / free < 0.75


def test_autocorrelation_weakens_a_drift():
    """The variance of a slope grows by 1 + 2 * (0.5 + 0.5 * 0.8 + 0.5 * 0.8^2 + ...) = 1 + 2 * 0.5 / (1 - 0.8)."""
    values = noise(400) - 0.05 * np.arange(400)
    free = look(values[None], 0.0).drift[0]
    assert free / look(values[None], 0.5).drift[0] == pytest.approx(np.sqrt(6), rel=0.02) and free < -3


def test_autocorrelation_that_is_usual_can_leave_a_step_unconfirmed():
    values = np.concatenate([noise(40), noise(12, seed=2) - 60])
    [[shift]] = detections(values[None], 3.0, np.array([0.01]), np.zeros(1))
    assert levels.settled(values, [shift], 3.0, 0.0) and not levels.settled(values, [shift], 6.0, 0.85)


def test_the_threshold_follows_from_the_promise():
    tail = 1 - NormalDist().cdf(threshold(118))
    assert tail * 118 * levels.LOOKS == pytest.approx(0.05)
    assert threshold(1) < threshold(10) < threshold(118)


def test_autocorrelation_of_known_series():
    rng = np.random.default_rng(5)
    values = rng.standard_normal((200, 400))
    for place in range(1, 400):
        values[:, place] = 0.6 * values[:, place - 1] + 0.8 * values[:, place]
    rest = values - values.mean(axis=1, keepdims=True)
    assert np.median(raw_correlation(rest, np.full(200, 400))) == pytest.approx(0.6, abs=0.02)
    assert levels.usual_correlation(list(values)) == pytest.approx(0.6, abs=0.05)
    assert levels.usual_correlation(list(rng.standard_normal((20, 90)))) == 0
    assert levels.usual_correlation(list(values[:7])) is None, "seven series do not tell what is usual"
    assert levels.usual_correlation(list(values[:8])) == pytest.approx(0.6, abs=0.05)


@pytest.mark.parametrize(("share", "expected"), [(0.075, 0.0), (0.085, 0.085)])
def test_an_autocorrelation_counts_that_all_series_together_show(monkeypatch, share, expected):
    """Ten series of 100 sessions: two standard errors of the median are 2.5 / sqrt(1000) = 0.079, but 0.25 for one."""
    monkeypatch.setattr(levels, "raw_correlation", lambda rest, count, parts: np.array([share]))
    assert levels.usual_correlation(list(np.random.default_rng(1).standard_normal((10, 100)))) == expected


@pytest.mark.parametrize(("rho", "expected"), [(0.0, 0.0), (0.5, 0.5)])
def test_two_changes_of_level_are_no_autocorrelation(rho, expected):
    """Autoregressive series with a loss after 60 sessions and the return from it after 120."""
    rng = np.random.default_rng(6)
    values = rng.standard_normal((40, 180))
    for place in range(1, 180):
        values[:, place] = rho * values[:, place - 1] + np.sqrt(1 - rho**2) * values[:, place]
    values[:, 60:120] -= 10
    assert levels.usual_correlation(list(values)) == pytest.approx(expected, abs=0.05)


def test_the_best_place_leaves_the_least_squares():
    """Against the sums of squares of both parts at every place with 8 sessions before it and 4 after."""
    rng = np.random.default_rng(7)
    for count in (12, 13, 20) * 20:
        values = rng.standard_normal(count) + np.append(np.zeros(count - 4), np.full(4, 5 * rng.integers(2)))
        squares = {
            place: sum(((part - part.mean()) ** 2).sum() for part in (values[:place], values[place:]))
            for place in range(8, count - 3)
        }
        assert squares[int(looks.best_places(values[None])[0][0])] == pytest.approx(min(squares.values()))


@pytest.mark.parametrize(
    ("begin", "sign", "expected"), [(20, -1, 20), (20, 1, 0), (7, -1, 7), (26, -1, 26), (27, -1, 0)]
)
def test_a_new_level_begins_where_the_absolute_deviations_are_least(begin, sign, expected):
    """30 sessions around 10, around 7 from one of them on: 0 for the wrong direction or a level too short."""
    values = 10 + np.tile([0.1, -0.1, 0.0], 10) - 3.0 * (np.arange(30) >= begin)
    assert levels.begin_of(values, sign) == expected


def test_a_look_depends_on_no_unit():
    values = noise(60)
    values[[5, 13, 14, 22, 33, 34, 47, 53]] *= 0.65
    values[40:] *= 0.8
    seen, small = look(values[None], 0.3), look(1e-6 * values[None], 0.3)
    assert seen.step[0] < -looks.CANDIDATE
    for name in ("step", "place", "step_size", "drift", "drift_size"):
        assert getattr(small, name) == pytest.approx(getattr(seen, name))


def test_a_mean_that_contradicts_the_medians_is_no_step():
    """After 60 nights 1 around 1000, six of ten are 2 higher and four are far lower: the median rises, the bounded mean
    falls."""
    later = np.tile([2, 2, -50, 2, 2, -50, 2, -50, 2, -50], 3)
    values = 1000 + np.append(np.tile([1.0, -1.0, 0.5, -0.5, 0.0], 12), later)
    seen = look(values[None], 0.0)
    at, rounding = np.array([60]), looks.least_squares(values[None])
    assert looks.step_at(looks.bounded(values[None])[looks.LEVEL], at, 4.5, rounding, 0.0)[0] < -2
    assert seen.step[0] * seen.step_size[0] >= 0 and seen.step[0] > -2


@pytest.mark.parametrize("low", [0.1, 0.2, 0.3])
def test_a_gain_with_many_low_nights_is_no_loss(low):
    """200 histories of 2 % noise in which 8 % of nights reach a half; after 40 nights a gain of 20 %, of which a share
    of nights has a third less. A loss is found first only where low nights are together by chance, four of five, with a
    probability of at most 26 * 5 * low^4 * (1 - low) in 30 nights; its nights are lower than those before."""
    rng = np.random.default_rng(int(100 * low))
    values = 1000 * (1 + 0.02 * rng.standard_normal((200, 70)))
    values[rng.random(values.shape) < 0.08] *= 0.5
    values[:, 40:] *= 1.2
    values[:, 40:][rng.random((200, 30)) < low] *= 0.67
    for night in (50, 70):
        seen = look(values[:, :night], 0.0)
        assert (seen.step * seen.step_size >= 0).all() and (np.abs(seen.step) > 4).sum() > 20
    losses = 0
    for row, shifts in zip(values, detections(values, threshold(1), np.full(200, 0.02), np.ones(200))):
        if shifts and shifts[0].deviate < 0:
            assert np.median(row[shifts[0].index : shifts[0].detected]) < np.median(row[: shifts[0].index])
            losses += 1
    assert losses <= 200 * min(26 * 5 * low**4 * (1 - low), 0.08)


@pytest.mark.parametrize(("between", "expected"), [(7.1, (20, 20)), (9.9, (21, 21)), (8.5, (20, 21))])
def test_a_night_half_way_between_two_levels_may_belong_to_both(between, expected):
    """20 nights at 10, one between, 20 at 7, all 0.1 above or below: the night's own deviation says where it belongs,
    or, half way, that both is as likely."""
    values = np.array([*np.tile([10.1, 9.9], 10), between, *np.tile([7.1, 6.9], 10)])
    assert levels.dates_of(values, expected[0]) == expected


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("outlier", range(8, 20))
def test_a_difference_far_beyond_all_residuals_has_a_deviate_that_grows(outlier):
    rest = np.append(np.tile([-0.8, 0.8], 249), [-outlier, outlier])[None]
    far = [
        looks.tail_deviate(np.array([size]), rest, np.array([1.5]), np.array([250.0]), np.array([250.0]))[0]
        for size in (1.0, 2.0, 5.0, 10.0, 2 * outlier, 50.0, 60.0)
    ]
    assert (np.diff(far) > 0).all() and far[-1] < np.inf


def test_series_looked_at_together_change_as_each_alone():
    """Of several lengths, with no, one and two changes."""
    every = [noise(length, seed=length) for length in (11, 12, 40, 60, 75, 90)]
    every[3][40:] *= 0.8
    every[4][30:] *= 0.7
    every[4][50:] *= 1.3
    every[5][70:] *= 1.2
    smallest, better = np.full(6, 0.02), np.ones(6)
    together = detections(every, 4.5, smallest, better)
    assert [len(found) for found in together] == [0, 0, 0, 1, 2, 1]
    assert together == [detections([one], 4.5, smallest[:1], better[:1])[0] for one in every]


@pytest.mark.parametrize("digits", [0, 1, 9])
def test_a_level_begins_where_absolute_deviations_are_least(digits):
    """As each division of the series tells; rounded values tie, and then the first division counts that has the least
    sum as numpy adds it."""
    for seed in range(40):
        values = np.round(np.random.default_rng(seed).standard_normal(40), digits)
        values[30:] -= 1
        kept = looks.bounded(values[None])[-1][0]
        sums = [sum(np.abs(side - np.median(side)).sum() for side in (kept[:at], kept[at:])) for at in range(1, 40)]
        assert levels.deviations(values) == pytest.approx(sums, abs=1e-9)
        assert levels.best_of(values) == int(np.argmin(sums)) + 1


# --- what is no change ------------------------------------------------------------------------------------------------


def test_values_count_no_more_than_their_bound():
    """Quartiles 1 below and above 1000: a robust standard deviation is 2 / 1.349."""
    values = np.tile([999.0, 1001.0, 1000.0, 999.0, 1001.0], 6)
    values[[3, 29]] = 0.0
    kept = looks.bounded(values[None])[looks.LEVEL][0]
    assert kept[[3, 29]] == pytest.approx(-4.5 * 2 / 1.349) and kept[0] == -1
    assert looks.bounded(np.array([[5.0] * 9 + [0.0]]))[0].tolist() == [[0.0] * 9 + [-5.0]], "no spread, no bound"


def test_nights_of_a_third_less_now_and_then_are_no_level():
    values = noise(90)
    values[[5, 13, 14, 22, 40, 41, 42, 60, 77, 78]] *= 0.65
    assert not changes(values, HIGHER, 118)


def test_a_drop_is_found_among_excursions():
    values = noise(60)
    values[[5, 13, 14, 22, 33, 34, 47, 53]] *= 0.65
    values[40:] *= 0.8
    [change] = changes(values, HIGHER, 118)
    assert abs(change.index - 40) <= 1 and change.relative == pytest.approx(-0.2, abs=0.03)


def test_a_drop_to_half_is_found_where_most_values_are_the_same():
    """Rates of fio, in MB/s: the spread of the old level is nearly 0. Bounded values distinguish 10.6 as little from
    21.1 as 20.6, so that six nights are necessary."""
    rates = [21.1, 21.1, 21.1, 20.6, 21.1, 20.7, *[21.1] * 6, 10.6, 10.6, 10.3, 10.5, 10.6, 10.6]
    [change] = changes(np.array(rates), HIGHER, 4)
    assert (change.index, change.before, round(change.after, 2)) == (12, 21.1, 10.6)


@pytest.mark.parametrize("seed", range(5))
def test_two_kinds_of_nodes_are_no_change(seed):
    rng = np.random.default_rng(seed)
    slow = rng.random(90) < 0.5
    assert not changes(noise(90, 0.02, seed) * np.where(slow, 0.8, 1), HIGHER, 118)


def test_known_hosts_are_put_on_one_level_and_a_change_of_both_is_found():
    """By hand: the slow nodes are 200 below the others before and after the drop of 50, which stays."""
    hosts = np.array(["fast", "slow", "fast", "fast", "slow"] * 12)
    values = np.where(hosts == "slow", 800.0, 1000.0) - 50.0 * (np.arange(60) >= 40)
    assert without_hosts(values, hosts).tolist() == [1000.0] * 40 + [950.0] * 20
    assert not changes(without_hosts(np.where(hosts == "slow", 800.0, 1000.0), hosts), HIGHER)


def test_hosts_that_changed_for_good_are_a_change():
    hosts = np.array(["old"] * 30 + ["new"] * 30)
    values = np.where(hosts == "new", 800.0, 1000.0)
    assert without_hosts(values, hosts).tolist() == values.tolist()


@pytest.mark.parametrize(("sessions", "adjusted"), [(3, False), (4, True)])
def test_a_set_of_hosts_counts_from_four_sessions_on(sessions, adjusted):
    hosts = np.array(["a"] * 40, dtype=object)
    hosts[[4 * place + 2 for place in range(sessions)]] = "b"
    values = np.where(hosts == "b", 900.0, 1000.0)
    assert (without_hosts(values, hosts).tolist() == [1000.0] * 40) is adjusted


# --- what is one ------------------------------------------------------------------------------------------------------


def test_a_slow_drift_is_found_and_named():
    values = noise(100, 0.02) * (1 - 0.001 * np.arange(100))
    [change] = changes(values, HIGHER, 118)
    assert change.drift and change.relative == pytest.approx(-0.1, abs=0.03)


def test_a_step_is_no_drift():
    [change] = changes(np.concatenate([noise(40), 0.85 * noise(20, seed=2)]), HIGHER, 118)
    assert not change.drift and abs(change.index - 40) <= 1


def test_a_quiet_series_shows_smaller_changes_than_a_noisy_one():
    """What can be detected follows from the noise: 3 % at a noise of 0.5 %, not at 5 %."""
    for spread, found in ((0.005, 1), (0.05, 0)):
        values = np.concatenate([noise(40, spread), 0.97 * noise(12, spread, seed=2)])
        assert len(changes(values, HIGHER, 118)) == found


def test_a_level_of_zero_has_no_percentage():
    [up] = changes(np.array([0.0] * 20 + [5.0] * 8), HIGHER)
    assert (up.before, up.after, up.relative) == (0, 5, np.inf)
    [down] = changes(np.array([5.0] * 20 + [0.0] * 8), HIGHER)
    assert (down.before, down.after, down.relative) == (5, 0, -1)
    assert not changes(np.zeros(40), HIGHER)


def test_a_negative_level_that_falls_has_changed_downwards():
    [change] = changes(np.array([-0.10] * 20 + [-0.15] * 8), Rule(Better.LOWER))
    assert change.relative == pytest.approx(-0.5)


def test_detection_needs_four_sessions_and_tells_after_how_many_it_was():
    values = np.concatenate([noise(40), 0.8 * noise(8, seed=2)])
    [[shift]] = detections(values[None], threshold(1), np.array([0.02]), np.ones(1))
    assert (shift.index, shift.detected) == (40, 44)


@pytest.mark.filterwarnings("error")
def test_drift_that_begins_with_a_step_is_one_change():
    """A loss of 10 % after 30 sessions, and 0.4 % more with each one after it: the step is found first, then the
    drift from the same session on, which leaves the step no sessions of its own."""
    values = 1 + 0.01 * np.tile([1.0, -1.0], 30)
    values[30:] -= 0.1 + 0.004 * np.arange(30)
    [change] = changes(values, Rule(Better.HIGHER))
    assert (change.index, change.drift) == (30, True)
