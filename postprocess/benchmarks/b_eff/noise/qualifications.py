# SPDX-License-Identifier: Apache-2.0
"""How much patterns with the same messages differ."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff.definition import ONE_RING
from coffeecup.postprocess.benchmarks.b_eff.doors import Check, View
from coffeecup.postprocess.benchmarks.b_eff.records import Pattern, Plan
from coffeecup.postprocess.benchmarks.b_eff.reduction import best_of, pattern_bandwidth
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.words import counted, digits

SAME_AGREE = 1.1  # the largest mean over the smallest one, of patterns that are the same messages


@dataclass(frozen=True)
class Noise:
    """`same` of the averaged patterns, `averaged` in number, are the same messages; the range of their means over the
    lengths in MByte/s."""

    processes: int
    same: int
    averaged: int
    low: float
    high: float

    @property
    def sentence(self) -> str:
        return (
            f"On {counted(self.processes, 'process')} {self.same} of {self.averaged} averaged patterns are the same "
            f"messages. The largest of their means over the lengths, {digits(self.high)} MByte/s, is "
            f"{self.high / self.low:.2f} times the smallest one: this is the noise of a single pattern inside the "
            "run, not an interval of b_eff, which averages them all"
        )


def same_messages(patterns: list[Pattern]) -> list[str]:
    """The names of the largest set of averaged patterns in which every process has the same neighbours; empty without
    two of them. Rings in rank order are the same if their sizes are; two or three processes have only one ring."""
    averaged = [pattern for pattern in patterns if pattern.averaged]
    sizes = {
        pattern.name: () if pattern.processes <= ONE_RING else tuple((ring.size, ring.count) for ring in pattern.rings)
        for pattern in averaged
        if pattern.rings and (pattern.group == "ring" or pattern.processes <= ONE_RING)
    }
    [(largest, count)] = Counter(sizes.values()).most_common(1) or [((), 0)]
    return [name for name, of_pattern in sizes.items() if of_pattern == largest] if count > 1 else []


def noise(log: Log[Plan], table: pd.DataFrame) -> Noise | None:
    """Of a view by its rows of a measurement_table; a simulation has none."""
    same = same_messages(log.plan.patterns)
    if not same or log.run.simulated:
        return None
    means = pattern_bandwidth(best_of(table[table["averaged"] & table["pattern"].isin(same)]))
    averaged = sum(pattern.averaged for pattern in log.plan.patterns)
    return Noise(log.run.ranks, len(same), averaged, float(means.min()), float(means.max()))


def checks(view: View, table: pd.DataFrame) -> Iterator[Check]:
    """Whether patterns that are the same messages differ by more than the limit; nothing without such patterns."""
    if found := noise(view.log, table):
        yield Check("noisy", found.sentence, found.high > SAME_AGREE * found.low)
