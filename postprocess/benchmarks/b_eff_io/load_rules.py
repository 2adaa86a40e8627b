# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff_io under load (--load): which patterns are measured, with which calls, in which phases, and that
the load was there while the victims were measured. docs/log.md lists the invariants."""

from collections import defaultdict
from collections.abc import Iterator
from math import floor

from postprocess.benchmarks.b_eff_io.definition import METHODS, TYPE_RULES, calls_in_buffer, patterns_rule
from postprocess.benchmarks.b_eff_io.load_records import Load, Loaded, LoadedTrial, Stop
from postprocess.benchmarks.b_eff_io.passes import (
    PARTS_SECONDS,
    PARTS_SHARE,
    ROUNDING,
    problems_of_component,
    problems_of_parts,
)
from postprocess.benchmarks.b_eff_io.records import (
    LOADS,
    Layout,
    Measurement,
    PatternType,
    Plan,
    PlannedLoad,
    ProcessTimes,
)
from postprocess.benchmarks.load_rules import (
    generating_ranks,
    problem_of_files,
    problems_of_duration,
    problems_of_nothing,
    problems_of_request,
    problems_of_senders,
    problems_of_victims,
)
from postprocess.logs.histograms import CLOCK_TOLERANCE, problems_of_histogram
from postprocess.logs.reader import RUN_AGAIN, Log
from postprocess.logs.records import DataCheck, MemoryFill, Record, kind_of
from postprocess.logs.rules import (
    EDITED,
    Problem,
    by_sequence,
    problems_of_options,
    problems_of_order,
    problems_of_reads,
    problems_of_whole_time,
)
from postprocess.show.units import MIB

PATTERNS = (3, 19, 20)
TYPES = ("scatter", "separate")
REPETITIONS, SECONDS, FILE_BYTES, MOST_CALLS = 10, 240.0, 64 * MIB, 10_000
TELLING_SHARE = 0.5  # of a pass: a shorter trial is followed by another one
FEWEST_NODES = 1  # of the victims, and of the others


def problems_without_load(log: Log[Plan]) -> Iterator[Problem]:
    """None of a log without --load but that it has an option or records of one."""
    options = any(log.run.options.get(name) for name in ("load", "victims", "load-file"))
    if options or any(log.all(kind) for kind in (Loaded, LoadedTrial, Load, Stop)):
        yield "load", f"an option or records name a load, the plan none; {EDITED}"


def problems_of_load(log: Log[Plan], load: PlannedLoad) -> Iterator[Problem]:
    """The plan of the load; later checks rely on it."""
    run, plan, seed = log.run, log.plan, log.run.options.get("seed")
    yield from problems_of_request(run, load, LOADS, "load")
    yield from problems_of_victims(run, load, seed if isinstance(seed, int) else 0, FEWEST_NODES)
    if any(log.all(kind) for kind in (Measurement, Layout, PatternType, ProcessTimes, MemoryFill)):
        yield "load", f"under load there are no measurements for b_eff_io; {EDITED}"
    types = [(entry.name, entry.number, entry.averaged, entry.collective, entry.separate) for entry in plan.types]
    known = [
        (name, number, rule.averaged, rule.collective, rule.separate)
        for number, (name, rule) in enumerate(TYPE_RULES.items())
        if name in TYPES
    ]
    rows = patterns_rule(plan.m_part_bytes)
    patterns = [(p.pattern, p.type, p.chunk_bytes, p.call_bytes, p.units) for p in plan.patterns]
    if types != known or patterns != [(number, *rows[number]) for number in PATTERNS]:
        yield "loaded_patterns", f"the patterns are not those that are measured under load; {EDITED}"
    if (plan.form, plan.partitions, tuple(plan.methods)) != ("standard", [load.victim_processes], METHODS):
        yield "loaded_plan", f"under load, all access methods are measured by all processes of the victims; {EDITED}"
    others = plan.read_shift, plan.fill_memory_percent, plan.process_times
    if not plan.evict or any(value is not None for value in others):
        yield "loaded_plan", f"under load, files are evicted, and no other rules of caches hold; {EDITED}"
    yield from problems_of_choices(log, load)


def problems_of_choices(log: Log[Plan], load: PlannedLoad) -> Iterator[Problem]:
    run, plan = log.run, log.plan
    yield from problems_of_options(
        run,
        {
            "quick": False,
            "top-clusters": False,
            "dry-run": False,
            "partitions": None,
            "types": [name for name, rule in TYPE_RULES.items() if rule.averaged],
            "methods": list(METHODS),
            "alignment": plan.alignment_bytes,
            "cache-size": plan.cache_bytes,
            "individual-pointers": plan.file_pointers == "individual",
            "agree-per-access": plan.termination == "per-access",
            "check-all": plan.check == "all",
            "read-shift": False,
            "fill-memory": None,
        },
    )
    if plan.scheduled_seconds != (run.options.get("scheduled-time") or SECONDS):
        yield "scheduled", f"{plan.scheduled_seconds:g} s are scheduled, not those of the options; {EDITED}"
    if load.file_bytes != (run.options.get("load-file") or FILE_BYTES):
        yield "load_file", f"files of the load have {load.file_bytes} bytes, not those of the options; {EDITED}"
    passes = REPETITIONS * len(PATTERNS) * len(METHODS) * (3 * len(load.kinds) + 1)
    if load.repetitions != REPETITIONS or abs(load.pass_seconds * passes / plan.scheduled_seconds - 1) > ROUNDING:
        yield "pass_time", f"{load.repetitions} repetitions of {load.pass_seconds:g} s a pass are planned; {EDITED}"


def problems_of_loaded(log: Log[Plan], load: PlannedLoad) -> Iterator[Problem]:
    """The measurements of a log under load."""
    found = [(record, key_of(record)) for record in by_sequence(log, LoadedTrial, Loaded, Load, Stop)]
    yield from problems_of_order(found, planned_records(log, load), in_words)
    yield from problems_of_component(log, found[0][0])
    calls = {entry.pattern: chosen_calls(log, load, entry.pattern) for entry in log.plan.patterns}
    for record in log.all(Loaded):
        if record.calls != calls[record.pattern]:
            yield "loaded_calls", f"{named(record)} has other calls than its trial gives; {EDITED}"
        yield from problems_of_pass(log, load, record)
    yield from problems_of_times(log)
    yield from problems_of_generators(log, load)
    yield from problems_of_data(log, load)


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


def planned_records(log: Log[Plan], load: PlannedLoad) -> Iterator[tuple]:
    patterns = [entry.pattern for entry in log.plan.patterns]
    for pattern in patterns:
        yield from planned_trials(log, load, pattern)
    stopped = {record.repetition for record in log.all(Stop)} - {1}
    phases = [None, *(state for kind in load.kinds for state in (kind, None))]
    for repetition in range(1, load.repetitions + 1):
        if repetition in stopped:
            yield "stop", repetition
            return
        for phase, kind in enumerate(phases):
            for pattern in patterns:
                for method in METHODS:
                    yield "loaded", repetition, phase, kind, pattern, method
            if kind:
                yield "load", repetition, phase, kind


def planned_trials(log: Log[Plan], load: PlannedLoad, pattern: int) -> Iterator[tuple]:
    """Twice as many calls each time, until one takes long enough or there is no space for more."""
    seconds = {record.calls: record.elapsed_seconds for record in log.all(LoadedTrial) if record.pattern == pattern}
    calls, most = 1, most_calls(log, load, pattern)
    while True:
        yield "loaded_trial", pattern, calls
        if calls >= most or seconds.get(calls, 0) >= TELLING_SHARE * load.pass_seconds:
            return
        calls = min(2 * calls, most)


def most_calls(log: Log[Plan], load: PlannedLoad, pattern: int) -> int:
    generators = log.run.ranks - load.victim_processes
    space = log.plan.space_limit_bytes - generators * len(load.kinds) * (load.file_bytes or 0)
    return min(MOST_CALLS, space // (call_bytes(log.plan, pattern) * load.victim_processes))


def call_bytes(plan: Plan, pattern: int) -> int:
    return next(entry.call_bytes or 1 for entry in plan.patterns if entry.pattern == pattern)


def chosen_calls(log: Log[Plan], load: PlannedLoad, pattern: int) -> int:
    """By the last trial."""
    trial = [record for record in log.all(LoadedTrial) if record.pattern == pattern][-1]
    fitting = floor(load.pass_seconds / trial.elapsed_seconds * trial.calls)
    return max(1, min(fitting, most_calls(log, load, pattern)))


def problems_of_pass(log: Log[Plan], load: PlannedLoad, record: Loaded) -> Iterator[Problem]:
    name, processes, reads = named(record), load.victim_processes, record.method == "read"
    planned = next(entry.type for entry in log.plan.patterns if entry.pattern == record.pattern)
    if record.type != planned:
        yield "planned_sizes", f"{name} has another type than planned; {EDITED}"
    if record.bytes != record.calls * call_bytes(log.plan, record.pattern) * processes:
        yield "bytes", f"{name} has {record.bytes} bytes, its calls transferred another number; {RUN_AGAIN}"
    if (record.cached_bytes is not None) != reads or (record.cached_bytes or 0) > record.bytes:
        yield "cached", f"{name}: what is cached after an eviction contradicts the plan; {EDITED}"
    yield from problems_of_histogram(
        record.accesses, record.calls * processes, load.latency_relative_error, name, "accesses on all processes"
    )
    mean = record.accesses.sum_seconds / processes
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


def problems_of_generators(log: Log[Plan], load: PlannedLoad) -> Iterator[Problem]:
    """A load that moved nothing, or that did not last as long as the passes of its phase, was not there."""
    seconds = defaultdict(float)
    for record in log.all(Loaded):
        seconds[record.repetition, record.phase] += record.seconds
    senders = sum(map(len, generating_ranks(log, load)))
    for record in log.all(Load):
        what = f"the load {record.load} in repetition {record.repetition}"
        yield from problems_of_nothing(what, record.sent_bytes + record.received_bytes > 0)
        if problem := problem_of_files(record, writes=record.load == "write", reads=record.load == "read"):
            yield "load_bytes", f"{what} {problem}; {EDITED}"
        yield from problems_of_duration(what, record, seconds[record.repetition, record.phase])
        yield from problems_of_senders(what, record, senders)


def problems_of_data(log: Log[Plan], load: PlannedLoad) -> Iterator[Problem]:
    """Of a pass, all that was read is checked, or what is still in the buffers."""
    reads = [record for record in log.all(Loaded) if record.method == "read"]
    together = checked = 0
    for record in reads:
        size = call_bytes(log.plan, record.pattern) * load.victim_processes
        together += record.bytes
        checked += size * min(record.calls, calls_in_buffer(size // load.victim_processes))
    checked = together if log.plan.check == "all" else checked
    yield from problems_of_reads(log.only(DataCheck), together, checked, checked)


def named(record: Loaded) -> str:
    load = f"with the load {record.load}" if record.load else f"without load (phase {record.phase})"
    return f"pattern {record.pattern}, {record.method}, {load} in repetition {record.repetition}"
