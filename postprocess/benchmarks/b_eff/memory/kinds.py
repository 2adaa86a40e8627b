# SPDX-License-Identifier: Apache-2.0
"""The kinds of memory in which a run measured: its parts, one for each kind."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

from coffeecup.postprocess.benchmarks.b_eff.doors import View
from coffeecup.postprocess.benchmarks.b_eff.memory.records import HOST
from coffeecup.postprocess.benchmarks.b_eff.memory.variants import suffix
from coffeecup.postprocess.benchmarks.b_eff.records import Pattern, Plan
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Record


def kinds(plan: Plan) -> list[str]:
    """The kinds of memory of a run, without the ping-pong between two of them."""
    return [memory.kind for memory in plan.memory or []]


def kind_of(pattern: Pattern) -> str:
    """The kind of memory of its messages; of those between two kinds the names of both."""
    return "-".join(dict.fromkeys(pattern.memory or [HOST]))


def base_of(pattern: Pattern) -> str:
    """Its name without the kind."""
    return pattern.name.removesuffix(f"-{kind_of(pattern)}")


def views(log: Log[Plan]) -> list[View]:
    """The log as the paper defines it for each kind of memory that was measured, in the order of the plan."""
    return [View(in_memory(log, kind), suffix(kind), kind, f"{kind} memory") for kind in kinds(log.plan)]


def in_memory(log: Log[Plan], kind: str) -> Log[Plan]:
    """A log with only the patterns in one kind of memory, or between two, under the names that they have without
    --memory, and its memory. The record of the data check is that of all kinds."""
    names = {pattern.name: base_of(pattern) for pattern in log.plan.patterns if kind_of(pattern) == kind}
    patterns = [structs.replace(p, name=names[p.name], memory=None) for p in log.plan.patterns if p.name in names]
    by_class: Mapping[type[Record], Sequence[Any]] = log.by_class
    of_patterns = {
        record_kind: [structs.replace(found, pattern=names[found.pattern]) for found in every if found.pattern in names]
        for record_kind, every in by_class.items()
        if "pattern" in record_kind.__struct_fields__
    }
    of_kind = [memory.memory_per_process_bytes for memory in log.plan.memory or [] if memory.kind == kind]
    return replace(
        log,
        run=structs.replace(log.run, memory_per_process_bytes=(*of_kind, log.run.memory_per_process_bytes)[0]),
        plan=structs.replace(log.plan, patterns=patterns, memory=None),
        by_class={**by_class, **of_patterns},
    )
