# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff on round trips and copies. docs/log.md lists the invariants."""

from collections.abc import Iterator

from coffeecup.postprocess.benchmarks.b_eff.parts import views
from coffeecup.postprocess.benchmarks.b_eff.probes.records import MemoryCopy, Probe
from coffeecup.postprocess.benchmarks.b_eff.records import Plan
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.rules import Expected, Problem, broken
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
        yield from broken(copy, {"copy_hosts": len(copy.seconds) == len(hosts)})
    for probe in log.all(Probe):
        timed = [(host, times) for host, times in zip(hosts, probe.hosts) if times]
        kept = {
            "probe_hosts": len(probe.hosts) == len(hosts),
            "probe_pairs": all(len(host.ranks) > 1 for host, _ in timed),
            "probe_times": all(
                times.shortest_round_trip_seconds <= times.longest_round_trip_seconds for _, times in timed
            ),
        }
        yield from broken(probe, kept)
