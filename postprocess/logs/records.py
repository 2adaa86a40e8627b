# SPDX-License-Identifier: Apache-2.0
"""The records in the logs of all benchmarks, and the base classes and types of the records of a benchmark.

A record is a class. A line of a log is checked against the types and ranges of its fields, and the rest of postprocess
accesses these fields; docs/log.md explains them. Types are strict: a count is written as 2, not as 2.0 or 2e0.
__post_init__ checks what a type cannot express; its ValueError is the reason of the refusal.
"""

import re
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

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
NAME = matching("[a-z0-9][a-z0-9_-]{0,63}")
Name = Annotated[str, NAME]
# A Name of the plan in thousands of records: the rules compare it with the plan, so the pattern is only in the schema.
PlannedName = Annotated[str, Meta(max_length=64, extra_json_schema={"pattern": NAME.pattern})]
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


WHICH, FROM_ONE, OR_NULL = about("which"), about("from 1"), about("null if unknown")


def kind_of_class(name: str) -> str:
    """A class DataCheck is the record data_check."""
    return re.sub(r"\B(?=[A-Z])", "_", name).lower()


class Part(Struct, forbid_unknown_fields=True, gc=False):
    """An object inside a record."""


class Record(Struct, tag_field="record", tag=kind_of_class, forbid_unknown_fields=True, gc=False):
    """A line of a log. `sequence` is the line's number minus one, `key` the fields that say what was measured."""

    key: ClassVar[tuple[str, ...]] = ()
    sequence: Annotated[int, Meta(ge=0, le=10**9)]


def kind_of(record: Record | type[Record]) -> str:
    """The value of the field `record` in the line."""
    return str(record.__struct_config__.tag)


class Host(Part, kw_only=True):
    """The nodes, in the order of their lowest ranks."""

    name: Annotated[str, Meta(min_length=1, max_length=4096), about("as the node calls itself")]
    ranks: Annotated[list[Rank], Meta(min_length=1), about("the world ranks of its processes")]
    core_sets: Annotated[
        list[CoreSet],
        Meta(min_length=1),
        about("for each of these ranks the processors on which it may run, by Linux's numbers, such as `0-3,8`"),
    ]
    cores: Annotated[Cores, about("number of processors that its processes may use together")]
    offered_cores: Annotated[
        Cores, about("including those of the processes that started them: the processors of the job")
    ]
    online_cores: Annotated[Cores, about("processors of the node")]
    memory_bytes: Annotated[PositiveBytes, about("physical memory or cgroup limit, the smaller one")]
    available_bytes: Annotated[
        Bytes,
        about(
            "free or reclaimable at the start, within the limits of the control group; 0 if the system does not report "
            "it, or reports more than the physical memory"
        ),
    ]
    topology: Annotated[Text | None, about("`SLURM_TOPOLOGY_ADDR`, its address in Slurm's topology")] = None
    processor: Annotated[Text | None, about("its model by `/proc/cpuinfo`")] = None
    system: Annotated[Text | None, about("`uname -sr`")] = None

    def __post_init__(self):
        if len(self.core_sets) != len(self.ranks):
            raise ValueError("core_sets: they do not state the cores of each rank")


class Mpi(Part):
    """The MPI library."""

    library: Annotated[Text, about("first line of its version string")]
    standard: Annotated[StandardVersion, about('`"3.1"`')]
    binding_cores_min: Annotated[Count, about("the fewest cores on which a rank may run")]
    binding_cores_max: Annotated[Count, about("the most cores on which a rank may run")]
    single_copy: Annotated[
        Text | None, about("mechanism of kernel-assisted copies if the library states it, else null")
    ]


class Target(Part):
    """One of the stores to which a file system stripes files."""

    name: Annotated[Text, about("such as `work-OST0003`")]
    total_bytes: Annotated[PositiveBytes, about("its size")]
    free_bytes: Annotated[Bytes, about("free for users")]


class Filesystem(Part, kw_only=True):
    """The file system under test as the node of rank 0 mounts it."""

    directory: Annotated[Text, about("the directory under test, without symbolic links")]
    type: Annotated[
        Text, about("as mounted: `ext4`, `lustre`, `fuse.glusterfs`; `unknown` if `/proc/self/mounts` does not list it")
    ]
    source: Annotated[
        Text | None,
        about(
            "what is mounted: a device, `SERVER:/EXPORT`, `MGS@tcp:/NAME`; without the user and password of a URL; "
            "null if unknown"
        ),
    ]
    mount_point: Annotated[Text | None, about("where; null if unknown")]
    mount_options: Annotated[
        list[Text],
        about(
            "the options in effect. An option whose name contains `pass`, `secret`, `key`, `cred`, `token` or "
            "`cookie` has the value `(not logged)`"
        ),
    ]
    block_bytes: Annotated[
        PositiveBytes | None,
        about(
            "recommended for I/O (`f_bsize` of `statfs`): the block size on local file systems and "
            "GPFS; null if unknown"
        ),
    ]
    fragment_bytes: Annotated[PositiveBytes | None, about("allocated (`f_frsize`); null if unknown")]
    total_bytes: Annotated[Bytes, about("at most 2^63 - 1, which some file systems exceed")]
    free_bytes: Annotated[Bytes, about("free for this user, on the node with the least; at most 2^63 - 1")]
    fullest_target: Annotated[
        Target | None, about("the target with the largest share in use, if the client states it: that of Lustre does")
    ] = None

    @property
    def name(self) -> str:
        """Distinguishes file systems of a type: by the server, or else by the mount point, because the name of a device
        may change whenever it is mounted."""
        if self.source and ":" in self.source:
            return f"{self.type} {self.source}"
        return f"{self.type} at {self.mount_point}" if self.mount_point else self.type


