# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff_load: which nodes are victims, which loops and loads follow each other, and that
the load was there while the victims were measured. docs/log.md lists the invariants."""

from collections.abc import Iterator

from coffeecup.postprocess.benchmarks.b_eff.records import Stop
from coffeecup.postprocess.benchmarks.b_eff.rules import (
    options_of_loops,
    problems_of_plan,
    problems_of_run,
    problems_of_sizes,
)
from coffeecup.postprocess.benchmarks.b_eff.timed_loops import named, problems_of_received_bytes, problems_of_timed
from coffeecup.postprocess.benchmarks.b_eff_load.records import (
    IO,
    LOADS,
    Load,
    Loaded,
    LoadedLoop,
    LoadedTrial,
    Plan,
    PlannedLoad,
)
from coffeecup.postprocess.benchmarks.b_eff_load.reduction import complete_repetitions
from coffeecup.postprocess.benchmarks.load_rules import (
    NODES_CLOCK_TOLERANCE,
    generating_ranks,
    problem_of_files,
    problems_of_duration,
    problems_of_nothing,
    problems_of_request,
    problems_of_senders,
    problems_of_victims,
)
from coffeecup.postprocess.logs.histograms import problems_of_histogram
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Record, kind_of
from coffeecup.postprocess.logs.rules import (
    EDITED,
    Problem,
    by_sequence,
    first_problems,
    problems_of_file_system,
    problems_of_options,
    problems_of_order,
    problems_of_whole_time,
)
from coffeecup.postprocess.show.units import MIB

METHOD = "nonblocking"
FEWEST_NODES = 2  # of the victims, and of the others
SHARE_OF_L_MAX, LONGEST_LOAD_MESSAGE = 4, MIB
FILE_BYTES = MIB  # of a process that generates the load io


def refusals(logs: list[Log[Plan]]) -> dict[int, str]:
    """Which logs yield no factors and why, by their index in `logs`."""
    return first_problems("b_eff_load", problems, logs)


def problems(log: Log[Plan]) -> Iterator[Problem]:
    """The problems that make a log unusable, the most serious first; later checks rely on the earlier ones."""
    yield from problems_of_run(log)
    yield from problems_of_files(log)
    yield from problems_of_load(log)
    yield from problems_of_plan(log.plan, log.plan.load.victim_processes)
    yield from problems_of_sizes(log.plan, log.run.memory_per_process_bytes)
    yield from problems_of_options(log.run, options_of_loops(log.plan))
    yield from problems_of_loaded(log)
    yield from problems_of_received_bytes(log, (Loaded, LoadedTrial))


def problems_of_load(log: Log[Plan]) -> Iterator[Problem]:
    """The plan of the load."""
    load, run = log.plan.load, log.run
    yield from problems_of_request(run, load, LOADS)
    yield from problems_of_victims(run, load, log.plan.seed, FEWEST_NODES)
    if load.message_bytes != min(log.plan.l_max_bytes // SHARE_OF_L_MAX, LONGEST_LOAD_MESSAGE):
        yield "load_message", f"messages of the load have {load.message_bytes} bytes; {EDITED}"
    if load.file_bytes != (FILE_BYTES if IO in load.kinds else None):
        yield "load_message", f"files of the load have {load.file_bytes} bytes; {EDITED}"
    others = [pattern.name for pattern in log.plan.patterns if not pattern.averaged or pattern.memory]
    if others or [method.name for method in log.plan.methods] != [METHOD]:
        yield "load", f"only averaged patterns are measured, in memory of the host and by {METHOD} messages; {EDITED}"


def problems_of_files(log: Log[Plan]) -> Iterator[Problem]:
    """The load io has a file system, whose directory an option names; nothing else has one."""
    if IO in log.plan.load.kinds:
        yield from problems_of_file_system(log)
        if not log.run.options["directory"]:
            yield "load", f"the load {IO} has no directory by an option; {EDITED}"
    elif log.run.filesystem is not None or log.run.options["directory"]:
        yield "no_file_system", f"without the load {IO} there are no files, the log states a file system; {EDITED}"


def problems_of_loaded(log: Log[Plan]) -> Iterator[Problem]:
    """The measurements of a log under load."""
    found = ((record, key_of(record)) for record in by_sequence(log, Loaded, LoadedTrial, Load, Stop))
    yield from problems_of_order(found, planned_records(log), in_words)
    for stop in log.all(Stop):
        if stop.message_bytes != log.plan.message_bytes[0] or stop.needed_budget_seconds is not None:
            yield "stop", f"a stop before {stop.pattern} has another length, or a needed time budget; {EDITED}"
    if not complete_repetitions(log):
        yield (
            "averaged_loops",
            "the run was stopped before all patterns were measured under load; choose a larger --time-budget, fewer "
            "kinds of load, or run it when the machine is less busy",
        )
    yield from problems_of_timed(log, (Loaded, LoadedTrial))
    loops = by_sequence(log, Loaded, LoadedTrial)
    yield from problems_of_whole_time(log, sum(loop.elapsed_seconds for loop in loops))
    for loop in loops:
        yield from problems_of_exchanges(log.plan, loop)
    yield from problems_of_generators(log)


def key_of(record: Record) -> tuple:
    match record:
        case LoadedLoop():
            where = record.repetition, record.pattern, record.phase, record.load, record.message_bytes
            return kind_of(record), *where, record.method
        case Load():
            return kind_of(record), record.repetition, record.pattern, record.phase, record.load
        case Stop():
            return kind_of(record), record.repetition, record.pattern
    raise TypeError(kind_of(record))


def in_words(key: tuple) -> str:
    kind, repetition, pattern, *where = key
    phase = f", phase {where[0]} ({where[1] or 'no load'})" if where else ""
    length = f" at {where[2]} byte by {where[3]}" if len(where) > 2 else ""
    return f"the {kind} of {pattern}{length} in repetition {repetition}{phase}"


def planned_records(log: Log[Plan]) -> Iterator[tuple]:
    plan = log.plan
    phases = [None, *(state for kind in plan.load.kinds for state in (kind, None))]
    tried = min(plan.first_loop_length, plan.longest_loop_length) > 1
    stops = {(stop.repetition, stop.pattern) for stop in log.all(Stop)}
    for repetition in range(1, plan.repetitions + 1):
        for pattern in plan.patterns:
            unit = (repetition, pattern.name)
            if unit in stops:
                yield "stop", *unit
                return
            for phase, load in enumerate(phases):
                if tried:
                    yield "loaded_trial", *unit, phase, load, plan.message_bytes[0], METHOD
                for length in plan.message_bytes:
                    yield "loaded", *unit, phase, load, length, METHOD
                if load:
                    yield "load", *unit, phase, load


def problems_of_exchanges(plan: Plan, loop: LoadedLoop) -> Iterator[Problem]:
    """The times of the exchanges of each process sum up to its time in the loop."""
    wanted = isinstance(loop, Loaded) and loop.message_bytes in (plan.message_bytes[0], plan.message_bytes[-1])
    if (loop.exchanges is not None) != wanted:
        yield "exchanges", f"{named(loop)} has no times of its exchanges, or has some where none belong; {EDITED}"
    if loop.exchanges is None:
        return
    processes = {pattern.name: pattern.processes for pattern in plan.patterns}[loop.pattern]
    yield from problems_of_histogram(
        loop.exchanges,
        processes * loop.loop_length,
        plan.load.latency_relative_error,
        named(loop),
        "exchanges on all processes",
    )
    tolerance = 1e-9 * loop.loop_length + NODES_CLOCK_TOLERANCE * loop.elapsed_seconds
    mean = loop.exchanges.sum_seconds / processes
    if not loop.fastest_seconds - tolerance <= mean <= loop.elapsed_seconds + tolerance:
        yield "exchange_sum", f"{named(loop)}: its exchanges do not sum up to the time of the loop; {EDITED}"


def problems_of_generators(log: Log[Plan]) -> Iterator[Problem]:
    """A load that moved nothing, or that did not last as long as the loops of its phase, was not there."""
    seconds: dict[tuple[int, str, int], float] = {}
    for loop in by_sequence(log, Loaded, LoadedTrial):
        phase = loop.repetition, loop.pattern, loop.phase
        seconds[phase] = seconds.get(phase, 0) + loop.elapsed_seconds
    generating = generating_ranks(log, log.plan.load)
    for record in log.all(Load):
        what = f"the load {record.load} of {record.pattern} in repetition {record.repetition}"
        yield from problems_of_nothing(what, record.received_bytes > 0 and record.sent_bytes > 0)
        if problem := problem_of_bytes(log.plan.load, record):
            yield "load_bytes", f"{what} {problem}; {EDITED}"
        yield from problems_of_duration(what, record, seconds[record.repetition, record.pattern, record.phase])
        if record.root != root(log.plan, record, generating):
            yield "load_root", f"{what} has the root {record.root}, where another belongs, or none; {EDITED}"
        yield from problems_of_senders(what, record, senders(record, generating))


def problem_of_bytes(load: PlannedLoad, record: Load) -> str:
    """What all processes moved is whole messages or, of the load io, whole files, which each process reads after it has
    written them."""
    if record.load == IO:
        return problem_of_files(record, writes=True, reads=True)
    if record.cached_bytes is not None:
        return "has bytes of a page cache"
    whole = not (record.received_bytes % load.message_bytes or record.sent_bytes % load.message_bytes)
    return "" if whole else f"did not move whole messages of {load.message_bytes} bytes"


def root(plan: Plan, record: Load, generating: list[list[int]]) -> int | None:
    """The first process of each generating node in turn; none in an all-to-all exchange and of the load io."""
    pattern = [pattern.name for pattern in plan.patterns].index(record.pattern)
    node = ((record.repetition - 1) * len(plan.patterns) + pattern) % len(generating)
    return None if record.load in ("alltoall", IO) else generating[node][0]


def senders(record: Load, generating: list[list[int]]) -> int:
    """Processes that have one on another generating node to send to, or a file."""
    if record.load == "broadcast":
        return 1
    return sum(len(ranks) for ranks in generating if record.root not in ranks)
