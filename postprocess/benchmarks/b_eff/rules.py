# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff (the paper's section 4): what a log must contain to yield a score, and the sizes of rings and
messages. Nothing is reduced here."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np
import pandas as pd

from postprocess.benchmarks.b_eff.records import Budget, DataCheck, Latency, Measurement, Pattern, Plan, Stop, Trial
from postprocess.logs.reader import RUN_AGAIN, Log
from postprocess.logs.records import Overhead
from postprocess.logs.rules import first_problems, problems_of_ranks, problems_of_single
from postprocess.show.units import MIB

LENGTHS = 21
PATTERNS_AVERAGED = {"ring": 6, "random": 30}
METHODS_AVERAGED = {"sendrecv", "alltoallv", "nonblocking"}
L_MAX_LIMIT = 128 * MIB
SHORTEST_SECONDS = 1e-9


def message_lengths(l_max_bytes: int) -> np.ndarray:
    """The 21 message lengths in byte, ascending: 1, 2, 4, ... 4096, then round(4096 * a^k) with 4096 * a^8 = L_max."""
    short = 2 ** np.arange(13)
    long = np.rint(4096 * (l_max_bytes / 4096) ** (np.arange(1, 9) / 8)).astype(np.int64)
    return np.concatenate([short, long[:-1], [l_max_bytes]])


