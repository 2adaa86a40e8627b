# SPDX-License-Identifier: Apache-2.0
"""Darshan logs, read with PyDarshan. Its C library ends the whole process for some damaged logs, so it has one of its
own."""

import os
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coffeecup.postprocess.logs.paths import regular
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.logs.workers import workers
from coffeecup.postprocess.show.words import size

if TYPE_CHECKING:
    import pandas as pd
    from darshan import DarshanReport

PREFIXES = {"POSIX": "POSIX_", "MPI-IO": "MPIIO_", "STDIO": "STDIO_"}  # modules, and of their counters
TRACE = "DXT_POSIX"  # the module of traces
LARGEST = 1 << 30  # bytes of a log; Darshan limits the memory of a process to a few MiB


@dataclass(frozen=True)
class DarshanLog:
    """`tables` has a row for each record of a module: a file that one process, or all of them (rank -1), accessed. The
    columns are `id`, `rank`, the `path` of the file, and the counters without the module's prefix. `partial` names
    modules that ran out of memory, so that files are missing; `command` is the program's command line, which began at
    `start`, in ns since 1970. A trace of requests is the table TRACE (see requests)."""

    path: Path
    processes: int
    partial: list[str]
    tables: "dict[str, pd.DataFrame]"
    command: str = ""
    has_trace: bool = False
    start: int = 0


def read_here(path: Path, traced: bool = False) -> DarshanLog:
    """Reads a log in this process. Raises OSError, what PyDarshan raises, and ValueError for missing records."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # where the library prints
    import darshan

    with path.open("rb") as file:  # PyDarshan does not state why it cannot open a file
        report = darshan.DarshanReport(f"/proc/self/fd/{file.fileno()}", read_all=False)
    report.read_name_records()
    tables = {}
    for module, prefix in PREFIXES.items():
        if module in report.modules:
            report.mod_read_all_records(module, dtype="pandas")
            records = report.records[module]
            if not records or records[0] is None or records[0]["counters"] is None:
                raise ValueError(f"the records of {module} are missing")
            table = records[0]["counters"].rename(columns=lambda name, cut=prefix: name.removeprefix(cut))
            tables[module] = table.assign(path=table.id.map(report.name_records).fillna(""))
    processes = int(report.metadata["job"]["nprocs"])
    if processes < 1:
        raise ValueError(f"{processes} processes")
    if traced and TRACE in report.modules:
        tables[TRACE] = requests(report)
    partial = [module for module in tables if report.modules[module].get("partial_flag")]
    has_trace = any(module.startswith("DXT_") for module in report.modules)
    job = report.metadata["job"]
    start = job["start_time_sec"] * 10**9 + job["start_time_nsec"]
    return DarshanLog(path, processes, partial, tables, str(report.metadata["exe"]), has_trace, start)


def requests(report: "DarshanReport") -> "pd.DataFrame":
    """The traced requests of POSIX: `process`, `path`, `writes`, `offset` and `bytes`, and `begin` and `end` in ns
    since the start of the program."""
    import pandas as pd

    report.mod_read_all_dxt_records(TRACE, dtype="pandas")
    parts = []
    for record in report.records[TRACE]:
        file = {"process": record["rank"], "path": report.name_records.get(record["id"], str(record["id"]))}
        parts += [record[f"{way}_segments"].assign(**file, writes=way == "write") for way in ("read", "write")]
    whole = pd.concat([part for part in parts if len(part)], ignore_index=True)
    begin, end = ((whole[f"{name}_time"] * 1e9).round().clip(lower=0).astype("int64") for name in ("start", "end"))
    times = {"begin": begin, "end": end.clip(lower=begin)}
    return whole.rename(columns={"length": "bytes"}).astype({"offset": "int64", "bytes": "int64"}).assign(**times)


def read(paths: list[Path], traced: bool = False) -> Iterator[DarshanLog | LogError]:
    """Each log, on request with its trace, or why it cannot be read."""
    pool = None
    for path in paths:
        pool = pool or workers(1)
        try:
            if regular(path).stat().st_size > LARGEST:
                yield LogError(path, f"larger than {size(LARGEST)}; this is no log of Darshan")
            else:
                yield pool.submit(read_here, path, traced).result()
        except BrokenProcessPool:
            pool = None
            yield damaged(path, "PyDarshan ended")
        except OSError as error:
            yield LogError(path, f"cannot be read: {error.strerror}")
        except Exception as error:  # PyDarshan raises what its parts raise for contents that they did not expect
            yield damaged(path, str(error))
    if pool:
        pool.shutdown()


def damaged(path: Path, why: str) -> LogError:
    return LogError(path, f"not a complete Darshan log ({why.rstrip('.')}); copy it again, or leave it out")
