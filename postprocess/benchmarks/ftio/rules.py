# SPDX-License-Identifier: Apache-2.0
"""The rules of FTIO (the paper's section 3): what a complete run has read and written, and when its result is correct.
Nothing is reduced here. docs/log.md lists the invariants."""

from collections import defaultdict
from collections.abc import Callable, Iterator

from coffeecup.postprocess.benchmarks.ftio.records import (
    Layout,
    Measurement,
    Plan,
    PlannedActivity,
    ProcessTimes,
    Repetition,
    Start,
)
from coffeecup.postprocess.benchmarks.ftio.sizes import (
    ELEMENT_BYTES,
    input_of_option,
    is_valid,
    matrix_bytes,
    matrix_width,
    nominal_flops,
)
from coffeecup.postprocess.logs.process_times import (
    differ,
    problems_of_files,
    problems_of_lists,
    problems_of_resolution,
    problems_of_slowest,
    ranks_of_nodes,
)
from coffeecup.postprocess.logs.reader import RUN_AGAIN, Log
from coffeecup.postprocess.logs.records import Overhead
from coffeecup.postprocess.logs.rules import (
    EDITED,
    Expected,
    Problem,
    first_place,
    key_of,
    problems_of_fields,
    problems_of_file_system,
    problems_of_log,
    problems_of_options,
    problems_of_records,
    problems_of_whole_time,
    where,
)

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


def problems(log: Log[Plan]) -> Iterator[Problem]:
    """The problems that make a log unusable, the most serious first; later checks rely on the earlier ones."""
    yield from problems_of_log(log, Overhead, Start)
    yield from problems_of_file_system(log)
    if log.only(Start).sequence != first_place(log):
        yield "places", log.only(Start)
    yield from problems_of_plan(log)
    yield from problems_of_resolution(log.run, log.plan.process_times)
    yield from problems_of_records(log, expected_records(log), Measurement, ProcessTimes, Layout, Repetition)
    for phase in log.all(Measurement):
        yield from problems_of_phase(log, phase)
    phases = defaultdict(list)
    for phase in log.all(Measurement):
        phases[phase.repetition].append(phase)
    for record in log.all(Repetition):
        yield from problems_of_result(log.plan.matrix_width, record)
        yield from problems_of_ends(record)
        yield from problems_of_sums(log.run.ranks, record, phases[record.repetition])
    yield from problems_of_processes(log)
    layouts, own = {key_of(record): record for record in log.all(Layout)}, log.plan.storage == "posix"
    for record in log.all(Repetition):
        layout = layouts.get(key_of(record))
        yield from problems_of_files(log, record, record.striping, layout, own, not own, log.run.ranks)
    used = [log.only(Start).resident_bytes, *(record.peak_resident_bytes for record in log.all(Repetition))]
    if used != sorted(used):
        yield "resident", log.only(Start)
    yield from problems_of_whole_time(log, sum(max(record.elapsed_seconds) for record in log.all(Repetition)))


def problems_of_plan(log: Log[Plan]) -> Iterator[Problem]:
    """It follows from the options, as the kernel prints them, and from the number of processes."""
    run, plan, ranks, i = log.run, log.plan, log.run.ranks, log.plan.input_parameter
    if not is_valid(i, ranks):
        yield (
            "input",
            f"the input parameter {i} is not valid on {ranks} processes: {ranks} has to divide its square; {RUN_AGAIN}",
        )
    planned = {
        "matrix_width": matrix_width(i, ranks),
        "square_width": i**2,
        "matrix_bytes": matrix_bytes(i, ranks),
        "stages": [*STAGES],
        "activities": [PlannedActivity(*activity) for activity in ACTIVITIES.items()],
    }
    yield from problems_of_fields(plan, planned)
    if plan.direct and plan.storage != "posix":
        yield "direct", plan
    yield from problems_of_fields(
        plan, {"input_parameter": input_of_option(str(run.options["input"]), ranks, plan.direct)}
    )
    stated = {"storage": plan.storage, "direct": plan.direct, "repeat": plan.repetitions}
    stated |= {"exchange-buffer": plan.exchange_buffer_bytes, "keep": log.only(Start).kept}
    yield from problems_of_options(run, stated)


