# SPDX-License-Identifier: Apache-2.0
"""The records of b_eff_io, besides those of every log."""

from typing import Annotated, Literal

from msgspec import Meta

from coffeecup.postprocess.benchmarks.priomark.records import Interface
from coffeecup.postprocess.logs.io_records import OF_PROCESSES, STRIPED, FileServers, ReadShift, SharePercent, Striping
from coffeecup.postprocess.logs.records import (
    WHICH,
    Bytes,
    Count,
    Part,
    PositiveBytes,
    PositiveSeconds,
    Processes,
    Record,
    Resolution,
    Seconds,
    SecondsOfProcesses,
    Text,
    about,
    distinct,
)

Type = Literal["scatter", "shared", "separate", "segmented", "segmented-collective", "random", "random-collective"]
AccessMethod = Literal["write", "rewrite", "read"]
Number = Annotated[int, Meta(ge=0, le=10_000)]  # of a pattern
Calls = Annotated[int, Meta(ge=1, le=10**15)]
Hints = dict[str, Text]
Check = Literal["sample", "all"]  # of the data that was read
CHECKED = about("`sample`: the data that each pattern read last is checked; `all`: every byte")
STILL_CACHED = about(
    "bytes of a process's file that were still in the node's cache after eviction, maximum over the processes; null "
    "without eviction"
)


class PlannedType(Part):
    """The pattern types; random types are reported only."""

    name: Annotated[Type, WHICH]
    number: Annotated[Number, about("as in the paper's table 2")]
    averaged: Annotated[bool, about("whether it enters b_eff_io")]
    collective: Annotated[bool, about("whether its calls are collective")]
    separate: Annotated[bool, about("whether each process has a file of its own")]


class PlannedPattern(Part):
    """The patterns in the order of measuring."""

    pattern: Annotated[Number, about("number in the paper's table 2")]
    type: Annotated[Type, about("its type")]
    chunk_bytes: Annotated[
        PositiveBytes | None, about("the paper's l, contiguous on disk; null for the pattern that fills up the segment")
    ]
    call_bytes: Annotated[
        PositiveBytes | None, about("the paper's L, accessed by a call; null for the pattern that fills up the segment")
    ]
    units: Annotated[int, Meta(ge=0, le=64), about("the paper's U, its part of the time")]


class Plan(Record):
    """What b_eff_io is going to measure, in the order access method, partition, pattern type, pattern."""

    form: Annotated[
        Literal["standard", "top-clusters", "quick"],
        about("`standard`, `top-clusters` (only type `scatter` is rewritten) or `quick`"),
    ]
    partitions: Annotated[
        list[Processes],
        Meta(min_length=1, max_length=1000),
        about("numbers of processes, ascending; a partition of n processes is ranks 0 to n - 1"),
    ]
    scheduled_seconds: Annotated[
        PositiveSeconds, about("T, the time for one partition; a pattern has T / 3 * units / 64 for each access method")
    ]
    units_sum: Annotated[Literal[64], about("64")]
    methods: Annotated[list[AccessMethod], Meta(min_length=1), about("of `write`, `rewrite`, `read`")]
    node_memory_bytes: Annotated[PositiveBytes, about("memory of the node with the least")]
    m_part_bytes: Annotated[PositiveBytes, about("the chunk size derived from it: 1/128 in whole MiB, 2 MiB to 1 GiB")]
    alignment_bytes: Annotated[PositiveBytes, about("segments begin at multiples of it")]
    cache_bytes: Annotated[
        PositiveBytes | None,
        about("size of the file system's cache as set by an option; null: the nodes' memory counts"),
    ]
    space_limit_bytes: Annotated[PositiveBytes, about("maximum space for all files")]
    termination: Annotated[
        Literal["geometric", "per-access"],
        about(
            "in collective patterns that are driven by time (types `scatter` and `shared`): `geometric`, the processes "
            "agree after growing batches of calls; `per-access`, after each call, as in the original program. All "
            "other patterns require no agreement"
        ),
    ]
    file_pointers: Annotated[
        Literal["shared", "individual"],
        about("of type `shared`: `shared`, or the variant `individual` with a strided view"),
    ]
    check: Annotated[Check, CHECKED]
    types: Annotated[list[PlannedType], Meta(min_length=1)]
    patterns: Annotated[list[PlannedPattern], Meta(min_length=1, max_length=10_000)]
    evict: Annotated[
        bool,
        about(
            "files are evicted from the nodes' caches before they are read; `cached_bytes` of the type states how much "
            "remained"
        ),
    ]
    read_shift: Annotated[
        ReadShift,
        about(
            "`node`: every process reads what a process of another node wrote; `process`: the run has one node, and "
            "every process reads what the next one wrote; null: every process reads what it wrote itself"
        ),
    ]
    fill_memory_percent: Annotated[
        SharePercent | None, about("share of each node's memory that is filled while files are read; null: none")
    ]
    process_times: Annotated[Resolution, OF_PROCESSES]
    interfaces: list[Interface]

    def __post_init__(self):
        distinct("partitions", self.partitions)
        distinct("methods", self.methods)


