# SPDX-License-Identifier: Apache-2.0
"""What limits a result under load, whatever the benchmark: whether the load was there all the time."""

from collections.abc import Iterator, Sequence

import numpy as np

from coffeecup.postprocess.benchmarks.load_records import LoadRecord
from coffeecup.postprocess.show.units import MBYTE
from coffeecup.postprocess.show.words import counted, digits, size

WEAK_LOAD = 0.25  # bandwidth of the load's busiest node over that of a victim's node without load
STEADY_LOAD = 0.5  # the slowest phase of a load over the median phase


def of_strength(kind: str, busiest: Sequence[float], victim: float) -> Iterator[tuple[str, str]]:
    """`busiest` is the bandwidth of the load in each phase, on its busiest node, `victim` that of a measured node
    without load, both in byte/s."""
    middle = float(np.median(busiest))
    if middle < WEAK_LOAD * victim:
        yield (
            "weak_load",
            f"The load {kind} moved {digits(middle / MBYTE)} MByte/s on its busiest node, less than "
            f"{WEAK_LOAD:.0%} of the {digits(victim / MBYTE)} MByte/s of a measured node without load: its impact "
            "is that of a weak load",
        )


def of_steadiness(kind: str, phases: Sequence[LoadRecord], busiest: Sequence[float]) -> Iterator[tuple[str, str]]:
    """Phases in which the load was weak, came from the page cache, or did not have all its senders. `busiest` are the
    bytes per second of the busiest node in each phase."""
    if unsteady := int((np.array(busiest) < STEADY_LOAD * np.median(busiest)).sum()):
        yield (
            "unsteady_load",
            f"In {unsteady} of {counted(len(phases), 'phase')}, the load {kind} moved less than {STEADY_LOAD:.0%} "
            "of what it moved in the median phase",
        )
    if cached := sum(record.cached_bytes or 0 for record in phases):
        read = sum(record.received_bytes for record in phases)
        yield (
            "cached_load",
            f"The load {kind}: {size(cached)} of the {size(read)} that it read were in the page cache of the nodes "
            "that read them, and did not come from the file system",
        )
    if silent := sum(record.silent_senders > 0 for record in phases):
        yield (
            "silent_senders",
            f"In {silent} of {counted(len(phases), 'phase')} of the load {kind}, some of the processes that were "
            "to send completed no message",
        )


def of_repetitions(done: int, planned: int) -> Iterator[tuple[str, str]]:
    """Fewer repetitions than planned."""
    if done < planned:
        yield "few_repetitions", f"The result is that of {done} of {counted(planned, 'repetition')}"
