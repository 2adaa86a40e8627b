# SPDX-License-Identifier: Apache-2.0
"""What a log of PRIOMark must contain to yield a score. The paper is M. Krietemeyer, D. Versick and D. Tavangarian,
"The PRIOMark Parallel I/O-Benchmark". Nothing is reduced here. docs/log.md lists the invariants."""

import math
import re
from collections.abc import Iterator
from typing import Any

from coffeecup.postprocess.benchmarks.priomark import BENCHMARK, INCLUDED, PAPER
from coffeecup.postprocess.benchmarks.priomark.records import Case, Layout, Measurement, Plan, ProcessTimes
from coffeecup.postprocess.logs.histograms import CLOCK_TOLERANCE, problems_of_histogram
from coffeecup.postprocess.logs.io_options import problems_of_memory_fill, problems_of_read_shift
from coffeecup.postprocess.logs.io_records import DataCheck, MemoryFill, MpiIo
from coffeecup.postprocess.logs.process_times import (
    problems_of_files,
    problems_of_lists,
    problems_of_resolution,
    problems_of_slowest,
)
from coffeecup.postprocess.logs.reader import RUN_AGAIN, Log
from coffeecup.postprocess.logs.records import Overhead
from coffeecup.postprocess.logs.rules import (
    EDITED,
    ROUNDING,
    Expected,
    Problem,
    key_of,
    problems_of_fields,
    problems_of_file_system,
    problems_of_log,
    problems_of_options,
    problems_of_reads,
    problems_of_records,
    problems_of_whole_time,
    where,
)

NEEDS_MPI = ("common_file", "strided")
MPI_IO_METHODS = ("individual", "individual-collective", "explicit", "explicit-collective")
OVERLAP = (
    "io_alone_seconds",
    "io_overlapped_seconds",
    "calculation_alone_seconds",
    "calculation_overlapped_seconds",
    "covered",
)
CASE = ("benchmark", "pattern", "method", "process_bytes", "block_bytes", "read_share", "direct", "target")
# What the recorder counts instead of recording it.
UNSEEN = ("streams", "mmap", "aio", "io_uring", "splice", "copy", "rename", "link", "program", "other")
REPLAY = ("differing_results", "threads", "copies", "overlapped", *(f"unseen_{kind}" for kind in UNSEEN))
# The share of reads in patterns that do not state it.
READ_SHARES = {"write": 0.0, "read": 1.0, "backwards-read": 1.0}
CREATES = ("write",)  # patterns whose files are new, so that nothing is evicted; in async, files exist before
PARTS_SHARE, PARTS_SECONDS = 0.05, 5.0  # that a process may lose between the parts, with its core


def problems(log: Log[Plan]) -> Iterator[Problem]:
    """The problems that make a log unusable, the most serious first; later checks rely on the earlier ones."""
    yield from problems_of_log(log, Overhead, DataCheck)
    yield from problems_of_file_system(log)
    yield from problems_of_read_shift(log, log.plan.read_shift, [log.run.ranks])
    yield from problems_of_memory_fill(log, log.plan.fill_memory_percent)
    if any(fill.sequence < log.only(DataCheck).sequence for fill in log.all(MemoryFill)):
        yield "memory_fill", f"the memory was released before the data check; {EDITED}"
    yield from problems_of_resolution(log.run, log.plan.process_times)
    yield from problems_of_plan(log)
    yield from problems_of_request(log)
    yield from problems_of_records(log, expected_records(log), Measurement, ProcessTimes, Layout)
    yield from problems_of_measurements(log)
    yield from problems_of_processes(log)
    yield from problems_of_data(log)
    total = sum(r.open_seconds + measured_seconds(r) + r.close_seconds for r in log.all(Measurement))
    yield from problems_of_whole_time(log, total - CLOCK_TOLERANCE)


def problems_of_plan(log: Log[Plan]) -> Iterator[Problem]:
    plan, names = log.plan, [entry.name for entry in log.plan.benchmarks]
    if [case.case for case in plan.cases] != list(range(1, len(plan.cases) + 1)):
        yield "case_numbers", plan
    if len(set(names)) != len(names) or list(dict.fromkeys(case.benchmark for case in plan.cases)) != names:
        yield "benchmarks", plan
    if taken := [name for name in names if name in BENCHMARK.units and name not in INCLUDED]:
        yield (
            "plugin_names",
            f"the plug-in {taken[0]} has the name of another metric; rename the plug-in and run it again",
        )
    if any((entry.plugin is None) != (entry.name in INCLUDED) for entry in plan.benchmarks):
        yield "plugins", plan
    serial = plan.build == "serial" and (log.run.ranks > 1 or set(names) & set(NEEDS_MPI))
    if serial or (plan.build != "full" and any(map(is_by_mpi_io, plan.cases))):
        yield "build", plan
    yield from problems_of_fields(plan, {"node_memory_bytes": min(host.memory_bytes for host in log.run.hosts)})


