# SPDX-License-Identifier: Apache-2.0
"""Series of fewer than 40 sessions, whose own autocorrelation a loss, or one low night before it, would feign."""

import numpy as np
import pytest
from noise_made import NOISE

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.history import levels, looks
from coffeecup.postprocess.history.change_points import Rule, changes
from coffeecup.postprocess.history.levels import detections, settled, threshold, usual_correlation

METRICS = 12  # of one test
DRAWS = 40


def losses(values, usual=None):
    """The index of the loss in each series (series, sessions) of a site with METRICS series, 0 for none."""
    limit, count = threshold(METRICS), len(values)
    every = zip(values, detections(values, limit, np.full(count, 0.02), np.ones(count), usual))
    kept = [settled(row, shifts, limit, usual) for row, shifts in every]
    return np.array([next((one.index for one in shifts if one.deviate < 0), 0) for shifts in kept])


def drawn(kind, before, after, loss, low):
    """Noise with a lasting loss and, before it, so many lower nights, whose loss is a fifth smaller."""
    rng = np.random.default_rng(1)
    values = NOISE[kind](rng, (DRAWS, before + after)).values.copy()
    values[:, before:] *= 1 - loss
    for row in values:
        row[rng.choice(before, low, replace=False)] *= 1 - 0.8 * loss
    return values


@pytest.mark.parametrize("loss", [0.3, 0.8])
@pytest.mark.parametrize("kind", ["normal, 3 %", "Student t, 3 degrees of freedom, 3 %"])
@pytest.mark.parametrize(
    ("before", "after", "low", "least"), [(8, 4, 0, 0.7), (12, 4, 0, 0.9), (12, 6, 1, 0.75), (22, 6, 1, 0.9)]
)
def test_a_large_loss_of_a_new_series_is_found(before, after, low, least, kind, loss):
    """Shares of 40 draws: the own autocorrelation would cost up to 30 of them, the low night nearly all."""
    found = losses(drawn(kind, before, after, loss, low))
    assert (np.abs(found - before) <= 1).mean() >= least


def test_the_loss_is_still_found_when_the_site_knows_its_autocorrelation():
    """With 20 sessions of 12 series: it was found after 18."""
    values = drawn("normal, 3 %", 12, 8, 0.8, 1)[:METRICS]
    assert usual_correlation(list(values)) is not None
    assert (losses(values, usual_correlation(list(values))) > 0).mean() >= 0.9


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.9])
def test_autocorrelated_noise_of_a_new_series_alarms_no_more_than_that_of_an_old_one(rho, monkeypatch):
    values = np.random.default_rng(3).standard_normal((600, 30))
    for place in range(1, 30):
        values[:, place] = rho * values[:, place - 1] + np.sqrt(1 - rho**2) * values[:, place]
    new = (losses(1 + 0.03 * values) > 0).sum()
    monkeypatch.setattr(levels, "NEW", 0)
    assert new <= (losses(1 + 0.03 * values) > 0).sum() + 1


def few_low(length, size=40.0):
    """Values around 1000, one low night, and at the end four nights as low."""
    values = 1000 + np.resize([1.0, -1.0, 0.5, -0.5, 0.0], length)
    values[[5, -4, -3, -2, -1]] -= size
    return values


@pytest.mark.parametrize(("length", "found"), [(39, 1), (40, 0)])
def test_a_series_of_40_sessions_is_not_new(length, found):
    assert len(changes(few_low(length), Rule(Better.HIGHER), METRICS)) == found


@pytest.mark.parametrize(("deviations", "clear"), [(5.9, False), (6.1, True)])
def test_a_clear_step_exceeds_6_deviations_of_neighbours_and_of_the_old_level(deviations, clear):
    """The old level is 1 above and below 0, and its quartiles are 2 / 1.349 deviations apart."""
    values = np.append(np.tile([1.0, -1.0], 8), np.full(6, -deviations * 2 / 1.349))[None]
    for spread, expected in ((1.0, clear), (1.6, False), (0.0, clear)):
        assert looks.is_clear(values, np.array([16]), np.array([spread])) == [expected]


def test_low_nights_in_a_row_say_less_than_single_ones():
    """Four of 24 nights are low, and then eight are: neighbours before, or apart."""
    step = {}
    for name, low in (("apart", [3, 9, 15, 20]), ("neighbours", [3, 4, 5, 6])):
        values = 1000 + np.resize([1.0, -1.0, 0.5, -0.5, 0.0], 32)
        values[low] -= 40
        values[24:] -= 40
        step[name] = look_at(values)
    assert step["apart"] < 1.2 * step["neighbours"] < 0


def look_at(values):
    return float(looks.look(values[None], None, 0.0, np.array([True])).step[0])
