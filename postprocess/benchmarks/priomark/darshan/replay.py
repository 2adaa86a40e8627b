# SPDX-License-Identifier: Apache-2.0
"""The door: a Darshan log with a trace of each request (DXT) to a recording that PRIOMark replays, in the format of
kernels/priomark/trace, and what of the log it has."""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from json import dumps
from pathlib import Path
from urllib.parse import quote

import msgspec
import pandas as pd
from rich.text import Text

from coffeecup.postprocess.benchmarks.priomark.darshan import logs
from coffeecup.postprocess.benchmarks.priomark.darshan.requests import unlike
from coffeecup.postprocess.benchmarks.priomark.darshan.workload import Amount, Missing, table_of_amounts
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.show.tables import each_row
from coffeecup.postprocess.show.terminal import rendered
from coffeecup.postprocess.show.words import counted

UNTRACED = ("requests by stdio", "stats", "syncs")


@dataclass(frozen=True)
class Replay:
    """A recording: the text of the trace of each process by the name of its file. `complete` is whether Darshan traced
    all requests."""

    log: Path
    complete: bool
    amounts: dict[str, Amount]
    missing: list[Missing]
    traces: dict[str, str]

    @property
    def content(self) -> dict:
        """For JSON."""
        made = {"processes": len(self.traces), "complete": self.complete, "amounts": self.amounts}
        return msgspec.to_builtins(made | {"missing": self.missing})

    def files(self, folder: Path) -> dict[str, str]:
        """The texts of the files of the folder of a recording, with the workload that replays it."""
        lines = (
            f"# Made from a Darshan log; run it on {counted(len(self.traces), 'process')}.",
            f"description = {dumps('from the trace of ' + self.log.name, ensure_ascii=False)};",
            f"trace = {{ recording = {dumps(str(folder), ensure_ascii=False)}; }};",
        )
        return self.traces | {"replay.cfg": "".join(f"{line}\n" for line in lines)}

    @property
    def shown(self) -> str:
        """What of the log a replay reproduces, for the terminal."""
        notes = [f"- not reproduced: {entry.what}: {entry.amount}" for entry in self.missing]
        notes += [] if self.complete else ["- incomplete, because Darshan ran out of memory for traces"]
        title = f"Replay for {counted(len(self.traces), 'process')}"
        table = table_of_amounts("POSIX", "log", "replay", self.amounts)
        return rendered(Text(title, style="bold"), table, *map(Text, notes), width=100)


def replay(path: Path) -> Replay | LogError:
    """The recording of a log, or why there is none."""
    [log] = logs.read([path], traced=True)
    if isinstance(log, LogError):
        return log
    found = log.tables.get(logs.TRACE)
    if found is None or not found.bytes.sum():
        how = "set DXT_ENABLE_IO_TRACE=1 when the program runs, or use `coffeecup workload from-darshan`"
        return LogError(path, f"no trace of reads or writes by POSIX (DXT); {how}")
    found = with_sizes(found.sort_values("begin", kind="stable", ignore_index=True))
    moving = found.groupby("process").bytes.transform("sum") > 0  # PRIOMark leaves out the others
    traces = {
        f"process-{process:06d}.trace": "".join(f"{line}\n" for line in lines(log, own))
        for process, own in found[moving].groupby("process")
    }
    missing = [Missing(what, *each) for what, each in unlike(log).items() if what in UNTRACED]
    return Replay(path, logs.TRACE not in log.partial, amounts(log, found), missing, traces)


def with_sizes(found: pd.DataFrame) -> pd.DataFrame:
    """With `size_bytes`, that a file had when its process opened it: up to the end of what the process read of it
    without having written as far."""
    end, file = found.offset + found.bytes, [found.process, found.path]
    written = end.where(found.writes, 0).groupby(file).cummax()
    needed = end.where(~found.writes & (end > written), 0)
    return found.assign(size_bytes=needed.groupby(file).transform("max"))


def lines(log: logs.DarshanLog, own: pd.DataFrame) -> Iterator[str]:
    """Of the trace of one process. A file is opened with its first request and closed at the end: Darshan
    traces neither."""
    yield from ("priomark-trace 1", f"command {quote(log.command or 'unknown', safe=' /')}", f"start {log.start}")
    handles: dict[str, int] = {}
    ways = own.groupby("path").writes.agg(["any", "all"])
    for thread, row in zip(threads(own), each_row(own)):
        if row.path not in handles:
            handles[row.path] = len(handles) + 3
            writes, only = ways.loc[row.path]
            flags = "O_RDONLY" if not writes else "O_WRONLY|O_CREAT" if only else "O_RDWR|O_CREAT"
            path = quote(row.path)
            yield f"at {row.begin} 0 {thread} open {handles[row.path]} {flags} {row.size_bytes} {path}"
        operation = "pwrite" if row.writes else "pread"
        place = f"{handles[row.path]} {row.offset} {row.bytes} {row.bytes}"
        yield f"at {row.begin} {row.end - row.begin} {thread} {operation} {place}"
    yield from (f"at {max(own.end)} 0 1 close {handle}" for handle in handles.values())


def threads(own: pd.DataFrame) -> Iterator[int]:
    """The thread of each request, from 1: the first one that is free, since Darshan does not note it."""
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    for row in each_row(own):
        while busy and busy[0][0] <= row.begin:
            heappush(free, heappop(busy)[1])
        thread = heappop(free) if free else len(busy) + 1
        heappush(busy, (row.end, thread))
        yield thread


def amounts(log: logs.DarshanLog, found: pd.DataFrame) -> dict[str, Amount]:
    """Of the requests by POSIX, which include what MPI-IO made of its own."""
    counted_by_log = log.tables["POSIX"]
    parts = {"read": found[~found.writes], "write": found[found.writes]}
    operations = {
        f"{way}_operations": Amount(int(counted_by_log[f"{way.upper()}S"].sum()), len(part))
        for way, part in parts.items()
    }
    moved = zip(("bytes_read", "bytes_written"), parts.values())
    return operations | {
        name: Amount(int(counted_by_log[name.upper()].sum()), int(part.bytes.sum())) for name, part in moved
    }
