# SPDX-License-Identifier: Apache-2.0
"""The rules of runs under load that benchmarks have in common: which nodes are victims, and that the load was
there while the victims were measured. docs/log.md lists the invariants."""

from collections.abc import Iterator, Sequence

from coffeecup.postprocess.benchmarks.load_records import LoadRecord, PlannedVictims
from coffeecup.postprocess.benchmarks.random_orders import random_number, shuffled
from coffeecup.postprocess.logs.reader import RUN_AGAIN, Log
from coffeecup.postprocess.logs.rules import Problem, problems_of_fields, problems_of_options, where
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


def problems_of_request(log: Log, load: PlannedVictims, kinds: Sequence[str]) -> Iterator[Problem]:
    """The loads and the share of victims of the options; `kinds` are all loads of the benchmark, in their order."""
    yield from problems_of_options(log.run, {"kinds": load.kinds})
    if load.kinds != [kind for kind in kinds if kind in load.kinds]:
        yield "load", log.plan
    yield from problems_of_fields(log.plan, {"load.victims_percent": log.run.options["victims"] or 50})


def problems_of_victims(log: Log, load: PlannedVictims, seed: int, fewest: int) -> Iterator[Problem]:
    """At least `fewest` nodes are victims, and as many are not."""
    nodes, victims = len(log.run.hosts), load.victims
    if len(victims) < fewest or nodes - len(victims) < fewest or max(victims) >= nodes:
        yield "victims", log.plan
        return
    processes = sum(len(log.run.hosts[node].ranks) for node in victims)
    planned = {"load.victims": victims_of(nodes, load.victims_percent, seed), "load.victim_processes": processes}
    yield from problems_of_fields(log.plan, planned)


def problems_of_generator(record: LoadRecord, moved: bool, sound: bool, seconds: float) -> Iterator[Problem]:
    """A load that moved nothing was not there, nor one that did not last as long as what it was to disturb, `seconds`.
    `sound`: what it moved is possible."""
    if not moved:
        yield "no_load", f"{where(record)} moved nothing, so there is no impact of it; {RUN_AGAIN}"
    if not sound:
        yield "load_bytes", record
    if not seconds * (1 - NODES_CLOCK_TOLERANCE) <= record.shortest_seconds <= record.elapsed_seconds:
        yield "load_time", record


def is_of_files(record: LoadRecord, writes: bool, reads: bool) -> bool:
    """Whether what a load of files moved is whole chunks: one at least on each process, because none is told to stop
    before."""
    written, read, cached = record.sent_bytes, record.received_bytes, record.cached_bytes
    moved = max(written, read)
    whole = not moved % CHUNK_BYTES and (written, read) == (moved * writes, moved * reads)
    enough = not 0 < moved < record.senders * CHUNK_BYTES and not record.silent_senders
    return whole and enough and cached is not None and cached <= read