def l_max_rule(memory_per_process_bytes: int) -> int:
    """L_max in byte: a 128th of the memory per process, at most 128 MiB."""
    return min(L_MAX_LIMIT, memory_per_process_bytes // 128)


def ring_sizes(processes: int, number: int) -> list[int]:
    """Sizes of the rings of ring pattern `number` (1 to 6), in rank order. Six patterns on a one-dimensional cyclic
    topology."""
    n = processes
    standard = min((2, 4, 8, max(16, n // 4), max(32, n // 2), n)[number - 1], n)
    rings = max(1, min((10 * n + 4 * standard) // (10 * standard), n // 2))  # floor(n / m + 0.4), exactly
    low, larger = divmod(n, rings)
    small_rings, large_rings = [low] * (rings - larger), [low + 1] * larger
    return large_rings + small_rings if low % 2 else small_rings + large_rings


def messages_per_exchange(sizes: list[int]) -> int:
    """Two messages per process; one in a ring of two, where the left and the right neighbour are the same."""
    return sum(size if size == 2 else 2 * size for size in sizes)


def refusals(logs: list[Log[Plan]], table: pd.DataFrame) -> dict[int, str]:
    """Which logs yield no b_eff and why, by their index in `logs`."""
    return first_problems("b_eff", problems, logs, table)


def problems(log: Log[Plan], rows: pd.DataFrame) -> Iterator[str]:
    """The problems that make a log unusable, the most serious first; later checks rely on the earlier ones."""
    yield from problems_of_run(log)
    yield from problems_of_plan(log)
    yield from problems_of_measurements(log)
    yield from problems_of_times(log, rows)
    yield from problems_of_latencies(log)
    yield from problems_of_received_bytes(log)


def problems_of_run(log: Log[Plan]) -> Iterator[str]:
    ranks = log.run.ranks
    if ranks < 2:
        yield "b_eff needs at least two processes; run it with more"
    yield from problems_of_ranks(log)
    yield from problems_of_single(log, Overhead, DataCheck)
    check = log.only(DataCheck)
    if check.wrong_bytes:
        yield f"{check.wrong_bytes} bytes were received wrong; have the MPI library and the network examined"
    if check.checked_bytes > check.received_bytes:
        yield f"more bytes were checked than received; {RUN_AGAIN}"


def problems_of_plan(log: Log[Plan]) -> Iterator[str]:
    plan, patterns = log.plan, log.plan.patterns
    methods = {method.name: method.averaged for method in plan.methods}
    for what, names in (("pattern", [p.name for p in patterns]), ("method", [m.name for m in plan.methods])):
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            yield f"the {what} {twice[0]} is planned twice; {RUN_AGAIN}"
    for name, averaged in methods.items():
        if averaged != (name in METHODS_AVERAGED):
            yield f"the method {name} is planned as {'' if averaged else 'not '}averaged, against the paper's rules"
    for group, count in (PATTERNS_AVERAGED | {"random": plan.random_patterns}).items():
        planned = [pattern.name for pattern in patterns if pattern.group == group]
        wanted = pattern_names(group)[:count]
        if set(planned) < set(wanted):
            yield (
                f"the run planned {len(planned)} of the {count} {group} patterns; "
                "run all of them (the measurements can still be plotted)"
            )
        if set(planned) != set(wanted):
            yield f"the {group} patterns are not {wanted[0]} to {wanted[-1]}; {RUN_AGAIN}"
    for pattern in patterns:
        yield from problems_of_pattern(pattern, log.run.ranks, methods)
    if plan.message_bytes[-1] != plan.l_max_bytes or not follows_length_rule(plan.message_bytes):
        yield (
            "the message lengths are not the paper's 21 (1, 2, 4, ... 4096 byte, then 8 more up to L_max on a "
            "logarithmic scale); run it without an option for the lengths"
        )


def pattern_names(group: str) -> list[str]:
    return [f"ring-{k}" for k in range(1, 7)] if group == "ring" else [f"random-{k:02}" for k in range(1, 31)]


def follows_length_rule(lengths: list[int]) -> bool:
    """A difference of one byte is allowed, because power functions may round differently."""
    if len(lengths) != LENGTHS or any(longer <= shorter for shorter, longer in itertools.pairwise(lengths)):
        return False
    return bool(
        (np.abs(np.array(lengths, dtype=float) - message_lengths(lengths[-1]))[13:-1] <= 1).all()
        and lengths[:13] == [2**k for k in range(13)]
    )


def problems_of_pattern(pattern: Pattern, ranks: int, methods: dict[str, bool]) -> Iterator[str]:
    name, group = pattern.name, pattern.group
    if unknown := set(pattern.methods) - set(methods):
        yield f"{name} is to run with {min(unknown)}, which the plan does not list as a method; {RUN_AGAIN}"
    if pattern.averaged != (group in PATTERNS_AVERAGED):
        yield f"{name} is planned as {'' if pattern.averaged else 'not '}averaged, against the paper's rules"
    if group not in PATTERNS_AVERAGED:
        return
    sizes = ring_sizes(ranks, int(name.removeprefix("ring-"))) if group == "ring" else [ranks]
    planned = [] if pattern.rings is None else [(ring.size, ring.count) for ring in pattern.rings]
    if pattern.processes != ranks or merged(planned) != merged([(size, 1) for size in sizes]):
        yield f"the rings of {name} are not those of the paper for {ranks} processes; upgrade or fix the kernel"
    if pattern.messages_per_exchange != messages_per_exchange(sizes):
        yield (
            f"{name} counts {pattern.messages_per_exchange} messages per exchange, its rings hold "
            f"{messages_per_exchange(sizes)}; upgrade or fix the kernel"
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


def problems_of_measurements(log: Log[Plan]) -> Iterator[str]:
    records = log.all(Measurement)
    expected = planned_repetitions(log)
    measured = defaultdict(list)
    for record in records:
        measured[record.pattern, record.message_bytes, record.method].append(record.repetition)
    if again := [key for key, repetitions in measured.items() if len(set(repetitions)) < len(repetitions)]:
        yield f"{named(again[0])} was measured more than once; {RUN_AGAIN}"
    if missing := expected.keys() - measured.keys():
        yield f"{named(min(missing))} was planned but not measured, and no budget record says why; {RUN_AGAIN}"
    if unplanned := measured.keys() - expected.keys():
        yield f"{named(min(unplanned))} was measured but not planned; {RUN_AGAIN}"
    if unlike := [key for key, repetitions in measured.items() if set(repetitions) != expected[key]]:
        yield (
            f"{named(unlike[0])} has {len(measured[unlike[0]])} of {len(expected[unlike[0]])} repetitions; {RUN_AGAIN}"
        )
    averaged = {(pattern, length) for pattern, length, method in measured if method in METHODS_AVERAGED}
    wanted = {(p.name, length) for p in log.plan.patterns if p.averaged for length in log.plan.message_bytes}
    if (bare := wanted - averaged) and log.all(Stop):
        yield (
            f"the run was stopped when it had taken far more than its time budget of {log.plan.time_budget_seconds:g} "
            f"s, and {len(bare)} of {len(wanted)} combinations of averaged patterns and message lengths were not "
            "measured; choose a larger --time-budget, or run it when the machine is less busy"
        )
    if bare:
        yield "{} at {} byte was measured with none of the averaged methods; {}".format(*min(bare), RUN_AGAIN)


def problems_of_times(log: Log[Plan], rows: pd.DataFrame) -> Iterator[str]:
    """`rows` are the log's rows of a measurement_table; the negated comparison also detects a missing fastest time."""
    if (impossible := rows[~(rows["fastest_seconds"] <= rows["elapsed_seconds"])]).size:
        worst = named(tuple(impossible[["pattern", "message_bytes", "method"]].iloc[0]))
        yield f"{worst}: the slowest process was faster than the fastest, or has no time; {RUN_AGAIN}"
    if (rows["elapsed_seconds"] < SHORTEST_SECONDS).any():
        yield f"a timed loop took less than a nanosecond: its clock is not to be trusted; {RUN_AGAIN}"
    in_loops = rows["elapsed_seconds"].sum() + sum(loop.elapsed_seconds for loop in log.all(Latency))
    if in_loops > log.end.elapsed_seconds and not log.run.simulated:
        yield (
            f"the timed loops sum up to {in_loops:.4g} s, the run took {log.end.elapsed_seconds:.4g} s: "
            f"its clock is not to be trusted; {RUN_AGAIN}"
        )


def problems_of_latencies(log: Log[Plan]) -> Iterator[str]:
    methods = {pattern.name: pattern.methods for pattern in log.plan.patterns if pattern.group in ("ring", "ping_pong")}
    for loop in log.all(Latency):
        combination = loop.pattern, loop.message_bytes, loop.method
        if loop.method not in methods.get(loop.pattern, []) or loop.message_bytes != log.plan.message_bytes[0]:
            yield f"a latency loop of {named(combination)} was measured but not planned; {RUN_AGAIN}"
        if not loop.elapsed_seconds >= SHORTEST_SECONDS or loop.fastest_seconds > loop.elapsed_seconds:
            yield f"the latency loop of {named(combination)} has an impossible time; {RUN_AGAIN}"


def problems_of_received_bytes(log: Log[Plan]) -> Iterator[str]:
    """The loops state how many bytes were sent, the data check how many arrived."""
    received, exchanged = log.only(DataCheck).received_bytes, bytes_of_loops(log)
    if received != exchanged:
        yield (
            f"{received} bytes were received, but the loops in the log exchanged {exchanged}: the log was edited, or "
            f"its kernel is faulty; {RUN_AGAIN}"
        )


def bytes_of_loops(log: Log[Plan]) -> int:
    """Bytes that all loops exchanged, including the untimed exchange before each of them. Kernels that write schema
    version 1 do not record their trials: three of one exchange for each pattern and method."""
    plan = log.plan
    messages = {pattern.name: pattern.messages_per_exchange for pattern in plan.patterns}
    exchanged = sum(
        messages[loop.pattern] * loop.message_bytes * (loop.loop_length + 1)
        for kind in (Measurement, Latency, Trial)
        for loop in log.all(kind)
    )
    if log.run.schema_version > 1 or 1 in (plan.first_loop_length, plan.longest_loop_length):
        return exchanged
    return exchanged + sum(
        6 * pattern.messages_per_exchange * plan.message_bytes[0] * len(pattern.methods) for pattern in plan.patterns
    )


def named(combination: tuple[str, int, str]) -> str:
    pattern, length, method = combination
    return f"{pattern} at {length} byte with {method}"


def planned_repetitions(log: Log[Plan]) -> dict[tuple[str, int, str], set[int]]:
    """Repetitions of every (pattern, message length, method) that the plan, the budget records and the stop record
    require."""
    plan, planned = log.plan, defaultdict(set)
    reduced = {
        (repetition, record.pattern, record.message_bytes): record
        for record in budget_of_bandwidth(log)
        for repetition in repetitions_reduced(record, plan)
    }
    for repetition, pattern, length in order_of_measuring(log):
        budget = reduced.get((repetition, pattern.name, length))
        if budget and budget.reduced_to == "best_method_once" and repetition > 1:
            continue
        for method in budget.methods if budget else pattern.methods:
            planned[pattern.name, length, method].add(repetition)
    return planned


def order_of_measuring(log: Log[Plan]) -> Iterator[tuple[int, Pattern, int]]:
    """Repetition, pattern and message length of every planned measurement, up to where the run was stopped."""
    stops = {(stop.repetition, stop.pattern, stop.message_bytes) for stop in log.all(Stop)}
    for repetition in range(1, log.plan.repetitions + 1):
        for pattern in log.plan.patterns:
            for length in log.plan.message_bytes:
                if (repetition, pattern.name, length) in stops:
                    return
                yield repetition, pattern, length


def budget_of_bandwidth(log: Log[Plan]) -> list[Budget]:
    """Budget records of the loops that enter b_eff; those of latency loops do not explain a missing measurement."""
    return [record for record in log.all(Budget) if record.loops == "bandwidth"]


def repetitions_reduced(budget: Budget, plan: Plan) -> list[int]:
    return list(range(1, plan.repetitions + 1)) if budget.repetition is None else [budget.repetition]
