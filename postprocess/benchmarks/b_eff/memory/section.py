# SPDX-License-Identifier: Apache-2.0
"""What b_eff's part of the report says of kinds of memory. `of_host` has the labels of the metrics in the host's."""

from itertools import combinations

from postprocess.benchmarks.b_eff import BENCHMARK
from postprocess.benchmarks.b_eff.memory.kinds import kinds
from postprocess.benchmarks.b_eff.memory.metrics import metric_in
from postprocess.benchmarks.b_eff.memory.records import HOST
from postprocess.benchmarks.b_eff.records import Plan
from postprocess.benchmarks.score import Score
from postprocess.show.words import counted, size


def values_in(score: Score, kind: str) -> dict[str, float]:
    """The metrics of a kind of memory under the names of those of the host."""
    return {
        name: score.metrics[own].value for name in BENCHMARK.units if (own := metric_in(name, kind)) in score.metrics
    }


def side_by_side(score: Score, every: list[str], of_host: dict[str, str]) -> list[dict]:
    """A row per metric: its values by kind of memory, and each divided by that of the host. None of a single kind."""
    by_kind = {kind: values_in(score, kind) for kind in every}
    host = by_kind.get(HOST, {})
    return [
        {
            "label": of_host[name],
            "unit": unit,
            "values": [by_kind[kind].get(name) for kind in every],
            "ratios": [
                by_kind[kind][name] / host[name] if name in host and name in by_kind[kind] else None
                for kind in every
                if kind != HOST
            ],
        }
        for name, unit in BENCHMARK.units.items()
        if len(every) > 1
    ]


def labels(plan: Plan, of_host: dict[str, str]) -> dict[str, str]:
    """Of the metrics of all kinds of memory of a run."""
    every = kinds(plan)
    return of_host | {
        metric_in(name, "-".join(pair)): f"{label}, {' and '.join(pair)} memory"
        for pair in [(kind,) for kind in every] + list(combinations(every, 2))
        for name, label in of_host.items()
        if pair != (HOST,)
    }


def between_kinds(score: Score, every: list[str], of_host: dict[str, str]) -> list[str]:
    """Metrics of the ping-pong between two kinds of memory."""
    return [
        metric_in(name, "-".join(pair))
        for pair in combinations(every, 2)
        for name in of_host
        if metric_in(name, "-".join(pair)) in score.metrics
    ]


def devices(plan: Plan) -> list[str]:
    """A sentence per kind of memory of accelerators."""
    return [
        f"{memory.kind} memory: {counted(len(memory.devices), 'device')}, of which each process has "
        f"{size(memory.memory_per_process_bytes)} (runtime library {memory.library}). The MPI library "
        + ("states that it supports this memory." if memory.supported else "does not state that it supports it.")
        for memory in plan.memory or []
        if memory.devices
    ]