class Pass(Record):
    """One pattern by one access method."""

    method: Annotated[AccessMethod, WHICH]
    type: Annotated[Type, WHICH]
    pattern: Annotated[Number, WHICH]
    bytes: Annotated[PositiveBytes, about("of all processes")]
    elapsed_seconds: Annotated[PositiveSeconds, about("from positioning to the end of the sync")]
    access_seconds: Annotated[Seconds, about("in the calls, on the slowest process")]
    access_fastest_seconds: Annotated[Seconds, about("in the calls, on the fastest process")]
    sync_seconds: Annotated[Seconds, about("in the sync at the end of a write or rewrite")]


class Measurement(Pass):
    """One per access method, partition and pattern. All times are those of the slowest process unless the name contains
    `fastest` or `first`. Filling and checking buffers and writing the log are not included in any time."""

    key = ("partition", "method", "pattern")
    partition: Annotated[Processes, WHICH]
    chunk_bytes: Annotated[PositiveBytes, about("l")]
    call_bytes: Annotated[PositiveBytes, about("L")]
    ended_by: Annotated[
        Literal["time", "count", "space", "overrun"],
        about(
            "`count`: everything that the write pass wrote, or that the rule for size-driven types requires, was "
            "accessed; `time`: the scheduled time was over; `space`: a call and the share of the space limit were used "
            "up; `overrun`: a size-driven type left out calls, because the partition would have taken more than twice "
            "its scheduled time. If processes end differently, the last of these applies"
        ),
    ]
    scheduled_seconds: Annotated[
        Seconds,
        about("the pattern's share of the time; no limit of size-driven types"),
    ]
    position_seconds: Annotated[Seconds, about("setting the file view or pointer")]
    agreement_seconds: Annotated[Seconds, about("in agreements, including waiting for others")]
    agreement_fastest_seconds: Annotated[Seconds, about("of the fastest process")]
    agreements: Annotated[int, Meta(ge=0, le=10**15), about("number of agreements")]
    first_done_seconds: Annotated[Seconds, about("from the start of the pattern until the first process had finished")]
    last_done_seconds: Annotated[Seconds, about("until the last one had")]
    hints: Annotated[Hints | None, about("the hints in effect if the hints file has some for this chunk, else null")]
    calls_min: Annotated[Calls, about("calls of the process with the fewest; they differ only in type `separate`")]
    calls_max: Annotated[Calls, about("calls of the process with the most")]
    calls_sum: Annotated[Calls, about("calls of all processes")]


class ProcessTimes(Record):
    """Follows each measurement of a type that is not collective (`separate`, `segmented`, `random`);
    [lists](#times-of-processes) have a value of each of the partition's processes."""

    key = ("partition", "method", "pattern")
    partition: Annotated[Processes, WHICH]
    method: Annotated[AccessMethod, WHICH]
    type: Annotated[Type, WHICH]
    pattern: Annotated[Number, WHICH]
    calls: Annotated[list[Calls], Meta(min_length=1), about("calls of each process")]
    access_seconds: Annotated[SecondsOfProcesses, about("its time in these calls")]
    sync_seconds: Annotated[SecondsOfProcesses, about("its time in the sync")]


class Layout(FileServers):
    """Precedes each `pattern_type` of type `separate`, where the file system states which [servers](#servers-of-files)
    have the files, with `--read-shift` those that the processes read."""

    key = ("partition", "method", "type")
    partition: Annotated[Processes, WHICH]
    method: Annotated[AccessMethod, WHICH]
    type: Annotated[Type, WHICH]


class PatternType(Record, kw_only=True):
    """One per access method, partition and pattern type, after its measurements."""

    key = ("partition", "method", "type")
    partition: Annotated[Processes, WHICH]
    method: Annotated[AccessMethod, WHICH]
    type: Annotated[Type, WHICH]
    files: Annotated[Count, about("number of files")]
    bytes: Annotated[PositiveBytes, about("accessed by all processes")]
    file_bytes: Annotated[PositiveBytes, about("total size of the files")]
    cached_bytes: Annotated[Bytes | None, STILL_CACHED]
    striping: Annotated[list[Striping], STRIPED]
    segment_bytes: Annotated[PositiveBytes | None, about("for types with a segment for each process, else null")]
    open_seconds: Annotated[Seconds, about("opening")]
    close_seconds: Annotated[Seconds, about("closing")]
    elapsed_seconds: Annotated[
        PositiveSeconds, about("opening, all patterns, closing: the time that enters the type's bandwidth")
    ]
    hints: Annotated[Hints, about("the hints in effect, as the library reports them")]
