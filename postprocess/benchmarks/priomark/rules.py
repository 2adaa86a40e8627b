# SPDX-License-Identifier: Apache-2.0
"""What a log of PRIOMark must contain to yield a score. The paper is M. Krietemeyer, D. Versick and D. Tavangarian,
"The PRIOMark Parallel I/O-Benchmark". Nothing is reduced here. docs/log.md lists the invariants."""

import math
import re
from collections.abc import Iterator
from typing import Any

from coffeecup.postprocess.benchmarks.priomark import INCLUDED, METADATA, PAPER, metadata
from coffeecup.postprocess.benchmarks.priomark.qualifications import UNSEEN
from coffeecup.postprocess.benchmarks.priomark.records import Case, Layout, Measurement, Metadata, Plan, ProcessTimes
from coffeecup.postprocess.logs import process_times
from coffeecup.postprocess.logs.histograms import CLOCK_TOLERANCE, problems_of_histogram
from coffeecup.postprocess.logs.io_options import problems_of_memory_fill, problems_of_read_shift
from coffeecup.postprocess.logs.io_records import DataCheck, MpiIo
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.rules import EDITED, ROUNDING, Expected, Problem, Rules, broken, key_of, where

NEEDS_MPI = ("common_file", "strided")
MPI_IO_METHODS = ("individual", "individual-collective", "explicit", "explicit-collective")
METHODS = (*MPI_IO_METHODS, "posix", "posix-direct", "posix-aio", "io-uring", "device")  # of the kernel
OVERLAP = (
    "io_alone_seconds",
    "io_overlapped_seconds",
    "calculation_alone_seconds",
    "calculation_overlapped_seconds",
    "covered",
)
CASE = ("benchmark", "pattern", "method", "process_bytes", "block_bytes", "read_share", "direct", "target")
REPLAY = ("differing_results", "threads", "copies", "overlapped", *(f"unseen_{kind}" for kind in UNSEEN))
# The share of reads in patterns that do not state it.
READ_SHARES = {"write": 0.0, "read": 1.0, "backwards-read": 1.0}
CREATES = ("write",)  # patterns whose files are new, so that nothing is evicted; in async, files exist before
PARTS_SHARE, PARTS_SECONDS = 0.05, 5.0  # that a process may lose between the parts, with its core


def problems_of_plan(log: Log[Plan]) -> Iterator[Problem]:
    yield from problems_of_read_shift(log, [log.run.ranks])
    yield from problems_of_memory_fill(log, after_check=True)
    yield from process_times.problems_of_resolution(log.run, log.plan.process_times)
    plan, names = log.plan, [entry.name for entry in log.plan.benchmarks]
    serial = plan.build != "serial" or not (log.run.ranks > 1 or set(names) & set(NEEDS_MPI))
    kept = {
        "case_numbers": [case.case for case in plan.cases] == list(range(1, len(plan.cases) + 1)),
        "benchmarks": list(dict.fromkeys(case.benchmark for case in plan.cases)) == names
        and set(names) <= {*INCLUDED, METADATA}
        and names != [METADATA],
        "interfaces": {case.method for case in plan.cases} - set(METHODS) == {entry.name for entry in plan.interfaces},
        "build": serial and (plan.build == "full" or not any(map(is_by_mpi_io, plan.cases))),
    }
    yield from broken(plan, kept)
    stated = {"seed": plan.seed, "repetitions": plan.repetitions, "check": plan.check, "evict": plan.evict}
    for name, value in settings_of(plan.workload_text).items():
        if name in stated and value != str(stated[name]).lower():
            yield "workload", f"the workload sets {name} to {value:.40}, the plan says {stated[name]}; {EDITED}"


def settings_of(workload: str) -> dict[str, str]:
    """The keys of a workload outside its groups whose values are decimal numbers, true or false."""
    text = re.sub(r'"(?:\\.|[^"\\])*"|#[^\n]*|//[^\n]*|/\*.*?\*/', " ", workload, flags=re.DOTALL)
    while (outside := re.sub(r"[({\[][^(){}\[\]]*[)}\]]", " ", text)) != text:
        text = outside
    found = re.findall(r"(\w+)\s*[=:]\s*([0-9]+|true|false)\s*(?:[;,]|$|\n)", text, flags=re.IGNORECASE)
    return {name: str(int(value)) if value.isdecimal() else value.lower() for name, value in found}


