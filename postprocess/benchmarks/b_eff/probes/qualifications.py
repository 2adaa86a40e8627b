# SPDX-License-Identifier: Apache-2.0
"""How fast messages inside a node are beside copies in memory, and whether cores are at different distances.
docs/b_eff.md derives the expected band."""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff.doors import Check, View
from coffeecup.postprocess.benchmarks.b_eff.probes.records import MemoryCopy, Probe
from coffeecup.postprocess.benchmarks.b_eff.records import Plan
from coffeecup.postprocess.benchmarks.b_eff.reduction import b_eff_at_l_max, best_of
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.units import MBYTE
from coffeecup.postprocess.show.words import digits

MOST_COPIES = 2  # of a message inside a node: into shared memory and out of it
CORES_AGREE = 2.0  # the longest round trip of a cache line over the shortest one


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


def band(log: Log[Plan], table: pd.DataFrame) -> Band | None:
    """Of a run in memory of the host of one node, by its rows of a measurement_table; the best repetition's copies."""
    copies = [record.copied_bytes / record.seconds[0] / MBYTE for record in log.all(MemoryCopy)]
    if not copies or len(log.run.hosts) > 1:
        return None
    longest = table[table["averaged"] & (table["message_bytes"] == log.plan.l_max_bytes)]
    return Band(float(b_eff_at_l_max(best_of(longest)).iloc[0]) / log.run.ranks, max(copies))


def checks(view: View, table: pd.DataFrame) -> Iterator[Check]:
    """Copies are in memory of the host, whose metrics have no suffix."""
    if not view.suffix and (found := band(view.log, table)):
        yield Check("slower_than_copies", found.sentence, found.messages < found.lowest)


def of_cores(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    """Qualification by the probes, which measure the round trip of a cache line between the cores of the processes."""
    probes = [
        (host.name, probe) for record in log.all(Probe) for host, probe in zip(log.run.hosts, record.hosts) if probe
    ]
    if not probes:
        return
    shortest = min(probes, key=lambda entry: entry[1].shortest_round_trip_seconds)
    longest = max(probes, key=lambda entry: entry[1].longest_round_trip_seconds)
    low, high = shortest[1].shortest_round_trip_seconds, longest[1].longest_round_trip_seconds
    if high > CORES_AGREE * low:
        yield (
            "cores_disagree",
            f"The longest round trip of a cache line between two processes, {digits(round(high * 1e9))} ns on "
            f"{longest[0]}, took {high / low:.1f} times as long as the shortest one on {shortest[0]}: processes share "
            "a core, their cores are at different distances, or a hypervisor moved them; latencies differ accordingly",
        )
