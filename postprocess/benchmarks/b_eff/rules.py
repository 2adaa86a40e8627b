# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff: what a log must contain to yield a score. Here are those on the run and its plan, in loops.py
those on the measurements. Nothing is reduced here. docs/log.md lists the invariants."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from coffeecup.postprocess.benchmarks.b_eff import loops
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
from coffeecup.postprocess.benchmarks.b_eff.parts import doors, views
from coffeecup.postprocess.benchmarks.b_eff.records import DataCheck, Pattern, Plan, PlannedLoops, Rings
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.rules import EDITED, Problem, Rules, broken, problems_of_fields


def problems_of_plan(log: Log[Plan]) -> Iterator[Problem]:
    """What follows from the options, the machine and the definition, in the log or in each of its views."""
    yield from problems_of_wrong_bytes(log)
    yield from broken(log.run, {"no_file_system": log.run.filesystem is None})
    for door in doors().values():
        yield from door.problems_of_views(log)
    yield from problems_of_patterns(views(log)[0].log.plan, log.run.ranks)
    yield from problems_of_lengths(log.plan)
    yield from problems_of_groups(log)
    for door in doors().values():
        yield from door.problems_of_plan(log)
    yield from loops.problems_of_budgets(log)


def problems_of_wrong_bytes(log: Log[PlannedLoops]) -> Iterator[Problem]:
    """What makes any log of message loops useless: one process, or wrong bytes."""
    if log.run.ranks < 2:
        yield "two_processes", "b_eff needs at least two processes; run it with more"
    if wrong := log.only(DataCheck).wrong_bytes:
        yield "wrong_bytes", f"{wrong} bytes were received wrong; have the MPI library and the network examined"


def problems_of_patterns(plan: PlannedLoops, ranks: int) -> Iterator[Problem]:
    """What in the planned patterns and methods is not as the paper defines it."""
    methods = {method.name: method.averaged for method in plan.methods}
    groups = {
        group: ({p.name for p in plan.patterns if p.group == group}, {*pattern_names(group)[:count]}, count)
        for group, count in (PATTERNS_AVERAGED | {"random": plan.random_patterns}).items()
    }
    for group, (planned, wanted, count) in groups.items():
        if planned < wanted:
            yield (
                "all_patterns",
                f"the run planned {len(planned)} of the {count} {group} patterns; "
                "run all of them (the measurements can still be plotted)",
            )
    kept = {
        "planned_once": all(
            len({each.name for each in named}) == len(named) for named in (plan.patterns, plan.methods)
        ),
        "averaged_methods": all(averaged == (name in METHODS_AVERAGED) for name, averaged in methods.items()),
        "all_patterns": all(planned == wanted for planned, wanted, _ in groups.values()),
        "group_of_pattern": all(p.name.startswith(p.group.replace("_", "-")) for p in plan.patterns),
    }
    yield from broken(plan, kept)
    for pattern in plan.patterns:
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
        "rings": rings_of(pattern, ranks) or None,
        "processes": processes,
        "messages_per_exchange": messages,
    }


def sizes_of_rings(pattern: Pattern, ranks: int) -> list[int]:
    """In rank order; none for patterns that are not rings."""
    if pattern.group == "ring":
        return ring_sizes(ranks, int(pattern.name.removeprefix("ring-")))
    return [ranks] if pattern.group in ("random", "worst_cycle") else []


def rings_of(pattern: Pattern, ranks: int) -> list[Rings]:
    """Rings of the same size that follow each other are one entry."""
    return [Rings(size, len(list(rings))) for size, rings in itertools.groupby(sizes_of_rings(pattern, ranks))]


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


def problems_of_lengths(plan: PlannedLoops) -> Iterator[Problem]:
    """Whether the message lengths of a plan follow the rule of the paper."""
    lengths = plan.message_bytes
    yield from broken(plan, {"lengths": lengths[-1] == plan.l_max_bytes and follows_length_rule(lengths)})


def planned_sizes(plan: PlannedLoops, memory: int) -> dict[str, object]:
    """`memory` is that of a process, in bytes."""
    return {"l_max_bytes": l_max_rule(memory), "buffer_bytes": buffer_rule(plan.l_max_bytes)}


def problems_of_groups(log: Log[Plan]) -> Iterator[Problem]:
    """The patterns that an option names are those of the plan to which its methods apply."""
    methods, asked = [method.name for method in log.plan.methods], log.run.options["patterns"]
    others = any(method != PING_PONG_METHOD for method in methods)
    groups = [str(group) for group in asked] if isinstance(asked, list) else []
    wanted = [group for group in groups if (PING_PONG_METHOD in methods if group == "ping_pong" else others)]
    planned = list(dict.fromkeys(pattern.group for pattern in log.plan.patterns))
    if groups and planned != wanted:
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


problems = Rules(
    single=(DataCheck,),
    of_plan=problems_of_plan,
    planned=lambda log: planned_sizes(log.plan, min(v.log.run.memory_per_process_bytes for v in views(log))),
    options=lambda log: {"methods": [method.name for method in log.plan.methods]} | options_of_loops(log.plan),
    measured=loops.RECORDS,
    expected=loops.expected_records,
    together=loops.problems_together,
    seconds=loops.seconds,
).problems