def expected_records(log: Log[Plan]) -> Iterator[Expected]:
    """In the order of measuring. A file system that does not state the servers of files has no record of them."""
    laid_out = {key_of(record) for record in log.all(Layout)}
    for case in log.plan.cases:
        if case.benchmark == METADATA:
            yield from metadata.expected(case, log.plan.repetitions)
            continue
        fields = {name: getattr(case, name) for name in CASE} | planned_of(log, case)
        for repetition in range(1, log.plan.repetitions + 1):
            key = case.case, repetition
            yield Expected(Measurement, key, fields)
            yield Expected(ProcessTimes, key)
            if key in laid_out:
                yield Expected(Layout, key)


def planned_of(log: Log[Plan], case: Case) -> dict[str, Any]:
    """What follows from a case of the paper; where requests have one size, from the data of each process as well."""
    if case.benchmark not in PAPER:
        return {}
    exists = case.benchmark == "async" or case.pattern not in CREATES
    evicted = {"evicted": log.plan.evict and exists and case.target != "device"}
    if (block := case.block_bytes) is None:
        return evicted
    requests = case.process_bytes // block
    reads = log.run.ranks * share_of(case, requests)
    writes = log.run.ranks * requests - reads
    calls = {"read_calls": reads, "write_calls": writes}
    return evicted | calls | {"read_bytes": reads * block, "written_bytes": writes * block}


def problems_of_measurement(log: Log[Plan], record: Measurement) -> Iterator[Problem]:
    moved = ((record.read_bytes, record.read_calls), (record.written_bytes, record.write_calls))
    yield from broken(
        record, {"bytes": any(size for size, _ in moved) and all(calls or not size for size, calls in moved)}
    )
    yield from problems_of_latencies(log.plan, record)
    if record.benchmark == "trace":
        yield from problems_of_replay(log, record)
    yield from problems_of_overlap(log, record)
    yield from problems_of_times(log, record)


def problems_together(log: Log[Plan]) -> Iterator[Problem]:
    """The component of MPI-IO, the times of processes, and their files."""
    opened = [record.sequence - 1 for record in log.all(Measurement) if is_by_mpi_io(record)][:1]
    yield from broken(log.plan, {"mpi_io": [record.sequence for record in log.all(MpiIo)] == opened})
    lists = {"elapsed_seconds": ("elapsed_seconds", "fastest_seconds"), "access_seconds": ("access_seconds",)}
    yield from process_times.problems_of_processes(log, ProcessTimes, Measurement, lists)

    objects = {entry.name for entry in log.plan.interfaces if entry.objects}

    def own_and_shared(record: Measurement) -> tuple[int, bool]:
        if record.method in objects:
            return 0, False
        own = record.benchmark in ("single_file", "raw") and record.target != "device"
        return log.run.ranks * own, record.benchmark in NEEDS_MPI

    yield from process_times.problems_of_files(log, Measurement, Layout, own_and_shared)


def is_by_mpi_io(case: Case | Measurement) -> bool:
    return case.benchmark in PAPER and case.method in MPI_IO_METHODS


def share_of(record: Case | Measurement, requests: int) -> int:
    """The reads of a process among its requests; halves are rounded up."""
    share = record.read_share if record.read_share is not None else READ_SHARES.get(record.pattern, 0.0)
    return math.floor(requests * share + 0.5)


def problems_of_latencies(plan: Plan, record: Measurement) -> Iterator[Problem]:
    calls = {"read": record.read_calls, "write": record.write_calls}
    if [found.operation for found in record.latencies] != [name for name, count in calls.items() if count]:
        yield "latencies", record
    for found in record.latencies:
        yield from problems_of_histogram(found, calls[found.operation], plan.latency_relative_error, record)


def problems_of_overlap(log: Log[Plan], record: Measurement) -> Iterator[Problem]:
    found = [name for name in OVERLAP if name in record.values]
    times = [record.values[name] for name in found]
    sound = all(min(values) >= 0 and (max(values) > 0 or name == "covered") for name, values in zip(found, times))
    _, io, _, calculation, covered = ([*record.values.get(name, [])] for name in OVERLAP)
    kept = {
        "overlap": sound and len(found) in ({len(OVERLAP)} if record.benchmark == "async" else {0, len(OVERLAP)}),
        "each_process": all(len(values) == log.run.ranks for values in record.values.values()),
        "covered": all(map(is_covered_as_stated, io, calculation, covered)),
    }
    yield from broken(record, kept)
    if record.benchmark == "async":
        yield from problems_of_transfer(record)


