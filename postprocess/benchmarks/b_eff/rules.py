# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff: what a log must contain to yield a score. Here are those on the run and its plan, in loops.py
those on the measurements. Nothing is reduced here. docs/log.md lists the invariants."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from coffeecup.postprocess.benchmarks.b_eff.definition import (
    LENGTHS,
    METHODS_AVERAGED,
    PATTERNS_AVERAGED,
    PING_PONG_METHOD,
    buffer_rule,
    l_max_rule,
    message_lengths,
    messages_per_exchange,
    ring_sizes,
)
from coffeecup.postprocess.benchmarks.b_eff.loops import problems_of_loops
from coffeecup.postprocess.benchmarks.b_eff.parts import doors, views
from coffeecup.postprocess.benchmarks.b_eff.records import DataCheck, Pattern, Plan, PlannedLoops
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Overhead, Run
from coffeecup.postprocess.logs.rules import (
    EDITED,
    Problem,
    problems_of_fields,
    problems_of_log,
    problems_of_options,
)


def problems(log: Log[Plan]) -> Iterator[Problem]:
    """The problems that make a log unusable, the most serious first; later checks rely on the earlier ones."""
    yield from problems_of_run(log)
    if log.run.filesystem is not None:
        yield "no_file_system", log.run
    for door in doors().values():
        yield from door.problems_of_views(log)
    yield from problems_of_plan(views(log)[0].log.plan, log.run.ranks)
    yield from problems_of_sizes(log.plan, min(view.log.run.memory_per_process_bytes for view in views(log)))
    yield from problems_of_request(log.run, log.plan)
    for door in doors().values():
        yield from door.problems_of_plan(log)
    yield from problems_of_loops(log)


def problems_of_run(log: Log[PlannedLoops]) -> Iterator[Problem]:
    """What makes any log of message loops useless: one process, a record of every log that is missing, wrong bytes."""
    if log.run.ranks < 2:
        yield "two_processes", "b_eff needs at least two processes; run it with more"
    yield from problems_of_log(log, Overhead, DataCheck)
    if wrong := log.only(DataCheck).wrong_bytes:
        yield "wrong_bytes", f"{wrong} bytes were received wrong; have the MPI library and the network examined"


def problems_of_plan(plan: PlannedLoops, ranks: int) -> Iterator[Problem]:
    """What in the planned patterns, methods and lengths is not as the paper defines it."""
    methods = {method.name: method.averaged for method in plan.methods}
    for named in (plan.patterns, plan.methods):
        if len({each.name for each in named}) < len(named):
            yield "planned_once", plan
    if any(averaged != (name in METHODS_AVERAGED) for name, averaged in methods.items()):
        yield "averaged_methods", plan
    for group, count in (PATTERNS_AVERAGED | {"random": plan.random_patterns}).items():
        planned = {pattern.name for pattern in plan.patterns if pattern.group == group}
        wanted = pattern_names(group)[:count]
        if planned < set(wanted):
            yield (
                "all_patterns",
                f"the run planned {len(planned)} of the {count} {group} patterns; "
                "run all of them (the measurements can still be plotted)",
            )
        if planned != set(wanted):
            yield "all_patterns", plan
    for pattern in plan.patterns:
        if not pattern.name.startswith(pattern.group.replace("_", "-")):
            yield "group_of_pattern", plan
        rings = merged([(ring.size, ring.count) for ring in pattern.rings or []])
        if rings != merged([(size, 1) for size in sizes_of_rings(pattern, ranks) or []]):
            yield "rings", f"{pattern.name} has other rings than the paper's for {ranks} processes; {EDITED}"
        yield from problems_of_fields(plan, planned_of(pattern, ranks, [*methods]), pattern)
    yield from problems_of_grids(plan)


def pattern_names(group: str) -> list[str]:
    """The names of the averaged patterns of a group, `ring` or `random`, in the order of the paper."""
    return [f"ring-{k}" for k in range(1, 7)] if group == "ring" else [f"random-{k:02}" for k in range(1, 31)]


def planned_of(pattern: Pattern, ranks: int, methods: list[str]) -> dict[str, Any]:
    """The fields of a pattern that follow from its group and the number of processes."""
    processes, messages = processes_and_messages(pattern, ranks)
    return {
        "methods": [name for name in methods if (name == PING_PONG_METHOD) == (pattern.group == "ping_pong")],
        "averaged": pattern.group in PATTERNS_AVERAGED,
        "processes": processes,
        "messages_per_exchange": messages,
    }


