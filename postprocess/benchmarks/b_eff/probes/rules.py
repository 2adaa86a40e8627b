# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff on round trips and copies. docs/log.md lists the invariants."""

from collections.abc import Iterator

from coffeecup.postprocess.benchmarks.b_eff.parts import views
from coffeecup.postprocess.benchmarks.b_eff.probes.records import MemoryCopy, Probe
from coffeecup.postprocess.benchmarks.b_eff.records import Plan
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import kind_of
from coffeecup.postprocess.logs.rules import EDITED, Problem
from coffeecup.postprocess.show.units import MIB

MOST_COPIED_BYTES = 4 * MIB


def planned(log: Log[Plan], repetition: int) -> Iterator[tuple]:
    """A simulation has none. Copies are in memory of the host."""
    if not log.run.simulated:
        yield "probe", repetition
        if not all(view.suffix for view in views(log)):
            yield "memory_copy", repetition


def key_of(record: Probe | MemoryCopy) -> tuple:
    """What identifies a record of this part in the order of measuring."""
    return kind_of(record), record.repetition


def in_words(key: tuple) -> str:
    """A record of this part, named by its key."""
    return f"the {key[0]} before repetition {key[1]}"


def problems_of_probes(log: Log[Plan]) -> Iterator[Problem]:
    """Probes and copies have all hosts of the run and times that are possible."""
    hosts = log.run.hosts
    for copy in log.all(MemoryCopy):
        if len(copy.seconds) != len(hosts):
            yield "copy_hosts", f"copies have {len(copy.seconds)} hosts, the run {len(hosts)}; {EDITED}"
        if copy.copied_bytes != min(log.plan.buffer_bytes, MOST_COPIED_BYTES):
            yield "copied_bytes", f"{copy.copied_bytes} bytes were copied, which are not of the buffers; {EDITED}"
    for probe in log.all(Probe):
        if len(probe.hosts) != len(hosts):
            yield "probe_hosts", f"a probe has {len(probe.hosts)} hosts, the run {len(hosts)}; {EDITED}"
        for host, times in zip(hosts, probe.hosts):
            if times and len(host.ranks) < 2:
                yield "probe_pairs", f"{host.name} has a round trip between its ranks, of which it has one; {EDITED}"
            if times and times.shortest_round_trip_seconds > times.longest_round_trip_seconds:
                yield "probe_times", f"{host.name}: the longest round trip was shorter than the shortest; {EDITED}"
