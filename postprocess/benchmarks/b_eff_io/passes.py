# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff_io on its measurements: the passes of write, rewrite and read over all partitions, types and
patterns, the calls in them, and their times."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import product

from coffeecup.postprocess.benchmarks.b_eff_io.definition import METHODS, TYPE_RULES, UNITS, size_driven_calls
from coffeecup.postprocess.benchmarks.b_eff_io.library import door as library
from coffeecup.postprocess.benchmarks.b_eff_io.records import (
    Layout,
    Measurement,
    Pass,
    PatternType,
    Plan,
    PlannedPattern,
    ProcessTimes,
)
from coffeecup.postprocess.logs.histograms import CLOCK_TOLERANCE
from coffeecup.postprocess.logs.io_records import MpiIo
from coffeecup.postprocess.logs.process_times import problems_of_files, problems_of_processes
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Record
from coffeecup.postprocess.logs.rules import Expected, Problem, broken, key_of, problems_of_fields

RECORDS = (Measurement, ProcessTimes, Layout, PatternType)
LISTS = {
    "calls": (),
    "access_seconds": ("access_seconds", "access_fastest_seconds"),
    "sync_seconds": ("sync_seconds",),
}  # of the times of processes, and the times in the measurement
PARTS_SHARE, PARTS_SECONDS = 0.05, 5.0  # that a process may lose between the parts, with its core


def expected_records(log: Log[Plan]) -> Iterator[Expected]:
    """In the order of measuring. A segment that is full needs no pattern that fills it up; a file system that does not
    state the servers of files has no record of them."""
    plan, laid_out = log.plan, {key_of(record) for record in log.all(Layout)}
    written = {(r.partition, r.pattern): r for r in log.all(Measurement) if r.method == METHODS[0]}
    for method, partition, entry in product(plan.methods, plan.partitions, plan.types):
        if plan.form == "top-clusters" and method == "rewrite" and entry.name != "scatter":
            continue
        for pattern in (pattern for pattern in plan.patterns if pattern.type == entry.name):
            sized = written.get((partition, pattern.pattern)) if pattern.chunk_bytes is None else pattern
            if sized:
                key, kind = (partition, method, pattern.pattern), {"type": pattern.type}
                sizes = {"chunk_bytes": sized.chunk_bytes, "call_bytes": sized.call_bytes}
                share = {"scheduled_seconds": plan.scheduled_seconds / len(METHODS) * pattern.units / UNITS}
                yield Expected(Measurement, key, kind | sizes | share)
                if not TYPE_RULES[entry.name].collective:
                    yield Expected(ProcessTimes, key, kind)
        key = partition, method, entry.name
        if key in laid_out:
            yield Expected(Layout, key)
        yield Expected(PatternType, key)


def problems_of_measurements(log: Log[Plan]) -> Iterator[Problem]:
    """Calls, files and times of measurements and types that contradict each other."""
    yield from problems_of_component(log, log.all(Measurement)[0])
    entries = {entry.pattern: entry for entry in log.plan.patterns}
    written = {(r.partition, r.pattern): r for r in log.all(Measurement) if r.method == METHODS[0]}
    for record in log.all(Measurement):
        first = written[record.partition, record.pattern]
        yield from problems_of_calls(record, first)
        yield from problems_of_ends(log.plan, record, entries[record.pattern], first)
        yield from problems_of_times(log, record)
    yield from problems_of_segments(log)
    yield from problems_of_processes(log, ProcessTimes, Measurement, LISTS, lambda record: record.partition)
    yield from problems_of_calls_of_processes(log)
    yield from problems_of_files(log, PatternType, Layout, own_and_shared)
    yield from problems_of_types(log)


def own_and_shared(record: PatternType) -> tuple[int, bool]:
    """The files of a type: one of each process, or a shared one."""
    separate = TYPE_RULES[record.type].separate
    return record.partition if separate else 0, not separate


