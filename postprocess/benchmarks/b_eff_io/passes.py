# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff_io on its measurements: the passes of write, rewrite and read over all partitions, types and
patterns, the calls in them, and their times."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from coffeecup.postprocess.benchmarks.b_eff_io.definition import METHODS, TYPE_RULES, UNITS, size_driven_calls
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
from coffeecup.postprocess.logs.process_times import (
    problems_of_lists,
    problems_of_servers,
    problems_of_slowest,
    problems_of_striping,
)
from coffeecup.postprocess.logs.reader import RUN_AGAIN, Log
from coffeecup.postprocess.logs.records import Record
from coffeecup.postprocess.logs.rules import EDITED, Problem, by_sequence, problems_of_order, problems_of_whole_time

ROUNDING = 1e-9  # relative
PARTS_SHARE, PARTS_SECONDS = 0.05, 5.0  # that a process may lose between the parts, with its core
Key = tuple[int, str, int | str]  # partition, access method, pattern, type, processes_of() or servers_of()


def problems_of_measurements(log: Log[Plan]) -> Iterator[Problem]:
    """Measurements, times of processes and types that are not the planned ones, in their order, with their sizes."""
    found = [(record, key_of(record)) for record in by_sequence(log, Measurement, ProcessTimes, Layout, PatternType)]
    yield from problems_of_order(found, planned_records(log.plan, {key for _, key in found}), in_words)
    yield from problems_of_component(log, found[0][0])
    entries = {entry.pattern: entry for entry in log.plan.patterns}
    written = {key_of(r): r for r in log.all(Measurement) if r.method == "write"}
    for record in log.all(Measurement):
        entry, first = entries[record.pattern], written[record.partition, "write", record.pattern]
        if (
            record.type != entry.type
            or entry.chunk_bytes not in (None, record.chunk_bytes)
            or entry.call_bytes not in (None, record.call_bytes)
            or (record.chunk_bytes, record.call_bytes) != (first.chunk_bytes, first.call_bytes)
        ):
            yield "planned_sizes", f"{named(record)} has another type or size than planned; {RUN_AGAIN}"
        yield from problems_of_calls(record, first)
        yield from problems_of_ends(log.plan, record, entry, first)
    yield from problems_of_segments(log)
    yield from problems_of_processes(log)
    for record in log.all(Layout):
        name, own = in_words((record.partition, record.method, record.type)), TYPE_RULES[record.type].separate
        yield from problems_of_servers(name, log.run, log.plan.process_times, own, record, record.partition)
    layouts = {(record.partition, record.method, record.type): record for record in log.all(Layout)}
    for record in log.all(PatternType):
        key = record.partition, record.method, record.type
        own = TYPE_RULES[record.type].separate
        files = record.partition if own else 1
        yield from problems_of_striping(in_words(key), record.striping, files, not own, layouts.get(key))


def problems_of_component(log: Log, first: Record) -> Iterator[Problem]:
    """`first` is the first measurement."""
    if log.only(MpiIo).sequence != first.sequence - 1:
        yield "mpi_io", f"the record mpi_io belongs before the first measurement, when a file is open; {EDITED}"


def key_of(record: Measurement | ProcessTimes | Layout | PatternType) -> Key:
    match record:
        case Measurement():
            return record.partition, record.method, record.pattern
        case ProcessTimes():
            return record.partition, record.method, processes_of(record.pattern, record.type)
        case Layout():
            return record.partition, record.method, servers_of(record.type)
        case PatternType():
            return record.partition, record.method, record.type


def processes_of(pattern: int, kind: str) -> str:
    """Instead of a type in the key of the times of processes."""
    return f"times of the processes in pattern {pattern} of type {kind}"


def servers_of(kind: str) -> str:
    return f"servers of the files of type {kind}"


def in_words(key: Key) -> str:
    partition, method, what = key
    kind = "pattern " if isinstance(what, int) else "type " if what in TYPE_RULES else "the "
    return f"{kind}{what}, {method}, by {partition} process{'es' * (partition > 1)}"


def planned_records(plan: Plan, measured: set[Key]) -> Iterator[Key]:
    """In the order of measuring. A segment that is full needs no pattern that fills it up."""
    for method in plan.methods:
        for partition in plan.partitions:
            for entry in plan.types:
                if plan.form == "top-clusters" and method == "rewrite" and entry.name != "scatter":
                    continue
                for pattern in plan.patterns:
                    written = partition, METHODS[0], pattern.pattern
                    if pattern.type == entry.name and (pattern.chunk_bytes is not None or written in measured):
                        yield partition, method, pattern.pattern
                        if not TYPE_RULES[entry.name].collective:
                            yield partition, method, processes_of(pattern.pattern, entry.name)
                if (servers := (partition, method, servers_of(entry.name))) in measured:
                    yield servers
                yield partition, method, entry.name