def expected_records(log: Log[Plan]) -> Iterator[Expected]:
    """In the order of measuring. By a coarse clock, an activity without I/O may have taken no time: then it has no
    record. Nor has a file system that does not state the servers of files."""
    measured = {key_of(record) for kind in (Measurement, Layout) for record in log.all(kind)}
    width, ranks = log.plan.matrix_width, log.run.ranks
    moved = expected_bytes(width, ranks)
    is_fine = log.only(Overhead).clock_resolution_seconds <= FINE_CLOCK
    result = {
        "nominal_flops": nominal_flops(width),
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
    made = expected_calls(log.plan, ranks, phase.stage, phase.activity)
    if phase.calls < made or (phase.calls > made and phase.activity not in ("read", "write")):
        yield "calls", f"{where(phase)}: {phase.calls} calls where {made} belong; {EDITED}"
    least, most = (slowest + (ranks - 1) * fastest) / ranks, (fastest + (ranks - 1) * slowest) / ranks
    if fastest > slowest * (1 + ROUNDING) or not least * (1 - ROUNDING) <= mean <= most * (1 + ROUNDING):
        yield "mean", phase


def problems_of_result(width: int, record: Repetition) -> Iterator[Problem]:
    found, tolerated = record.verification, tolerated_difference(width)
    if found.largest_relative_difference > tolerated:
        yield (
            "verification",
            f"the verification failed, the transform is wrong: its largest relative difference is "
            f"{found.largest_relative_difference:.3g}, rounding leaves at most {tolerated:.3g}; have the file system, "
            "the memory and the MPI library examined",
        )
    if found.total_difference < found.largest_difference * (1 - ROUNDING):
        yield "differences", record
    counters = record.counters
    for value, reason in ((counters.cycles, counters.cycles_reason), (counters.flops, counters.flops_reason)):
        if (value is None) != (reason is not None):
            yield "counters", record


def problems_of_ends(record: Repetition) -> Iterator[Problem]:
    """Processes leave the barriers before and after a repetition together, unless one loses its core just then."""
    first, last = min(record.elapsed_seconds), max(record.elapsed_seconds)
    if last - first > TOGETHER_SHARE * last + TOGETHER_SECONDS:
        yield "together", record


def problems_of_sums(ranks: int, record: Repetition, phases: list[Measurement]) -> Iterator[Problem]:
    """The time of every process lies between the sums of the fastest and of the slowest in all phases, and the times of
    all processes together are those of the phases. The whole is timed apart and may be a little longer."""
    for name, contains in SUMS.items():
        values, mine = getattr(record, name), [phase for phase in phases if contains(phase)]
        if len(values) != ranks:
            yield "each_process", record
        together = ranks * sum(phase.mean_seconds for phase in mine)
        least = ACCOUNTED if name == "elapsed_seconds" else 1 - ROUNDING
        share = together / max(sum(values), 1e-300)
        if not least <= share <= 1 + ROUNDING:
            yield "sums", f"{where(record)}: the phases account for {share:.1%} of its {name}; {RUN_AGAIN}"
        low, high = (sum(getattr(phase, of) for phase in mine) for of in ("fastest_seconds", "elapsed_seconds"))
        most = high + (1 - least) * sum(values)
        if min(values) < low * (1 - ROUNDING) or max(values) > most * (1 + ROUNDING):
            yield "processes", record


def problems_of_processes(log: Log[Plan]) -> Iterator[Problem]:
    """The times of processes in an activity are those of the measurement, and together those of the repetition."""
    resolution = log.plan.process_times
    measured = {key_of(phase): phase for phase in log.all(Measurement)}
    lists = defaultdict(list)
    for record in log.all(ProcessTimes):
        whole, name = measured[key_of(record)], where(record)
        yield from problems_of_lists(name, log.run, resolution, log.run.ranks, record.seconds)
        yield from problems_of_slowest(name, resolution, record.seconds, whole.elapsed_seconds, whole.fastest_seconds)
        if resolution == "process" and differ(sum(record.seconds) / len(record.seconds), whole.mean_seconds):
            yield "process_mean", record
        lists[record.repetition].append((whole, record.seconds))
    for record in log.all(Repetition):
        for name in ("io_seconds", "transform_io_seconds"):
            mine = [seconds for whole, seconds in lists[record.repetition] if SUMS[name](whole)]
            if not agree(log, [sum(values) for values in zip(*mine)], getattr(record, name)):
                yield "process_sums", record


def agree(log: Log[Plan], sums: list[float], seconds: list[float]) -> bool:
    """`sums` of the times in phases, and the `seconds` of all processes together. Where each node has a time, the
    processes that were slowest in the phases may be different ones."""
    if log.plan.process_times == "process":
        return not any(map(differ, sums, seconds))
    most = (max(seconds[rank] for rank in ranks) for ranks in ranks_of_nodes(log.run, log.run.ranks))
    return not any(differ(together, exact) for together, exact in zip(sums, most) if together < exact)