def sizes_of_rings(pattern: Pattern, ranks: int) -> list[int] | None:
    """None for patterns that are not rings."""
    if pattern.group == "ring":
        return ring_sizes(ranks, int(pattern.name.removeprefix("ring-")))
    return [ranks] if pattern.group in ("random", "worst_cycle") else None


def processes_and_messages(pattern: Pattern, ranks: int) -> tuple[int, int]:
    """Of rings; of a pattern of pairs, of an even number of processes; or of a grid as far as the number of processes
    determines it, where a process has one neighbour in a direction or two."""
    if sizes := sizes_of_rings(pattern, ranks):
        return ranks, messages_per_exchange(sizes)
    if pattern.group == "ping_pong":
        return 2, 2
    if pattern.group == "bisection":
        return ranks - ranks % 2, ranks - ranks % 2
    each = pattern.messages_per_exchange // pattern.processes
    most = 2 if not pattern.name.endswith("-all") else 4 if pattern.group == "cartesian_2d" else 6
    return min(pattern.processes, ranks), pattern.processes * max(1, min(each, most))


def problems_of_grids(plan: PlannedLoops) -> Iterator[Problem]:
    """A grid's pattern of all directions has the messages of its directions together, on the same processes."""
    for group in ("cartesian_2d", "cartesian_3d"):
        grid = [pattern for pattern in plan.patterns if pattern.group == group]
        together = [pattern.messages_per_exchange for pattern in grid if pattern.name.endswith("-all")]
        directions = [pattern.messages_per_exchange for pattern in grid if not pattern.name.endswith("-all")]
        if len({pattern.processes for pattern in grid}) > 1 or (grid and together != [sum(directions)]):
            yield "grids", plan


def problems_of_sizes(plan: PlannedLoops, memory: int) -> Iterator[Problem]:
    """`memory` is that of a process, in bytes."""
    if plan.message_bytes[-1] != plan.l_max_bytes or not follows_length_rule(plan.message_bytes):
        yield "lengths", plan
    planned = {"l_max_bytes": l_max_rule(memory), "buffer_bytes": buffer_rule(plan.l_max_bytes)}
    yield from problems_of_fields(plan, planned)


def problems_of_request(run: Run, plan: Plan) -> Iterator[Problem]:
    """The options, as the kernel prints them, and the plan that follows from them."""
    methods = [method.name for method in plan.methods]
    applicable = {"ping_pong": PING_PONG_METHOD in methods}
    others = any(method != PING_PONG_METHOD for method in methods)
    asked = run.options["patterns"]
    groups = [str(group) for group in asked] if isinstance(asked, list) else []
    yield from problems_of_options(run, options_of_loops(plan) | {"methods": methods})
    planned = list(dict.fromkeys(pattern.group for pattern in plan.patterns))
    if groups and planned != [group for group in groups if applicable.get(group, others)]:
        yield "options", f"the option patterns is {', '.join(groups)}, the plan has {', '.join(planned)}; {EDITED}"


def options_of_loops(plan: PlannedLoops) -> dict[str, object]:
    """The options that the plan of loops repeats, by their long names."""
    return {
        "time-budget": plan.time_budget_seconds,
        "seed": plan.seed,
        "repetitions": plan.repetitions,
        "first-loop-length": plan.first_loop_length,
        "longest-loop": plan.longest_loop_length,
        "random-patterns": plan.random_patterns,
    }


def follows_length_rule(lengths: list[int]) -> bool:
    """A difference of one byte is allowed, because power functions may round differently."""
    if len(lengths) != LENGTHS or any(longer <= shorter for shorter, longer in itertools.pairwise(lengths)):
        return False
    return bool(
        (np.abs(np.array(lengths, dtype=float) - message_lengths(lengths[-1]))[13:-1] <= 1).all()
        and lengths[:13] == [2**k for k in range(13)]
    )


def merged(rings: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """(size, count) in rank order; neighbouring rings of the same size are one entry."""
    kept = []
    for size, count in rings:
        if kept and kept[-1][0] == size:
            kept[-1] = (size, kept[-1][1] + count)
        else:
            kept.append((size, count))
    return kept