def problems_of_component(log: Log, first: Record) -> Iterator[Problem]:
    """`first` is the first measurement, before which a file is opened."""
    yield from broken(log.only(MpiIo), {"mpi_io": log.only(MpiIo).sequence == first.sequence - 1})


def problems_of_calls(record: Measurement, written: Measurement) -> Iterator[Problem]:
    partition = record.partition
    fewest, most, together = made = calls(record)
    others = max(partition - 2, 0)  # processes between the one with the fewest calls and the one with the most
    ends = fewest + most if partition > 1 else most
    alike = fewest == most or (partition > 1 and record.type == "separate")
    less, early = together < calls(written)[2], record.ended_by in ("time", "overrun")
    kept = {
        "calls": alike and ends + others * fewest <= together <= ends + others * most,
        "written_calls": all(own <= first for own, first in zip(made, calls(written))) and (early or not less),
    }
    yield from broken(record, kept)
    yield from problems_of_fields(record, {"bytes": together * record.call_bytes})


def calls(record: Measurement) -> tuple[int, int, int]:
    """The calls of the process with the fewest, of the one with the most, and of all processes."""
    return record.calls_min, record.calls_max, record.calls_sum


def problems_of_ends(plan: Plan, record: Measurement, entry: PlannedPattern, written: Measurement) -> Iterator[Problem]:
    """Why a pattern ended, and what follows from it."""
    agrees = TYPE_RULES[record.type].collective and TYPE_RULES[record.type].time_driven and entry.units > 0
    fewest = record.calls_max + 1 if plan.termination == "per-access" else 2
    kept = {
        "ended_by": record.ended_by in possible_ends(plan, record, entry, written),
        "agreements": fewest <= record.agreements <= record.calls_max + 1 if agrees else not record.agreements,
        "agreement_seconds": agrees or not record.agreement_seconds,
    }
    yield from broken(record, kept)


def possible_ends(plan: Plan, record: Measurement, entry: PlannedPattern, written: Measurement) -> set[str]:
    time_driven = TYPE_RULES[record.type].time_driven
    if entry.units == 0:
        return {"count"}
    if record.method != "write":
        early = {"time"} if time_driven else {"overrun"}
        return {"count"} if record.calls_sum == written.calls_sum else early
    if not time_driven:
        return {"count", "space", "overrun"}  # see problems_of_segments
    limit = calls_of_space(plan, entry, record.call_bytes, record.partition)
    return {"space"} if record.calls_max == limit else {"time"} if record.calls_max < limit else set()


def calls_of_space(plan: Plan, entry: PlannedPattern, call_bytes: int, partition: int) -> int:
    """The calls of a process that the space limit allows: one, and the pattern's share of what one call of each pattern
    leaves."""
    one_of_each = sum(pattern.call_bytes or plan.alignment_bytes for pattern in plan.patterns) * sum(plan.partitions)
    units = sum(pattern.units for pattern in plan.patterns)
    share = (plan.space_limit_bytes - one_of_each) // len(plan.partitions) // units * entry.units
    return 1 + share // (call_bytes * partition)


def problems_of_calls_of_processes(log: Log[Plan]) -> Iterator[Problem]:
    measured = {key_of(record): record for record in log.all(Measurement)}
    for record in log.all(ProcessTimes):
        fewest, *others = min(record.calls), max(record.calls), sum(record.calls)
        stated, *more = calls(measured[key_of(record)])
        of_each = log.plan.process_times == "process"
        yield from broken(record, {"process_calls": fewest == stated and (not of_each or others == more)})


