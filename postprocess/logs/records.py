# SPDX-License-Identifier: Apache-2.0
"""The records in the logs of all benchmarks, and the base classes and types of the records of a benchmark.

A record is a class. A line of a log is checked against the types and ranges of its fields, and the rest of postprocess
accesses these fields; docs/log.md explains them. Types are strict: a count is written as 2, not as 2.0 or 2e0.
__post_init__ checks what a type cannot express; its ValueError is the reason of the refusal.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

SCHEMA_VERSION = 2
MOST_BYTES = 2**63 - 1


def matching(pattern: str) -> Meta:
    """A whole string: `$` alone would let a line feed follow."""
    return Meta(pattern=rf"^{pattern}(?!\n)$")


Bytes = Annotated[int, Meta(ge=0, le=MOST_BYTES)]
PositiveBytes = Annotated[int, Meta(ge=1, le=MOST_BYTES)]
Count = Annotated[int, Meta(ge=1, le=10**9)]
Calls = Annotated[int, Meta(ge=0, le=10**15)]
Processes = Annotated[int, Meta(ge=1, le=10**8)]
Node = Annotated[int, Meta(ge=0, le=10**8)]  # by its place among the hosts of the run
Repetition = Annotated[int, Meta(ge=1, le=10_000)]
Rank = Annotated[int, Meta(ge=0, le=10**8)]
Cores = Annotated[int, Meta(ge=1, le=10**7)]
Seconds = Annotated[float, Meta(ge=0, le=1e7)]
PositiveSeconds = Annotated[float, Meta(gt=0, le=1e7)]
ProcessorSeconds = Annotated[float, Meta(ge=0, le=1e15)]
Name = Annotated[str, matching("[a-z0-9][a-z0-9_-]{0,63}")]
Text = Annotated[str, Meta(max_length=2**16)]
CoreSet = Annotated[str, Meta(max_length=2**15), matching("([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?")]
Scalar = Text | Annotated[float, Meta(ge=-1e300, le=1e300)] | int | bool | None
SecondsOfProcesses = Annotated[list[Seconds], Meta(min_length=1)]
Resolution = Literal["process", "node"]  # what has a value in a list of times
Sha256 = Annotated[str, matching("[0-9a-f]{64}")]
StandardVersion = Annotated[str, matching(r"[0-9]+\.[0-9]+")]
Time = Annotated[str, matching("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")]


def about(text: str) -> Meta:
    """What a field means, for docs/log.md (docs/write_log.py) and `coffeecup schema`. It says when a value is null."""
    return Meta(description=text)


def kind_of_class(name: str) -> str:
    """A class DataCheck is the record data_check."""
    return re.sub(r"\B(?=[A-Z])", "_", name).lower()


class Part(Struct, forbid_unknown_fields=True, gc=False):
    """An object inside a record."""


class Record(Struct, tag_field="record", tag=kind_of_class, forbid_unknown_fields=True, gc=False):
    """A line of a log. `sequence` is the line's number minus one."""

    sequence: Annotated[int, Meta(ge=0, le=10**9)]


def kind_of(record: Record | type[Record]) -> str:
    """The value of the field `record` in the line."""
    return str(record.__struct_config__.tag)


class Host(Part, kw_only=True):
    """A node. `core_sets` has the cores of each rank; `topology` is its address in the scheduler's topology."""

    name: Annotated[str, Meta(min_length=1, max_length=4096)]
    ranks: Annotated[list[Rank], Meta(min_length=1)]
    core_sets: Annotated[list[CoreSet], Meta(min_length=1)]
    cores: Cores
    offered_cores: Cores
    online_cores: Cores
    memory_bytes: PositiveBytes
    available_bytes: Bytes
    topology: Text | None = None

    def __post_init__(self):
        if len(self.core_sets) != len(self.ranks):
            raise ValueError("core_sets: they do not state the cores of each rank")


class Mpi(Part):
    library: Text
    standard: StandardVersion
    binding_cores_min: Count
    binding_cores_max: Count
    single_copy: Text | None


class Filesystem(Part, kw_only=True):
    """The file system under test as rank 0's node mounts it; None where the system does not state a parameter.
    `block_bytes` are those that it recommends for I/O, `fragment_bytes` those that it allocates."""

    directory: Text
    type: Text
    source: Text | None
    mount_point: Text | None
    mount_options: list[Text]
    block_bytes: PositiveBytes | None
    fragment_bytes: PositiveBytes | None
    total_bytes: Bytes
    free_bytes: Bytes

    @property
    def name(self) -> str:
        """Distinguishes file systems of a type: by the server, or else by the mount point, because the name of a device
        may change whenever it is mounted."""
        if self.source and ":" in self.source:
            return f"{self.type} {self.source}"
        return f"{self.type} at {self.mount_point}" if self.mount_point else self.type


class Build(Part):
    git_revision: Text | None
    spack_hash: Text | None
    compiler: Text | None
    flags: Text | None
    mpi_standard: Text | None
    mpi_library: Text | None
    source_sha256: Sha256


