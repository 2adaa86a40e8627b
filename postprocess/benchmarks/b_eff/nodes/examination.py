# SPDX-License-Identifier: Apache-2.0
"""Which nodes are slow, from the loops of b_eff's matchings of nodes at the longest messages."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from coffeecup.postprocess.benchmarks import nodes
from coffeecup.postprocess.benchmarks.b_eff.definition import PATTERNS_AVERAGED
from coffeecup.postprocess.benchmarks.b_eff.nodes.records import Confirmation, Matching, Pair
from coffeecup.postprocess.benchmarks.b_eff.nodes.tails import found as tails
from coffeecup.postprocess.benchmarks.b_eff.parts import views
from coffeecup.postprocess.benchmarks.b_eff.records import Plan
from coffeecup.postprocess.benchmarks.b_eff.rules import pattern_names, problems
from coffeecup.postprocess.benchmarks.nodes import MATCHINGS, Examination
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.statistics.medians import upper_limit
from coffeecup.postprocess.statistics.nodes import COLUMNS, UNSURE

if TYPE_CHECKING:
    from coffeecup.postprocess.show.plots import Figure

INCOMPLETE = {"all_patterns", "averaged_loops"}  # invariants that a run without a score may break
NO_GROUPS = "The groups of the nodes (leaf switches) are not known: nodes beyond a shared link may seem slow"


def examination(log: Log[Plan]) -> Examination:
    """The nodes of a run. Where their groups are known, each is compared with those of its own group: a slow trunk
    between groups says nothing about a node."""
    names = [host.name for host in log.run.hosts]
    planned = log.plan.matchings
    if not planned.count and len(names) > 1:
        return nodes.not_examined("No matchings of nodes were requested (--matchings 0)")
    loops = [record for record in log.all(Matching) if record.message_bytes == log.plan.l_max_bytes]
    loops = [record for record in loops if record.scope != "across"] or loops
    ranks = [host.ranks for host in log.run.hosts]
    if len({len(of_node) for of_node in ranks}) > 1:  # with more processes a pair takes longer
        loops = [record for record in loops if record.processes == "one_per_node"]
    times = pd.DataFrame(
        [row for record in loops for row in labelled(record, ranks, planned.resolution)], columns=COLUMNS
    )
    remarks = [NO_GROUPS] if planned.groups is None else []
    examined = nodes.examination(names, {MATCHINGS: times}, remarks, again(log, names), nodes.kinds(log.run))
    return replace(examined, tails=tails(log))


def examination_of_unscored(log: Log[Plan]) -> Examination | None:
    """The nodes of a run that left out patterns or loops of b_eff: None if the log breaks any other rule, or if it has
    no matchings."""
    known = {name for group in PATTERNS_AVERAGED for name in pattern_names(group)}
    planned = [pattern for view in views(log) for pattern in view.log.plan.patterns]
    if not log.all(Matching) or any(p.name not in known for p in planned if p.group in PATTERNS_AVERAGED):
        return None  # later rules rely on the names
    others = (problem for problem in problems(log) if problem[0] not in INCOMPLETE)
    return examination(log) if next(others, None) is None else None


def again(log: Log[Plan], names: list[str]) -> dict[str, float]:
    """Node to the most that it certainly reaches of the bandwidth of good nodes, of those that the kernel measured
    again."""
    times = defaultdict(list)  # the last one of each is that of the good nodes
    for record in log.all(Confirmation):
        times[record.suspect, record.repetition, record.processes].append(time_of(record))
    ratios = defaultdict(list)
    for (suspect, repetition, _), (*own, good) in times.items():
        ratios[suspect, repetition].append(good / min(own))  # slow only if it is slow with each good node
    rounds = defaultdict(list)
    for (suspect, _), of_round in ratios.items():
        rounds[names[suspect]].append(np.exp(np.mean(np.log(of_round))))
    return {name: upper_limit(np.array(of_node), UNSURE) for name, of_node in rounds.items()}


def time_of(record: Confirmation) -> float:
    """The geometric mean over the processes of a pair of the time of the slower one of each process and its
    counterpart, as in a matching: a node that only sends or only receives slowly is slow. Those without a counterpart
    rest, so the first node has as many times as the second one."""
    seconds = [seconds for seconds in record.seconds if seconds is not None]
    first, second = np.array(seconds).reshape(2, -1)
    return float(np.exp(np.mean(np.log(np.maximum(first, second)))))


def labelled(record: Matching, ranks: list[list[int]], resolution: str) -> Iterator[tuple[str, str, int, int, float]]:
    """The rows of times_of with what statistics.nodes.effects needs besides, in the order of its COLUMNS."""
    unit, condition = f"{record.scope} {record.matching}", f"{record.scope} {record.processes} {record.direction}"
    return ((unit, condition, *row) for row in times_of(record, ranks, resolution))


def times_of(record: Matching | Pair, ranks: list[list[int]], resolution: str) -> Iterator[tuple[int, int, float]]:
    """For each pair of nodes of a loop both nodes and the seconds: the geometric mean over their processes, of which
    each has its counterpart on the other node. A transfer takes as long as the slower one of the two processes
    needs."""
    per_node = isinstance(record, Pair) or record.processes == "one_per_node" or resolution == "node"
    for first, second in enumerate(record.partners):
        if first < second:
            of_both = [[node] if per_node else ranks[node] for node in (first, second)]
            yield first, second, mean_of(record, *of_both)


def all_pairs(log: Log[Plan]) -> pd.DataFrame:
    """A row per pair of nodes of a run with --all-pairs: `first`, `second`, and `mbyte_per_second` of both directions
    together."""
    rows = [
        (first, second, 1e-6 * (2 * record.message_bytes * record.loop_length) / seconds)
        for record in log.all(Pair)
        for first, second, seconds in times_of(record, [], "node")
    ]
    return pd.DataFrame(rows, columns=["first", "second", "mbyte_per_second"])


def figures(log: Log[Plan]) -> "list[Figure]":
    """The bandwidths of all pairs, if they were measured."""
    from coffeecup.postprocess.benchmarks import node_figures  # scoring waits for no matplotlib

    pairs = all_pairs(log)
    return [node_figures.matrix([host.name for host in log.run.hosts], pairs)] if len(pairs) else []


def mean_of(record: Matching | Pair, first: Iterable[int], second: Iterable[int]) -> float:
    longest = [max(record.seconds[a] or 0.0, record.seconds[b] or 0.0) for a, b in zip(first, second)]
    return float(np.exp(np.mean(np.log(longest))))
