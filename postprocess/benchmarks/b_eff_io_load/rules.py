# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff_io_load: which patterns are measured, with which calls, in which phases, and that the load was
there while the victims were measured. docs/log.md lists the invariants."""

from collections import defaultdict
from collections.abc import Iterator
from math import floor

from coffeecup.postprocess.benchmarks.b_eff_io.definition import METHODS, calls_in_buffer, patterns_rule
from coffeecup.postprocess.benchmarks.b_eff_io.passes import (
    PARTS_SECONDS,
    PARTS_SHARE,
    ROUNDING,
    problems_of_component,
    problems_of_parts,
)
from coffeecup.postprocess.benchmarks.b_eff_io.rules import problems_of_space
from coffeecup.postprocess.benchmarks.b_eff_io_load.records import LOADS, Load, Loaded, LoadedTrial, Plan, Stop
from coffeecup.postprocess.benchmarks.load_rules import (
    generating_ranks,
    problem_of_files,
    problems_of_duration,
    problems_of_nothing,
    problems_of_request,
    problems_of_senders,
    problems_of_victims,
)
from coffeecup.postprocess.logs.histograms import CLOCK_TOLERANCE, problems_of_histogram
from coffeecup.postprocess.logs.io_records import DataCheck, MpiIo
from coffeecup.postprocess.logs.reader import RUN_AGAIN, Log
from coffeecup.postprocess.logs.records import Overhead, Record, kind_of
from coffeecup.postprocess.logs.rules import (
    EDITED,
    Problem,
    by_sequence,
    first_problems,
    problems_of_file_system,
    problems_of_log,
    problems_of_options,
    problems_of_order,
    problems_of_reads,
    problems_of_whole_time,
)

PATTERNS = (3, 19, 20)
REPETITIONS, MOST_CALLS = 10, 10_000
TELLING_SHARE = 0.5  # of a pass: a shorter trial is followed by another one
FEWEST_NODES = 1  # of the victims, and of the others


def refusals(logs: list[Log[Plan]]) -> dict[int, str]:
    """Which logs yield no factors and why, by their index in `logs`."""
    return first_problems("b_eff_io_load", problems, logs)


def problems(log: Log[Plan]) -> Iterator[Problem]:
    """The problems that make a log unusable, the most serious first; later checks rely on the earlier ones."""
    yield from problems_of_log(log, Overhead, DataCheck, MpiIo)
    yield from problems_of_file_system(log)
    yield from problems_of_plan(log)
    yield from problems_of_measurements(log)
    yield from problems_of_times(log)
    yield from problems_of_generators(log)
    yield from problems_of_data(log)


def problems_of_plan(log: Log[Plan]) -> Iterator[Problem]:
    run, plan, load, seed = log.run, log.plan, log.plan.load, log.run.options["seed"]
    yield from problems_of_request(run, load, LOADS)
    yield from problems_of_options(
        run,
        {
            "scheduled-time": plan.scheduled_seconds,
            "load-file": load.file_bytes,
            "check-all": plan.check == "all",
            "dry-run": False,
        },
    )
    yield from problems_of_space(run, plan.space_limit_bytes)
    yield from problems_of_victims(run, load, seed if isinstance(seed, int) else 0, FEWEST_NODES)
    rows = patterns_rule(0)
    patterns = [(p.pattern, p.type, p.chunk_bytes, p.call_bytes, p.units) for p in plan.patterns]
    if patterns != [(number, *rows[number]) for number in PATTERNS]:
        yield "loaded_patterns", f"the patterns are not those that are measured under load; {EDITED}"
    passes = REPETITIONS * len(PATTERNS) * len(METHODS) * (3 * len(load.kinds) + 1)
    if plan.repetitions != REPETITIONS or abs(plan.pass_seconds * passes / plan.scheduled_seconds - 1) > ROUNDING:
        yield "pass_time", f"{plan.repetitions} repetitions of {plan.pass_seconds:g} s a pass are planned; {EDITED}"


def problems_of_measurements(log: Log[Plan]) -> Iterator[Problem]:
    found = [(record, key_of(record)) for record in by_sequence(log, LoadedTrial, Loaded, Load, Stop)]
    yield from problems_of_order(found, planned_records(log), in_words)
    yield from problems_of_component(log, found[0][0])
    calls = {entry.pattern: chosen_calls(log, entry.pattern) for entry in log.plan.patterns}
    for record in log.all(Loaded):
        if record.calls != calls[record.pattern]:
            yield "loaded_calls", f"{named(record)} has other calls than its trial gives; {EDITED}"
        yield from problems_of_pass(log, record)


def key_of(record: Record) -> tuple:
    match record:
        case LoadedTrial():
            return kind_of(record), record.pattern, record.calls
        case Loaded():
            return kind_of(record), record.repetition, record.phase, record.load, record.pattern, record.method
        case Load():
            return kind_of(record), record.repetition, record.phase, record.load
        case Stop():
            return kind_of(record), record.repetition
    raise TypeError(kind_of(record))


def in_words(key: tuple) -> str:
    kind, *where = key
    if kind == "loaded_trial":
        return f"the trial of pattern {where[0]} with {where[1]} calls"
    phase = f", phase {where[1]} ({where[2] or 'no load'})" if len(where) > 1 else ""
    what = f", pattern {where[3]}, {where[4]}" if len(where) > 3 else ""
    return f"the {kind} of repetition {where[0]}{phase}{what}"


def planned_records(log: Log[Plan]) -> Iterator[tuple]:
    patterns = [entry.pattern for entry in log.plan.patterns]
    for pattern in patterns:
        yield from planned_trials(log, pattern)
    stopped = {record.repetition for record in log.all(Stop)} - {1}
    phases = [None, *(state for kind in log.plan.load.kinds for state in (kind, None))]
    for repetition in range(1, log.plan.repetitions + 1):
        if repetition in stopped:
            yield "stop", repetition
            return
        for phase, kind in enumerate(phases):
            for pattern in patterns:
                for method in METHODS:
                    yield "loaded", repetition, phase, kind, pattern, method
            if kind:
                yield "load", repetition, phase, kind


def planned_trials(log: Log[Plan], pattern: int) -> Iterator[tuple]:
    """Twice as many calls each time, until one takes long enough or there is no space for more."""
    seconds = {record.calls: record.elapsed_seconds for record in log.all(LoadedTrial) if record.pattern == pattern}
    calls, most = 1, most_calls(log, pattern)
    while True:
        yield "loaded_trial", pattern, calls
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
    load, name, reads = log.plan.load, named(record), record.method == "read"
    planned = next(entry.type for entry in log.plan.patterns if entry.pattern == record.pattern)
    if record.type != planned:
        yield "planned_sizes", f"{name} has another type than planned; {EDITED}"
    if record.bytes != record.calls * call_bytes(log.plan, record.pattern) * load.victim_processes:
        yield "bytes", f"{name} has {record.bytes} bytes, its calls transferred another number; {RUN_AGAIN}"
    if (record.cached_bytes is not None) != reads or (record.cached_bytes or 0) > record.bytes:
        yield "cached", f"{name}: what is cached after an eviction contradicts the plan; {EDITED}"
    yield from problems_of_histogram(
        record.accesses,
        record.calls * load.victim_processes,
        load.latency_relative_error,
        name,
        "accesses on all processes",
    )
    mean = record.accesses.sum_seconds / load.victim_processes
    rounding = 1e-9 * record.calls
    lost = record.access_fastest_seconds * PARTS_SHARE + PARTS_SECONDS
    if not record.access_fastest_seconds - lost <= mean <= record.access_seconds * (1 + CLOCK_TOLERANCE) + rounding:
        yield "access_sum", f"{name}: its accesses do not sum up to their time; {EDITED}"


def problems_of_times(log: Log[Plan]) -> Iterator[Problem]:
    for record in log.all(Loaded):
        yield from problems_of_parts(named(record), record)
    together = sum(record.seconds for record in log.all(Loaded))
    together += sum(record.elapsed_seconds for record in log.all(LoadedTrial))
    yield from problems_of_whole_time(log, together)


def problems_of_generators(log: Log[Plan]) -> Iterator[Problem]:
    """A load that moved nothing, or that did not last as long as the passes of its phase, was not there."""
    seconds = defaultdict(float)
    for record in log.all(Loaded):
        seconds[record.repetition, record.phase] += record.seconds
    senders = sum(map(len, generating_ranks(log, log.plan.load)))
    for record in log.all(Load):
        what = f"the load {record.load} in repetition {record.repetition}"
        yield from problems_of_nothing(what, record.sent_bytes + record.received_bytes > 0)
        if problem := problem_of_files(record, writes=record.load == "write", reads=record.load == "read"):
            yield "load_bytes", f"{what} {problem}; {EDITED}"
        yield from problems_of_duration(what, record, seconds[record.repetition, record.phase])
        yield from problems_of_senders(what, record, senders)


def problems_of_data(log: Log[Plan]) -> Iterator[Problem]:
    """Of a pass, all that was read is checked, or what is still in the buffers."""
    reads = [record for record in log.all(Loaded) if record.method == "read"]
    together = sum(record.bytes for record in reads)
    kept = {entry.pattern: calls_in_buffer(entry.call_bytes or 1) for entry in log.plan.patterns}
    sample = sum(record.bytes // record.calls * min(record.calls, kept[record.pattern]) for record in reads)
    checked = together if log.plan.check == "all" else sample
    yield from problems_of_reads(log.only(DataCheck), together, checked, checked)


def named(record: Loaded) -> str:
    load = f"with the load {record.load}" if record.load else f"without load (phase {record.phase})"
    return f"pattern {record.pattern}, {record.method}, {load} in repetition {record.repetition}"
