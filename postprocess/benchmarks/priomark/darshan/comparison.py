# SPDX-License-Identifier: Apache-2.0
"""Counters of PRIOMark's own run under Darshan beside those of the log that its workload is made from."""

import re
from dataclasses import replace
from pathlib import Path, PurePath

import msgspec
import pandas as pd
from rich.text import Text

from coffeecup.postprocess.benchmarks.priomark.darshan import logs, requests
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.show.terminal import rendered, simple_table
from coffeecup.postprocess.show.words import digits, printable

SCRATCH = re.compile(r"/priomark-[a-z0-9]{6}/[^/]+$")  # a file of a run, beside its log and its workload
TOLERANCE = 0.05  # of bytes and operations
SHARE_TOLERANCE = 0.1  # of shares, absolute


class Row(msgspec.Struct, frozen=True):
    """A value of both logs. `tolerance` is their largest difference that counts as reproduced; None if workloads do not
    describe the value."""

    what: str
    original: float
    run: float
    tolerance: float | None

    @property
    def reproduced(self) -> bool | None:
        return None if self.tolerance is None else abs(self.run - self.original) <= self.tolerance

    @property
    def verdict(self) -> str:
        return {True: "reproduced", False: "NOT REPRODUCED", None: "not in workloads"}[self.reproduced]


class Comparison(msgspec.Struct, frozen=True):
    original: str
    run: str
    rows: list[Row]

    @property
    def holds(self) -> bool:
        return all(row.reproduced is not False for row in self.rows)

    @property
    def content(self) -> dict:
        """For JSON."""
        rows = [msgspec.to_builtins(row) | {"reproduced": row.reproduced} for row in self.rows]
        return msgspec.to_builtins(self) | {"rows": rows, "holds": self.holds}

    @property
    def shown(self) -> str:
        table = simple_table("POSIX and MPI-IO")
        for heading in ("original", "run", "tolerance"):
            table.add_column(heading, justify="right")
        table.add_column("verdict")
        for row in self.rows:
            tolerance = "" if row.tolerance is None else digits(row.tolerance)
            table.add_row(row.what, digits(row.original), digits(row.run), tolerance, row.verdict)
        title = f"{printable(self.run)} beside {printable(self.original)}"
        return rendered(Text(title, style="bold"), table, width=100)


def compare(original: Path, run: Path) -> Comparison | list[LogError]:
    """The comparison, or why the logs cannot be compared."""
    both = list(logs.read([original, run]))
    if isinstance(both[1], logs.DarshanLog):
        both[1] = own_files(both[1])
    errors, sides = [], []
    for log in both:
        if isinstance(log, LogError):
            errors.append(log)
        elif (found := requests.files(log)).empty:
            errors.append(LogError(log.path, "no reads or writes by POSIX or MPI-IO"))
        else:
            sides.append(values(log, found))
    if errors:
        return errors
    first, second = sides
    rows = [
        Row(what, first.get(what, 0.0), second.get(what, 0.0), tolerance(what, first))
        for what in dict.fromkeys([*first, *second])
        if first.get(what) or second.get(what)
    ]
    return Comparison(str(original), str(run), rows)


def own_files(log: logs.DarshanLog) -> logs.DarshanLog | LogError:
    """The log of a run of PRIOMark, with the files that it measured."""
    program = PurePath(log.command.split(" ")[0]).name
    if program != "priomark":
        return LogError(
            log.path, f"a log of '{printable(program)}', not of priomark: state the log of the program first"
        )
    tables = {
        name: table[table.path.map(lambda path: bool(SCRATCH.search(str(path))))] for name, table in log.tables.items()
    }
    return replace(log, tables=tables)


def tolerance(what: str, original: dict[str, float]) -> float | None:
    """Each process makes as many requests of a kind, so their number is rounded by half of the processes at most."""
    if what == "processes":
        return 0.0
    if what.startswith("share"):
        return SHARE_TOLERANCE
    value = TOLERANCE * original.get(what, 0.0)
    if what.startswith("bytes"):
        return value
    return max(value, original["processes"] / 2) if what.startswith(("reads", "writes")) else None


def values(log: logs.DarshanLog, found: pd.DataFrame) -> dict[str, float]:
    """Of the requests by MPI-IO, or else by POSIX. Darshan counts their order by POSIX only."""
    posix = log.tables.get("POSIX", pd.DataFrame(columns=["id"]))
    posix = posix[posix.id.isin(found.id)]
    values: dict[str, float] = {"processes": log.processes}
    for way, moved in requests.DIRECTIONS.items():
        name, shared = f"{way.lower()}s", found[found.shared]
        values[name] = found[f"{way}S"].sum()
        values[f"bytes of {name}"] = found[moved].sum()
        for each in requests.BINS:
            values[f"{name} of {each.replace('_PLUS', ' and more').replace('_', ' to ')} byte"] = found[
                f"SIZE_{way}_{each}"
            ].sum()
        values[f"share of {name} in shared files"] = shared[f"{way}S"].sum() / max(values[name], 1)
        for order, meaning in (("SEQ", "behind the one before"), ("CONSEC", "directly behind it")):
            if len(posix) and values[name]:
                values[f"share of {name} {meaning}"] = posix[f"{order}_{way}S"].sum() / max(posix[f"{way}S"].sum(), 1)
    values["files"] = found.id.nunique()
    values |= {what: amount for what, (amount, _) in requests.unlike(log).items()}
    return {what: float(value) for what, value in values.items()}
