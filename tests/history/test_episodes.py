# SPDX-License-Identifier: Apache-2.0
"""Episodes: deviations that end by themselves within 14 nights; and first nights that establish no level. Rows made by
hand."""

import numpy as np
import pytest
from commands import run
from sessions_made import database, nights

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.history.change_points import Rule, changes, episodes
from coffeecup.postprocess.history.levels import detections, end_of, settled, threshold, usual_correlation
from coffeecup.postprocess.history.looks import best_places, bounded, least_squares, look, step_at
from coffeecup.postprocess.history.noise import residuals

HIGHER = Rule(Better.HIGHER)


def shifts(values):
    [found] = detections(values[None], threshold(1), np.array([0.02]), np.ones(1))
    return settled(values, found, threshold(1))


def outage(length, after, low=500.0, spread=0.0):
    """40 nights around 1000, so many low ones, and so many around 1000."""
    values = np.repeat([1000.0, low, 1000.0], [40, length, after])
    return values * (1 + spread * np.random.default_rng(3).standard_normal(len(values)))


@pytest.mark.parametrize("spread", [0.0, 0.02])
@pytest.mark.parametrize(("length", "kind"), [(2, "nothing"), (3, "episode"), (14, "episode"), (15, "lasting")])
def test_an_outage_of_3_to_14_nights_is_an_episode(length, kind, spread):
    values = outage(length, 30, spread=spread)
    found = shifts(values)
    lasting, ended = changes(values, HIGHER), episodes(values, found, HIGHER)
    assert ([len(ended), len(lasting)]) == {"nothing": [0, 0], "episode": [1, 0], "lasting": [0, 2]}[kind]
    if kind == "episode":
        assert (ended[0].index, ended[0].until) == (40, 40 + length)
        assert ended[0].after == pytest.approx(500, rel=0.03)


@pytest.mark.parametrize(("length", "after", "alarms"), [(4, 0, True), (14, 0, True), (3, 1, False), (6, 1, False)])
def test_a_loss_alarms_until_its_first_night_without_it(length, after, alarms):
    """Without noise, one night suffices. Three low nights and one good one are not a level any more."""
    values = outage(length, after)
    found = shifts(values)
    assert [bool(shift.until) for shift in found] == [not alarms]
    assert len(changes(values, HIGHER)) == alarms


@pytest.mark.parametrize(("back", "ended"), [(99.0, False), (99.6, True)])
def test_the_end_of_an_episode_exceeds_3_standard_errors(back, ended):
    """Before, values 1 above and below 100 (quartiles 2 apart: sigma 2 / 1.349 = 1.483); four nights at 95, two of them
    1 above; two nights after. The standard error is 1.483 * sqrt(1/4 + 1/2) = 1.284, and 3 of them are 3.85: 99.0 is
    3.5 above the median of 95.5, and 99.6 is 4.1 above."""
    values = np.append(np.tile([99.0, 101.0], 10), [95.0, 96.0, 95.0, 96.0, back, back])
    assert (end_of(values, 20, -1, 0.0) == 24) is ended
    assert not end_of(values, 20, -1, 0.6), "with autocorrelation, two nights say less"


def test_a_return_that_goes_on_in_the_same_direction_is_no_end():
    assert not end_of(np.repeat([100.0, 90.0, 80.0], [20, 5, 5]), 20, -1, 0.0)


def test_a_partial_return_leaves_a_lasting_loss():
    """From 1000 to 500 for 5 nights, then 800 or 900 for 20. Of the 22 nights since then, absolute deviations with an
    end after 5 are 17 * 200 or 17 * 100, and without an end 5 * 300 or 5 * 400: only with 900, it is an episode."""
    for after, ended in ((800.0, 0), (900.0, 1)):
        values = np.repeat([1000.0, 500.0, after], [40, 5, 20])
        [loss] = changes(values, HIGHER)
        assert len(episodes(values, shifts(values), HIGHER)) == ended
        assert loss.after == after and 40 <= loss.index <= 45


def test_a_lasting_loss_after_an_episode_is_found_as_soon_as_without_it():
    """The episode's nights belong to no level: the level before it goes on, and needs no new sessions."""
    values = np.repeat([1000.0, 500.0, 1000.0, 900.0], [40, 6, 5, 6])
    values *= 1 + 0.01 * np.tile([1, -1, 0.5], 19)
    [loss] = [shift for shift in shifts(values) if not shift.until]
    assert (loss.index, loss.detected) == (51, 55)
    [change] = changes(values, HIGHER)
    assert change.relative == pytest.approx(-0.1, abs=0.01)


def test_a_temporary_gain_leaves_no_regression():
    values = np.repeat([1000.0, 1300.0, 1000.0], [40, 8, 20])
    [gain] = shifts(values)
    assert (gain.index, gain.until) == (40, 48) and not changes(values, HIGHER)


INTERRUPTED = [(6, 1300.0, ["step"]), (6, 1140.0, ["episode", "step"])]
INTERRUPTED += [(11, 1300.0, ["step"]), (12, 1300.0, ["episode", "step"])]


@pytest.mark.parametrize(("gap", "again", "kinds"), INTERRUPTED)
def test_a_gain_that_is_interrupted_lasts(gap, again, kinds):
    """40 nights at 1000, 12 at 1300, fewer at 1000, and 20 at 1300: one step after 40 nights. If the last ones are
    nearer to the level before the twelve, or these are no more than what interrupts, they are an episode."""
    values = np.repeat([1000.0, 1300.0, 1000.0, again], [40, 12, gap, 20])
    values *= 1 + 0.01 * np.resize([1, -1, 0.5], len(values))
    found = shifts(values)
    assert ["episode" if shift.until else "step" for shift in found] == kinds and found[0].index == 40


