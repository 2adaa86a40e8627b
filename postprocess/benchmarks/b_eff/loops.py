# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff on its measurements: which loops the plan, the time budget and an early stop leave, in which
order, how long they may take, and how many bytes they exchange. Those on any timed loops are in timed_loops.py."""

import math
from collections.abc import Iterator

from coffeecup.postprocess.benchmarks.b_eff.definition import METHODS_AVERAGED
from coffeecup.postprocess.benchmarks.b_eff.parts import doors, parts
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
from coffeecup.postprocess.logs.rules import Expected, Problem, broken, by_sequence, key_of

TRIALS = 3
WITH_LATENCIES = ("ring", "ping_pong")
LOOPS = (Measurement, Latency, Trial)


RECORDS = (*LOOPS, Budget, Stop, *(record for part in parts() for record in part.records))


def problems_together(log: Log[Plan]) -> Iterator[Problem]:
    """What contradicts other records in all that follows the plan, those of the optional parts included."""
    yield from problems_of_averages(log)
    yield from problems_of_timed(log, LOOPS)
    last = 0.0
    for record in by_sequence(log, Budget, Stop, *(kind for door in doors().values() for kind in door.clocked)):
        yield from broken(record, {"budget_times": last <= record.elapsed_seconds})
        last = record.elapsed_seconds
    for door in doors().values():
        yield from door.problems(log)
    once, exchanged = zip(*(door.bytes_exchanged(log) for door in doors().values()))
    yield from problems_of_received_bytes(log, LOOPS, (sum(once), sum(exchanged)))


def seconds(log: Log[Plan]) -> float:
    """What all timed loops of a log took together."""
    in_loops = sum(loop.elapsed_seconds for kind in LOOPS for loop in log.all(kind))
    return in_loops + sum(door.seconds(log) for door in doors().values())


# --- which loops, in which order --------------------------------------------------------------------------------------


def expected_records(log: Log[Plan]) -> Iterator[Expected]:
    """The records of loops that the plan of a log requires, in their order."""
    plan, shortest = log.plan, log.plan.message_bytes[0]
    budgets = {(*key_of(record), record.loops): record for record in log.all(Budget)}
    stops = {key_of(stop) for stop in log.all(Stop)}
    for repetition in range(1, plan.repetitions + 1):
        for door in doors().values():
            yield from door.before(log, repetition)
        for pattern in plan.patterns:
            if repetition == 1 and 1 not in (plan.first_loop_length, plan.longest_loop_length):
                for method in pattern.methods:
                    yield from TRIALS * [Expected(Trial, (1, pattern.name, shortest, method))]
            for length in plan.message_bytes:
                at = repetition, pattern.name, length
                if at in stops:
                    yield Expected(Stop, at)
                    return
                yield from expected_loops(Measurement, pattern.methods, at, budgets.get((*at, "bandwidth")))
                if length == shortest and pattern.group in WITH_LATENCIES:
                    yield from expected_loops(Latency, latency_methods(pattern), at, budgets.get((*at, "latency")))
    for door in doors().values():
        yield from door.after(log)


def expected_loops(kind: type[Loop], methods: list[str], at: tuple, budget: Budget | None) -> Iterator[Expected]:
    """The loops of a pattern at one length, or those that a budget leaves."""
    if budget:
        yield Expected(Budget, at, {"loops": budget.loops})
    yield from [Expected(kind, (*at, method)) for method in (budget.methods if budget else methods)]


def latency_methods(pattern: Pattern) -> list[str]:
    """Methods that enter a latency: those that enter b_eff, or all of a pattern that has none of these."""
    return [method for method in pattern.methods if method in METHODS_AVERAGED] or pattern.methods


def problems_of_budgets(log: Log[Plan]) -> Iterator[Problem]:
    """What a budget record leaves of a pattern's methods, in their order."""
    patterns = {pattern.name: pattern for pattern in log.plan.patterns}
    for record in log.all(Budget):
        pattern = patterns.get(record.pattern)
        kept = [method for method in (pattern.methods if pattern else []) if method in record.methods]
        possible = {
            "averaged_methods": pattern is not None and record.methods == latency_methods(pattern),
            "best_method": len(kept) == 1,
            "nothing": not kept,
        }
        yield from broken(record, {"budget": record.methods == kept and possible[record.reduced_to]})
    stops, own = log.all(Stop), {pattern.name for pattern in log.plan.patterns if pattern.averaged}
    for stop in stops:  # a score requires all averaged patterns of the first repetition
        needed = stop.repetition == 1 and stop.pattern in own
        yield from broken(stop, {"stop": len(stops) == 1 and (stop.needed_budget_seconds is not None) == needed})


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
        left_out = not any(set(pattern.methods) & METHODS_AVERAGED for pattern in log.plan.patterns)
        advice = f"choose at least one of --methods {','.join(sorted(METHODS_AVERAGED))}" if left_out else RUN_AGAIN
        yield (
            "averaged_loops",
            "{} at {} byte was measured with none of the averaged methods; {}".format(*min(bare), advice),
        )
