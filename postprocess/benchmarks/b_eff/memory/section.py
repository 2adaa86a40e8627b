# SPDX-License-Identifier: Apache-2.0
"""What b_eff's part of the report says of kinds of memory."""

from itertools import combinations

from coffeecup.postprocess.benchmarks.b_eff import BENCHMARK
from coffeecup.postprocess.benchmarks.b_eff.memory.kinds import kinds
from coffeecup.postprocess.benchmarks.b_eff.memory.records import HOST
from coffeecup.postprocess.benchmarks.b_eff.memory.variants import suffix
from coffeecup.postprocess.benchmarks.b_eff.records import Plan
from coffeecup.postprocess.benchmarks.b_eff.reduction import values_in
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.words import counted, size


def section(log: Log[Plan], score: Score) -> dict:
    """The values of section.html.j2 in this folder; none of a log without --memory."""
    every = kinds(log.plan)
    if not every:
        return {}
    return {
        "template": "b_eff/memory/section.html.j2",
        "kinds": every,
        "side_by_side": side_by_side(score, every),
        "between_kinds": between_kinds(score, every),
        "devices": devices(log.plan),
    }


def side_by_side(score: Score, every: list[str]) -> list[dict]:
    """A row per metric: its values by kind of memory, and each divided by that of the host. None of a single kind."""
    by_kind = {kind: values_in(score, suffix(kind)) for kind in every}
    host = by_kind.get(HOST, {})
    return [
        {
            "label": metric.label,
            "unit": metric.unit,
            "values": [by_kind[kind].get(metric.name) for kind in every],
            "ratios": [
                by_kind[kind][metric.name] / host[metric.name]
                if metric.name in host and metric.name in by_kind[kind]
                else None
                for kind in every
                if kind != HOST
            ],
        }
        for metric in BENCHMARK.metrics
        if len(every) > 1
    ]


def between_kinds(score: Score, every: list[str]) -> list[str]:
    """Metrics of the ping-pong between two kinds of memory."""
    return [
        name + suffix("-".join(pair))
        for pair in combinations(every, 2)
        for name in BENCHMARK.units
        if name + suffix("-".join(pair)) in score.metrics
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
