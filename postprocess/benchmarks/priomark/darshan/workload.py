# SPDX-License-Identifier: Apache-2.0
"""The door: Darshan logs to the text of a workload, and what of the logs it has."""

from collections import Counter
from math import floor
from pathlib import Path

import msgspec
import pandas as pd
from rich.table import Table
from rich.text import Text

from coffeecup.postprocess.benchmarks.priomark.darshan import logs, requests
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.show.tables import each_row
from coffeecup.postprocess.show.terminal import rendered, simple_table
from coffeecup.postprocess.show.words import counted, digits, printable, size

MOST_GROUPS = 64  # of a workload
LARGEST_RATIO = 10**7  # of reads to writes, in digits that a workload can have
OTHER: dict[str, str] = {
    "unaligned": "requests at offsets that are no multiple of the file system's block; those of the workload begin at "
    "multiples of their own size",
    "few": "requests of a kind that has less than one for two processes",
    "kinds": f"requests of kinds beyond the {MOST_GROUPS} with the most bytes",
}


class Group(msgspec.Struct, frozen=True):
    """A group of the workload: `reads` and `writes` are the operations of all processes."""

    benchmark: str
    pattern: str
    method: str
    block_bytes: int
    process_bytes: int
    read_write: str
    reads: int
    writes: int

    @property
    def text(self) -> str:
        keys = (
            f'process_size = "{self.process_bytes}B"; block_size = "{self.block_bytes}B"; '
            f'read_write = "{self.read_write}";\n      patterns = "{self.pattern}"; methods = "{self.method}";'
        )
        return f"    {{ {keys} }}"


class Amount(msgspec.Struct, frozen=True):
    """Of the logs, and of a run of the workload on `processes`."""

    logs: int
    workload: int


def table_of_amounts(title: str, logs: str, made: str, amounts: dict[str, Amount]) -> Table:
    """For the terminal: what the logs have, what was made of it, and the ratio."""
    table = simple_table(title)
    for heading in (logs, made, f"{made} / log"):
        table.add_column(heading, justify="right")
    for name, each in amounts.items():
        ratio = f"{each.workload / each.logs:.3f}" if each.logs else "–"
        table.add_row(name.replace("_", " "), digits(each.logs), digits(each.workload), ratio)
    return table


class Missing(msgspec.Struct, frozen=True):
    """What the workload has not."""

    what: str
    operations: int
    bytes: int

    @property
    def amount(self) -> str:
        return digits(self.operations) + (f" of {size(self.bytes)} in total" if self.bytes else "")


class Workload(msgspec.Struct, frozen=True):
    """A workload of logs, for a run on `processes`. `partial` names logs of which Darshan noted only a part."""

    processes: int
    logs: list[str]
    partial: list[str]
    groups: list[Group]
    amounts: dict[str, Amount]
    missing: list[Missing]

    @property
    def text(self) -> str:
        """The file."""
        lines = [
            f"# Made from {len(self.logs)} Darshan log(s); run it on {counted(self.processes, 'process')}.",
            'description = "from Darshan logs";',
        ]
        for name in dict.fromkeys(group.benchmark for group in self.groups):
            own = ",\n".join(group.text for group in self.groups if group.benchmark == name)
            lines += [f"{name} = (", own, ");"]
        return "\n".join(lines) + "\n"

    @property
    def shown(self) -> str:
        """What of the logs a run of the workload reproduces, for the terminal."""
        kinds = simple_table("sub-benchmark", "pattern", "method")
        for heading in ("block", "reads", "writes"):
            kinds.add_column(heading, justify="right")
        for each in self.groups:
            amounts = (size(each.block_bytes), digits(each.reads), digits(each.writes))
            kinds.add_row(each.benchmark, each.pattern, each.method, *amounts)
        table = table_of_amounts("POSIX and MPI-IO", counted(len(self.logs), "log"), "workload", self.amounts)
        notes = [f"- not reproduced: {entry.what}: {entry.amount}" for entry in self.missing]
        notes += [f"- incomplete, because Darshan ran out of memory: {printable(path)}" for path in self.partial]
        size_of_run = counted(self.processes, "process")
        title = f"Workload for {size_of_run}; times between requests and their order are not reproduced"
        return rendered(Text(title, style="bold"), kinds, table, *map(Text, notes), width=100)


