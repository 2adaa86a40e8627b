# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff_io_load: which patterns are measured, with which calls, in which phases, and that the load was
there while the victims were measured. docs/log.md lists the invariants."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from math import floor

from coffeecup.postprocess.benchmarks.b_eff_io.definition import METHODS, calls_in_buffer, patterns_rule
from coffeecup.postprocess.benchmarks.b_eff_io.passes import (
    PARTS_SECONDS,
    PARTS_SHARE,
    problems_of_component,
    problems_of_parts,
)
from coffeecup.postprocess.benchmarks.b_eff_io.records import PlannedPattern
from coffeecup.postprocess.benchmarks.b_eff_io.rules import space_limit
from coffeecup.postprocess.benchmarks.b_eff_io_load.records import LOADS, Load, Loaded, LoadedTrial, Plan, Stop
from coffeecup.postprocess.benchmarks.load_rules import (
    generating_ranks,
    is_of_files,
    problems_of_generator,
    problems_of_request,
    problems_of_victims,
)
from coffeecup.postprocess.logs.histograms import CLOCK_TOLERANCE, problems_of_histogram
from coffeecup.postprocess.logs.io_records import DataCheck, MpiIo
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Overhead
from coffeecup.postprocess.logs.rules import (
    Expected,
    Problem,
    by_sequence,
    problems_of_fields,
    problems_of_file_system,
    problems_of_log,
    problems_of_options,
    problems_of_reads,
    problems_of_records,
    problems_of_whole_time,
)

PATTERNS = (3, 19, 20)
REPETITIONS, MOST_CALLS = 10, 10_000
TELLING_SHARE = 0.5  # of a pass: a shorter trial is followed by another one
FEWEST_NODES = 1  # of the victims, and of the others


def problems(log: Log[Plan]) -> Iterator[Problem]:
    """The problems that make a log unusable, the most serious first; later checks rely on the earlier ones."""
    yield from problems_of_log(log, Overhead, DataCheck, MpiIo)
    yield from problems_of_file_system(log)
    yield from problems_of_plan(log)
    yield from problems_of_records(log, expected_records(log), LoadedTrial, Loaded, Load, Stop)
    yield from problems_of_component(log, by_sequence(log, LoadedTrial)[0])
    for record in log.all(Loaded):
        yield from problems_of_pass(log, record)
    yield from problems_of_whole_time(
        log, sum(r.seconds for r in log.all(Loaded)) + sum(r.elapsed_seconds for r in log.all(LoadedTrial))
    )
    yield from problems_of_generators(log)
    yield from problems_of_data(log)


def problems_of_plan(log: Log[Plan]) -> Iterator[Problem]:
    run, plan, load, seed = log.run, log.plan, log.plan.load, log.run.options["seed"]
    yield from problems_of_request(log, load, LOADS)
    planned = {"scheduled-time": plan.scheduled_seconds, "load-file": load.file_bytes}
    yield from problems_of_options(run, planned | {"check-all": plan.check == "all", "dry-run": False})
    yield from problems_of_victims(log, load, seed if isinstance(seed, int) else 0, FEWEST_NODES)
    rows, passes = patterns_rule(0), REPETITIONS * len(PATTERNS) * len(METHODS) * (3 * len(load.kinds) + 1)
    yield from problems_of_fields(
        plan,
        {
            "space_limit_bytes": space_limit(run),
            "patterns": [PlannedPattern(number, *rows[number]) for number in PATTERNS],
            "repetitions": REPETITIONS,
            "pass_seconds": plan.scheduled_seconds / passes,
        },
    )


def expected_records(log: Log[Plan]) -> Iterator[Expected]:
    patterns, load = {entry.pattern: entry for entry in log.plan.patterns}, log.plan.load
    for pattern in patterns:
        for calls in planned_trials(log, pattern):
            yield Expected(LoadedTrial, (pattern, calls))
    stopped = {record.repetition for record in log.all(Stop)} - {1}
    phases = [None, *(state for kind in load.kinds for state in (kind, None))]
    senders = sum(map(len, generating_ranks(log, load)))
    calls = {pattern: chosen_calls(log, pattern) for pattern in patterns}
    for repetition in range(1, log.plan.repetitions + 1):
        if repetition in stopped:
            yield Expected(Stop, (repetition,))
            return
        for phase, kind in enumerate(phases):
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
    load = log.plan.load
    if (record.cached_bytes is not None) != (record.method == "read") or (record.cached_bytes or 0) > record.bytes:
        yield "cached", record
    accesses = record.calls * load.victim_processes
    yield from problems_of_histogram(record.accesses, accesses, load.latency_relative_error, record)
    mean = record.accesses.sum_seconds / load.victim_processes
    rounding = 1e-9 * record.calls
    lost = record.access_fastest_seconds * PARTS_SHARE + PARTS_SECONDS
    if not record.access_fastest_seconds - lost <= mean <= record.access_seconds * (1 + CLOCK_TOLERANCE) + rounding:
        yield "access_sum", record
    yield from problems_of_parts(record)


def problems_of_generators(log: Log[Plan]) -> Iterator[Problem]:
    seconds = defaultdict(float)
    for record in log.all(Loaded):
        seconds[record.repetition, record.phase] += record.seconds
    for record in log.all(Load):
        moved = record.sent_bytes + record.received_bytes
        sound = is_of_files(record, writes=record.load == "write", reads=record.load == "read")
        yield from problems_of_generator(record, moved > 0, sound, seconds[record.repetition, record.phase])


def problems_of_data(log: Log[Plan]) -> Iterator[Problem]:
    """Of a pass, all that was read is checked, or what is still in the buffers."""
    reads = [record for record in log.all(Loaded) if record.method == "read"]
    together = sum(record.bytes for record in reads)
    kept = {entry.pattern: calls_in_buffer(entry.call_bytes or 1) for entry in log.plan.patterns}
    sample = sum(record.bytes // record.calls * min(record.calls, kept[record.pattern]) for record in reads)
    checked = together if log.plan.check == "all" else sample
    yield from problems_of_reads(log.only(DataCheck), together, checked, checked)
