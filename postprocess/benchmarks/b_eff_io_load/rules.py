# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff_io_load: which patterns are measured, with which calls, in which phases, and that the load was
there while the victims were measured. docs/log.md lists the invariants."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from math import floor

from coffeecup.postprocess.benchmarks import load_rules
from coffeecup.postprocess.benchmarks.b_eff_io import passes
from coffeecup.postprocess.benchmarks.b_eff_io.definition import METHODS, calls_in_buffer, patterns_rule
from coffeecup.postprocess.benchmarks.b_eff_io.records import PlannedPattern
from coffeecup.postprocess.benchmarks.b_eff_io.rules import space_limit
from coffeecup.postprocess.benchmarks.b_eff_io_load.records import LOADS, Load, Loaded, LoadedTrial, Plan, Stop
from coffeecup.postprocess.logs.histograms import CLOCK_TOLERANCE, problems_of_histogram
from coffeecup.postprocess.logs.io_records import DataCheck, MpiIo
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.rules import Expected, Problem, Rules, broken, by_sequence

PATTERNS = (3, 19, 20)
REPETITIONS, MOST_CALLS = 10, 10_000
TELLING_SHARE = 0.5  # of a pass: a shorter trial is followed by another one
FEWEST_NODES = 1  # of the victims, and of the others


def options(log: Log[Plan]) -> dict[str, object]:
    plan, load = log.plan, log.plan.load
    stated = {"kinds": load.kinds, "scheduled-time": plan.scheduled_seconds, "load-file": load.file_bytes}
    return {**stated, "check-all": plan.check == "all", "dry-run": False}


def planned(log: Log[Plan]) -> dict[str, object]:
    plan, seed, rows = log.plan, log.run.options["seed"], patterns_rule(0)
    passes_of_run = REPETITIONS * len(PATTERNS) * len(METHODS) * (3 * len(plan.load.kinds) + 1)
    return load_rules.planned_victims(log, seed if isinstance(seed, int) else 0) | {
        "space_limit_bytes": space_limit(log.run),
        "patterns": [PlannedPattern(number, *rows[number]) for number in PATTERNS],
        "repetitions": REPETITIONS,
        "pass_seconds": plan.scheduled_seconds / passes_of_run,
    }


def expected_records(log: Log[Plan]) -> Iterator[Expected]:
    patterns, load = {entry.pattern: entry for entry in log.plan.patterns}, log.plan.load
    for pattern in patterns:
        for calls in planned_trials(log, pattern):
            yield Expected(LoadedTrial, (pattern, calls))
    stopped = {record.repetition for record in log.all(Stop)} - {1}
    senders = sum(map(len, load_rules.generating_ranks(log, load)))
    calls = {pattern: chosen_calls(log, pattern) for pattern in patterns}
    for repetition in range(1, log.plan.repetitions + 1):
        if repetition in stopped:
            yield Expected(Stop, (repetition,))
            return
        for phase, kind in enumerate(load.phases):
            for pattern, method in product(patterns, METHODS):
                moved = calls[pattern] * call_bytes(log.plan, pattern) * load.victim_processes
                fields = {"type": patterns[pattern].type, "calls": calls[pattern], "bytes": moved}
                yield Expected(Loaded, (repetition, phase, kind, pattern, method), fields)
            if kind:
                yield Expected(Load, (repetition, phase, kind), {"senders": senders})


def planned_trials(log: Log[Plan], pattern: int) -> Iterator[int]:
    """Twice as many calls each time, until one takes long enough or there is no space for more."""
    seconds = {record.calls: record.elapsed_seconds for record in log.all(LoadedTrial) if record.pattern == pattern}
    calls, most = 1, most_calls(log, pattern)
    while True:
        yield calls
        if calls >= most or seconds.get(calls, 0) >= TELLING_SHARE * log.plan.pass_seconds:
            return
        calls = min(2 * calls, most)


def most_calls(log: Log[Plan], pattern: int) -> int:
    load = log.plan.load
    generators = log.run.ranks - load.victim_processes
    space = log.plan.space_limit_bytes - generators * len(load.kinds) * (load.file_bytes or 0)
    return min(MOST_CALLS, space // (call_bytes(log.plan, pattern) * load.victim_processes))


def call_bytes(plan: Plan, pattern: int) -> int:
    return next(entry.call_bytes or 1 for entry in plan.patterns if entry.pattern == pattern)


def chosen_calls(log: Log[Plan], pattern: int) -> int:
    """By the last trial."""
    trial = [record for record in log.all(LoadedTrial) if record.pattern == pattern][-1]
    fitting = floor(log.plan.pass_seconds / trial.elapsed_seconds * trial.calls)
    return max(1, min(fitting, most_calls(log, pattern)))


def problems_of_pass(log: Log[Plan], record: Loaded) -> Iterator[Problem]:
    load, accesses, cached = log.plan.load, record.accesses, record.cached_bytes
    stated = cached is not None and cached <= record.bytes
    yield from broken(record, {"cached": stated if record.method == "read" else cached is None})
    calls = record.calls * load.victim_processes
    yield from problems_of_histogram(accesses, calls, load.latency_relative_error, record)
    mean, most = accesses.sum_seconds / load.victim_processes, record.access_seconds * (1 + CLOCK_TOLERANCE)
    least = record.access_fastest_seconds * (1 - passes.PARTS_SHARE) - passes.PARTS_SECONDS
    yield from broken(record, {"access_sum": least <= mean <= most + 1e-9 * record.calls})
    yield from passes.problems_of_parts(record)


def problems_of_generators(log: Log[Plan]) -> Iterator[Problem]:
    seconds = defaultdict(float)
    for record in log.all(Loaded):
        seconds[record.repetition, record.phase] += record.seconds
    for record in log.all(Load):
        moved = record.sent_bytes + record.received_bytes
        sound = load_rules.is_of_files(record, writes=record.load == "write", reads=record.load == "read")
        lasted = seconds[record.repetition, record.phase]
        yield from load_rules.problems_of_generator(record, moved > 0, sound, lasted)


def reads(log: Log[Plan]) -> tuple[int, int, int]:
    """Of a pass, all that was read is checked, or what is still in the buffers."""
    measured = [record for record in log.all(Loaded) if record.method == "read"]
    together = sum(record.bytes for record in measured)
    kept = {entry.pattern: calls_in_buffer(entry.call_bytes or 1) for entry in log.plan.patterns}
    sample = sum(record.bytes // record.calls * min(record.calls, kept[record.pattern]) for record in measured)
    checked = together if log.plan.check == "all" else sample
    return together, checked, checked


def problems_together(log: Log[Plan]) -> Iterator[Problem]:
    yield from passes.problems_of_component(log, by_sequence(log, LoadedTrial)[0])
    yield from problems_of_generators(log)


problems = Rules(
    single=(DataCheck, MpiIo),
    of_plan=lambda log: load_rules.problems_of_load(log, LOADS, FEWEST_NODES),
    planned=planned,
    options=options,
    measured=(LoadedTrial, Loaded, Load, Stop),
    expected=expected_records,
    each={Loaded: problems_of_pass},
    together=problems_together,
    seconds=lambda log: (
        sum(record.seconds for record in log.all(Loaded))
        + sum(record.elapsed_seconds for record in log.all(LoadedTrial))
    ),
    reads=reads,
).problems
