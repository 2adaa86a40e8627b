# SPDX-License-Identifier: Apache-2.0
"""The records of PRIOMark, besides those of every log. docs/log.md explains the fields."""

from typing import Annotated, Literal

from msgspec import Meta

from postprocess.logs.histograms import Histogram
from postprocess.logs.records import (
    Bytes,
    Calls,
    Count,
    FileServers,
    Name,
    Part,
    PositiveBytes,
    PositiveSeconds,
    ReadShift,
    Record,
    Resolution,
    Seconds,
    SecondsOfProcesses,
    SharePercent,
    Striping,
    Text,
)

Target = Literal["directory", "file", "device"]
Share = Annotated[float, Meta(ge=0, le=1)]
Number = Annotated[float, Meta(ge=-1e300, le=1e300)]


class SubBenchmark(Part):
    """`plugin` is the shared object of a plug-in."""

    name: Name
    summary: Text
    plugin: Text | None


class Case(Part):
    """One pattern of one sub-benchmark, by one method, with one data size, block size and read share."""

    case: Count
    benchmark: Name
    pattern: Name
    method: Name
    process_bytes: PositiveBytes
    block_bytes: PositiveBytes | None
    read_share: Share | None
    direct: bool
    target: Target


class Plan(Record):
    """What PRIOMark is going to measure, and the workload that says so. `read_shift`, `fill_memory_percent` and
    `process_times`, what has a value in the lists of ProcessTimes, are None in early logs."""

    workload: Text
    workload_text: Text
    build: Literal["full", "mpi", "serial"]
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    repetitions: Annotated[int, Meta(ge=1, le=100_000)]
    check: bool
    evict: bool
    node_memory_bytes: PositiveBytes
    cache_bytes: PositiveBytes | None
    latency_relative_error: Annotated[float, Meta(gt=0, le=1)]
    benchmarks: Annotated[list[SubBenchmark], Meta(min_length=1)]
    cases: Annotated[list[Case], Meta(min_length=1, max_length=100_000)]
    read_shift: ReadShift = None
    fill_memory_percent: SharePercent | None = None
    process_times: Resolution | None = None


class Latencies(Histogram):
    """How long the calls of one operation took, over all processes."""

    operation: Literal["read", "write"]


class Measurement(Record):
    """One case in one repetition; bytes and calls of all processes. `values` are what the sub-benchmark measured
    besides: name to a list, one value per process in rank order."""

    case: Count
    repetition: Count
    benchmark: Name
    pattern: Name
    method: Name
    process_bytes: PositiveBytes
    block_bytes: PositiveBytes | None
    read_share: Share | None
    direct: bool
    target: Target
    evicted: bool
    read_calls: Calls
    write_calls: Calls
    read_bytes: Bytes
    written_bytes: Bytes
    elapsed_seconds: PositiveSeconds
    fastest_seconds: Seconds
    open_seconds: Seconds
    access_seconds: Seconds
    sync_seconds: Seconds
    close_seconds: Seconds
    latencies: Annotated[list[Latencies], Meta(max_length=2)]
    values: dict[Name, Annotated[list[Number], Meta(min_length=1)]]
    striping: list[Striping]


class ProcessTimes(Record):
    """The times of each process, or of each node its slowest one, in the measurement before."""

    case: Count
    repetition: Count
    elapsed_seconds: SecondsOfProcesses
    access_seconds: SecondsOfProcesses


class Layout(FileServers):
    """Which servers hold the processes' own files in a case."""

    case: Count
    repetition: Count
