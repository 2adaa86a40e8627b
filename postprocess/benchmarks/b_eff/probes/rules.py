# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff on round trips and copies. docs/log.md lists the invariants."""

from collections.abc import Iterator

from coffeecup.postprocess.benchmarks.b_eff.parts import views
from coffeecup.postprocess.benchmarks.b_eff.probes.records import MemoryCopy, Probe
from coffeecup.postprocess.benchmarks.b_eff.records import Plan
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.rules import Expected, Problem
from coffeecup.postprocess.show.units import MIB

MOST_COPIED_BYTES = 4 * MIB


def expected(log: Log[Plan], repetition: int) -> Iterator[Expected]:
    """A simulation has none. Copies are in memory of the host."""
    if not log.run.simulated:
        yield Expected(Probe, (repetition,))
        if not all(view.suffix for view in views(log)):
            yield Expected(MemoryCopy, (repetition,), {"copied_bytes": min(log.plan.buffer_bytes, MOST_COPIED_BYTES)})


def problems_of_probes(log: Log[Plan]) -> Iterator[Problem]:
    """Probes and copies have all hosts of the run and times that are possible."""
    hosts = log.run.hosts
    for copy in log.all(MemoryCopy):
        if len(copy.seconds) != len(hosts):
            yield "copy_hosts", copy
    for probe in log.all(Probe):
        if len(probe.hosts) != len(hosts):
            yield "probe_hosts", probe
        for host, times in zip(hosts, probe.hosts):
            if times and len(host.ranks) < 2:
                yield "probe_pairs", probe
            if times and times.shortest_round_trip_seconds > times.longest_round_trip_seconds:
                yield "probe_times", probe