class Job(Part):
    """The scheduler's job, as its environment variables state it."""

    scheduler: Name
    id: Text
    nodes: Text | None


class Provenance(Part):
    """Who started the run, in which job, and the nonce of the acceptance that it belongs to. `preloaded` are the paths
    of libraries that were loaded before those that the program needs, None in simulations."""

    nonce: Text | None
    user: Text
    job: Job | None
    preloaded: list[Text] | None


class Run(Record, kw_only=True):
    """What ran where, the same for every benchmark."""

    schema_version: Annotated[int, Meta(ge=SCHEMA_VERSION, le=SCHEMA_VERSION)]
    benchmark: Name
    kernel_version: Annotated[str, Meta(min_length=1, max_length=256)]
    start_time: Time
    command: Annotated[list[Text], Meta(min_length=1)]
    options: dict[str, Scalar | list[Scalar]]
    mpi: Mpi
    ranks: Processes
    hosts: Annotated[list[Host], Meta(min_length=1)]
    memory_per_process_bytes: PositiveBytes
    memory_source: Literal["physical", "cgroup", "option"]
    filesystem: Filesystem | None
    environment: dict[str, Text]
    build: Build
    provenance: Provenance
    simulated: bool

    @property
    def tested_filesystem(self) -> Filesystem:
        """For benchmarks that refuse logs without one (rules.problems_of_file_system)."""
        if self.filesystem is None:
            raise ValueError("the log does not state the file system under test")
        return self.filesystem


class Overhead(Record):
    """The cost of measuring, the same for every benchmark."""

    clock_resolution_seconds: Seconds
    clock_read_seconds: Seconds
    barrier_seconds: Seconds
    agreement_seconds: Seconds


class File(Part):
    """A file of the run; the hash is null if it could not be read."""

    role: Literal["program", "library", "input"]
    path: Text
    sha256: Sha256 | None


class OtherFile(Part):
    """A node on which another program or library runs than on that of rank 0, and the first such file."""

    host: Text
    path: Text


class Files(Record):
    """The program, libraries that it had loaded when the log was opened, and input files; all of rank 0's node."""

    files: Annotated[list[File], Meta(min_length=1)]
    other_files: list[OtherFile]


class Clocks(Record):
    """How long the run took on rank 0, from opening to closing the log: by MPI's clock, which all measurements use, and
    by the time of day."""

    mpi_seconds: Seconds
    day_seconds: Seconds


class ActivityOfHost(Part):
    others_user_seconds: ProcessorSeconds
    stolen_seconds: ProcessorSeconds


class Activity(Record):
    """What else used the processors of the run's hosts, in the order of the run's `hosts`."""

    elapsed_seconds: PositiveSeconds
    hosts: Annotated[list[ActivityOfHost], Meta(min_length=1)]


Reading = Annotated[int, Meta(ge=0, le=MOST_BYTES)] | Literal["absent", "forbidden", "unreadable"]
# Not a tuple: msgspec 0.22 crashes where a union has one whose members have limits.
Readings = Annotated[list[Reading], Meta(min_length=2, max_length=3)]


class CounterSource(Part):
    """What counts: a counter of logs/counter_kinds.py and, where a node has several of them, which one. After `largest`
    it begins again at 0; None if the system does not state it."""

    counter: Annotated[str, matching("[a-zA-Z0-9_]{1,64}")]
    instance: Annotated[str, Meta(max_length=4096)]
    largest: Annotated[int, Meta(ge=1, le=MOST_BYTES)] | None = None


class CountersOfHost(Part):
    """The readings of each of its sources at the start and at the end, or one if both are the same; a third number says
    how often the counter began again at 0 between them. `has` are the numbers of its sources, None if it has all.
    `root` is the directory below which the files were read instead of the system's."""

    values: list[Reading | Readings]
    has: list[Annotated[int, Meta(ge=0, le=10**7)]] | None = None
    root: Text | None = None

    def __post_init__(self):
        for value in self.values:
            if isinstance(value, list) and len(value) == 2 and value[0] == value[1]:
                raise ValueError("values: two equal readings, which are written as one")
            if isinstance(value, list) and len(value) == 3 and not all(isinstance(part, int) for part in value):
                raise ValueError("values: a counter that began again has numbers only")
        if self.has is not None:
            distinct("has", self.has)


class Counters(Record):
    """What the nodes counted during the run, or during the idle time before it, in the order of the run's `hosts`.
    `longest_seconds` is the longest time between two readings of a node. `absent` are counters that no node has."""

    phase: Literal["idle", "run"]
    elapsed_seconds: PositiveSeconds
    longest_seconds: PositiveSeconds
    sources: list[CounterSource]
    absent: list[Text]
    hosts: Annotated[list[CountersOfHost], Meta(min_length=1)]

    def __post_init__(self):
        distinct("sources", [(source.counter, source.instance, source.largest) for source in self.sources])
        distinct("absent", self.absent)

    def of_host(self, number: int) -> list[tuple[CounterSource, Sequence[int | str]]]:
        """Each source of a host with its readings: two, and a third number if it began again. Raises IndexError and
        ValueError where the log contradicts itself."""
        counted = self.hosts[number]
        sources = self.sources if counted.has is None else [self.sources[place] for place in counted.has]
        readings = [list(value) if isinstance(value, list) else [value, value] for value in counted.values]
        return list(zip(sources, readings, strict=True))


