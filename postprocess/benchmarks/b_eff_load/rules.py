# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff_load: which nodes are victims, which loops and loads follow each other, and that
the load was there while the victims were measured. docs/log.md lists the invariants."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import product

from coffeecup.postprocess.benchmarks import load_rules
from coffeecup.postprocess.benchmarks.b_eff import rules, timed_loops
from coffeecup.postprocess.benchmarks.b_eff.records import DataCheck, Stop
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
from coffeecup.postprocess.logs.histograms import problems_of_histogram
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.rules import (
    Expected,
    Problem,
    Rules,
    broken,
    by_sequence,
    problems_of_fields,
    problems_of_file_system,
)
from coffeecup.postprocess.show.units import MIB

LOOPS = (Loaded, LoadedTrial)
METHOD = "nonblocking"
FEWEST_NODES = 2  # of the victims, and of the others
SHARE_OF_L_MAX, LONGEST_LOAD_MESSAGE = 4, MIB
FILE_BYTES = MIB  # of a process that generates the load io


def problems_of_plan(log: Log[Plan]) -> Iterator[Problem]:
    """The load io has a file system, whose directory an option names; nothing else has one."""
    plan, directory = log.plan, log.run.options["directory"]
    yield from rules.problems_of_wrong_bytes(log)
    if IO in plan.load.kinds:
        yield from problems_of_file_system(log)
    else:
        yield from broken(log.run, {"no_file_system": not (log.run.filesystem or directory)})
    yield from load_rules.problems_of_load(log, LOADS, FEWEST_NODES)
    yield from problems_of_fields(plan, load_rules.planned_victims(log, plan.seed))
    averaged = all(pattern.averaged and not pattern.memory for pattern in plan.patterns)
    stored = IO not in plan.load.kinds or directory
    kept = {"load": averaged and stored and [method.name for method in plan.methods] == [METHOD]}
    yield from broken(plan, kept)
    yield from rules.problems_of_patterns(plan, plan.load.victim_processes)
    yield from rules.problems_of_lengths(plan)


def planned(log: Log[Plan]) -> dict[str, object]:
    """The sizes of messages and files."""
    plan = log.plan
    message = min(plan.l_max_bytes // SHARE_OF_L_MAX, LONGEST_LOAD_MESSAGE)
    files = {"load.message_bytes": message, "load.file_bytes": FILE_BYTES if IO in plan.load.kinds else None}
    sizes = rules.planned_sizes(plan, log.run.memory_per_process_bytes)
    return files | sizes


def expected_records(log: Log[Plan]) -> Iterator[Expected]:
    """In the order of measuring. The root of a load is the first process of each generating node in turn; an all-to-all
    exchange and the load io have none."""
    plan, shortest, generating = log.plan, log.plan.message_bytes[0], load_rules.generating_ranks(log, log.plan.load)
    tried = min(plan.first_loop_length, plan.longest_loop_length) > 1
    stops = {(stop.repetition, stop.pattern) for stop in log.all(Stop)}
    for place, (repetition, pattern) in enumerate(product(range(1, plan.repetitions + 1), plan.patterns)):
        if (repetition, pattern.name) in stops:
            yield Expected(Stop, (repetition, pattern.name, shortest), {"needed_budget_seconds": None})
            return
        for phase, load in enumerate(plan.load.phases):
            unit = repetition, pattern.name, phase, load
            if tried:
                yield Expected(LoadedTrial, (*unit, shortest, METHOD))
            for length in plan.message_bytes:
                yield Expected(Loaded, (*unit, length, METHOD))
            if load:
                root = None if load in ("alltoall", IO) else generating[place % len(generating)][0]
                senders = 1 if load == "broadcast" else sum(len(ranks) for ranks in generating if root not in ranks)
                yield Expected(Load, unit, {"root": root, "senders": senders})


def problems_of_exchanges(log: Log[Plan], loop: LoadedLoop) -> Iterator[Problem]:
    """The times of the exchanges of each process sum up to its time in the loop."""
    plan, exchanges = log.plan, loop.exchanges
    wanted = isinstance(loop, Loaded) and loop.message_bytes in (plan.message_bytes[0], plan.message_bytes[-1])
    yield from broken(loop, {"exchanges": (exchanges is not None) == wanted})
    if exchanges is None:
        return
    processes = next(pattern.processes for pattern in plan.patterns if pattern.name == loop.pattern)
    calls, relative_error = processes * loop.loop_length, plan.load.latency_relative_error
    yield from problems_of_histogram(exchanges, calls, relative_error, loop)
    tolerance = 1e-9 * loop.loop_length + load_rules.NODES_CLOCK_TOLERANCE * loop.elapsed_seconds
    mean = exchanges.sum_seconds / processes
    fits = loop.fastest_seconds - tolerance <= mean <= loop.elapsed_seconds + tolerance
    yield from broken(loop, {"exchange_sum": fits})


def problems_together(log: Log[Plan]) -> Iterator[Problem]:
    if not complete_repetitions(log):
        yield (
            "averaged_loops",
            "the run was stopped before all patterns were measured under load; choose a larger --time-budget, fewer "
            "kinds of load, or run it when the machine is less busy",
        )
    yield from timed_loops.problems_of_timed(log, LOOPS)
    for loop in by_sequence(log, *LOOPS):
        yield from problems_of_exchanges(log, loop)
    yield from problems_of_generators(log)
    yield from timed_loops.problems_of_received_bytes(log, LOOPS)


def problems_of_generators(log: Log[Plan]) -> Iterator[Problem]:
    seconds = defaultdict(float)
    for loop in by_sequence(log, *LOOPS):
        seconds[loop.repetition, loop.pattern, loop.phase] += loop.elapsed_seconds
    for record in log.all(Load):
        lasted = seconds[record.repetition, record.pattern, record.phase]
        moved = record.received_bytes > 0 and record.sent_bytes > 0
        yield from load_rules.problems_of_generator(record, moved, are_whole(log.plan.load, record), lasted)
        yield from broken(record, {"senders": record.silent_senders <= record.senders})


def are_whole(load: PlannedLoad, record: Load) -> bool:
    """Whether what all processes moved is whole messages or, of the load io, whole files, which each process reads
    after it has written them."""
    if record.load == IO:
        return load_rules.is_of_files(record, writes=True, reads=True)
    parts = record.received_bytes % load.message_bytes or record.sent_bytes % load.message_bytes
    return not parts and record.cached_bytes is None


problems = Rules(
    single=(DataCheck,),
    of_plan=problems_of_plan,
    planned=planned,
    options=lambda log: {"kinds": log.plan.load.kinds} | rules.options_of_loops(log.plan),
    measured=(*LOOPS, Load, Stop),
    expected=expected_records,
    together=problems_together,
    seconds=lambda log: sum(loop.elapsed_seconds for loop in by_sequence(log, *LOOPS)),
).problems