def problems_of_segments(log: Log[Plan]) -> Iterator[Problem]:
    """The calls of types that are driven by size follow from those of the others and from the space limit, and the size
    of a segment from all of them. An overrun leaves out calls, but does not shrink the segment."""
    plan = log.plan
    written = defaultdict(dict)
    for record in log.all(Measurement):
        if record.method == "write":
            written[record.partition][record.pattern] = record
    rules = defaultdict(dict)
    for partition, records in written.items():
        for entry in plan.patterns:
            if TYPE_RULES[entry.type].time_driven or entry.call_bytes is None:
                continue
            rule = size_driven_calls(entry, plan.patterns, {p: r.calls_min for p, r in records.items()})
            wanted = min(rule, calls_of_space(plan, entry, entry.call_bytes, partition))
            rules[partition][entry.pattern] = wanted
            if record := records.get(entry.pattern):
                end = "overrun" if record.calls_max < wanted else "count" if wanted == rule else "space"
                yield from broken(record, {"size_driven": record.calls_max <= wanted and record.ended_by == end})
    for record in log.all(PatternType):
        rule = TYPE_RULES[record.type]
        alignment = plan.alignment_bytes if rule.averaged else 1
        entries = [entry for entry in plan.patterns if entry.type == record.type]
        used = sum((e.chunk_bytes or 0) * rules[record.partition].get(e.pattern, 0) for e in entries)
        segment = -(-used // alignment) * alignment if rule.segmented else None
        yield from problems_of_fields(record, {"segment_bytes": segment})
        full = [written[record.partition].get(e.pattern) for e in entries if e.chunk_bytes is None]
        left = (segment or 0) - used
        fits = all((last.call_bytes == last.chunk_bytes == left) if last else not left for last in full)
        yield from broken(record, {"fill_up": fits})


def problems_of_types(log: Log[Plan]) -> Iterator[Problem]:
    """Bytes, files and time of each pattern type follow from its measurements."""
    sums, inside = Counter(), defaultdict(float)
    for r in log.all(Measurement):
        sums[r.partition, r.method, r.type] += r.bytes
        inside[r.partition, r.method, r.type] += r.elapsed_seconds
    for r in log.all(PatternType):
        size, files = file_bytes(r, sums[r.partition, "write", r.type]), own_and_shared(r)[0] or 1
        size = library.bytes_of_file(log, r, size)
        yield from problems_of_fields(r, {"bytes": sums[key_of(r)], "file_bytes": size, "files": files})
        whole = r.open_seconds + inside[key_of(r)] + r.close_seconds
        kept = {
            "cached": (r.cached_bytes is not None) == (log.plan.evict and r.method == "read"),
            "type_time": abs(whole - r.elapsed_seconds) <= CLOCK_TOLERANCE * max(1, whole),
        }
        yield from broken(r, kept)


def file_bytes(record: PatternType, written_bytes: int) -> int:
    """The size that the file must have. Segments are full unless calls were left out in the write pass: then the last
    one ends with the data of the last process."""
    if record.segment_bytes is None:
        return written_bytes
    return (record.partition - 1) * record.segment_bytes + written_bytes // record.partition


def problems_of_parts(r: Pass, *others: float) -> Iterator[Problem]:
    """Each time is that of the slowest process, so the parts together may be longer than the whole, but none alone.
    `others` are the parts besides accesses and sync."""
    parts = r.access_seconds, r.sync_seconds, *others
    fits = max(parts) <= r.elapsed_seconds + CLOCK_TOLERANCE and r.access_fastest_seconds <= r.access_seconds
    kept = {
        "parts": fits,
        "whole": r.elapsed_seconds <= sum(parts) * (1 + PARTS_SHARE) + PARTS_SECONDS,
        "sync": r.method != "read" or not r.sync_seconds,
    }
    yield from broken(r, kept)


def problems_of_times(log: Log[Plan], r: Measurement) -> Iterator[Problem]:
    """Parts of a measurement, the times of the fastest process, and when processes had made their calls."""
    yield from problems_of_parts(r, r.position_seconds, r.agreement_seconds)
    in_order = r.access_seconds - CLOCK_TOLERANCE <= r.last_done_seconds <= r.elapsed_seconds + CLOCK_TOLERANCE
    fastest = r.agreement_fastest_seconds <= r.agreement_seconds and r.first_done_seconds <= r.last_done_seconds
    of_file = log.run.options["hints"] is not None
    yield from broken(r, {"parts": in_order and fastest, "hints": of_file or r.hints is None})