def test_an_episode_is_no_noise():
    values = outage(5, 20, spread=0.01)
    rest = residuals(values, shifts(values))
    assert np.flatnonzero(np.isnan(rest)).tolist() == [*range(40, 45)] and np.nanmax(np.abs(rest)) < 0.05


@pytest.mark.parametrize("length", [3, 5])
def test_an_episode_is_named_with_its_nights_and_sizes_and_does_not_alarm(tmp_path, length):
    """Four sessions at least detect a change, so an episode of three is detected after its end."""
    nightly = [1000.0, 1010.0] * 10 + [500.0, 400.0, 600.0, 500.0, 500.0][:length] + [1000.0, 1010.0] * 3
    stored = database(tmp_path / "results.db", nights(nightly))
    done = run("check-history", stored)
    assert done.exit_code == 0, done.output
    [line] = [line for line in done.output.splitlines() if line.startswith("episode: ")]
    assert f"from 2026-01-21 02:00 to 2026-01-{20 + length} 02:00 UTC" in line, line
    assert f"ended by itself after {length} sessions" in line, line
    assert "500 MByte/s, worst 400, now 1010" in line, line
    assert "0 regressions" in done.output


@pytest.mark.parametrize("first", [0, 4, 7])
def test_slow_first_nights_hide_no_later_loss(first):
    """Up to 7 nights at 700, then 40 at 1000, and 12 at 800: they establish no level, and no gain is reported."""
    values = np.repeat([700.0, 1000.0, 800.0], [first, 40, 12]) * (
        1 + 0.02 * np.random.default_rng(4).standard_normal(52 + first)
    )
    [loss] = changes(values, HIGHER)
    assert abs(loss.index - 40 - first) <= 1 and loss.relative == pytest.approx(-0.2, abs=0.03)


@pytest.mark.parametrize(("length", "own"), [(5, False), (2, True)])
def test_episodes_are_no_autocorrelation(length, own):
    """White noise with an outage in every 30 sessions: three or more are no noise. Two low neighbours, at the bound of
    4.5, give 1 / 30 * 4.5^2 = 0.68 of 1 + 2 * 0.68: an autocorrelation of 0.29."""
    values = np.random.default_rng(8).standard_normal((40, 180))
    for place in range(length):
        values[:, 10 + place :: 30] -= 20
    assert usual_correlation(list(values)) == pytest.approx(0.29 if own else 0.0, abs=0.06)


def test_what_all_series_lose_at_once_is_no_autocorrelation():
    """White noise, of which 8 nights of 48 are low by 1.5 standard deviations, which no series shows alone: as a part
    of the noise, they would be up to 1 / 6 * 5 / 6 * 1.5^2 = 0.31 of 1.31, an autocorrelation of 0.24."""
    values = np.random.default_rng(8).standard_normal((40, 48))
    values[:, 40:] -= 1.5
    assert usual_correlation(list(values)) == pytest.approx(0.0, abs=0.05)


@pytest.mark.filterwarnings("error")
def test_a_level_that_is_beyond_the_bound_for_the_most_part_is_no_episode():
    """On a line, the differences of neighbours are nearly the same: all values are many of their robust standard
    deviations from the median, half of them on each side, and as much as all neighbours but two."""
    lines = [np.arange(20.0) + 1e-6 * np.sin(np.arange(20.0) + seed) for seed in range(10)]
    assert usual_correlation(lines) == pytest.approx(0.9, abs=0.001)


@pytest.mark.parametrize(("after", "found"), [(4, 0), (12, 1)])
def test_a_total_loss_is_found_among_low_nights(after, found):
    """Two nights of each eight are at half of the level, six standard deviations low, beyond LEVEL's bound as a total
    loss: 1 % of the level is 12 of them low."""
    values = 1000 * (1 + 0.08 * np.random.default_rng(1).standard_normal(120))
    values[3:100:8] *= 0.5
    values[4:100:8] *= 0.5
    values[100:] *= 0.01
    assert len(changes(values[: 100 + after], HIGHER, 24)) == found


@pytest.mark.parametrize(("deviations", "more"), [(8.8, False), (9.2, True)])
def test_only_a_loss_beyond_the_widest_bound_counts_with_it(deviations, more):
    """Low nights as above, then twelve so many robust standard deviations below the level; they are by quartiles of
    values or of the differences of neighbours."""
    values = 1000 * (1 + 0.08 * np.random.default_rng(1).standard_normal(112))
    values[3:100:8] *= 0.5
    values[4:100:8] *= 0.5
    level, values[100:] = np.median(values[:100]), 0
    quartiles = [np.quantile(some, [0.25, 0.75]) for some in (values, np.diff(values) / np.sqrt(2))]
    values[100:] = level - deviations * min(high - low for low, high in quartiles) / 1.349
    every, rounding = bounded(values[None]), least_squares(values[None])
    steps = [step_at(kept, best_places(kept)[0], bound, rounding, 0.0)[0] for kept, bound in zip(every, (2, 4.5, 9))]
    assert steps[2] < min(steps[:2]) - 0.1
    assert look(values[None], 0.0).step[0] == pytest.approx(min(steps[: 2 + more]))
