# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff on its measurements: which loops the plan, the time budget and an early stop leave, in which
order, how long they may take, and how many bytes they exchange. Those on any timed loops are in timed_loops.py."""

import math
from collections.abc import Iterator

from coffeecup.postprocess.benchmarks.b_eff.definition import METHODS_AVERAGED
from coffeecup.postprocess.benchmarks.b_eff.parts import doors, owners
from coffeecup.postprocess.benchmarks.b_eff.records import (
    Budget,
    Latency,
    Loop,
    Measurement,
    Pattern,
    Plan,
    Stop,
    Trial,
)
from coffeecup.postprocess.benchmarks.b_eff.timed_loops import problems_of_received_bytes, problems_of_timed
from coffeecup.postprocess.logs.reader import RUN_AGAIN, Log
from coffeecup.postprocess.logs.records import Record, kind_of
from coffeecup.postprocess.logs.rules import EDITED, Problem, by_sequence, problems_of_order, problems_of_whole_time

TRIALS = 3
WITH_LATENCIES = ("ring", "ping_pong")
LOOPS = (Measurement, Latency, Trial)
Budgets = dict[tuple[int, str, int, str], Budget]


def problems_of_loops(log: Log[Plan]) -> Iterator[Problem]:
    """What contradicts the plan or other records in all that follows the plan, those of the optional parts included."""
    yield from problems_of_budgets(log)
    yield from problems_of_order(keyed(log), planned_records(log), in_words)
    yield from problems_of_averages(log)
    yield from problems_of_times(log)
    for door in doors().values():
        yield from door.problems(log)
    once, exchanged = zip(*(door.bytes_exchanged(log) for door in doors().values()))
    yield from problems_of_received_bytes(log, LOOPS, (sum(once), sum(exchanged)))


# --- which loops, in which order --------------------------------------------------------------------------------------


def keyed(log: Log[Plan]) -> Iterator[tuple[Record, tuple]]:
    """The records of the measurement in the order of the log."""
    kinds = (Trial, Latency, Measurement, Budget, Stop, *owners())
    return ((record, key_of(record)) for record in by_sequence(log, *kinds))


def key_of(record: Record) -> tuple:
    kind = kind_of(record)
    match record:
        case Loop():
            return kind, record.pattern, record.message_bytes, record.method, record.repetition
        case Budget():
            return kind, record.pattern, record.message_bytes, record.loops, record.repetition
        case Stop():
            return kind, record.pattern, record.message_bytes, record.repetition
    return owners()[type(record)].key_of(record)


def in_words(key: tuple) -> str:
    kind, *where = key
    for record, door in owners().items():
        if kind == kind_of(record):
            return door.in_words(key)
    pattern, length, *method, repetition = where
    return " ".join(
        [
            f"the {kind} of {pattern} at {length} byte",
            *(f"with {name}" for name in method),
            f"in repetition {repetition}",
        ]
    )


def planned_records(log: Log[Plan]) -> Iterator[tuple]:
    plan, budgets = log.plan, budgets_of(log)
    stops = {(stop.repetition, stop.pattern, stop.message_bytes) for stop in log.all(Stop)}
    for repetition in range(1, plan.repetitions + 1):
        for door in doors().values():
            yield from door.before(log, repetition)
        for pattern in plan.patterns:
            if repetition == 1 and 1 not in (plan.first_loop_length, plan.longest_loop_length):
                for method in pattern.methods:
                    yield from TRIALS * [("trial", pattern.name, plan.message_bytes[0], method, 1)]
            for length in plan.message_bytes:
                if (repetition, pattern.name, length) in stops:
                    yield "stop", pattern.name, length, repetition
                    return
                yield from planned_at(pattern, length, repetition, budgets, plan.message_bytes[0])
    for door in doors().values():
        yield from door.after(log)


def planned_at(pattern: Pattern, length: int, repetition: int, budgets: Budgets, shortest: int) -> Iterator[tuple]:
    """The loops of a pattern at one length, and the latency loops that follow those at the shortest."""
    loops = [("bandwidth", "measurement", pattern.methods)]
    if length == shortest and pattern.group in WITH_LATENCIES:
        loops.append(("latency", "latency", latency_methods(pattern)))
    for name, kind, methods in loops:
        budget = budgets.get((repetition, pattern.name, length, name))
        if budget:
            yield "budget", pattern.name, length, name, repetition
        for method in budget.methods if budget else methods:
            yield kind, pattern.name, length, method, repetition


def latency_methods(pattern: Pattern) -> list[str]:
    """Methods that enter a latency: those that enter b_eff, or all of a pattern that has none of these."""
    return [method for method in pattern.methods if method in METHODS_AVERAGED] or pattern.methods


def budgets_of(log: Log[Plan]) -> Budgets:
    return {
        (record.repetition, record.pattern, record.message_bytes, record.loops): record for record in log.all(Budget)
    }


def problems_of_budgets(log: Log[Plan]) -> Iterator[Problem]:
    """What a budget record leaves of a pattern's methods, in their order."""
    methods = {pattern.name: pattern.methods for pattern in log.plan.patterns}
    averaged = {pattern.name: latency_methods(pattern) for pattern in log.plan.patterns}
    for record in log.all(Budget):
        planned = methods.get(record.pattern, [])
        kept = [method for method in planned if method in record.methods]
        possible = {
            "averaged_methods": record.methods == averaged.get(record.pattern),
            "best_method": len(kept) == 1,
            "nothing": not kept,
        }
        if record.methods != kept or not possible[record.reduced_to]:
            yield (
                "budget",
                f"line {record.sequence + 1}: the budget leaves {', '.join(record.methods) or 'no method'} of "
                f"{record.pattern}, which is not what {record.reduced_to} means; {EDITED}",
            )
    yield from problems_of_stops(log)