def problems_of_calls(record: Measurement, written: Measurement) -> Iterator[Problem]:
    partition = record.partition
    fewest, most, together = made = calls(record)
    others = max(partition - 2, 0)  # processes between the one with the fewest calls and the one with the most
    ends = fewest + most if partition > 1 else most
    if not ends + others * fewest <= together <= ends + others * most or (
        (partition == 1 or record.type != "separate") and fewest != most
    ):
        yield (
            "calls",
            f"{named(record)} made {fewest} to {most} calls a process and {together} together, which contradict each "
            f"other; {RUN_AGAIN}",
        )
    if record.bytes != together * record.call_bytes:
        yield "bytes", f"{named(record)} has {record.bytes} bytes, its calls transferred another number; {RUN_AGAIN}"
    if any(own > first for own, first in zip(made, calls(written))) or (
        together < calls(written)[2] and record.ended_by not in ("time", "overrun")
    ):
        yield (
            "written_calls",
            f"{named(record)} made {together} calls where {calls(written)[2]} had been written; {RUN_AGAIN}",
        )


def calls(record: Measurement) -> tuple[int, int, int]:
    """The calls of the process with the fewest, of the one with the most, and of all processes."""
    return record.calls_min, record.calls_max, record.calls_sum


def problems_of_ends(plan: Plan, record: Measurement, entry: PlannedPattern, written: Measurement) -> Iterator[Problem]:
    """Why a pattern ended, and what follows from it."""
    if record.ended_by not in possible_ends(plan, record, entry, written):
        yield "ended_by", f"{named(record)} ended by {record.ended_by}, which its calls contradict; {EDITED}"
    agrees = TYPE_RULES[record.type].collective and TYPE_RULES[record.type].time_driven and entry.units > 0
    fewest = record.calls_max + 1 if plan.termination == "per-access" else 2
    if agrees != bool(record.agreements) or (agrees and not fewest <= record.agreements <= record.calls_max + 1):
        yield (
            "agreements",
            f"{named(record)} has {record.agreements} agreements for {record.calls_max} calls; {EDITED}",
        )
    if not agrees and record.agreement_seconds > 0:
        yield "agreement_seconds", f"{named(record)} has a time of agreements, of which it has none; {EDITED}"


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


