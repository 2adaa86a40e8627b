# SPDX-License-Identifier: Apache-2.0
"""What a log of PRIOMark must contain to yield a score. The paper is M. Krietemeyer, D. Versick and D. Tavangarian,
"The PRIOMark Parallel I/O-Benchmark". Nothing is reduced here."""

import itertools
from collections import Counter
from collections.abc import Iterator

import pandas as pd

from postprocess.benchmarks.priomark import BENCHMARK, INCLUDED, PAPER
from postprocess.benchmarks.priomark.records import Measurement, Plan
from postprocess.logs.io_options import problems_of_memory_fill, problems_of_read_shift
from postprocess.logs.reader import RUN_AGAIN, Log
from postprocess.logs.records import DataCheck, Overhead
from postprocess.logs.rules import (
    first_problems,
    problems_of_file_system,
    problems_of_ranks,
    problems_of_reads,
    problems_of_single,
)

NEEDS_MPI = ("common_file", "strided")
OVERLAP = (
    "io_alone_seconds",
    "io_overlapped_seconds",
    "calculation_alone_seconds",
    "calculation_overlapped_seconds",
    "covered",
)
# What the recorder counts instead of recording it.
UNSEEN = ("streams", "mmap", "aio", "io_uring", "splice", "copy", "rename", "link", "program", "other")
REPLAY = ("differing_results", "threads", "copies", "overlapped", *(f"unseen_{kind}" for kind in UNSEEN))
CASE = ("benchmark", "pattern", "method", "process_bytes", "block_bytes", "read_share", "direct", "target")
CLOCK_TOLERANCE = 1e-6


def refusals(logs: list[Log[Plan]], table: pd.DataFrame) -> dict[int, str]:
    """Which logs yield no score and why, by their index in `logs`."""
    return first_problems("PRIOMark value", problems, logs, table)


def problems(log: Log[Plan], rows: pd.DataFrame) -> Iterator[str]:
    """The problems that make a log unusable, the most serious first; later checks rely on the earlier ones."""
    yield from problems_of_run(log)
    yield from problems_of_plan(log)
    yield from problems_of_measurements(log)
    for record in log.all(Measurement):
        yield from problems_of_bytes(log, record)
        yield from problems_of_latencies(record)
        yield from problems_of_overlap(log, record)
        yield from problems_of_replay(log, record)
        yield from problems_of_times(record)
    total = sum(r.open_seconds + r.elapsed_seconds + r.close_seconds for r in log.all(Measurement))
    if total > log.end.elapsed_seconds + CLOCK_TOLERANCE:
        yield (
            f"the timed parts sum up to {total:.4g} s, the run took {log.end.elapsed_seconds:.4g} s: its clock is not "
            f"to be trusted; {RUN_AGAIN}"
        )


def problems_of_run(log: Log[Plan]) -> Iterator[str]:
    yield from problems_of_ranks(log)
    yield from problems_of_file_system(log)
    yield from problems_of_single(log, Overhead, DataCheck)
    yield from problems_of_reads(log.only(DataCheck))


def problems_of_plan(log: Log[Plan]) -> Iterator[str]:
    plan = log.plan
    names = [entry.name for entry in plan.benchmarks]
    if [case.case for case in plan.cases] != list(range(1, len(plan.cases) + 1)):
        yield f"the cases are not counted 1, 2, 3, ...; {RUN_AGAIN}"
    if len(set(names)) != len(names) or {case.benchmark for case in plan.cases} != set(names):
        yield f"the planned cases are not those of the sub-benchmarks {', '.join(names)}; {RUN_AGAIN}"
    if taken := [name for name in names if name in BENCHMARK.units and name not in INCLUDED]:
        yield f"the plug-in {taken[0]} has the name of another metric; rename the plug-in and run it again"
    if plan.build == "serial" and (log.run.ranks > 1 or set(names) & set(NEEDS_MPI)):
        yield f"the build without MPI has one process and neither of {' and '.join(NEEDS_MPI)}; {RUN_AGAIN}"
    yield from problems_of_read_shift(log, plan.read_shift, [log.run.ranks])
    yield from problems_of_memory_fill(log, plan.fill_memory_percent)


def problems_of_measurements(log: Log[Plan]) -> Iterator[str]:
    planned = {case.case: case for case in log.plan.cases}
    expected = {(case, repetition) for case in planned for repetition in range(1, log.plan.repetitions + 1)}
    seen = Counter((record.case, record.repetition) for record in log.all(Measurement))
    if unplanned := seen.keys() - expected:
        yield f"case {min(unplanned)[0]}, repetition {min(unplanned)[1]}, was measured but not planned; {RUN_AGAIN}"
    if missing := expected - seen.keys():
        yield f"case {min(missing)[0]}, repetition {min(missing)[1]}, was planned but not measured; {RUN_AGAIN}"
    if max(seen.values()) > 1:
        yield f"case {seen.most_common(1)[0][0][0]} was measured more than once; {RUN_AGAIN}"
    for record in log.all(Measurement):
        if any(getattr(record, name) != getattr(planned[record.case], name) for name in CASE):
            yield f"{named(record)} is not what was planned under its number; {RUN_AGAIN}"


