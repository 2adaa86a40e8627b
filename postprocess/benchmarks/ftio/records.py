# SPDX-License-Identifier: Apache-2.0
"""The records of FTIO, besides those of every log. docs/log.md explains the fields."""

from typing import Annotated, Literal

from msgspec import Meta

from postprocess.logs.records import (
    Bytes,
    Count,
    FileServers,
    Name,
    Part,
    PositiveBytes,
    PositiveSeconds,
    Record,
    Resolution,
    Seconds,
    SecondsOfProcesses,
    Striping,
    Text,
    distinct,
)

Counter = Annotated[int, Meta(ge=1, le=2**63 - 1)]
Difference = Annotated[float, Meta(ge=0, le=1e300)]


class PlannedActivity(Part):
    name: Name
    io: bool


class Plan(Record):
    """What ftio is going to transform. `process_times`, what has a value in the lists of ProcessTimes, is None in early
    logs."""

    input_parameter: Count
    matrix_width: Count
    square_width: Count
    matrix_bytes: PositiveBytes
    repetitions: Annotated[int, Meta(ge=1, le=100_000)]
    storage: Literal["posix", "mpiio"]
    direct: bool
    exchange_buffer_bytes: PositiveBytes
    stages: Annotated[list[Name], Meta(min_length=1)]
    activities: Annotated[list[PlannedActivity], Meta(min_length=1)]
    process_times: Resolution | None = None

    def __post_init__(self):
        distinct("stages", self.stages)


class Start(Record):
    """What the run made before anything was timed."""

    directory: Text
    kept: bool
    resident_bytes: Bytes


class Measurement(Record):
    """One activity of one stage in one repetition: times over the processes, bytes and calls of all of them."""

    repetition: Count
    stage: Name
    activity: Name
    elapsed_seconds: PositiveSeconds
    fastest_seconds: Seconds
    mean_seconds: PositiveSeconds
    bytes: Bytes
    calls: Annotated[int, Meta(ge=0, le=2**63 - 1)]


class ProcessTimes(Record):
    """The times of the processes, or nodes, in the activity of the measurement before this record."""

    repetition: Count
    stage: Name
    activity: Name
    seconds: SecondsOfProcesses


class Layout(FileServers):
    """Which servers hold the processes' own files in a repetition."""

    repetition: Count


class Counters(Part):
    cycles: Counter | None
    cycles_reason: Text | None
    flops: Counter | None
    flops_reason: Text | None
    time_stamp_cycles: Counter | None


class Verification(Part):
    total_difference: Difference
    largest_difference: Difference
    largest_relative_difference: Difference
    tolerated_relative_difference: Difference


class Repetition(Record):
    """One run of the whole computation; lists hold one value per process, in rank order."""

    repetition: Count
    elapsed_seconds: SecondsOfProcesses
    io_seconds: SecondsOfProcesses
    transform_elapsed_seconds: SecondsOfProcesses
    transform_io_seconds: SecondsOfProcesses
    nominal_flops: Annotated[float, Meta(gt=0, le=1e300)]
    counters: Counters
    verification: Verification
    striping: list[Striping]
    peak_resident_bytes: PositiveBytes
