# SPDX-License-Identifier: Apache-2.0
"""The nodes of a run by the times that their processes spent in I/O, or in computations between. docs/slow-io.md
explains which accesses tell something about a node."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median, median_low
from typing import NamedTuple

import numpy as np
import pandas as pd

from coffeecup.postprocess.benchmarks import nodes
from coffeecup.postprocess.benchmarks.nodes import Examination
from coffeecup.postprocess.logs.process_times import places_of_nodes, ranks_of_nodes
from coffeecup.postprocess.logs.records import Resolution, Run
from coffeecup.postprocess.statistics.nodes import COLUMNS, SLOWER

FEWEST = 3  # nodes that can be compared with each other
SHORTEST = 0.2  # seconds: in less, it matters which process begins first
Accesses = Mapping[str, Mapping[int, float]]  # name of an access to the seconds of each node
OfServers = Mapping[str, Mapping[str, float]]  # name of an access to the seconds of each server


def examination(run: Run, measured: Mapping[str, Accesses]) -> Examination:
    """The nodes of a run from their times in accesses, by what these are (nodes.WRITES and so on)."""
    tables = {kind: table(accesses) for kind, accesses in measured.items() if any(accesses.values())}
    if len(run.hosts) >= FEWEST and not tables:
        return nodes.not_examined(f"No access of its own kept the processes of three nodes busy for {SHORTEST:g} s")
    return nodes.examination([host.name for host in run.hosts], tables, kinds=nodes.kinds(run))


class Access(NamedTuple):
    """`seconds` of each of the first `processes` processes, or of all, or of each node, in an access of a `kind`
    (nodes.WRITES and so on); for each process the server of its own file, if the file system tells; and `calls`, if
    these differ."""

    kind: str
    name: str
    seconds: Sequence[float]
    servers: Sequence[str] = ()
    processes: int | None = None
    calls: Sequence[int] | None = None


def of_accesses(run: Run, resolution: Resolution, accesses: Iterable[Access]) -> Examination:
    """The nodes and the servers of a run. Where it is known which server has the file of a process, nodes are compared
    with those whose files are on the same one."""
    kinds = (nodes.WRITES, nodes.READS, nodes.COMPUTATIONS)
    measured, on_servers, for_each_file = ({kind: {} for kind in kinds} for _ in range(3))
    for kind, name, seconds, there, processes, calls in accesses:
        usual, left_out = np.array(calls or [1] * len(seconds), float), []
        if there:
            times = of_servers(run, seconds, there, usual)
            on_servers[kind][name] = times
            for_each_file[kind][name] = {server: time / there.count(server) for server, time in times.items()}
            usual *= [times.get(server, 1.0) for server in there]
            left_out = [rank for rank, server in enumerate(there) if server not in times]
        measured[kind][name] = of_nodes(run, resolution, processes or run.ranks, seconds, usual, left_out)
    found = examination(run, measured)
    return replace(found, servers=servers(on_servers, for_each_file))


def of_nodes(
    run: Run,
    resolution: Resolution,
    processes: int,
    seconds: Sequence[float],
    calls: Sequence[float] | np.ndarray = (1.0,),
    left_out: Collection[int] = (),
) -> dict[int, float]:
    """Node to the geometric mean over its processes of the time of a call. `seconds` and `calls` have a value of each
    of the first `processes` processes, or of each node; by default all did the same work. The values at the places
    `left_out` do not count. Empty if too few nodes can be compared, or if the access was too short."""
    compared, times = comparable(run, processes), np.array(seconds, float)
    if not compared or np.median(times) < SHORTEST or times.min() <= 0:
        return {}
    places, relative = places_of_nodes(run, resolution, processes), np.log(times / np.array(calls, float))
    counted = {node: [place for place in places[node] if place not in left_out] for node in compared}
    return {node: float(np.exp(relative[own].mean())) for node, own in counted.items() if own}


def of_servers(
    run: Run, seconds: Sequence[float], servers: Sequence[str], calls: Sequence[float] | np.ndarray = (1.0,)
) -> dict[str, float]:
    """Server to the time of a call to the files there. `seconds`, `servers` and `calls` have a value of each process,
    by default all did the same work. The time is the lower median over the nodes with files there, so that a slow node
    among two or more makes no server slow. Not of servers with files of a single node; empty if the access was too
    short."""
    times = np.array(seconds, float)
    if np.median(times) < SHORTEST or times.min() <= 0:
        return {}
    relative, found = np.log(times / np.array(calls, float)), defaultdict(list)
    for ranks in ranks_of_nodes(run, len(servers)):
        own = defaultdict(list)
        for rank in ranks:
            own[servers[rank]].append(relative[rank])
        for server, values in own.items():
            found[server].append(float(np.exp(np.mean(values))))
    return {server: median_low(values) for server, values in found.items() if len(values) > 1}


def servers(measured: Mapping[str, OfServers], for_each_file: Mapping[str, OfServers]) -> pd.DataFrame:
    """The servers, rows as of Examination.nodes, by their times in accesses, and by these divided by the number of
    their files. A server with more files than others may be slow because of them: one is a suspect only if it is also
    slow by its time for each file. Of a slower one the milder of both counts."""
    names = sorted({name for accesses in measured.values() for times in accesses.values() for name in times})
    if not names:
        return nodes.nobody()
    found, for_each = (
        nodes.examination(
            names,
            {
                kind: table({a: {names.index(name): t for name, t in times.items()} for a, times in accesses.items()})
                for kind, accesses in kinds.items()
            },
        ).nodes.set_index("node", drop=False)
        for kinds in (measured, for_each_file)
    )
    for_each = for_each.reindex(found.index)
    chosen = found.where((found["ratio"] >= 1) | ~(for_each["ratio"] > found["ratio"]), for_each)
    suspect = found["suspect"] & (for_each["high"] < SLOWER)
    return chosen.assign(suspect=suspect).sort_values("ratio", ignore_index=True).astype(found.dtypes)


def own_seconds(access: Sequence[float], sync: Sequence[float], separate: bool) -> list[float]:
    """What each process needed for itself: its calls, and the sync of a `separate` file. That of a file which all
    processes share is collective: some libraries let every process wait there for the slowest one. If even the shortest
    sync of one is longer than the calls, these only filled a cache, and tell nothing: no time."""
    if separate:
        return [calls + synced for calls, synced in zip(access, sync)]
    return [0.0] * len(access) if min(sync) > median(access) else [*access]


def comparable(run: Run, processes: int) -> list[int]:
    """The nodes with the most frequent number of the first `processes` processes: a process has a smaller share of a
    node that it shares with more of them. Empty if these are too few."""
    counts = [len(ranks) for ranks in ranks_of_nodes(run, processes)]
    [(usual, _)] = Counter(count for count in counts if count).most_common(1)
    chosen = [node for node, count in enumerate(counts) if count == usual]
    return chosen if len(chosen) >= FEWEST else []


def table(measured: Accesses) -> pd.DataFrame:
    """The table for statistics.nodes.effects: the times of each access are compared with each other only."""
    rows = [
        (access, access, node, node, seconds) for access, times in measured.items() for node, seconds in times.items()
    ]
    return pd.DataFrame(rows, columns=COLUMNS)
