# SPDX-License-Identifier: Apache-2.0
"""The records of all benchmarks that do I/O, and what their records have in common."""

from typing import Annotated, Literal

from msgspec import Meta

from coffeecup.postprocess.logs.records import Bytes, Count, Name, Part, PositiveBytes, Record, Text, about, distinct


class MpiIo(Record):
    """Written when the first file is open through MPI-IO."""

    component: Annotated[Name | None, about("`ompio`, `romio`, or null if it cannot be detected")]


class DataCheck(Record):
    """Summed over processes. PRIOMark's does not include data that is read back after a case."""

    read_bytes: Annotated[Bytes, about("of all reads")]
    checked_bytes: Annotated[Bytes, about("compared with what had been written")]
    wrong_bytes: Annotated[Bytes, about("0 in a complete log: a wrong byte ends the run")]


# What fields of several benchmarks mean.
OF_PROCESSES = about("`process` or `node`: what has a value in the [lists](#times-of-processes)")
LIST_OF_PROCESSES = about("a [list](#times-of-processes) with a value of each process")
STRIPED = about("[how the files are striped](#stripes-of-files)")


class Striping(Part):
    """How a file is spread over servers."""

    preferred_bytes: Annotated[
        PositiveBytes, about("the size of a call that the file system prefers (`st_blksize` of `stat`)")
    ]
    parts: Annotated[
        Count | None,
        about("existing parts of the file: 1 except for composite layouts of Lustre; null if unknown"),
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
    releases it after the last read, PRIOMark before the first and after the last case."""

    share_percent: Annotated[SharePercent, about("of each node's memory")]
    hosts: Annotated[list[FilledHost], Meta(min_length=1)]
