# SPDX-License-Identifier: Apache-2.0
"""The records of FTIO, besides those of every log. docs/log.md is made from the texts."""

from typing import Annotated, Literal

from msgspec import Meta

from coffeecup.postprocess.logs.io_records import LIST_OF_PROCESSES, OF_PROCESSES, STRIPED, FileServers, Striping
from coffeecup.postprocess.logs.records import (
    FROM_ONE,
    WHICH,
    Bytes,
    Count,
    Name,
    Part,
    PositiveBytes,
    PositiveSeconds,
    Record,
    Resolution,
    Seconds,
    SecondsOfProcesses,
    Text,
    about,
    distinct,
)

Counter = Annotated[int, Meta(ge=1, le=2**63 - 1)]
Difference = Annotated[float, Meta(ge=0, le=1e300)]


class PlannedActivity(Part):
    name: Annotated[
        Name,
        about(
            "`open`, `read`, `write`, `flush`, `plan` (FFTW's), `fft` (with its communication), `compute` (generating "
            "elements, transposing in memory, comparing), `exchange` (of Squares between processes), `wait` (for the "
            "slowest process at the end of a stage)"
        ),
    ]
    io: Annotated[bool, about("whether it is I/O: only the first four are")]


class Plan(Record):
    """What ftio is going to transform."""

    input_parameter: Annotated[Count, about("i, the width of a Mini-Square")]
    matrix_width: Annotated[Count, about("N = i^2 c, with c processes")]
    square_width: Annotated[Count, about("i^2")]
    matrix_bytes: Annotated[PositiveBytes, about("16 N^2")]
    repetitions: Annotated[int, Meta(ge=1, le=100_000), about("runs of the whole computation")]
    storage: Annotated[Literal["posix", "mpiio"], about("`posix` (a file per process) or `mpiio` (one shared file)")]
    direct: Annotated[bool, about("whether I/O is direct")]
    exchange_buffer_bytes: Annotated[PositiveBytes, about("memory per process for the exchange of parts of Squares")]
    stages: Annotated[
        list[Name],
        Meta(min_length=1),
        about("`initialise`, `series_1`, `transpose`, `exchange`, `series_2`, `verify`"),
    ]
    activities: Annotated[list[PlannedActivity], Meta(min_length=1), about("what a stage consists of")]
    process_times: Annotated[Resolution, OF_PROCESSES]

    def __post_init__(self):
        distinct("stages", self.stages)


class Start(Record):
    """The state before anything is timed."""

    directory: Annotated[Text, about("the run's own")]
    kept: Annotated[bool, about("whether the run leaves its files")]
    resident_bytes: Annotated[Bytes, about("of the largest process, after the start of MPI and without buffers")]


class Measurement(Record):
    """One per repetition, stage and activity that occurred. The sum of all `mean_seconds` of a repetition is the mean
    of its `elapsed_seconds`."""

    key = ("repetition", "stage", "activity")
    repetition: Annotated[Count, FROM_ONE]
    stage: Annotated[Name, WHICH]
    activity: Annotated[Name, WHICH]
    elapsed_seconds: Annotated[PositiveSeconds, about("of the slowest process")]
    fastest_seconds: Annotated[Seconds, about("of the fastest process")]
    mean_seconds: Annotated[PositiveSeconds, about("mean over all processes")]
    bytes: Annotated[Bytes, about("of all processes")]
    calls: Annotated[
        int, Meta(ge=0, le=2**63 - 1), about("of all processes: a `pread`, `pwrite`, MPI or FFTW call each")
    ]


class ProcessTimes(Record):
    """Follows each measurement of `open`, `read`, `write`, `flush` and `compute`. A repetition takes 0.6 MB in the log
    of a run of 4096 processes."""

    key = ("repetition", "stage", "activity")
    repetition: Annotated[Count, FROM_ONE]
    stage: Annotated[Name, WHICH]
    activity: Annotated[Name, WHICH]
    seconds: Annotated[SecondsOfProcesses, LIST_OF_PROCESSES]


class Layout(FileServers):
    """Precedes each `repetition` with `--storage posix`, where the file system states which
    [servers](#servers-of-files) have the files."""

    key = ("repetition",)
    repetition: Annotated[Count, FROM_ONE]


class Counters(Part):
    """Sums over the processes, counted by the processors in user mode."""

    cycles: Annotated[Counter | None, about("null if it is not permitted or failed a test")]
    cycles_reason: Annotated[Text | None, about("why `cycles` is null, else null")]
    flops: Annotated[Counter | None, about("null if it is not permitted or failed a test")]
    flops_reason: Annotated[Text | None, about("why `flops` is null, else null")]
    time_stamp_cycles: Annotated[Counter | None, about("of a counter with a fixed rate, null if there is none")]


class Verification(Part):
    """Comparison of all elements with the exact result."""

    total_difference: Annotated[Difference, about("sum over all elements")]
    largest_difference: Annotated[Difference, about("of an element")]
    largest_relative_difference: Annotated[Difference, about("of an element")]
    tolerated_relative_difference: Annotated[Difference, about("4 epsilon N^2")]


class Repetition(Record):
    """Follows the measurements of a repetition; lists have one value per process in rank order. A run whose result is
    wrong ends as `failed` after this record."""

    key = ("repetition",)
    repetition: Annotated[Count, FROM_ONE]
    elapsed_seconds: Annotated[SecondsOfProcesses, about("of the whole computation")]
    io_seconds: Annotated[SecondsOfProcesses, about("of its I/O")]
    transform_elapsed_seconds: Annotated[SecondsOfProcesses, about("without `initialise` and `verify`")]
    transform_io_seconds: Annotated[SecondsOfProcesses, about("I/O without `initialise` and `verify`")]
    nominal_flops: Annotated[float, Meta(gt=0, le=1e300), about("5 N log2 N for each of the 2 N transforms")]
    counters: Counters
    verification: Verification
    striping: Annotated[list[Striping], STRIPED]
    peak_resident_bytes: Annotated[PositiveBytes, about("of the largest process, so far")]
