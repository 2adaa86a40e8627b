# SPDX-License-Identifier: Apache-2.0
"""Verdicts on ratios of pairs: direction, the smallest difference that matters on both sides, and what is open."""

from math import log, nan

import numpy as np
import pandas as pd
import pytest

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.comparison.verdicts import Standing, in_words, ratios, verdict

RISK = 2 / 64  # of six pairs: the interval is their range
PAIRS = np.linspace(-1, 1, 6)


def judged(low, high, better=Better.HIGHER, minimum=0.03):
    """The verdict on six pairs whose ratios reach from `low` to `high`."""
    values = np.log(low) + (PAIRS + 1) / 2 * (np.log(high) - np.log(low))
    return verdict("other", "value", values, better, minimum, RISK)


@pytest.mark.parametrize(
    "low, high, better, standing, words",
    [
        (1.10, 1.21, "higher", "better", "better by 15 % [10, 21]"),
        (1.10, 1.21, "lower", "worse", "worse by 15 % [10, 21]"),
        (0.80, 0.90, "higher", "worse", "worse by 15 % [-20, -10]"),
        (0.80, 0.90, "lower", "better", "better by 15 % [-20, -10]"),
        (0.80, 0.90, "neither", "different", "lower by 15 % [-20, -10]"),
        (1.10, 1.21, "unknown", "different", "higher by 15 % [10, 21]"),
        (0.975, 1.025, "higher", "same", "no difference above 3 % [-2.5, 2.5]"),
        (1.001, 1.029, "higher", "better", "better by 1.5 % [0.1, 2.9], below 3 %"),
        (1.001, 1.031, "higher", "better", "better by 1.6 % [0.1, 3.1]"),
    ],
)
def test_verdict_and_its_words(low, high, better, standing, words):
    found = judged(low, high, Better(better))
    assert (found.standing, found.decided, found.more_pairs) == (standing, True, 0)
    assert in_words(found, "usual") == f"other beside usual: {words}"


@pytest.mark.parametrize("high, same", [(1.03 - 1e-6, True), (1.03 + 1e-6, False)])
def test_no_difference_is_called_only_within_the_minimum_on_both_sides(high, same):
    assert (judged(0.999, high).standing == Standing.SAME) is same
    assert (judged(1 / high, 1.001).standing == Standing.SAME) is same


def test_what_more_pairs_would_decide():
    """The interval is 1 % too wide on the one side: ln 1.04 has to shrink to ln 1.03, with the root of the pairs."""
    found = judged(1 / 1.04, 1.04)
    assert not found.decided
    assert found.more_pairs == int(np.ceil(6 * (log(1.04) / log(1.03)) ** 2)) - 6
    assert "cannot tell [-3.8, 4]: about 5 more pairs would" in in_words(found, "usual")


def test_without_pairs_or_with_too_few_nothing_is_claimed():
    empty = verdict("other", "value", np.array([]), Better.HIGHER, 0.03, RISK)
    few = verdict("other", "value", np.array([0.3, 0.2]), Better.HIGHER, 0.03, RISK)
    assert not empty.decided and (empty.arm, empty.metric) == ("other", "value")
    assert not few.decided and few.more_pairs is None
    assert (few.low, few.high) == (0, None)
    assert in_words(few, "usual") == "other beside usual: cannot tell from 2 pairs"


def test_ratios_are_those_of_blocks_in_which_both_ran():
    table = pd.DataFrame(
        [(0, "usual", 2.0), (0, "other", 3.0), (1, "other", 5.0), (2, "usual", 4.0), (2, "other", 2.0),
         (3, "usual", 0.0), (3, "other", 1.0), (4, "usual", 1.0), (4, "other", nan)],
        columns=["block", "arm", "value"],
    )  # fmt: skip
    assert ratios(table, "value", "other", "usual") == pytest.approx(np.log([1.5, 0.5]))
    assert not len(ratios(table, "value", "absent", "usual"))
