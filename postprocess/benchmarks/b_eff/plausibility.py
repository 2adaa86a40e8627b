# SPDX-License-Identifier: Apache-2.0
"""Checks of a result against its own run: how much patterns with the same messages differ, and, on one node, how fast
messages are beside copies in memory. docs/b_eff.md derives the expected band."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from postprocess.benchmarks.b_eff.records import MemoryCopy, Pattern, Plan
from postprocess.benchmarks.b_eff.reduction import b_eff_at_l_max, best_bandwidth, pattern_bandwidth
from postprocess.logs.reader import Log
from postprocess.show.units import MBYTE
from postprocess.show.words import counted, digits

SAME_AGREE = 1.1  # the largest mean over the smallest one, of patterns that are the same messages
MOST_COPIES = 2  # of a message inside a node: into shared memory and out of it
ONE_RING = 3  # up to so many processes, each order is the same ring


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
            f"messages, and their means over the lengths range from {digits(self.low)} to {digits(self.high)} MByte/s: "
            "this is the noise of a single pattern inside the run, not an interval of b_eff, which averages them all"
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


def noise(log: Log[Plan], best: pd.Series) -> Noise | None:
    """Of one kind of memory; a simulation has none."""
    same = same_messages(log.plan.patterns)
    if not same or log.run.simulated:
        return None
    means = pattern_bandwidth(best).droplevel(["log", "group"]).loc[same]
    averaged = sum(pattern.averaged for pattern in log.plan.patterns)
    return Noise(log.run.ranks, len(same), averaged, float(means.min()), float(means.max()))


@dataclass(frozen=True)
class Band:
    """In MByte/s of a process: its messages at L_max, and the copies in memory of all processes at the same time."""

    messages: float
    copies: float

    @property
    def lowest(self) -> float:
        return self.copies / MOST_COPIES

    @property
    def sentence(self) -> str:
        where = "below" if self.messages < self.lowest else "above" if self.messages > self.copies else "within"
        said = {
            "below": "below this band: messages cost more than two copies; look at the load of others, the binding of "
            "the processes and the single copy of the MPI library",
            "within": "within this band",
            "above": "above this band: a part of the data came from caches",
        }[where]
        return (
            f"While every process copied in memory, each reached {digits(self.copies)} MByte/s. A message inside a "
            "node takes one such copy, or two through shared memory, so b_eff at L_max per process is expected between "
            f"{digits(self.lowest)} and {digits(self.copies)} MByte/s. It is {digits(self.messages)}, "
            f"{said}"
        )


def band(log: Log[Plan], best: pd.Series) -> Band | None:
    """Of a run in memory of the host of one node; the best repetition's copies."""
    copies = [record.copied_bytes / record.seconds[0] / MBYTE for record in log.all(MemoryCopy)]
    if not copies or len(log.run.hosts) > 1:
        return None
    return Band(float(b_eff_at_l_max(best).iloc[0]) / log.run.ranks, max(copies))


def of_plausibility(log: Log[Plan], table: pd.DataFrame, is_host: bool) -> Iterator[tuple[str, str]]:
    """Qualifications of one kind of memory."""
    best = best_bandwidth(table)
    found = noise(log, best)
    if found and found.high > SAME_AGREE * found.low:
        yield "noisy", found.sentence
    beside = band(log, best) if is_host else None
    if beside and beside.messages < beside.lowest:
        yield "slower_than_copies", beside.sentence