class Build(Part):
    """How the kernel was built."""

    git_revision: Annotated[Text | None, OR_NULL]
    spack_hash: Annotated[Text | None, OR_NULL]
    compiler: Annotated[Text | None, OR_NULL]
    flags: Annotated[Text | None, OR_NULL]
    mpi_standard: Annotated[Text | None, OR_NULL]
    mpi_library: Annotated[
        Text | None,
        about("whose header the kernel was compiled with, like `Open MPI 4.1.4` or `MPI ABI 1.0`; null if unknown"),
    ]
    source_sha256: Annotated[Sha256, about("of the sources, see below")]


class Job(Part):
    """The job as the scheduler's environment variables state it; null outside of a job."""

    scheduler: Annotated[Name, about("`slurm`, `pbs`, `flux` or `lsf`")]
    id: Annotated[Text, about("its number")]
    nodes: Annotated[Text | None, about("its nodes; null if unknown")]


class Provenance(Part):
    """Who started the run."""

    nonce: Annotated[
        Text | None,
        about("of the [acceptance](acceptance.md) that the run belongs to (`COFFEECUP_ACCEPTANCE`); else null"),
    ]
    user: Annotated[Text, about("name of the user")]
    job: Job | None
    preloaded: Annotated[
        list[Text] | None,
        about(
            "paths of the libraries that `LD_PRELOAD`, `/etc/ld.so.preload` or the loader's "
            "`--preload` put before those that the program needs (rank 0); null in simulations"
        ),
    ]


class Run(Record, kw_only=True):
    """What ran where."""

    schema_version: Annotated[int, Meta(ge=SCHEMA_VERSION, le=SCHEMA_VERSION), about(str(SCHEMA_VERSION))]
    benchmark: Annotated[Name, about("its name, which is that of its kernel")]
    kernel_version: Annotated[str, Meta(min_length=1, max_length=256), about('`"0.1.0"`')]
    start_time: Annotated[Time, about("UTC, `2026-11-20T14:00:00Z`")]
    command: Annotated[list[Text], Meta(min_length=1), about("the command line, a list of strings")]
    options: Annotated[
        dict[str, Scalar | list[Scalar]],
        about(
            "every option in effect, by its long name; sizes in bytes, times in seconds, shares in percent, lists as "
            "arrays, unset as null"
        ),
    ]
    mpi: Mpi
    ranks: Annotated[Processes, about("number of processes")]
    hosts: Annotated[list[Host], Meta(min_length=1)]
    memory_per_process_bytes: Annotated[PositiveBytes, about("memory per process that the benchmark uses")]
    memory_source: Annotated[
        Literal["physical", "cgroup", "option"], about("its source: `physical`, `cgroup` or `option`")
    ]
    filesystem: Annotated[
        Filesystem | None,
        about("if the run accesses files, [the file system under test](#the-file-system-under-test); else null"),
    ]
    environment: Annotated[
        dict[str, Text],
        about(
            "variables of rank 0 that affect the MPI library (`OMPI_*`, `MPICH_*`, `UCX_*`, ...), "
            "name to value; also `LD_PRELOAD`, `LD_AUDIT`, those that `COFFEECUP_COMPARED` names, "
            "and `COFFEECUP_ASKED`: what a check states about its placement, partition and "
            "scheduler"
        ),
    ]
    environment_differs: Annotated[
        list[Text],
        about(
            "the names of such variables (but `PSM2_DEVICES`) that a process lacks, or has with "
            "another value than rank 0"
        ),
    ] = []
    build: Build
    provenance: Provenance
    simulated: Annotated[bool, about("true if the kernel was built for a simulator")]

    @property
    def tested_filesystem(self) -> Filesystem:
        """For benchmarks that refuse logs without one (rules.problems_of_file_system)."""
        if self.filesystem is None:
            raise ValueError("the log does not state the file system under test")
        return self.filesystem


class Overhead(Record):
    """The cost of measuring; the last three are means over a short loop, on the slowest process."""

    clock_resolution_seconds: Annotated[Seconds, about("what `MPI_Wtick()` returns on rank 0")]
    clock_read_seconds: Annotated[Seconds, about("of reading the clock")]
    barrier_seconds: Annotated[Seconds, about("of a barrier")]
    agreement_seconds: Annotated[Seconds, about("of one allreduce of one double")]


