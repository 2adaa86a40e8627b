# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff_load: which nodes are victims, which loops and loads follow each other, and that
the load was there while the victims were measured. docs/log.md lists the invariants."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import product

from coffeecup.postprocess.benchmarks.b_eff.records import Stop
from coffeecup.postprocess.benchmarks.b_eff.rules import (
    options_of_loops,
    problems_of_plan,
    problems_of_run,
    problems_of_sizes,
)
from coffeecup.postprocess.benchmarks.b_eff.timed_loops import problems_of_received_bytes, problems_of_timed
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
    is_of_files,
    problems_of_generator,
    problems_of_request,
    problems_of_victims,
)
from coffeecup.postprocess.logs.histograms import problems_of_histogram
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.rules import (
    Expected,
    Problem,
    by_sequence,
    problems_of_fields,
    problems_of_file_system,
    problems_of_options,
    problems_of_records,
    problems_of_whole_time,
)
from coffeecup.postprocess.show.units import MIB

METHOD = "nonblocking"
FEWEST_NODES = 2  # of the victims, and of the others
SHARE_OF_L_MAX, LONGEST_LOAD_MESSAGE = 4, MIB
FILE_BYTES = MIB  # of a process that generates the load io


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
    plan, load = log.plan, log.plan.load
    yield from problems_of_request(log, load, LOADS)
    yield from problems_of_victims(log, load, plan.seed, FEWEST_NODES)
    message = min(plan.l_max_bytes // SHARE_OF_L_MAX, LONGEST_LOAD_MESSAGE)
    files = FILE_BYTES if IO in load.kinds else None
    yield from problems_of_fields(plan, {"load.message_bytes": message, "load.file_bytes": files})
    others = any(not pattern.averaged or pattern.memory for pattern in plan.patterns)
    if others or [method.name for method in plan.methods] != [METHOD]:
        yield "load", plan


def problems_of_files(log: Log[Plan]) -> Iterator[Problem]:
    """The load io has a file system, whose directory an option names; nothing else has one."""
    if IO in log.plan.load.kinds:
        yield from problems_of_file_system(log)
        if not log.run.options["directory"]:
            yield "load", log.plan
    elif log.run.filesystem is not None or log.run.options["directory"]:
        yield "no_file_system", log.run


def problems_of_loaded(log: Log[Plan]) -> Iterator[Problem]:
    """The measurements of a log under load."""
    yield from problems_of_records(log, expected_records(log), Loaded, LoadedTrial, Load, Stop)
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


def expected_records(log: Log[Plan]) -> Iterator[Expected]:
    """In the order of measuring. The root of a load is the first process of each generating node in turn; an all-to-all
    exchange and the load io have none."""
    plan, shortest, generating = log.plan, log.plan.message_bytes[0], generating_ranks(log, log.plan.load)
    phases = [None, *(state for kind in plan.load.kinds for state in (kind, None))]
    tried = min(plan.first_loop_length, plan.longest_loop_length) > 1
    stops = {(stop.repetition, stop.pattern) for stop in log.all(Stop)}
    for place, (repetition, pattern) in enumerate(product(range(1, plan.repetitions + 1), plan.patterns)):
        if (repetition, pattern.name) in stops:
            yield Expected(Stop, (repetition, pattern.name, shortest), {"needed_budget_seconds": None})
            return
        for phase, load in enumerate(phases):
            unit = repetition, pattern.name, phase, load
            if tried:
                yield Expected(LoadedTrial, (*unit, shortest, METHOD))
            for length in plan.message_bytes:
                yield Expected(Loaded, (*unit, length, METHOD))
            if load:
                root = None if load in ("alltoall", IO) else generating[place % len(generating)][0]
                senders = 1 if load == "broadcast" else sum(len(ranks) for ranks in generating if root not in ranks)
                yield Expected(Load, unit, {"root": root, "senders": senders})


def problems_of_exchanges(plan: Plan, loop: LoadedLoop) -> Iterator[Problem]:
    """The times of the exchanges of each process sum up to its time in the loop."""
    wanted = isinstance(loop, Loaded) and loop.message_bytes in (plan.message_bytes[0], plan.message_bytes[-1])
    if (loop.exchanges is not None) != wanted:
        yield "exchanges", loop
    if loop.exchanges is None:
        return
    processes = {pattern.name: pattern.processes for pattern in plan.patterns}[loop.pattern]
    relative_error = plan.load.latency_relative_error
    yield from problems_of_histogram(loop.exchanges, processes * loop.loop_length, relative_error, loop)
    tolerance = 1e-9 * loop.loop_length + NODES_CLOCK_TOLERANCE * loop.elapsed_seconds
    mean = loop.exchanges.sum_seconds / processes
    if not loop.fastest_seconds - tolerance <= mean <= loop.elapsed_seconds + tolerance:
        yield "exchange_sum", loop


def problems_of_generators(log: Log[Plan]) -> Iterator[Problem]:
    seconds = defaultdict(float)
    for loop in by_sequence(log, Loaded, LoadedTrial):
        seconds[loop.repetition, loop.pattern, loop.phase] += loop.elapsed_seconds
    for record in log.all(Load):
        lasted = seconds[record.repetition, record.pattern, record.phase]
        moved = record.received_bytes > 0 and record.sent_bytes > 0
        yield from problems_of_generator(record, moved, are_whole(log.plan.load, record), lasted)
        if record.silent_senders > record.senders:
            yield "senders", record


def are_whole(load: PlannedLoad, record: Load) -> bool:
    """Whether what all processes moved is whole messages or, of the load io, whole files, which each process reads
    after it has written them."""
    if record.load == IO:
        return is_of_files(record, writes=True, reads=True)
    parts = record.received_bytes % load.message_bytes or record.sent_bytes % load.message_bytes
    return not parts and record.cached_bytes is None