def from_darshan(paths: list[Path]) -> tuple[Workload | None, list[LogError]]:
    """The workload of all logs that can be used, run together on the processes of the largest of them, and why others
    cannot. None if no log has requests that a workload can contain."""
    read = list(logs.read(paths))
    errors = [log for log in read if isinstance(log, LogError)]
    used, tables = [], []
    for log in read:
        if not isinstance(log, LogError):
            found = requests.files(log)
            if found.empty:
                errors.append(
                    LogError(
                        log.path,
                        "no reads or writes by POSIX or MPI-IO, and Darshan notes no sizes of others; leave it out",
                    )
                )
            else:
                used.append(log)
                tables.append(found)
    made = workload(used, pd.concat(tables, ignore_index=True)) if used else None
    if made and not made.groups:
        return None, errors + [
            LogError(log.path, f"no request for each two of {made.processes} processes") for log in used
        ]
    return made, errors


def workload(used: list[logs.DarshanLog], found: pd.DataFrame) -> Workload:
    processes = max(log.processes for log in used)
    missing: Counter[tuple[str, str]] = Counter()
    for log in used:
        for what, (operations, moved) in requests.unlike(log).items():
            missing += Counter({(what, "operations"): operations, (what, "bytes"): moved})
    groups = []
    for row in each_row(requests.kinds(found)):
        if made := group(row, processes):
            groups.append(made)
        else:
            operations = row.reads + row.writes
            missing += Counter({("few", "operations"): operations, ("few", "bytes"): operations * row.block_bytes})
    groups.sort(key=lambda each: -each.process_bytes)
    for each in groups[MOST_GROUPS:]:
        moved = each.process_bytes * processes
        missing += Counter({("kinds", "operations"): each.reads + each.writes, ("kinds", "bytes"): moved})
    groups = groups[:MOST_GROUPS]
    return Workload(
        processes,
        [str(log.path) for log in used],
        [str(log.path) for log in used if log.partial],
        groups,
        amounts(found, groups),
        [
            Missing(OTHER.get(what, what), missing[what, "operations"], missing[what, "bytes"])
            for what in dict.fromkeys(what for what, _ in missing)
        ],
    )


def group(row, processes: int) -> Group | None:
    """The group of a kind of requests: each process makes as many, rounded. None if that is none."""
    blocks = floor((row.reads + row.writes) / processes + 0.5)
    if not blocks:
        return None
    share = row.reads / (row.reads + row.writes)
    whole = min(blocks, LARGEST_RATIO - 1)
    reads_of_whole = floor(whole * share + 0.5)
    reads = floor(blocks * reads_of_whole / whole + 0.5)
    method, name = ("explicit", "common_file") if row.mpi_io else ("posix", "common_file")
    if row.order == "strided":
        method, name = "individual", "strided"
    elif not row.shared:
        method, name = "posix", "single_file"
    elif row.mpi_io and row.collective:
        method = "explicit-collective"
    if name == "strided" and row.collective:
        method = "individual-collective"
    pattern = "random-read-write" if row.order == "random" else "read-write" if row.reads else "write"
    return Group(
        name,
        pattern,
        method,
        row.block_bytes,
        blocks * row.block_bytes,
        f"{reads_of_whole}:{whole - reads_of_whole}",
        processes * reads,
        processes * (blocks - reads),
    )


def amounts(found: pd.DataFrame, groups: list[Group]) -> dict[str, Amount]:
    """Of the requests by POSIX and MPI-IO."""
    return {
        "read_operations": Amount(int(found.READS.sum()), sum(each.reads for each in groups)),
        "write_operations": Amount(int(found.WRITES.sum()), sum(each.writes for each in groups)),
        "bytes_read": Amount(int(found.BYTES_READ.sum()), sum(each.reads * each.block_bytes for each in groups)),
        "bytes_written": Amount(int(found.BYTES_WRITTEN.sum()), sum(each.writes * each.block_bytes for each in groups)),
    }