def problems_of_processes(log: Log[Plan]) -> Iterator[Problem]:
    """The times of processes, in patterns in which they do not wait for each other, are those of the measurement."""
    resolution = log.plan.process_times
    measured = {key_of(record): record for record in log.all(Measurement)}
    for r in log.all(ProcessTimes):
        whole, name = measured[r.partition, r.method, r.pattern], named(r)
        lists = r.calls, r.access_seconds, r.sync_seconds
        yield from problems_of_lists(name, log.run, resolution, r.partition, *lists)
        yield from problems_of_slowest(
            name, resolution, r.access_seconds, whole.access_seconds, whole.access_fastest_seconds
        )
        yield from problems_of_slowest(name, resolution, r.sync_seconds, whole.sync_seconds)
        every = (min(r.calls), max(r.calls), sum(r.calls))
        if every[0] != whole.calls_min or (resolution == "process" and every != calls(whole)):
            yield "process_calls", f"{name} has other calls than the measurement; {EDITED}"


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
            record = records.get(entry.pattern)
            if record and (
                record.calls_max > wanted
                or record.ended_by
                != ("overrun" if record.calls_max < wanted else "count" if wanted == rule else "space")
            ):
                yield "size_driven", f"{named(record)} made {record.calls_max} calls where {wanted} belong; {EDITED}"
    for record in log.all(PatternType):
        rule = TYPE_RULES[record.type]
        alignment = plan.alignment_bytes if rule.averaged else 1
        entries = [entry for entry in plan.patterns if entry.type == record.type]
        used = sum((e.chunk_bytes or 0) * rules[record.partition].get(e.pattern, 0) for e in entries)
        segment = -(-used // alignment) * alignment if rule.segmented else None
        if record.segment_bytes != segment:
            yield (
                "segment",
                f"{named(record)} has segments of {record.segment_bytes} bytes where {segment} belong; {EDITED}",
            )
        full = [written[record.partition].get(e.pattern) for e in entries if e.chunk_bytes is None]
        for last in full:
            if (last.call_bytes if last else 0) != (segment or 0) - used or (
                last and last.chunk_bytes != last.call_bytes
            ):
                yield "fill_up", f"{named(record)}: the last pattern does not fill up the segments; {EDITED}"


def problems_of_types(log: Log[Plan]) -> Iterator[Problem]:
    """The bytes, files and striping of each pattern type follow from its measurements."""
    sums = Counter()
    for r in log.all(Measurement):
        sums[r.partition, r.method, r.type] += r.bytes
    for r in log.all(PatternType):
        written = sums[r.partition, "write", r.type]
        if r.bytes != sums[r.partition, r.method, r.type]:
            yield "type_bytes", f"{named(r)} counts other bytes than its measurements; {RUN_AGAIN}"
        if r.file_bytes != file_bytes(r, written):
            yield (
                "file_bytes",
                f"{named(r)} has {r.file_bytes} bytes in files where {file_bytes(r, written)} were written; "
                f"{RUN_AGAIN}",
            )
        if r.files != (r.partition if TYPE_RULES[r.type].separate else 1):
            yield "files", f"{named(r)} has {r.files} files; {EDITED}"
        if (r.cached_bytes is not None) != (log.plan.evict and r.method == "read"):
            yield "cached", f"{named(r)}: what is cached after an eviction contradicts the plan; {EDITED}"


def file_bytes(record: PatternType, written_bytes: int) -> int:
    """The size that the file must have. Segments are full unless calls were left out in the write pass: then the last
    one ends with the data of the last process."""
    if record.segment_bytes is None:
        return written_bytes
    return (record.partition - 1) * record.segment_bytes + written_bytes // record.partition


def problems_of_times(log: Log[Plan]) -> Iterator[Problem]:
    """Times that are longer than the whole of which they are parts, and shares of the scheduled time."""
    inside = defaultdict(float)
    units = {entry.pattern: entry.units for entry in log.plan.patterns}
    no_hints = log.run.options["hints"] is None
    for r in log.all(Measurement):
        inside[r.partition, r.method, r.type] += r.elapsed_seconds
        yield from problems_of_parts(named(r), r, r.position_seconds, r.agreement_seconds)
        yield from problems_of_done(r)
        scheduled = log.plan.scheduled_seconds / len(METHODS) * units[r.pattern] / UNITS
        if abs(r.scheduled_seconds - scheduled) > ROUNDING * scheduled:
            yield (
                "scheduled_share",
                f"{named(r)} was scheduled for {r.scheduled_seconds:g} s, its share is {scheduled:g} s; {EDITED}",
            )
        if r.hints is not None and no_hints:
            yield "hints", f"{named(r)} has hints of its own, and the run had no file of hints; {EDITED}"
    for r in log.all(PatternType):
        whole = r.open_seconds + inside[r.partition, r.method, r.type] + r.close_seconds
        if abs(whole - r.elapsed_seconds) > CLOCK_TOLERANCE * max(1, whole):
            yield (
                "type_time",
                f"{named(r)} took {r.elapsed_seconds:.6g} s, its parts {whole:.6g} s; {RUN_AGAIN}",
            )
    yield from problems_of_whole_time(log, sum(r.elapsed_seconds for r in log.all(PatternType)))


def problems_of_parts(name: str, r: Pass, *others: float) -> Iterator[Problem]:
    """Each time is that of the slowest process, so the parts together may be longer than the whole, but none alone.
    `others` are the parts besides accesses and sync."""
    parts = r.access_seconds, r.sync_seconds, *others
    if max(parts) > r.elapsed_seconds + CLOCK_TOLERANCE or r.access_fastest_seconds > r.access_seconds:
        yield "parts", f"{name} has parts longer than the whole; {RUN_AGAIN}"
    if r.elapsed_seconds > sum(parts) * (1 + PARTS_SHARE) + PARTS_SECONDS:
        yield "whole", f"{name} took {r.elapsed_seconds:.4g} s, its parts {sum(parts):.4g} s; {RUN_AGAIN}"
    if r.method == "read" and r.sync_seconds > 0:
        yield "sync", f"{name} has a time of writing to disk; {EDITED}"


def problems_of_done(r: Measurement) -> Iterator[Problem]:
    """The times of the fastest process, and when processes had made their calls."""
    if (
        r.last_done_seconds > r.elapsed_seconds + CLOCK_TOLERANCE
        or r.access_seconds > r.last_done_seconds + CLOCK_TOLERANCE
        or r.agreement_fastest_seconds > r.agreement_seconds
        or r.first_done_seconds > r.last_done_seconds
    ):
        yield "parts", f"{named(r)} has parts longer than the whole; {RUN_AGAIN}"


def named(record: Measurement | ProcessTimes | PatternType) -> str:
    return in_words(key_of(record))