def problems_of_request(log: Log[Plan]) -> Iterator[Problem]:
    """The options, as the kernel prints them, and the plan that follows from them."""
    plan = log.plan
    yield from problems_of_options(
        log.run, {"workload": plan.workload, "cache-size": plan.cache_bytes, "dry-run": False}
    )
    planned = {"seed": plan.seed, "repetitions": plan.repetitions, "check": plan.check, "evict": plan.evict}
    for name, value in settings_of(plan.workload_text).items():
        if name in planned and value != str(planned[name]).lower():
            yield "workload", f"the workload sets {name} to {value:.40}, the plan says {planned[name]}; {EDITED}"


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


def problems_of_measurements(log: Log[Plan]) -> Iterator[Problem]:
    records = log.all(Measurement)
    for record in records:
        if not record.read_bytes + record.written_bytes:
            yield "bytes", f"{where(record)} moved no data; {RUN_AGAIN}"
        if (record.read_bytes > 0 and not record.read_calls) or (record.written_bytes > 0 and not record.write_calls):
            yield "bytes", record
        yield from problems_of_latencies(log.plan, record)
        yield from problems_of_replay(log, record)
        yield from problems_of_overlap(log, record)
        yield from problems_of_times(log, record)
    opened = [record.sequence - 1 for record in records if is_by_mpi_io(record)][:1]
    if [record.sequence for record in log.all(MpiIo)] != opened:
        yield "mpi_io", f"one mpi_io record belongs before the first case that is measured by MPI-IO; {EDITED}"


def problems_of_processes(log: Log[Plan]) -> Iterator[Problem]:
    """Times of processes are those of the measurement before them; servers, and how files are striped, fit the files of
    the case."""
    resolution, ranks = log.plan.process_times, log.run.ranks
    layouts = {key_of(record): record for record in log.all(Layout)}
    for r, whole in zip(log.all(ProcessTimes), log.all(Measurement)):
        name = where(whole)
        yield from problems_of_lists(name, log.run, resolution, ranks, r.elapsed_seconds, r.access_seconds)
        slowest, fastest = whole.elapsed_seconds, whole.fastest_seconds
        yield from problems_of_slowest(name, resolution, r.elapsed_seconds, slowest, fastest)
        yield from problems_of_slowest(name, resolution, r.access_seconds, whole.access_seconds)
        own = whole.benchmark in ("single_file", "raw") and whole.target != "device"
        shared = whole.benchmark in ("common_file", "strided")
        yield from problems_of_files(log, whole, whole.striping, layouts.get(key_of(whole)), own, shared, ranks)


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
    if (record.benchmark == "async" and len(found) < len(OVERLAP)) or 0 < len(found) < len(OVERLAP):
        yield "overlap", record
    if any(len(values) != log.run.ranks for values in record.values.values()):
        yield "each_process", record
    for name in found:
        values = record.values[name]
        if any(value < 0 for value in values) or (name != "covered" and not max(values) > 0):
            yield "overlap", f"{where(record)}: {name} is not a time of each of {log.run.ranks} processes; {EDITED}"
    _, io, _, calculation, covered = ([*record.values.get(name, [])] for name in OVERLAP)
    if not all(map(is_covered_as_stated, io, calculation, covered)):
        yield "covered", record
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
    if any(abs(a - b) > ROUNDING * b for a, b in zip(stated, measured)):
        yield "transfer", record


def problems_of_replay(log: Log[Plan], record: Measurement) -> Iterator[Problem]:
    if record.benchmark != "trace":
        return
    for name in REPLAY:
        values = record.values.get(name, [])
        if len(values) != log.run.ranks or any(value < 0 or value != int(value) for value in values):
            yield "replay", f"{where(record)}: {name} is not a count of each of {log.run.ranks} processes; {EDITED}"
    copies = record.values["copies"]
    if len(set(copies)) != 1 or not copies[0] or log.run.ranks % copies[0]:
        yield "copies", f"{where(record)}: {log.run.ranks} processes are not {copies[0]:.0f} copies; {EDITED}"


def problems_of_times(log: Log[Plan], record: Measurement) -> Iterator[Problem]:
    """The parts are those of the slowest process, so together they may be longer than the whole, but none alone."""
    whole = record.elapsed_seconds * (1 + CLOCK_TOLERANCE) + CLOCK_TOLERANCE
    if max(record.access_seconds, record.sync_seconds, record.fastest_seconds) > whole:
        yield "parts", record
    if record.benchmark not in PAPER:
        return
    parts = record.access_seconds + record.sync_seconds
    if record.elapsed_seconds > parts * (1 + PARTS_SHARE) + PARTS_SECONDS:
        yield "whole", record
    requests = sum(found.sum_seconds for found in record.latencies)
    most = log.run.ranks * record.access_seconds * (1 + CLOCK_TOLERANCE) + CLOCK_TOLERANCE
    if record.benchmark != "async" and requests > most:
        yield "request_time", record


def problems_of_data(log: Log[Plan]) -> Iterator[Problem]:
    """With `check`, every byte that is read is checked. Plug-ins check what they like."""
    records = log.all(Measurement)
    together = sum(record.read_bytes for record in records)
    papers = sum(record.read_bytes for record in records if record.benchmark in PAPER) if log.plan.check else 0
    others = sum(record.read_bytes for record in records if record.benchmark not in PAPER)
    yield from problems_of_reads(log.only(DataCheck), together, papers, papers + others)
