# SPDX-License-Identifier: Apache-2.0
"""The metrics of messages in memory of devices, or between two kinds of memory."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from coffeecup.postprocess.benchmarks.b_eff.memory.records import HOST, KINDS
from coffeecup.postprocess.benchmarks.benchmark import MetricKind


def suffix(kind: str) -> str:
    """Of the names of metrics and figures: those of the host's are the paper's."""
    return "" if kind == HOST else f"_{kind.replace('-', '_')}"


def metrics_in_memory(of_host: Sequence[MetricKind], *optional: MetricKind) -> Iterator[MetricKind]:
    """All metrics in each kind of memory of a device, and those of the ping-pong between any two kinds."""
    for kind in KINDS[1:]:
        for metric in (*of_host, *optional):
            yield in_memory(metric, kind)
    for pair in combinations(KINDS, 2):
        for metric in of_host:
            if metric.name.startswith("ping_pong"):
                yield in_memory(metric, *pair)


def in_memory(metric: MetricKind, *kinds: str) -> MetricKind:
    name, label = metric.name + suffix("-".join(kinds)), f"{metric.label}, {' and '.join(kinds)} memory"
    return replace(metric, name=name, label=label, optional=True)
