# SPDX-License-Identifier: Apache-2.0
"""The interval of a probability that was counted."""

from statistics import NormalDist

CONFIDENCE = 0.95


def share_interval(successes: float, trials: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The interval of the probability of a success, with this confidence (Wilson, J. Am. Stat. Assoc. 22 (1927) 209).
    Trials that depend on each other count as fewer, so the numbers need not be whole."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, weight = successes / trials, z**2 / trials
    middle, half = share + weight / 2, (weight * (share * (1 - share) + weight / 4)) ** 0.5
    return max((middle - half) / (1 + weight), 0.0), min((middle + half) / (1 + weight), 1.0)
