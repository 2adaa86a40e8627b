# SPDX-License-Identifier: Apache-2.0
"""What tests of scores look at; the fixture `scored` in conftest.py makes the score."""

from coffeecup.postprocess.benchmarks.score import Score


def values(score):
    """The metrics without their units."""
    return {name: metric.value for name, metric in score.metrics.items()}


def names(problems):
    """The invariants that rules found broken."""
    return [name for name, _ in problems]


def keys(score):
    """The qualifications in their order, by key."""
    assert isinstance(score, Score), score
    return [qualification.key for qualification in score.qualifications]