def problems_of_bytes(log: Log[Plan], record: Measurement) -> Iterator[str]:
    """Bytes and calls agree with each other and, where requests have one size, with the data of each process."""
    block, ranks = record.block_bytes, log.run.ranks
    moved, calls = record.read_bytes + record.written_bytes, record.read_calls + record.write_calls
    if not moved:
        yield f"{named(record)} moved no data; {RUN_AGAIN}"
    if (record.read_bytes > 0 and not record.read_calls) or (record.written_bytes > 0 and not record.write_calls):
        yield f"{named(record)} moved data without a call; {RUN_AGAIN}"
    if record.benchmark not in PAPER or block is None:
        return
    if record.read_bytes > record.read_calls * block or record.written_bytes > record.write_calls * block:
        yield f"{named(record)} moved more than its calls can, of {block} byte each; {RUN_AGAIN}"
    if moved != ranks * (record.process_bytes // block) * block or calls != ranks * (record.process_bytes // block):
        yield (
            f"{named(record)} moved {moved} byte in {calls} calls where {ranks} times {record.process_bytes} byte "
            f"were planned; {RUN_AGAIN}"
        )


def problems_of_latencies(record: Measurement) -> Iterator[str]:
    calls = {"read": record.read_calls, "write": record.write_calls}
    for found in record.latencies:
        edges = list(zip(found.from_seconds, found.to_seconds))
        counts = found.bin_calls
        if (
            len(found.from_seconds) != len(found.to_seconds)
            or len(edges) != len(counts)
            or sum(counts) != found.calls
            or found.calls != calls[found.operation]
        ):
            yield f"{named(record)}: its latencies do not count its {found.operation} calls; {RUN_AGAIN}"
        elif any(low >= high for low, high in edges) or any(
            a[1] > b[0] * (1 + 1e-9) for a, b in itertools.pairwise(edges)
        ):
            yield f"{named(record)}: the bins of its latencies overlap; {RUN_AGAIN}"
        elif not (
            found.shortest_seconds <= found.sum_seconds / found.calls * (1 + 1e-6)
            and found.sum_seconds / found.calls <= found.longest_seconds * (1 + 1e-6)
        ):
            yield f"{named(record)}: its mean latency is not between the shortest and the longest; {RUN_AGAIN}"
    if len({found.operation for found in record.latencies}) != len(record.latencies):
        yield f"{named(record)} has the latencies of an operation twice; {RUN_AGAIN}"


def problems_of_overlap(log: Log[Plan], record: Measurement) -> Iterator[str]:
    found = [name for name in OVERLAP if name in record.values]
    if (record.benchmark == "async" and len(found) < len(OVERLAP)) or 0 < len(found) < len(OVERLAP):
        yield f"{named(record)} does not state all times alone and overlapped; {RUN_AGAIN}"
    for name in found:
        values = record.values[name]
        if (
            len(values) != log.run.ranks
            or any(value < 0 for value in values)
            or (name != "covered" and not max(values) > 0)
        ):
            yield f"{named(record)}: {name} is not a time of each of {log.run.ranks} processes; {RUN_AGAIN}"


def problems_of_replay(log: Log[Plan], record: Measurement) -> Iterator[str]:
    """Early kernels do not state how a replay differs from the recording: `copies` and the values that came with it."""
    if record.benchmark != "trace" or "copies" not in record.values:
        return
    for name in REPLAY:
        values = record.values.get(name, [])
        if len(values) != log.run.ranks or any(value < 0 or value != int(value) for value in values):
            yield f"{named(record)}: {name} is not a count of each of {log.run.ranks} processes; {RUN_AGAIN}"
            return
    copies = record.values["copies"]
    if len(set(copies)) != 1 or not copies[0] or log.run.ranks % copies[0]:
        yield f"{named(record)}: {log.run.ranks} processes are not {copies[0]:.0f} copies of a recording; {RUN_AGAIN}"


def problems_of_times(record: Measurement) -> Iterator[str]:
    whole = record.elapsed_seconds * (1 + CLOCK_TOLERANCE) + CLOCK_TOLERANCE
    if max(record.access_seconds, record.sync_seconds, record.fastest_seconds) > whole:
        yield f"{named(record)} has parts longer than the whole; {RUN_AGAIN}"


def named(record: Measurement) -> str:
    return f"case {record.case} ({record.benchmark}, {record.pattern}, {record.method})"
