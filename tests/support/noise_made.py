# SPDX-License-Identifier: Apache-2.0
"""Values of stable systems with noise of many kinds, relative to the usual value, for bench_history.py."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np


@dataclass(frozen=True)
class Drawn:
    """Values (series, sessions) of a stable system, and the index of the set of hosts of each, if it is recorded."""

    values: np.ndarray
    hosts: np.ndarray | None = None


def normal(spread, rng, shape):
    return Drawn(1 + spread * rng.standard_normal(shape))


def student(rng, shape):
    """Student's t with three degrees of freedom, standard deviation 3 %."""
    return Drawn(1 + 0.03 * rng.standard_t(3, shape) / np.sqrt(3))


def lognormal(rng, shape):
    """Times of 10 % spread whose tail is on the bad side, as rates."""
    return Drawn(np.exp(-0.1 * rng.standard_normal(shape) ** 2 + 0.03 * rng.standard_normal(shape)))


def weekly(rng, shape):
    """A cycle of seven nights of 3 % beside a noise of 2 %."""
    phase = rng.integers(7, size=(shape[0], 1))
    cycle = np.sin(2 * np.pi * (np.arange(shape[1]) + phase) / 7)
    return Drawn(1 + 0.03 * cycle + 0.02 * rng.standard_normal(shape))


def two_speeds(apart, known, rng, shape):
    """Each night one of two kinds of nodes, of which one is slower; noise 2 %."""
    slow = rng.random(shape) < 0.5
    return Drawn((1 + 0.02 * rng.standard_normal(shape)) * np.where(slow, 1 - apart, 1), slow if known else None)


def spikes(share, rng, shape):
    """Noise of 3 %, and on a share of the nights a third less."""
    return Drawn((1 + 0.03 * rng.standard_normal(shape)) * np.where(rng.random(shape) < share, 0.65, 1))


def correlated(rng, shape):
    """Autocorrelation 0.6 from session to session, standard deviation 3 %."""
    values = rng.standard_normal(shape)
    for place in range(1, shape[1]):
        values[:, place] = 0.6 * values[:, place - 1] + 0.8 * values[:, place]
    return Drawn(1 + 0.03 * values)


def variance_grows(rng, shape):
    """Noise of 3 %, and of 6 % from the middle on: the variance is four times as large."""
    return Drawn(1 + np.where(np.arange(shape[1]) < shape[1] // 2, 0.03, 0.06) * rng.standard_normal(shape))


NOISE: dict[str, Callable] = {
    "normal, 2 %": partial(normal, 0.02),
    "normal, 3 %": partial(normal, 0.03),
    "normal, 5 %": partial(normal, 0.05),
    "Student t, 3 degrees of freedom, 3 %": student,
    "lognormal-like tail on the bad side": lognormal,
    "weekly cycle": weekly,
    "two speeds 10 % apart, hosts known": partial(two_speeds, 0.1, True),
    "two speeds 20 % apart, hosts known": partial(two_speeds, 0.2, True),
    "two speeds 10 % apart, hosts unknown": partial(two_speeds, 0.1, False),
    "two speeds 20 % apart, hosts unknown": partial(two_speeds, 0.2, False),
    "spikes on 5 % of nights": partial(spikes, 0.05),
    "spikes on 15 % of nights": partial(spikes, 0.15),
    "autocorrelation 0.6": correlated,
    "variance ×4 from the middle on": variance_grows,
}
PROMISED = [name for name in NOISE if name.startswith(("normal", "two speeds"))]
