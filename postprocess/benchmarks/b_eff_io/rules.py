# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff_io (the paper's section 5.1 and table 2): what a log must contain to yield a score. Nothing is
reduced here."""

from collections import Counter, defaultdict
from collections.abc import Iterator

import pandas as pd

from postprocess.benchmarks.b_eff_io.records import Measurement, PatternType, Plan
from postprocess.logs.io_options import problems_of_memory_fill, problems_of_read_shift
from postprocess.logs.reader import RUN_AGAIN, Log
from postprocess.logs.records import DataCheck, MpiIo, Overhead
from postprocess.logs.rules import (
    first_problems,
    problems_of_file_system,
    problems_of_ranks,
    problems_of_reads,
    problems_of_single,
)
from postprocess.show.units import GIB, KIB, MIB

TYPES = ("scatter", "shared", "separate", "segmented", "segmented-collective")
METHODS = ("write", "rewrite", "read")
OFFICIAL_SECONDS = 900.0
TOP_CLUSTERS_SECONDS = 1800.0
CACHE_FACTOR = 20
CLOCK_TOLERANCE = 1e-6

_SMALL = ((MIB, 0), (None, 2), (MIB, 2), (32 * KIB, 1), (KIB, 1), (32 * KIB + 8, 1), (KIB + 8, 1), (MIB + 8, 2))


def m_part_rule(node_memory_bytes: int) -> int:
    """M_PART in byte: max(2 MiB, memory of one node / 128) in whole MiB, at most 1 GiB."""
    return min(GIB, max(2 * MIB, node_memory_bytes // 128 // MIB * MIB))


def patterns_rule(m_part: int) -> list[tuple[str, int | None, int | None, int]]:
    """The paper's table 2, a row per pattern number: type, l, L in byte, U. None where a pattern fills up the
    segment."""
    scatter = [
        (MIB, MIB, 0),
        (m_part, m_part, 4),
        (MIB, 2 * MIB, 4),
        (MIB, MIB, 4),
        (32 * KIB, MIB, 2),
        (KIB, MIB, 2),
        (32 * KIB + 8, MIB + 256, 2),
        (KIB + 8, MIB + 8 * KIB, 2),
        (MIB + 8, MIB + 8, 2),
    ]
    small = [(chunk or m_part, chunk or m_part, units) for chunk, units in _SMALL]
    shared = [(chunk, chunk, 4 if number == 1 else units) for number, (chunk, _, units) in enumerate(small)]
    full = [*small, (None, None, 0)]
    return [
        (name, chunk, memory, units)
        for name, rows in zip(TYPES, (scatter, shared, small, full, full))
        for chunk, memory, units in rows
    ]


def refusals(logs: list[Log[Plan]], table: pd.DataFrame) -> dict[int, str]:
    """Which logs yield no b_eff_io and why, by their index in `logs`."""
    return first_problems("b_eff_io", problems, logs, table)


def problems(log: Log[Plan], rows: pd.DataFrame) -> Iterator[str]:
    """The problems that make a log unusable, the most serious first; later checks rely on the earlier ones."""
    yield from problems_of_run(log)
    yield from problems_of_plan(log)
    yield from problems_of_measurements(log)
    yield from problems_of_types(log)
    yield from problems_of_times(log)


def problems_of_run(log: Log[Plan]) -> Iterator[str]:
    yield from problems_of_ranks(log)
    yield from problems_of_file_system(log)
    yield from problems_of_single(log, Overhead, DataCheck, MpiIo)
    yield from problems_of_reads(log.only(DataCheck), least_checked=1)


def problems_of_plan(log: Log[Plan]) -> Iterator[str]:
    plan = log.plan
    if missing := [name for name in METHODS if name not in plan.methods]:
        yield (
            f"the run left out {' and '.join(missing)}; run it with all access methods (the measurements can be "
            "plotted)"
        )
    names = [entry.name for entry in plan.types if entry.averaged]
    if missing := [name for name in TYPES if name not in names]:
        yield f"the run left out the types {', '.join(missing)}; run it with all five (the measurements can be plotted)"
    planned = {
        entry.pattern: (entry.type, entry.chunk_bytes, entry.call_bytes, entry.units)
        for entry in plan.patterns
        if entry.type in TYPES
    }
    if planned != dict(enumerate(patterns_rule(plan.m_part_bytes))):
        yield "the patterns are not the 43 of the paper's table 2; upgrade or fix the kernel"
    if max(plan.partitions) > log.run.ranks:
        yield f"a partition has more processes than the run; {RUN_AGAIN}"
    yield from problems_of_read_shift(log, plan.read_shift, plan.partitions)
    yield from problems_of_memory_fill(log, plan.fill_memory_percent)


def measured(log: Log[Plan], method: str, type_name: str) -> bool:
    return not (log.plan.form == "top-clusters" and method == "rewrite" and type_name != "scatter")


def problems_of_measurements(log: Log[Plan]) -> Iterator[str]:
    plan, records = log.plan, log.all(Measurement)
    entries = {entry.pattern: entry for entry in plan.patterns}
    found = {(r.partition, r.method, r.pattern): r for r in records}
    if len(found) != len(records):
        twice = Counter((r.partition, r.method, r.pattern) for r in records).most_common(1)[0][0]
        yield f"{named(twice)} was measured more than once; {RUN_AGAIN}"
    expected = {
        (partition, method, number)
        for partition in plan.partitions
        for method in plan.methods
        for number, entry in entries.items()
        if measured(log, method, entry.type)
    }
    if unplanned := found.keys() - expected:
        yield f"{named(min(unplanned))} was measured but not planned; {RUN_AGAIN}"
    full = {number for number, entry in entries.items() if entry.chunk_bytes is None}  # a full segment needs no filling
    if missing := [key for key in expected - found.keys() if key[2] not in full]:
        yield f"{named(min(missing))} was planned but not measured; {RUN_AGAIN}"
    for key, record in found.items():
        entry, written = (
            entries[key[2]],
            found.get((key[0], "write", key[2]), record),
        )
        if (
            record.type != entry.type
            or entry.chunk_bytes not in (None, record.chunk_bytes)
            or entry.call_bytes not in (None, record.call_bytes)
        ):
            yield f"{named(key)} has another type or size than planned; {RUN_AGAIN}"
        yield from problems_of_calls(key, record, written)


def calls(record: Measurement) -> tuple[int, int, int]:
    """The calls of the process with the fewest, of the one with the most, and of all processes."""
    return record.calls_min, record.calls_max, record.calls_sum


def problems_of_calls(key: tuple[int, str, int], record: Measurement, written: Measurement) -> Iterator[str]:
    partition = record.partition
    fewest, most, together = made = calls(record)
    others = max(partition - 2, 0)  # processes between the one with the fewest calls and the one with the most
    ends = fewest + most if partition > 1 else most
    if not ends + others * fewest <= together <= ends + others * most or (
        (partition == 1 or record.type != "separate") and fewest != most
    ):
        yield (
            f"{named(key)} made {fewest} to {most} calls a process and {together} together, which contradict each "
            f"other; {RUN_AGAIN}"
        )
    if record.bytes != together * record.call_bytes:
        yield f"{named(key)} has {record.bytes} bytes, its calls transferred another number; {RUN_AGAIN}"
    if any(own > first for own, first in zip(made, calls(written))) or (
        together < calls(written)[2] and record.ended_by not in ("time", "overrun")
    ):
        yield f"{named(key)} made {together} calls where {calls(written)[2]} had been written; {RUN_AGAIN}"


def problems_of_types(log: Log[Plan]) -> Iterator[str]:
    keys = [(r.partition, r.method, r.type) for r in log.all(PatternType)]
    sums = Counter()
    for r in log.all(Measurement):
        sums[r.partition, r.method, r.type] += r.bytes
    if len(set(keys)) != len(keys) or set(keys) != set(sums):
        yield f"the pattern_type records do not match the measurements; {RUN_AGAIN}"
    for r in log.all(PatternType):
        key = r.partition, r.method, r.type
        written = sums[r.partition, "write", r.type]
        if r.bytes != sums[key] or r.file_bytes != file_bytes(r, written):
            yield (
                f"{r.method} of type {r.type} by {r.partition} processes counts other bytes than its "
                f"measurements; {RUN_AGAIN}"
            )


def file_bytes(record: PatternType, written_bytes: int) -> int:
    """The size that the file must have. Segments are full unless calls were left out in the write pass: then the last
    one ends with the data of the last process."""
    if record.segment_bytes is None:
        return written_bytes
    return (record.partition - 1) * record.segment_bytes + written_bytes // record.partition


def problems_of_times(log: Log[Plan]) -> Iterator[str]:
    inside = defaultdict(float)
    for r in log.all(Measurement):
        inside[r.partition, r.method, r.type] += r.elapsed_seconds
        if (
            max(r.access_seconds, r.sync_seconds, r.last_done_seconds) > r.elapsed_seconds + CLOCK_TOLERANCE
            or r.access_fastest_seconds > r.access_seconds
            or r.first_done_seconds > r.last_done_seconds
        ):
            yield f"{named((r.partition, r.method, r.pattern))} has parts longer than the whole; {RUN_AGAIN}"
    for r in log.all(PatternType):
        whole = r.open_seconds + inside[r.partition, r.method, r.type] + r.close_seconds
        if abs(whole - r.elapsed_seconds) > CLOCK_TOLERANCE * max(1, whole):
            yield (
                f"{r.method} of type {r.type} by {r.partition} processes took {r.elapsed_seconds:.6g} s, "
                f"its parts {whole:.6g} s; {RUN_AGAIN}"
            )
    total = sum(r.elapsed_seconds for r in log.all(PatternType))
    if total > log.end.elapsed_seconds and not log.run.simulated:
        yield (
            f"the timed parts sum up to {total:.4g} s, the run took {log.end.elapsed_seconds:.4g} s: its clock is not "
            f"to be trusted; {RUN_AGAIN}"
        )


def named(key: tuple[int, str, int]) -> str:
    partition, method, number = key
    return f"pattern {number}, {method}, by {partition} process{'es' * (partition > 1)},"
