# SPDX-License-Identifier: Apache-2.0
"""The rules of runs under load that benchmarks have in common: which nodes are victims, and that the load was
there while the victims were measured. docs/log.md lists the invariants."""

from collections.abc import Iterator, Sequence

from coffeecup.postprocess.benchmarks.load_records import LoadRecord, PlannedVictims
from coffeecup.postprocess.benchmarks.random_orders import random_number, shuffled
from coffeecup.postprocess.logs.reader import RUN_AGAIN, Log
from coffeecup.postprocess.logs.rules import Problem, broken, where
from coffeecup.postprocess.show.units import MIB

CHUNK_BYTES = MIB  # what a process that generates a load of files writes or reads at once
NODES_CLOCK_TOLERANCE = 1e-4  # clocks of different nodes
_VICTIMS = 3  # number of the seed's sequence, see kernels/common/load.c


def victims_of(nodes: int, percent: int, seed: int) -> list[int]:
    """The nodes that are measured, as kernels/common/load.c selects them."""
    count = (nodes * percent + 50) // 100
    return sorted([0, *shuffled(range(1, nodes), random_number(seed, _VICTIMS))][:count])


def generating_ranks(log: Log, load: PlannedVictims) -> list[list[int]]:
    """The processes of each node that generates load."""
    return [host.ranks for node, host in enumerate(log.run.hosts) if node not in load.victims]


def problems_of_load(log: Log, kinds: Sequence[str], fewest: int) -> Iterator[Problem]:
    """`kinds` are all loads of the benchmark, in their order. At least `fewest` nodes are victims, and as many are
    not."""
    load, nodes = log.plan.load, len(log.run.hosts)
    kept = {
        "load": load.kinds == [kind for kind in kinds if kind in load.kinds],
        "victims": fewest <= len(load.victims) <= nodes - fewest and max(load.victims) < nodes,
    }
    yield from broken(log.plan, kept)


def planned_victims(log: Log, seed: int) -> dict[str, object]:
    """What the plan of the load states of them."""
    load, hosts, percent = log.plan.load, log.run.hosts, log.run.options["victims"] or 50
    return {
        "load.victims_percent": percent,
        "load.victims": victims_of(len(hosts), load.victims_percent, seed),
        "load.victim_processes": sum(len(hosts[node].ranks) for node in load.victims),
    }


def problems_of_generator(record: LoadRecord, moved: bool, sound: bool, seconds: float) -> Iterator[Problem]:
    """A load that moved nothing was not there, nor one that did not last as long as what it was to disturb, `seconds`.
    `sound`: what it moved is possible."""
    if not moved:
        yield "no_load", f"{where(record)} moved nothing, so there is no impact of it; {RUN_AGAIN}"
    in_time = seconds * (1 - NODES_CLOCK_TOLERANCE) <= record.shortest_seconds <= record.elapsed_seconds
    yield from broken(record, {"load_bytes": sound, "load_time": in_time})


def is_of_files(record: LoadRecord, writes: bool, reads: bool) -> bool:
    """Whether what a load of files moved is whole chunks: one at least on each process, because none is told to stop
    before."""
    written, read, cached = record.sent_bytes, record.received_bytes, record.cached_bytes
    moved = max(written, read)
    whole = not moved % CHUNK_BYTES and (written, read) == (moved * writes, moved * reads)
    enough = not 0 < moved < record.senders * CHUNK_BYTES and not record.silent_senders
    return whole and enough and cached is not None and cached <= read
