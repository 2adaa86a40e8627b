# SPDX-License-Identifier: Apache-2.0
"""How likely `coffeecup check-history` alarms after a loss, and without one: histories drawn from a series' own noise,
judged by the functions that judge the site (levels, change_points)."""

from dataclasses import dataclass

import numpy as np

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.history.change_points import Rule, alarming, described
from coffeecup.postprocess.history.levels import detections, settled


@dataclass(frozen=True)
class Detector:
    """What a change has to exceed at a site: a deviate, with the usual autocorrelation (change_points.Site)."""

    limit: float
    usual: float | None


def with_loss(values: np.ndarray, rule: Rule, before: int, loss: float) -> np.ndarray:
    """Values (draws, nights) that get worse by a fraction after `before` nights: higher if lower is better."""
    worse = values.copy()
    worse[:, before:] *= 1 + loss if rule.better == Better.LOWER else 1 - loss
    return worse


def alarms(values: np.ndarray, rule: Rule, detector: Detector, before: int = 0) -> np.ndarray:
    """Whether each history (draws, nights), looked at after every night, shows after the last one a change that alarms
    and that was detected after more than `before` nights."""
    smallest, better = np.full(len(values), rule.smallest_change), np.full(len(values), rule.sign)
    found = detections(values, detector.limit, smallest, better, detector.usual)
    alarmed = np.zeros(len(values), dtype=bool)
    for place, (row, shifts) in enumerate(zip(values, found)):
        if shifts:
            kept = settled(row, shifts, detector.limit, detector.usual)
            changes = alarming(row, rule, described(row, kept, rule))
            alarmed[place] = any(change.detected > before for change in changes)
    return alarmed
