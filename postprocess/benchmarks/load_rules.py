# SPDX-License-Identifier: Apache-2.0
"""The rules of runs under load that benchmarks have in common: which nodes are victims, and that the load was
there while the victims were measured. docs/log.md lists the invariants."""

from collections.abc import Iterator, Sequence

from coffeecup.postprocess.benchmarks.load_records import LoadRecord, PlannedVictims
from coffeecup.postprocess.benchmarks.random_orders import random_number, shuffled
from coffeecup.postprocess.logs.reader import RUN_AGAIN, Log
from coffeecup.postprocess.logs.records import Run
from coffeecup.postprocess.logs.rules import EDITED, Problem, problems_of_options
from coffeecup.postprocess.show.units import MIB
from coffeecup.postprocess.show.words import counted

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


def problems_of_request(run: Run, load: PlannedVictims, kinds: Sequence[str]) -> Iterator[Problem]:
    """The loads and the share of victims of the options; `kinds` are all loads of the benchmark, in their order."""
    yield from problems_of_options(run, {"kinds": load.kinds})
    if load.kinds != [kind for kind in kinds if kind in load.kinds]:
        yield "load", f"the loads are {', '.join(load.kinds)}, not those of an option in its order; {EDITED}"
    if load.victims_percent != (run.options["victims"] or 50):
        yield "options", f"{load.victims_percent} % of the nodes are victims, not as an option says; {EDITED}"


def problems_of_victims(run: Run, load: PlannedVictims, seed: int, fewest: int) -> Iterator[Problem]:
    """At least `fewest` nodes are victims, and as many are not."""
    nodes, victims = len(run.hosts), load.victims
    if len(victims) < fewest or nodes - len(victims) < fewest:
        yield (
            "victims",
            f"{len(victims)} of {nodes} nodes are victims; at least {fewest}, and all but {fewest}, belong; {EDITED}",
        )
    elif victims != victims_of(nodes, load.victims_percent, seed):
        yield "victims", f"the victims are not the nodes that the seed {seed} selects; {EDITED}"
    elif load.victim_processes != (ranks := sum(len(run.hosts[node].ranks) for node in victims)):
        yield "victims", f"{load.victim_processes} processes are on victims where {ranks} belong; {EDITED}"


def problems_of_duration(what: str, record: LoadRecord, seconds: float) -> Iterator[Problem]:
    """A load that did not last as long as what it was to disturb, `seconds`, was not there."""
    if not seconds * (1 - NODES_CLOCK_TOLERANCE) <= record.shortest_seconds <= record.elapsed_seconds:
        yield "load_time", f"{what} did not last as long as what it was to disturb; {EDITED}"


def problems_of_senders(what: str, record: LoadRecord, senders: int) -> Iterator[Problem]:
    """The number of processes that generate the load is that of its kind."""
    if record.senders != senders or record.silent_senders > senders:
        yield "senders", f"{what} had {record.senders} senders, not those of its kind; {EDITED}"


def problem_of_files(record: LoadRecord, writes: bool, reads: bool) -> str:
    """What a load of files moved is whole chunks: one at least on each process, because none is told to stop before."""
    written, read = record.sent_bytes, record.received_bytes
    moved = max(written, read)
    whole = not moved % CHUNK_BYTES and (written, read) == (moved * writes, moved * reads)
    if not whole or 0 < moved < record.senders * CHUNK_BYTES or record.silent_senders:
        what = " and ".join(["write"] * writes + ["read"] * reads)
        return f"did not {what} whole chunks of {counted(CHUNK_BYTES, 'byte')} on each process"
    if record.cached_bytes is None or record.cached_bytes > read:
        return f"read {read} bytes, of which {record.cached_bytes} were in the page cache"
    return ""


def problems_of_nothing(what: str, moved: bool) -> Iterator[Problem]:
    """A phase under a load that moved nothing."""
    if not moved:
        yield "no_load", f"{what} moved nothing, so there is no impact of it; {RUN_AGAIN}"
