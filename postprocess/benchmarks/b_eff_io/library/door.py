# SPDX-License-Identifier: Apache-2.0
"""What the core of b_eff_io asks for of runs through an interface of PRIOMark. Such a run has no b_eff_io."""

from collections.abc import Iterator

import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff_io import library
from coffeecup.postprocess.benchmarks.b_eff_io.definition import TYPES
from coffeecup.postprocess.benchmarks.b_eff_io.means import (
    TYPE_WEIGHTS,
    WEIGHTS,
    method_bandwidth,
    type_bandwidth,
    type_values,
)
from coffeecup.postprocess.benchmarks.b_eff_io.records import PatternType, Plan
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.rules import Problem, broken
from coffeecup.postprocess.show.words import NARROW_SPACE, counted, digits, printable

MPI_IO = "mpi-io"  # the interface that is none


def name(log: Log[Plan]) -> str | None:
    """The interface of a run, None of the paper's."""
    value = log.run.options[library.OPTION]
    return None if value is None else str(value)


def averaged_types(log: Log[Plan]) -> tuple[str, ...]:
    """The types that a run must have."""
    return library.TYPES if name(log) else TYPES


def problems_of_plan(log: Log[Plan]) -> Iterator[Problem]:
    """The plan has what the option asks for, and no interface without it."""
    interface, types = name(log), {entry.name for entry in log.plan.types}
    base = str(interface).rpartition("/")[2]
    loaded = [base, f"{base}-collective"] if interface and base != MPI_IO else []
    fits_types = not interface or types == {*library.TYPES}
    fits = fits_types and [entry.name for entry in log.plan.interfaces] == loaded
    yield from broken(log.plan, {"interfaces": fits})


def bytes_of_file(log: Log[Plan], record: PatternType, data_bytes: int) -> int:
    """The size that the file of a type must have: a library stores more than the data."""
    return max(data_bytes, record.file_bytes) if log.plan.interfaces else data_bytes


def breaches(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    """That the run has no b_eff_io."""
    if interface := name(log):
        loaded = "; ".join(f"{entry.name}, SHA-256 {entry.sha256[:16]}..." for entry in log.plan.interfaces)
        yield (
            "interface",
            f"only {counted(len(log.plan.types), 'type')} of files were accessed, through the interface {interface}"
            f"{f' ({loaded})' * bool(loaded)}, and their mean is no b_eff_io",
        )


def hinted(log: Log[Plan]) -> str:
    """Whose the hints of a run are."""
    return "the interface" if log.plan.interfaces else "MPI-I/O"


def metrics(logs: list[Log[Plan]], table: pd.DataFrame) -> list[pd.DataFrame]:
    """The metrics of runs through an interface, a column each and a row per log, if there are any: the paper's means
    over the types that are there, of the largest partition, which is the same in all runs that are compared."""
    own = table[table["log"].isin([number for number, log in enumerate(logs) if name(log)])]
    if own.empty:
        return []
    types = type_bandwidth(own[own["partition"] == own.groupby("log")["partition"].transform("max")])
    values = method_bandwidth(types, TYPE_WEIGHTS[[*library.TYPES]])
    values = values.assign(bandwidth=values.mul(WEIGHTS, axis=1).sum(axis=1, skipna=False))
    found = values.join(type_values(types)).droplevel("partition").add_prefix("library_")
    return [found[[metric.name for metric in library.METRICS]]]


def title(log: Log[Plan]) -> str:
    """The heading of a run through an interface, empty for one of the paper's."""
    return f"Files of b_eff_io through {printable(interface)}" if (interface := name(log)) else ""


def sentences(log: Log[Plan], score: Score) -> list[str]:
    """Of a run through an interface; none for one of the paper's."""
    loaded = "; ".join(entry.properties or entry.summary for entry in log.plan.interfaces[:1])
    text = (
        f"{title(log)}{f' ({loaded})' * bool(loaded)}: {digits(score.headline[1].value, NARROW_SPACE)} million bytes "
        "per second, averaged over initial write, rewrite and read, and three ways of laying data into files. This is "
        "no b_eff_io: compare it with the same run through mpi-io."
    )
    return [text] if name(log) else []
