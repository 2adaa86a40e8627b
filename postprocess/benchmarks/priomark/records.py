# SPDX-License-Identifier: Apache-2.0
"""The records of PRIOMark, besides those of every log. docs/log.md is made from these texts."""

from typing import Annotated, Literal, get_args

from msgspec import Meta

from coffeecup.postprocess.logs.histograms import Histogram
from coffeecup.postprocess.logs.io_records import (
    LIST_OF_PROCESSES,
    OF_PROCESSES,
    STRIPED,
    FileServers,
    ReadShift,
    SharePercent,
    Striping,
)
from coffeecup.postprocess.logs.records import (
    FROM_ONE,
    WHICH,
    Bytes,
    Calls,
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
)

Operation = Literal["create", "stat", "read", "rename", "readdir", "remove"]
OPERATIONS: tuple[str, ...] = get_args(Operation)  # in the order of measuring
Target = Literal["directory", "file", "device"]
AS_PLANNED = about("as in the plan, also where it is null")
Share = Annotated[float, Meta(ge=0, le=1)]
Number = Annotated[float, Meta(ge=-1e300, le=1e300)]


class SubBenchmark(Part):
    """The sub-benchmarks that have cases."""

    name: Annotated[Name, about("as in the cases")]
    summary: Annotated[Text, about("what it does")]


class Interface(Part):
    """The methods that were loaded from shared objects, see [interfaces](priomark_interface.md)."""

    name: Annotated[Name, about("as `method` in the cases")]
    summary: Annotated[Text, about("what it does")]
    path: Annotated[Text, about("of its shared object")]
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$"), about("of the content of its shared object")]
    figure: Annotated[
        Literal["bandwidth", "rate", "latency"],
        about(
            "[what its metric counts](priomark_interface.md#what-the-result-states): `bandwidth`, `rate` or `latency`"
        ),
    ]
    collective: Annotated[bool, about("its reads and writes of shared files are collective")]
    plain: Annotated[bool, about("its files have the same content as those of POSIX calls")]
    objects: Annotated[bool, about("it stores objects on a server, nothing in the directory under test")]
    properties: Annotated[
        Text | None, about("what it states about itself, such as the version of a library; null: nothing")
    ]


class Case(Part):
    """The cases in the order of measuring. A *case* is one pattern of one sub-benchmark, by one method, with one data
    size, block size and read share."""

    case: Annotated[Count, FROM_ONE]
    benchmark: Annotated[Name, WHICH]
    pattern: Annotated[Name, WHICH]
    method: Annotated[Name, WHICH]
    process_bytes: Annotated[
        PositiveBytes,
        about("data of each process: its part of the common file, its own file, or its range of the device"),
    ]
    block_bytes: Annotated[PositiveBytes | None, about("null if requests differ in size")]
    read_share: Annotated[Share | None, about("null if it is meaningless")]
    direct: Annotated[bool, about("whether I/O is direct")]
    target: Annotated[
        Target,
        about("`directory` (files in the run's own directory), `device`, or `file` (in place of a device of `raw`)"),
    ]


class Plan(Record):
    """What PRIOMark is going to measure, and the workload that says so."""

    workload: Annotated[Text, about("the given name or file")]
    workload_text: Annotated[Text, about("its content")]
    build: Annotated[
        Literal["full", "mpi", "serial"],
        about("`full`, `mpi` (without MPI-IO: MPI only synchronises and collects) or `serial` (without MPI)"),
    ]
    seed: Annotated[
        int,
        Meta(ge=0, le=2**63 - 1),
        about("of the random orders; the seed of each order follows from it, the case, the repetition and the rank"),
    ]
    repetitions: Annotated[int, Meta(ge=1, le=100_000), about("of each case")]
    check: Annotated[bool, about("every byte that is read is checked, and afterwards the whole file")]
    evict: Annotated[bool, about("files are evicted from the nodes' page caches before a case begins")]
    node_memory_bytes: Annotated[PositiveBytes, about("memory of the node with the least")]
    cache_bytes: Annotated[
        PositiveBytes | None,
        about("size of the file system's cache as set by an option; null: the nodes' memory counts"),
    ]
    latency_relative_error: Annotated[
        float, Meta(gt=0, le=1), about("maximum of half the width of a latency bin over its middle")
    ]
    benchmarks: Annotated[list[SubBenchmark], Meta(min_length=1)]
    interfaces: list[Interface]
    cases: Annotated[list[Case], Meta(min_length=1, max_length=100_000)]
    read_shift: Annotated[
        ReadShift,
        about(
            "as in b_eff_io, or null. Cases that create a file are not shifted; in the others, each process reads and "
            "rewrites the part that another one has just written"
        ),
    ]
    fill_memory_percent: Annotated[SharePercent | None, about("as in b_eff_io, or null")]
    process_times: Annotated[Resolution, OF_PROCESSES]


