# SPDX-License-Identifier: Apache-2.0
"""The nodes of a run by the times that their processes spent in I/O, or in computations between. docs/nodes.md explains
which accesses tell something about a node."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median, median_low
from typing import NamedTuple

import numpy as np
import pandas as pd

from postprocess.benchmarks import nodes
from postprocess.benchmarks.nodes import Examination
from postprocess.logs.process_times import places_of_nodes, ranks_of_nodes
from postprocess.logs.records import Resolution, Run
from postprocess.statistics.nodes import COLUMNS, SLOWER

FEWEST = 3  # nodes that can be compared with each other
SHORTEST = 0.2  # seconds: in less, it matters which process begins first
EARLY_KERNEL = "The log was written by a kernel that logs no times of single processes"
Accesses = Mapping[str, Mapping[int, float]]  # name of an access to the seconds of each node


def examination(run: Run, measured: Mapping[str, Accesses]) -> Examination:
    """The nodes of a run from their times in accesses, by what these are (nodes.WRITES and so on)."""
    tables = {kind: table(accesses) for kind, accesses in measured.items()}
    if len(run.hosts) >= FEWEST and all(times.empty for times in tables.values()):
        return nodes.not_examined(f"No access of its own kept the processes of three nodes busy for {SHORTEST:g} s")
    return nodes.examination([host.name for host in run.hosts], tables)


class Access(NamedTuple):
    """`seconds` of each process, or node, in an access of a `kind` (nodes.WRITES and so on), and for each process the
    server of its own file, if the file system tells."""

    kind: str
    name: str
    seconds: Sequence[float]
    servers: Sequence[str] = ()


def of_accesses(run: Run, resolution: Resolution, accesses: Iterable[Access]) -> Examination:
    """The nodes and the servers of a run. Where it is known which server has the file of a process, nodes are compared
    with those whose files are on the same one."""
    kinds = (nodes.WRITES, nodes.READS, nodes.COMPUTATIONS)
    measured, on_servers, files = {kind: {} for kind in kinds}, {kind: {} for kind in kinds}, {}
    for kind, name, seconds, there in accesses:
        usual, left_out = None, []
        if there:
            times = on_servers[kind][name] = of_servers(run, seconds, there)
            files |= {server: max(files.get(server, 0), there.count(server)) for server in there}
            usual = [times.get(server, 1.0) for server in there]
            left_out = [rank for rank, server in enumerate(there) if server not in times]
        measured[kind][name] = of_nodes(run, resolution, run.ranks, seconds, usual, left_out)
    found = examination(run, measured)
    return replace(found, servers=tuple(nodes.listed(slow_servers(on_servers, files))))


def of_nodes(
    run: Run,
    resolution: Resolution,
    processes: int,
    seconds: Sequence[float],
    calls: Sequence[float] | None = None,
    left_out: Collection[int] = (),
) -> dict[int, float]:
    """Node to the geometric mean over its processes of the time of a call. `seconds` and `calls` have a value of each
    of the first `processes` processes, or of each node; without `calls` all did the same work. The values at the places
    `left_out` do not count. Empty if too few nodes can be compared, or if the access was too short."""
    compared, times = comparable(run, processes), np.array(seconds, float)
    if not compared or np.median(times) < SHORTEST or times.min() <= 0:
        return {}
    places, relative = places_of_nodes(run, resolution, processes), np.log(times / (1 if calls is None else calls))
    counted = {node: [place for place in places[node] if place not in left_out] for node in compared}
    return {node: float(np.exp(relative[own].mean())) for node, own in counted.items() if own}


def of_servers(run: Run, seconds: Sequence[float], servers: Sequence[str]) -> dict[str, float]:
    """Server to the time of an access to the files there; `seconds` and `servers` have a value of each process. It is
    the lower median over the nodes with files there, so that a slow node among two or more makes no server slow. Not of
    servers with files of a single node; empty if the access was too short."""
    times = np.array(seconds, float)
    if np.median(times) < SHORTEST or times.min() <= 0:
        return {}
    found = defaultdict(list)
    for host in run.hosts:
        own = defaultdict(list)
        for rank in host.ranks:
            own[servers[rank]].append(np.log(times[rank]))
        for server, values in own.items():
            found[server].append(float(np.exp(np.mean(values))))
    return {server: median_low(values) for server, values in found.items() if len(values) > 1}


def slow_servers(measured: Mapping[str, Mapping[str, Mapping[str, float]]], files: Mapping[str, int]) -> pd.DataFrame:
    """The suspects among servers, rows as of Examination.nodes, by their times in accesses and the number of their
    files. A server with more files than others may be slow because of them: one is a suspect only if it is also slow
    by its time for each file, and the milder of both counts."""
    names = sorted({name for accesses in measured.values() for times in accesses.values() for name in times})
    tables = {
        kind: table({a: {names.index(name): t for name, t in times.items()} for a, times in accesses.items()})
        for kind, accesses in measured.items()
    }
    for_each = {
        kind: rows.assign(seconds=rows["seconds"] / [files[names[number]] for number in rows["first"]])
        for kind, rows in tables.items()
    }
    suspects = nodes.examination(names, tables).named
    milder = nodes.examination(names, for_each).nodes.set_index("node")
    chosen = suspects["node"].map(milder["high"]) < SLOWER
    both = [suspects[chosen], milder.loc[suspects["node"][chosen]].reset_index()]
    return pd.concat(both).sort_values("ratio").groupby("node", sort=False).tail(1)


def before_sync(access: list[float], sync: list[float]) -> list[float]:
    """The time of each process in its calls to a file that all processes share, whose sync is collective: some
    libraries let every process wait there for the slowest one. If even the shortest sync is longer than the calls,
    these only filled a cache, and tell nothing: no time."""
    return [0.0] * len(access) if min(sync) > median(access) else access


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
