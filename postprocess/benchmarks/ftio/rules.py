# SPDX-License-Identifier: Apache-2.0
"""The rules of FTIO (the paper's section 3): what a complete run has read and written, and when its result is correct.
Nothing is reduced here."""

from collections import Counter
from collections.abc import Iterator

import pandas as pd

from postprocess.benchmarks.ftio.records import Measurement, Plan, Repetition, Start
from postprocess.benchmarks.ftio.sizes import ELEMENT_BYTES, is_valid, matrix_bytes, matrix_width, nominal_flops
from postprocess.logs.reader import RUN_AGAIN, Log
from postprocess.logs.records import Overhead
from postprocess.logs.rules import first_problems, problems_of_file_system, problems_of_ranks, problems_of_single

EPSILON = 2.0**-52
STAGES = ("initialise", "series_1", "transpose", "exchange", "series_2", "verify")
ACTIVITIES = {
    "open": True,
    "read": True,
    "write": True,
    "flush": True,
    "plan": False,
    "fft": False,
    "compute": False,
    "exchange": False,
    "wait": False,
}  # whether it is I/O
ACCOUNTED = 0.98  # share of the time that the phases must account for
WRITTEN_ONLY, READ_ONLY = "initialise", "verify"


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


def refusals(logs: list[Log[Plan]], table: pd.DataFrame) -> dict[int, str]:
    """Which logs yield no I/O Fraction and why, by their index in `logs`."""
    return first_problems("I/O Fraction", problems, logs, table)


def problems(log: Log[Plan], rows: pd.DataFrame) -> Iterator[str]:
    """The problems that make a log unusable, the most serious first; later checks rely on the earlier ones."""
    yield from problems_of_run(log)
    yield from problems_of_plan(log)
    yield from problems_of_repetitions(log)
    yield from problems_of_measurements(log, rows)
    yield from problems_of_times(log, rows)


def problems_of_run(log: Log[Plan]) -> Iterator[str]:
    yield from problems_of_ranks(log)
    yield from problems_of_file_system(log)
    yield from problems_of_single(log, Overhead, Start)


def problems_of_plan(log: Log[Plan]) -> Iterator[str]:
    plan, ranks = log.plan, log.run.ranks
    i, width = plan.input_parameter, plan.matrix_width
    if not is_valid(i, ranks):
        yield (
            f"the input parameter {i} is not valid on {ranks} processes: {ranks} has to divide its square; {RUN_AGAIN}"
        )
    if width != matrix_width(i, ranks) or plan.square_width != i**2 or plan.matrix_bytes != matrix_bytes(i, ranks):
        yield f"the sizes are not those of the paper for i = {i} on {ranks} processes; upgrade or fix the kernel"
    if tuple(plan.stages) != STAGES:
        yield f"the stages are not {', '.join(STAGES)}; upgrade or fix the kernel"
    if [(activity.name, activity.io) for activity in plan.activities] != list(ACTIVITIES.items()):
        yield (
            "the activities, or which of them are I/O, are not those of this coffeecup; upgrade coffeecup or fix the "
            "kernel"
        )


def problems_of_repetitions(log: Log[Plan]) -> Iterator[str]:
    repetitions, width, ranks = log.all(Repetition), log.plan.matrix_width, log.run.ranks
    if [record.repetition for record in repetitions] != list(range(1, log.plan.repetitions + 1)):
        yield (
            f"{len(repetitions)} repetitions in the log, {log.plan.repetitions} planned, or not in their order; "
            f"{RUN_AGAIN}"
        )
    for record in repetitions:
        largest, tolerated = record.verification.largest_relative_difference, tolerated_difference(width)
        if largest > tolerated:
            yield (
                f"the verification failed, the transform is wrong: its largest relative difference is {largest:.3g}, "
                f"rounding leaves at most {tolerated:.3g}; have the file system, the memory and the MPI library "
                "examined"
            )
        lists = (
            record.elapsed_seconds,
            record.io_seconds,
            record.transform_elapsed_seconds,
            record.transform_io_seconds,
        )
        if any(len(values) != ranks for values in lists):
            yield f"repetition {record.repetition} does not have a time for each of {ranks} processes; {RUN_AGAIN}"
        for whole, io, transform, transform_io in zip(*lists):
            if not (whole > 0 and io <= whole and 0 < transform <= whole and transform_io <= min(io, transform)):
                yield (
                    f"a part of repetition {record.repetition} took longer than the whole: its clock is not to be "
                    f"trusted; {RUN_AGAIN}"
                )
        if abs(record.nominal_flops / nominal_flops(width) - 1) > 1e-9:
            yield "the nominal operations are not 5 N log2 N for 2 N transforms; upgrade or fix the kernel"


def problems_of_measurements(log: Log[Plan], rows: pd.DataFrame) -> Iterator[str]:
    expected = expected_bytes(log.plan.matrix_width, log.run.ranks)
    records = log.all(Measurement)
    seen = Counter((record.repetition, record.stage, record.activity) for record in records)
    if unknown := [
        f"{stage}, {activity}" for _, stage, activity in seen if stage not in STAGES or activity not in ACTIVITIES
    ]:
        yield f"{unknown[0]} was measured but not planned; {RUN_AGAIN}"
    if seen and max(seen.values()) > 1:
        yield "repetition {}: {}, {} was measured more than once; {}".format(*seen.most_common(1)[0][0], RUN_AGAIN)
    moved = {(record.repetition, record.stage, record.activity): record.bytes for record in records}
    for repetition in range(1, log.plan.repetitions + 1):
        for (stage, activity), count in expected.items():
            if moved.get((repetition, stage, activity)) != count:
                yield (
                    f"repetition {repetition}: {stage} has to {activity} {count} bytes, the log says "
                    f"{moved.get((repetition, stage, activity), 'nothing')}; {RUN_AGAIN}"
                )
            if activity == "write" and (repetition, stage, "flush") not in moved:
                yield f"repetition {repetition}: what {stage} wrote was not flushed inside its time; {RUN_AGAIN}"


def problems_of_times(log: Log[Plan], rows: pd.DataFrame) -> Iterator[str]:
    """`rows` are the log's rows of a measurement_table."""
    if len(
        rows[
            ~(
                (rows["fastest_seconds"] <= rows["mean_seconds"] * (1 + 1e-9))
                & (rows["mean_seconds"] <= rows["elapsed_seconds"] * (1 + 1e-9))
            )
        ]
    ):
        yield (
            f"the slowest process of a phase was faster than the mean or the fastest: its clock is not to be trusted; "
            f"{RUN_AGAIN}"
        )
    for record in log.all(Repetition):
        mine = rows[rows["repetition"] == record.repetition]
        for what, phases, whole in (
            ("", mine, record.elapsed_seconds),
            ("I/O ", mine[mine["io"]], record.io_seconds),
        ):
            share = phases["mean_seconds"].sum() * log.run.ranks / max(sum(whole), 1e-300)
            if not ACCOUNTED <= share <= 2 - ACCOUNTED:
                yield (
                    f"repetition {record.repetition}: the phases account for {share:.1%} of its {what}time; {RUN_AGAIN}"
                )
    in_repetitions = sum(max(record.elapsed_seconds) for record in log.all(Repetition))
    if in_repetitions > log.end.elapsed_seconds and not log.run.simulated:
        yield (
            f"the repetitions took {in_repetitions:.4g} s, the run {log.end.elapsed_seconds:.4g} s: its clock is not "
            f"to be trusted; {RUN_AGAIN}"
        )