class Overlap(Record):
    """Other runs in the directory under test: their own directories there, and whether one of them noticed this run."""

    directories: Annotated[list[Text], Meta(max_length=16)]
    noticed_by_others: bool


class End(Record, kw_only=True):
    """How the run ended. `rank` and `host` are those of the process that failed, if a single one did; `end_time` is
    missing if a signal or the keeper closed the log."""

    status: Literal["complete", "interrupted", "failed"]
    reason: Text | None
    rank: Rank | None = None
    host: Text | None = None
    records: Count
    elapsed_seconds: Seconds
    end_time: Time | None = None


COMMON = (Run, Overhead, Files, Clocks, Counters, Activity, Overlap, End)

# Records of the benchmarks that do I/O.


class MpiIo(Record):
    """Written when the first file is open through MPI-IO."""

    component: Annotated[Name | None, about("`ompio`, `romio`, or null if it cannot be detected")]


class DataCheck(Record):
    """Summed over processes. PRIOMark's does not include data that is read back after a case."""

    read_bytes: Annotated[Bytes, about("of all reads")]
    checked_bytes: Annotated[Bytes, about("compared with what had been written")]
    wrong_bytes: Annotated[Bytes, about("0 in a complete log: a wrong byte ends the run")]


# What fields of several benchmarks mean.
WHICH, FROM_ONE = about("which"), about("from 1")
OF_PROCESSES = about("`process` or `node`: what has a value in the [lists](#times-of-processes)")
LIST_OF_PROCESSES = about("a [list](#times-of-processes) with a value of each process")
STRIPED = about("[how the files are striped](#stripes-of-files)")


class Striping(Part):
    """How a file is spread over servers."""

    preferred_bytes: Annotated[
        PositiveBytes, about("the size of a call that the file system prefers for this file (`st_blksize` of `stat`)")
    ]
    parts: Annotated[
        Count | None,
        about("how many parts of the file exist; 1 except for composite layouts of Lustre; null if unknown"),
    ]
    stripes: Annotated[Count | None, about("number of stripes of the part that has the most; null if unknown")]
    stripe_bytes: Annotated[PositiveBytes | None, about("their size; null if unknown")]
    pool: Annotated[Text | None, about("their pool; null if the file system states none")]
    server: Annotated[
        Text | None,
        about("the servers of a file that processes share, as below; null if unknown, and for processes' own files"),
    ]

    def __post_init__(self):
        known = [self.parts is not None, self.stripes is not None, self.stripe_bytes is not None]
        if any(known) and not all(known):
            raise ValueError("parts, stripes, stripe_bytes: only some of them are known")


class FileServers(Record):
    """Which servers hold the processes' own files: `files` are the places in `servers`, a value of each process."""

    servers: Annotated[list[Text], Meta(min_length=1), about("the names of the servers, each once")]
    files: Annotated[
        list[Annotated[int, Meta(ge=0, le=2**31 - 1)]],
        Meta(min_length=1),
        about("of each process the place of its server in `servers`, from 0"),
    ]

    def __post_init__(self):
        distinct("servers", self.servers)

    @property
    def of_processes(self) -> list[str]:
        return [self.servers[place] for place in self.files]


ReadShift = Literal["process", "node"] | None  # what separates the reader from the writer
SharePercent = Annotated[int, Meta(ge=1, le=95)]


class FilledHost(Part):
    """The nodes in the order of the run's `hosts`."""

    filled_bytes: Annotated[
        PositiveBytes, about("allocated and written by all processes of the node, in whole pages of each")
    ]
    resident_bytes: Annotated[Bytes, about("still in physical memory, not in swap space, when it was released")]
    available_before_bytes: Annotated[
        Bytes, about("as `available_bytes` of the run, before it was filled; 0 if the system does not report it")
    ]


class MemoryFill(Record):
    """Written when the memory that `--fill-memory` filled is released. b_eff_io fills it after the last rewrite and
    releases it after the last read; PRIOMark fills it before the first case and releases it after the last."""

    share_percent: Annotated[SharePercent, about("of each node's memory")]
    hosts: Annotated[list[FilledHost], Meta(min_length=1)]


def distinct(field: str, values: Sequence) -> None:
    """Raises ValueError if a value occurs twice, which no type can exclude."""
    if len(set(values)) != len(values):
        raise ValueError(f"{field}: {next(value for value in values if values.count(value) > 1)!r} occurs twice")
