# SPDX-License-Identifier: Apache-2.0
"""The rules of FTIO (the paper's section 3): what a complete run has read and written, and when its result is correct.
Nothing is reduced here. docs/log.md lists the invariants."""

from collections import defaultdict
from collections.abc import Callable, Iterator

from coffeecup.postprocess.benchmarks.ftio import records, sizes
from coffeecup.postprocess.benchmarks.ftio.records import Layout, Measurement, Plan, ProcessTimes, Repetition, Start
from coffeecup.postprocess.benchmarks.ftio.sizes import ELEMENT_BYTES
from coffeecup.postprocess.logs import process_times, rules
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Overhead
from coffeecup.postprocess.logs.rules import Expected, Problem, Rules, broken, key_of

EPSILON = 2.0**-52
STAGES = ("initialise", "series_1", "transpose", "exchange", "series_2", "verify")
OF_IO = ("open", "read", "write", "flush")
ACTIVITIES = {name: name in OF_IO for name in (*OF_IO, "plan", "fft", "compute", "exchange", "wait")}
TOOK_PLACE = {
    "initialise": ("open", "write", "flush", "plan", "compute", "wait"),
    "series_1": ("read", "write", "flush", "fft", "wait"),
    "transpose": ("read", "write", "flush", "compute", "wait"),
    "exchange": ("read", "write", "flush", "exchange", "wait"),
    "series_2": ("read", "write", "flush", "fft", "wait"),
    "verify": ("read", "compute", "wait"),
}  # activities of each stage, in the order of the log
OF_EACH = (*OF_IO, "compute")  # the log has the time of each process
ACCOUNTED = 0.98  # share of the time that the phases must account for
FINE_CLOCK = 1e-8  # seconds; shorter than any activity
# Between processes that leave the last barrier. Of 315 repetitions of 0.1 to 0.7 s on two cores that others used as
# well, the worst exceeded the share by 0.023 s.
TOGETHER_SHARE, TOGETHER_SECONDS = 0.02, 0.2
ROUNDING = 1e-6  # relative, between the same times added up in another order
WRITTEN_ONLY, READ_ONLY = "initialise", "verify"
# Which phases the lists of a repetition contain.
SUMS: dict[str, Callable[[Measurement], bool]] = {
    "elapsed_seconds": lambda phase: True,
    "io_seconds": lambda phase: ACTIVITIES[phase.activity],
    "transform_elapsed_seconds": lambda phase: phase.stage not in (WRITTEN_ONLY, READ_ONLY),
    "transform_io_seconds": lambda phase: ACTIVITIES[phase.activity] and phase.stage not in (WRITTEN_ONLY, READ_ONLY),
}


def tolerated_difference(width: int) -> float:
    """Largest relative difference to the exact result that rounding may leave: 4 epsilon N^2, because elements of size
    1 are left over from sums of N^2 that cancel."""
    return 4 * EPSILON * width**2


def expected_bytes(width: int, processes: int) -> dict[tuple[str, str], int]:
    """Bytes that all processes together read and write in one repetition, by stage and activity: the matrix once in
    every stage, in the exchange without the c Squares that stay where they are."""
    whole = ELEMENT_BYTES * width**2
    moved = whole // processes * (processes - 1)
    return {
        (stage, activity): moved if stage == "exchange" else whole
        for stage in STAGES
        for activity in ("read", "write")
        if not (
            (stage == WRITTEN_ONLY and activity == "read")
            or (stage == READ_ONLY and activity == "write")
            or (stage == "exchange" and not moved)
        )
    }