class Latencies(Histogram):
    """Durations of calls over all processes, one for each operation that occurred."""

    operation: Annotated[Literal["read", "write"], about("`read` or `write`")]


class Measurement(Record):
    """One per case and repetition. Bytes and calls are those of all processes. The bandwidth is
    `(read_bytes + written_bytes) / elapsed_seconds`; in `async`, this is the time of the transfer at the same time as a
    calculation, and of its sync."""

    key = ("case", "repetition")
    case: Annotated[Count, WHICH]
    repetition: Annotated[Count, FROM_ONE]
    benchmark: Annotated[Name, AS_PLANNED]
    pattern: Annotated[Name, AS_PLANNED]
    method: Annotated[Name, AS_PLANNED]
    process_bytes: Annotated[PositiveBytes, AS_PLANNED]
    block_bytes: Annotated[PositiveBytes | None, AS_PLANNED]
    read_share: Annotated[Share | None, AS_PLANNED]
    direct: Annotated[bool, AS_PLANNED]
    target: Annotated[Target, AS_PLANNED]
    evicted: Annotated[bool, about("the files were evicted from the page cache before")]
    read_calls: Annotated[Calls, about("number of read requests")]
    write_calls: Annotated[Calls, about("number of write requests")]
    read_bytes: Annotated[Bytes, about("what they read")]
    written_bytes: Annotated[Bytes, about("what they wrote")]
    elapsed_seconds: Annotated[
        PositiveSeconds,
        about("from the barrier before the first request to the end of the sync, on the slowest process"),
    ]
    fastest_seconds: Annotated[Seconds, about("the same on the fastest process")]
    open_seconds: Annotated[Seconds, about("of the slowest process; not part of `elapsed_seconds`")]
    access_seconds: Annotated[Seconds, about("of the slowest process")]
    sync_seconds: Annotated[Seconds, about("of the slowest process")]
    close_seconds: Annotated[Seconds, about("of the slowest process; not part of `elapsed_seconds`")]
    latencies: Annotated[list[Latencies], Meta(max_length=2)]
    values: Annotated[
        dict[Name, Annotated[list[Number], Meta(min_length=1)]],
        about("other [values of the sub-benchmark](#values): name to a list, one value per process in rank order"),
    ]
    striping: Annotated[list[Striping], STRIPED]


class ProcessTimes(Record):
    """Follows each measurement. A case and repetition takes 60 KB in the log of a run of 4096 processes."""

    key = ("case", "repetition")
    case: Annotated[Count, WHICH]
    repetition: Annotated[Count, FROM_ONE]
    elapsed_seconds: Annotated[SecondsOfProcesses, LIST_OF_PROCESSES]
    access_seconds: Annotated[SecondsOfProcesses, LIST_OF_PROCESSES]


class Layout(FileServers):
    """Follows the times of the processes in a case of `single_file`, or of `raw` on files, where the file system states
    which [servers](#servers-of-files) have the files."""

    key = ("case", "repetition")
    case: Annotated[Count, WHICH]
    repetition: Annotated[Count, FROM_ONE]


class OperationTimes(Histogram):
    """One of the operations of `metadata`, by all processes, in the order of measuring. `calls` and what follows are
    those of the files, in `readdir` of whole directories."""

    operation: Annotated[
        Operation,
        about(
            "`create` (and write), `stat`, `read` (open, read and close), `rename`, `readdir` (all entries of the "
            "directory) or `remove`"
        ),
    ]
    count: Annotated[Count, about("files, in `readdir` entries of directories, each of which is an operation")]
    elapsed_seconds: Annotated[
        PositiveSeconds, about("from the barrier before the first file to the end of the last one, slowest process")
    ]
    fastest_seconds: Annotated[Seconds, about("the same on the fastest process")]


class Metadata(Record):
    """In the place of the measurement, in a case of `metadata`."""

    key = ("case", "repetition")
    case: Annotated[Count, WHICH]
    repetition: Annotated[Count, FROM_ONE]
    synchronised: Annotated[bool, about("each file was synchronised before its creator closed it")]
    operations: Annotated[list[OperationTimes], Meta(min_length=len(OPERATIONS), max_length=len(OPERATIONS))]
