# SPDX-License-Identifier: Apache-2.0
"""The nodes of a run by the times that their processes spent in I/O, or in computations between. docs/nodes.md explains
which accesses tell something about a node."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np
import pandas as pd

from postprocess.benchmarks import nodes
from postprocess.benchmarks.nodes import Examination
from postprocess.logs.process_times import places_of_nodes, ranks_of_nodes
from postprocess.logs.records import Resolution, Run
from postprocess.statistics.nodes import COLUMNS

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


def of_nodes(
    run: Run, resolution: Resolution, processes: int, seconds: Sequence[float], calls: Sequence[int] | None = None
) -> dict[int, float]:
    """Node to the geometric mean over its processes of the time of a call. `seconds` and `calls` have a value of each
    of the first `processes` processes, or of each node; without `calls` all did the same work. Empty if too few nodes
    can be compared, or if the access was too short."""
    compared, times = comparable(run, processes), np.array(seconds, float)
    if not compared or np.median(times) < SHORTEST or times.min() <= 0:
        return {}
    places, relative = places_of_nodes(run, resolution, processes), np.log(times / (1 if calls is None else calls))
    return {node: float(np.exp(relative[places[node]].mean())) for node in compared}


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
