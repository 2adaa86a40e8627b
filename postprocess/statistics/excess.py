# SPDX-License-Identifier: Apache-2.0
"""Which of several counts stand out of the others beyond chance, where nobody knows how the others are distributed."""

from collections.abc import Sequence
from math import exp, log

import numpy as np

from coffeecup.postprocess.statistics.nodes import MOST  # of the counts may stand out; the others are the usual ones

ASSUMED, USUAL_DISTANCE = 8, 0.5  # of a power law with an exponent of 2, beside the others': few counts tell little


def log_chances(events: Sequence[int], trials: Sequence[float], resolution: float) -> tuple[float, np.ndarray]:
    """The highest usual rate, and for each of at least three counts `events` in so many `trials` the logarithm of the
    probability that chance makes any of them stand out as much; 0 for those that do not. Rates that differ by
    less than `resolution` events are alike.

    The logarithms of the rates are compared with those of all but the highest third. The usual rates may have any tail
    up to a power law with an exponent of 2: then the excess of a high one over the highest of the others is
    exponential, and so are the distances between the others, each times its rank (Renyi, Acta Math. Acad. Sci. Hung. 4
    (1953) 191). So their ratio has an F distribution; thinner tails make the result larger than the probability."""
    of = np.asarray(trials, float)
    usual = np.log(np.asarray(events) / of + resolution / np.median(of))
    ordered = np.sort(usual)[::-1]
    high = max(int(MOST * len(usual)), 1)
    ranks = np.arange(high + 1, len(usual))
    spread = ASSUMED * USUAL_DISTANCE + (ranks * (ordered[high:-1] - ordered[high + 1 :])).sum()
    excess = np.maximum(usual - ordered[high], 0)
    chances = log(high) - (ASSUMED + len(ranks)) * np.log1p(excess / spread)
    return exp(ordered[high]), np.where(excess > 0, np.minimum(chances, 0), 0)