class File(Part):
    """The `program`, each `library` that it had loaded when the log was opened (`/proc/self/maps`), and each `input`
    file that an option names, all on the node of rank 0."""

    role: Annotated[Literal["program", "library", "input"], about("`program` (first), `library` or `input`")]
    path: Annotated[Text, about("where it is")]
    sha256: Annotated[Sha256 | None, about("its hash; null if it could not be read")]


class OtherFile(Part):
    """Nodes whose first process runs another program or library than rank 0."""

    host: Annotated[Text, about("the node")]
    path: Annotated[Text, about("the first such file")]


class Files(Record):
    """What ran (missing in simulations)."""

    files: Annotated[list[File], Meta(min_length=1)]
    other_files: list[OtherFile]


class PhaseClocks(Part):
    """What rank 0 measured, by the clock that measured and by the time of day: for each message length of b_eff, access
    method and type of b_eff_io, stage of FTIO and sub-benchmark of PRIOMark."""

    phase: Annotated[Text, about("what was measured")]
    measured_seconds: Annotated[Seconds, about("the sum of its times as measured")]
    day_seconds: Annotated[Seconds, about("the sum of the same times by the time of day")]


class Clocks(Record):
    """How long the run took on rank 0, from opening to closing the log (missing in simulations)."""

    mpi_seconds: Annotated[Seconds, about("by `MPI_Wtime()`, the clock of all measurements")]
    day_seconds: Annotated[Seconds, about("by the time of day, asked without a library")]
    phases: Annotated[list[PhaseClocks], Meta(min_length=1)]


class ActivityOfHost(Part):
    """The nodes in the order of the run's `hosts`."""

    others_user_seconds: Annotated[
        ProcessorSeconds, about("user time of programs that do not belong to the run, summed over its processors")
    ]
    stolen_seconds: Annotated[
        ProcessorSeconds, about("time that a hypervisor gave to other virtual machines, summed over its processors")
    ]


class Activity(Record):
    """Other use of the hosts' processors since the log was opened, if the system reports it (`/proc/stat`)."""

    elapsed_seconds: Annotated[PositiveSeconds, about("since the log was opened")]
    hosts: Annotated[list[ActivityOfHost], Meta(min_length=1)]


class Overlap(Record):
    """Only if other runs of coffeecup used the same directory under test."""

    directories: Annotated[
        list[Text],
        Meta(max_length=16),
        about("the names of their run directories, which existed there when this run started or ended; at most 16"),
    ]
    noticed_by_others: Annotated[bool, about("whether another run started or ended while this one ran")]


class HungFile(Part):
    """The file that a process of a run that hangs accesses."""

    path: Annotated[Text, about("its path")]
    type: Annotated[Text, about("of its file system")]
    source: Annotated[Text | None, about("what is mounted there; null if unknown")]
    calls: Annotated[Calls, about("accesses, blocks or rows so far, from time to time; 0 of a generator of load")]
    offset: Annotated[Calls | None, about("of the next access, from time to time; null if unknown")]


class HungProcess(Part):
    """A process of a run that hangs."""

    rank: Annotated[Rank, about("which")]
    host: Annotated[Text, about("its node")]
    process: Annotated[Count, about("its number on the node")]
    state: Annotated[
        Literal["running", "sleeping", "in the kernel", "stopped", "traced", "zombie", "gone"],
        about("`running`, `sleeping`, `in the kernel`, `stopped`, `traced`, `zombie` or `gone`, by Linux's `/proc`"),
    ]
    kernel_function: Annotated[Text | None, about("of Linux, in which it waits; null if it is not known")]
    steps: Annotated[Calls, about("how often its place changed; even while it only waits for others")]
    place: Annotated[Text, about("the loop that it began last, or ended")]
    file: Annotated[HungFile | None, about("that it accesses; null if none")]
    messages: Annotated[Calls, about("that it received in this loop; 0 outside of exchanges")]
    receives_from: Annotated[list[Rank], about("from one of which it waits for a message; empty if it does not")]
    adapters_lost: Annotated[list[Text], about("network adapters of its node that lost their link during the run")]


class End(Record, kw_only=True):
    """How the run ended."""

    status: Annotated[
        Literal["complete", "interrupted", "failed", "hung"], about("`complete`, `interrupted`, `failed` or `hung`")
    ]
    reason: Annotated[Text | None, about("a sentence; null if the run is complete")]
    rank: Annotated[Rank | None, about("the process that failed, if a single one did")] = None
    host: Annotated[Text | None, about("its node")] = None
    processes: Annotated[list[HungProcess] | None, about("of a run that hangs, on nodes that see the log")] = None
    records: Annotated[Count, about("number of lines of the log, including this one")]
    elapsed_seconds: Annotated[Seconds, about("since the log was opened")]
    end_time: Annotated[
        Time | None, about("UTC, by the clock of the time of day; missing if a signal or the keeper closed the log")
    ] = None


def distinct(field: str, values: Sequence) -> None:
    """Raises ValueError if a value occurs twice, which no type can exclude."""
    if len(set(values)) != len(values):
        raise ValueError(f"{field}: {next(value for value in values if values.count(value) > 1)!r} occurs twice")