def expected_calls(plan: Plan, processes: int, stage: str, activity: str) -> int:
    """Calls of all processes: of reads and writes at least so many, because a system may transfer less than requested.
    A row of the matrix is one call of each process; a transposition accesses its Mini-Squares row by row."""
    width, i = plan.matrix_width, plan.input_parameter
    if activity in ("open", "plan", "flush", "wait"):
        return processes
    if stage == "transpose":
        return processes**2 * (i * (i + 1) // 2 if activity == "compute" else i**3)
    if stage == "exchange":
        rows = min(plan.square_width, max(1, plan.exchange_buffer_bytes // (plan.square_width * ELEMENT_BYTES)))
        parts = (
            plan.square_width if plan.storage == "mpiio" and activity != "exchange" else -(-plan.square_width // rows)
        )
        return processes * (processes - 1) * parts
    return width * processes


def problems_of_plan(log: Log[Plan]) -> Iterator[Problem]:
    """The input parameter, the storage and the state before anything was timed."""
    plan, start = log.plan, log.only(Start)
    yield from rules.problems_of_file_system(log)
    used = [start.resident_bytes, *(record.peak_resident_bytes for record in log.all(Repetition))]
    yield from broken(start, {"places": start.sequence == rules.first_place(log), "resident": used == sorted(used)})
    kept = {
        "input": sizes.is_valid(plan.input_parameter, log.run.ranks),
        "direct": not plan.direct or plan.storage == "posix",
    }
    yield from broken(plan, kept)
    yield from process_times.problems_of_resolution(log.run, plan.process_times)


def planned(log: Log[Plan]) -> dict[str, object]:
    """It follows from the options, as the kernel prints them, and from the number of processes."""
    plan, ranks, i = log.plan, log.run.ranks, log.plan.input_parameter
    return {
        "matrix_width": sizes.matrix_width(i, ranks),
        "square_width": i**2,
        "matrix_bytes": sizes.matrix_bytes(i, ranks),
        "stages": [*STAGES],
        "activities": [records.PlannedActivity(*activity) for activity in ACTIVITIES.items()],
        "input_parameter": sizes.input_of_option(str(log.run.options["input"]), ranks, plan.direct),
    }


def options(log: Log[Plan]) -> dict[str, object]:
    plan = log.plan
    stated = {"storage": plan.storage, "direct": plan.direct, "repeat": plan.repetitions}
    return stated | {"exchange-buffer": plan.exchange_buffer_bytes, "keep": log.only(Start).kept}


def expected_records(log: Log[Plan]) -> Iterator[Expected]:
    """In the order of measuring. By a coarse clock, an activity without I/O may have taken no time: then it has no
    record. Nor has a file system that does not state the servers of files."""
    measured = {key_of(record) for kind in (Measurement, Layout) for record in log.all(kind)}
    width, ranks = log.plan.matrix_width, log.run.ranks
    moved = expected_bytes(width, ranks)
    is_fine = log.only(Overhead).clock_resolution_seconds <= FINE_CLOCK
    result = {
        "nominal_flops": sizes.nominal_flops(width),
        "verification.tolerated_relative_difference": tolerated_difference(width),
    }
    for repetition in range(1, log.plan.repetitions + 1):
        for stage, activities in TOOK_PLACE.items():
            for activity in activities:
                moves = (stage, "write" if activity == "flush" else activity) in moved
                alone = stage == "exchange" and ranks == 1 and activity not in ("flush", "wait")
                key = repetition, stage, activity
                if moves or (is_fine and not alone) or key in measured:
                    sent = "read" if stage == activity == "exchange" else activity
                    yield Expected(Measurement, key, {"bytes": moved.get((stage, sent), 0)})
                    if activity in OF_EACH:
                        yield Expected(ProcessTimes, key)
        if (repetition,) in measured:
            yield Expected(Layout, (repetition,))
        yield Expected(Repetition, (repetition,), result)


def problems_of_phase(log: Log[Plan], phase: Measurement) -> Iterator[Problem]:
    ranks, (fastest, mean, slowest) = log.run.ranks, (phase.fastest_seconds, phase.mean_seconds, phase.elapsed_seconds)
    more = phase.calls - expected_calls(log.plan, ranks, phase.stage, phase.activity)
    least, most = (slowest + (ranks - 1) * fastest) / ranks, (fastest + (ranks - 1) * slowest) / ranks
    in_order = fastest <= slowest * (1 + ROUNDING) and least * (1 - ROUNDING) <= mean <= most * (1 + ROUNDING)
    yield from broken(
        phase, {"calls": not more or (more > 0 and phase.activity in ("read", "write")), "mean": in_order}
    )


def problems_of_result(log: Log[Plan], record: Repetition) -> Iterator[Problem]:
    """Processes leave the barriers before and after a repetition together, unless one loses its core just then."""
    found, tolerated, counted = record.verification, tolerated_difference(log.plan.matrix_width), record.counters
    if found.largest_relative_difference > tolerated:
        yield (
            "verification",
            f"the verification failed, the transform is wrong: its largest relative difference is "
            f"{found.largest_relative_difference:.3g}, rounding leaves at most {tolerated:.3g}; have the file system, "
            "the memory and the MPI library examined",
        )
    first, last = min(record.elapsed_seconds), max(record.elapsed_seconds)
    reasons = ((counted.cycles, counted.cycles_reason), (counted.flops, counted.flops_reason))
    kept = {
        "differences": found.total_difference >= found.largest_difference * (1 - ROUNDING),
        "counters": all((value is None) == (reason is not None) for value, reason in reasons),
        "together": last - first <= TOGETHER_SHARE * last + TOGETHER_SECONDS,
    }
    yield from broken(record, kept)


def problems_of_sums(ranks: int, record: Repetition, phases: list[Measurement]) -> Iterator[Problem]:
    """The time of every process lies between the sums of the fastest and of the slowest in all phases, and the times of
    all processes together are those of the phases. The whole is timed apart and may be a little longer."""
    for name, contains in SUMS.items():
        values, mine = getattr(record, name), [phase for phase in phases if contains(phase)]
        low, together, high = (
            sum(getattr(phase, of) for phase in mine) for of in ("fastest_seconds", "mean_seconds", "elapsed_seconds")
        )
        least = ACCOUNTED if name == "elapsed_seconds" else 1 - ROUNDING
        most = high + (1 - least) * sum(values)
        kept = {
            "each_process": len(values) == ranks,
            "sums": least <= ranks * together / max(sum(values), 1e-300) <= 1 + ROUNDING,
            "processes": low * (1 - ROUNDING) <= min(values) and max(values) <= most * (1 + ROUNDING),
        }
        yield from broken(record, kept)


def problems_together(log: Log[Plan]) -> Iterator[Problem]:
    """The times of processes in an activity are those of the measurement, and together those of the repetition."""
    phases, lists, own = defaultdict(list), defaultdict(list), log.run.ranks * (log.plan.storage == "posix")
    measured = {key_of(phase): phase for phase in log.all(Measurement)}
    for phase in measured.values():
        phases[phase.repetition].append(phase)
    for record in log.all(Repetition):
        yield from problems_of_sums(log.run.ranks, record, phases[record.repetition])
    of_lists = {"seconds": ("elapsed_seconds", "fastest_seconds")}
    yield from process_times.problems_of_processes(log, ProcessTimes, Measurement, of_lists)
    for record in log.all(ProcessTimes):
        whole, mean = measured[key_of(record)], sum(record.seconds) / len(record.seconds)
        of_each = log.plan.process_times == "process"
        yield from broken(record, {"process_mean": not of_each or not process_times.differ(mean, whole.mean_seconds)})
        lists[record.repetition].append((whole, record.seconds))
    for record in log.all(Repetition):
        for name in ("io_seconds", "transform_io_seconds"):
            mine = [seconds for whole, seconds in lists[record.repetition] if SUMS[name](whole)]
            fits = agree(log, [sum(values) for values in zip(*mine)], getattr(record, name))
            yield from broken(record, {"process_sums": fits})
    yield from process_times.problems_of_files(log, Repetition, Layout, lambda record: (own, not own))


def agree(log: Log[Plan], sums: list[float], seconds: list[float]) -> bool:
    """`sums` of the times in phases, and the `seconds` of all processes together. Where each node has a time, the
    processes that were slowest in the phases may be different ones."""
    if log.plan.process_times == "process":
        return not any(map(process_times.differ, sums, seconds))
    most = (max(seconds[rank] for rank in ranks) for ranks in process_times.ranks_of_nodes(log.run, log.run.ranks))
    return not any(process_times.differ(together, exact) for together, exact in zip(sums, most) if together < exact)


problems = Rules(
    single=(Start,),
    of_plan=problems_of_plan,
    planned=planned,
    options=options,
    measured=(Measurement, ProcessTimes, Layout, Repetition),
    expected=expected_records,
    each={Measurement: problems_of_phase, Repetition: problems_of_result},
    together=problems_together,
    seconds=lambda log: sum(max(record.elapsed_seconds) for record in log.all(Repetition)),
).problems
