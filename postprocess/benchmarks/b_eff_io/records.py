# SPDX-License-Identifier: Apache-2.0
"""The records of b_eff_io, besides those of every log. docs/log.md explains the fields."""

from typing import Annotated, Literal

from msgspec import Meta

from coffeecup.postprocess.logs.records import (
    Bytes,
    Count,
    FileServers,
    Part,
    PositiveBytes,
    PositiveSeconds,
    Processes,
    ReadShift,
    Record,
    Resolution,
    Seconds,
    SecondsOfProcesses,
    SharePercent,
    Striping,
    Text,
    distinct,
)

Type = Literal["scatter", "shared", "separate", "segmented", "segmented-collective", "random", "random-collective"]
AccessMethod = Literal["write", "rewrite", "read"]
Number = Annotated[int, Meta(ge=0, le=10_000, description="a pattern's number, as in the paper's table 2")]
Calls = Annotated[int, Meta(ge=1, le=10**15)]
Hints = dict[str, Text]
Check = Literal["sample", "all"]  # of the data that was read


class PlannedType(Part):
    name: Type
    number: Number
    averaged: bool
    collective: bool
    separate: bool


class PlannedPattern(Part):
    """`chunk_bytes` and `call_bytes` are the paper's l and L, null for the pattern that fills up the segment."""

    pattern: Number
    type: Type
    chunk_bytes: PositiveBytes | None
    call_bytes: PositiveBytes | None
    units: Annotated[int, Meta(ge=0, le=64)]


class Plan(Record):
    """What b_eff_io is going to measure. `evict`: files were to be evicted from caches before they are read.
    `process_times` is what has a value in the lists of ProcessTimes."""

    form: Literal["standard", "top-clusters", "quick"]
    partitions: Annotated[list[Processes], Meta(min_length=1, max_length=1000)]
    scheduled_seconds: PositiveSeconds
    units_sum: Literal[64]
    methods: Annotated[list[AccessMethod], Meta(min_length=1)]
    node_memory_bytes: PositiveBytes
    m_part_bytes: PositiveBytes
    alignment_bytes: PositiveBytes
    cache_bytes: PositiveBytes | None
    space_limit_bytes: PositiveBytes
    termination: Literal["geometric", "per-access"]
    file_pointers: Literal["shared", "individual"]
    check: Check
    types: Annotated[list[PlannedType], Meta(min_length=1)]
    patterns: Annotated[list[PlannedPattern], Meta(min_length=1, max_length=10_000)]
    evict: bool
    read_shift: ReadShift
    fill_memory_percent: SharePercent | None
    process_times: Resolution

    def __post_init__(self):
        distinct("partitions", self.partitions)
        distinct("methods", self.methods)


class Pass(Record):
    """One pattern by one access method: bytes of all processes; times of the slowest process, of the accesses those of
    the fastest as well."""

    method: AccessMethod
    type: Type
    pattern: Number
    bytes: PositiveBytes
    elapsed_seconds: PositiveSeconds
    access_seconds: Seconds
    access_fastest_seconds: Seconds
    sync_seconds: Seconds


class Measurement(Pass):
    """One pattern by one access method in one partition. Calls are those of the process that made fewest, of the one
    that made most, and of all together."""

    partition: Processes
    chunk_bytes: PositiveBytes
    call_bytes: PositiveBytes
    ended_by: Literal["time", "count", "space", "overrun"]
    scheduled_seconds: Seconds
    position_seconds: Seconds
    agreement_seconds: Seconds
    agreement_fastest_seconds: Seconds
    agreements: Annotated[int, Meta(ge=0, le=10**15)]
    first_done_seconds: Seconds
    last_done_seconds: Seconds
    hints: Hints | None
    calls_min: Calls
    calls_max: Calls
    calls_sum: Calls


class ProcessTimes(Record):
    """The calls of each process, or of each node its slowest one, in the measurement before, and their times."""

    partition: Processes
    method: AccessMethod
    type: Type
    pattern: Number
    calls: Annotated[list[Calls], Meta(min_length=1)]
    access_seconds: SecondsOfProcesses
    sync_seconds: SecondsOfProcesses


class Layout(FileServers):
    """Which servers hold the files that the processes of a partition accessed, each its own, by an access method."""

    partition: Processes
    method: AccessMethod
    type: Type


class PatternType(Record, kw_only=True):
    """One pattern type by one access method in one partition, from opening to closing its files. `cached_bytes` is None
    without eviction."""

    partition: Processes
    method: AccessMethod
    type: Type
    files: Count
    bytes: PositiveBytes
    file_bytes: PositiveBytes
    cached_bytes: Bytes | None
    striping: list[Striping]
    segment_bytes: PositiveBytes | None
    open_seconds: Seconds
    close_seconds: Seconds
    elapsed_seconds: PositiveSeconds
    hints: Hints
