# SPDX-License-Identifier: Apache-2.0
"""The kinds of memory in which a run measured: its parts, one for each kind."""

from dataclasses import replace

from msgspec import structs

from postprocess.benchmarks.b_eff.memory.records import HOST
from postprocess.benchmarks.b_eff.nodes.records import PatternProcesses
from postprocess.benchmarks.b_eff.records import Budget, Latency, Measurement, Plan, Stop, Trial
from postprocess.logs.reader import Log

OF_PATTERN = (Measurement, Trial, Latency, Budget, Stop, PatternProcesses)  # records that name a pattern


def kinds(plan: Plan) -> list[str]:
    """The kinds of memory of a run, without the ping-pong between two of them."""
    return [memory.kind for memory in plan.memory or []] or [HOST]


def memory_per_process(log: Log[Plan], kind: str) -> int:
    """In bytes."""
    return {memory.kind: memory.memory_per_process_bytes for memory in log.plan.memory or []}.get(
        kind, log.run.memory_per_process_bytes
    )


def in_memory(log: Log[Plan], kind: str) -> Log[Plan]:
    """A log with only the patterns in one kind of memory, or between two, under the names that they have without
    --memory. The record of the data check is that of all kinds."""
    if log.plan.memory is None:
        return log
    names = {pattern.name: pattern.base for pattern in log.plan.patterns if pattern.kind == kind}
    patterns = [structs.replace(p, name=p.base, memory=None) for p in log.plan.patterns if p.name in names]
    records = {
        record_kind: [
            structs.replace(record, pattern=names[record.pattern])
            for record in log.all(record_kind)
            if record.pattern in names
        ]
        for record_kind in OF_PATTERN
    }
    return replace(log, plan=structs.replace(log.plan, patterns=patterns), by_class={**log.by_class, **records})