def problems_of_stops(log: Log[Plan]) -> Iterator[Problem]:
    """A score requires all averaged patterns of the first repetition."""
    stops, averaged = log.all(Stop), {pattern.name for pattern in log.plan.patterns if pattern.averaged}
    if len(stops) > 1:
        yield "stop", f"the run was stopped {len(stops)} times; {EDITED}"
    for stop in stops:
        if (stop.needed_budget_seconds is None) == (stop.repetition == 1 and stop.pattern in averaged):
            yield (
                "stop",
                f"line {stop.sequence + 1}: a stop has a needed time budget in an averaged pattern of the first "
                f"repetition, and nowhere else; {EDITED}",
            )


def needed_budget_seconds(log: Log[Plan]) -> float | None:
    """The time budget that a score needs, if the run was stopped because its own is far too small."""
    return next((stop.needed_budget_seconds for stop in log.all(Stop)), None)


def problems_of_averages(log: Log[Plan]) -> Iterator[Problem]:
    """Each averaged pattern has, at each length, a loop that enters b_eff."""
    measured = {(loop.pattern, loop.message_bytes) for loop in log.all(Measurement) if loop.method in METHODS_AVERAGED}
    patterns = [pattern.name for pattern in log.plan.patterns if pattern.averaged]
    wanted = [(pattern, length) for pattern in patterns for length in log.plan.message_bytes]
    bare = [key for key in wanted if key not in measured]
    if bare and (needed := needed_budget_seconds(log)):
        yield (
            "averaged_loops",
            f"a time budget of about {math.ceil(needed)} s is needed here: with {log.plan.time_budget_seconds:g} s the "
            f"run was stopped before {len(bare)} of {len(wanted)} combinations of averaged patterns and message "
            "lengths were measured; choose a larger --time-budget, or run it when the machine is less busy",
        )
    if bare:
        yield (
            "averaged_loops",
            "{} at {} byte was measured with none of the averaged methods; {}".format(*min(bare), RUN_AGAIN),
        )


# --- times and lengths ------------------------------------------------------------------------------------------------


def problems_of_times(log: Log[Plan]) -> Iterator[Problem]:
    yield from problems_of_timed(log, LOOPS)
    in_loops = sum(loop.elapsed_seconds for kind in LOOPS for loop in log.all(kind))
    yield from problems_of_whole_time(log, in_loops + sum(door.seconds(log) for door in doors().values()))
    last = 0.0
    for record in by_sequence(log, Budget, Stop, *(kind for door in doors().values() for kind in door.clocked)):
        if record.elapsed_seconds < last:
            yield "budget_times", f"line {record.sequence + 1}: the run's time went back; {EDITED}"
        last = record.elapsed_seconds


def budget_of_bandwidth(log: Log[Plan]) -> list[Budget]:
    """Budget records of the loops that enter b_eff."""
    return [record for record in log.all(Budget) if record.loops == "bandwidth"]