def is_covered_as_stated(io: float, calculation: float, covered: float) -> bool:
    """By the times of a process that began both together."""
    if covered not in (0, 1):
        return False
    shorter, longer = (io, calculation) if covered else (calculation, io)
    return shorter <= longer * (1 + ROUNDING)


def measured_seconds(record: Measurement) -> float:
    """How long the case was measured at least, by the slowest processes. Beside a calculation, the transfer and the
    calculation are first measured alone, one after the other; between these parts all processes wait for each other."""
    if not all(name in record.values for name in OVERLAP):
        return record.elapsed_seconds
    io_alone, _, calculation_alone, calculation, _ = (max(record.values[name]) for name in OVERLAP)
    return io_alone + calculation_alone + max(record.elapsed_seconds, calculation)


def problems_of_transfer(record: Measurement) -> Iterator[Problem]:
    """Each process has one transfer. If it consists of several requests, each of them takes as long."""
    times, [latencies] = record.values["io_overlapped_seconds"], record.latencies
    requests = record.process_bytes // (record.block_bytes or record.process_bytes)
    stated = latencies.shortest_seconds, latencies.longest_seconds, record.access_seconds, latencies.sum_seconds
    measured = min(times), max(times), max(times), requests * sum(times)
    alike = all(abs(a - b) <= ROUNDING * b for a, b in zip(stated, measured))
    yield from broken(record, {"transfer": alike})


def problems_of_replay(log: Log[Plan], record: Measurement) -> Iterator[Problem]:
    """What each process counted; all of them are whole copies."""
    for name in REPLAY:
        values = record.values.get(name, [])
        if len(values) != log.run.ranks or any(value < 0 or value != int(value) for value in values):
            yield "replay", f"{where(record)}: {name} is not a count of each of {log.run.ranks} processes; {EDITED}"
    copies, *others = set(record.values["copies"])
    yield from broken(record, {"copies": not others and copies and not log.run.ranks % copies})


def problems_of_times(log: Log[Plan], record: Measurement) -> Iterator[Problem]:
    """The parts are those of the slowest process, so together they may be longer than the whole, but none alone."""
    whole = record.elapsed_seconds * (1 + CLOCK_TOLERANCE) + CLOCK_TOLERANCE
    parts = record.access_seconds + record.sync_seconds
    most = log.run.ranks * record.access_seconds * (1 + CLOCK_TOLERANCE) + CLOCK_TOLERANCE
    requests = sum(found.sum_seconds for found in record.latencies)
    other = record.benchmark not in PAPER
    kept = {
        "parts": max(record.access_seconds, record.sync_seconds, record.fastest_seconds) <= whole,
        "whole": other or record.elapsed_seconds <= parts * (1 + PARTS_SHARE) + PARTS_SECONDS,
        "request_time": other or record.benchmark == "async" or requests <= most,
    }
    yield from broken(record, kept)


def reads(log: Log[Plan]) -> tuple[int, int, int]:
    """With `check`, every byte that is read is checked. A replay is not checked."""
    papers, others = (
        sum(record.read_bytes for record in log.all(Measurement) if (record.benchmark in PAPER) == ours)
        for ours in (True, False)
    )
    papers += metadata.read_bytes(log)
    least = papers if log.plan.check else 0
    return papers + others, least, least + others


problems = Rules(
    single=(DataCheck,),
    of_plan=problems_of_plan,
    planned=lambda log: {"node_memory_bytes": min(host.memory_bytes for host in log.run.hosts)},
    options=lambda log: {"workload": log.plan.workload, "cache-size": log.plan.cache_bytes, "dry-run": False},
    measured=(Measurement, ProcessTimes, Layout, Metadata),
    expected=expected_records,
    each={Measurement: problems_of_measurement, Metadata: metadata.problems_of_metadata},
    together=problems_together,
    seconds=lambda log: (
        sum(record.open_seconds + measured_seconds(record) + record.close_seconds for record in log.all(Measurement))
        + metadata.seconds(log)
        - CLOCK_TOLERANCE
    ),
    reads=reads,
).problems
