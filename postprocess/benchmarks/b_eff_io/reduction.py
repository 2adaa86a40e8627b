# SPDX-License-Identifier: Apache-2.0
"""b_eff_io, the effective MPI-I/O bandwidth: three published reductions of the same measurements.

Pure functions from a tidy table of measurements, of one log or of many, to scores. "the paper" is R. Rabenseifner and
A. E. Koniges, "The Parallel Communication and I/O Bandwidth Benchmarks: b_eff and b_eff_io"; "release 0.5" their
"Effective I/O bandwidth benchmark". Which logs may be reduced at all is decided in rules.py.
"""

from collections.abc import Iterator
from typing import cast

import numpy as np
import pandas as pd
import pandera.pandas as pa

from coffeecup.postprocess.benchmarks.b_eff_io import BENCHMARK
from coffeecup.postprocess.benchmarks.b_eff_io.definition import METHODS, TYPES
from coffeecup.postprocess.benchmarks.b_eff_io.library import door as library
from coffeecup.postprocess.benchmarks.b_eff_io.means import (
    TYPE_WEIGHTS,
    WEIGHTS,
    method_bandwidth,
    type_bandwidth,
    type_values,
)
from coffeecup.postprocess.benchmarks.b_eff_io.records import Measurement, PatternType, Plan
from coffeecup.postprocess.benchmarks.measurements import fields_of, table_of
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.units import MBYTE

COLUMNS = pa.DataFrameSchema(
    {
        "log": pa.Column(int, pa.Check.ge(0)),
        "partition": pa.Column(int, pa.Check.gt(0)),
        "method": pa.Column(str, pa.Check.isin(METHODS)),
        "type": pa.Column(str),
        "averaged": pa.Column(bool),
        "pattern": pa.Column(int, pa.Check.ge(0)),
        "units": pa.Column(int, pa.Check.ge(0)),
        "chunk_bytes": pa.Column(int, pa.Check.gt(0)),
        "bytes": pa.Column(int, pa.Check.gt(0)),
        "ended_by": pa.Column(str),
        "scheduled_seconds": pa.Column(float, pa.Check.ge(0)),
        "elapsed_seconds": pa.Column(float, pa.Check.gt(0)),
        "access_seconds": pa.Column(float, pa.Check.ge(0)),
        "sync_seconds": pa.Column(float, pa.Check.ge(0)),
        "agreement_seconds": pa.Column(float, pa.Check.ge(0)),
        "agreement_fastest_seconds": pa.Column(float, pa.Check.ge(0)),
        "type_seconds": pa.Column(float, pa.Check.gt(0), nullable=True),
        "bandwidth": pa.Column(float, pa.Check.gt(0)),
    },
    strict=True,
)


def measurement_table(logs: list[Log[Plan]]) -> pd.DataFrame:
    """A row per access method, partition and pattern, in the order of measuring.

    `log` is the index in `logs`; `averaged` marks the rows that enter b_eff_io. `type_seconds` is the time of the row's
    pattern type from opening to closing its files, the same in all its rows. `bandwidth` is bytes of all processes /
    elapsed time in MByte/s (10^6 byte/s). Measurements that the log's plan does not contain are left out: `refusals`
    reports them.
    """
    return table_of((row for number, log in enumerate(logs) for row in rows_of(number, log)), COLUMNS)


def rows_of(number: int, log: Log[Plan]) -> Iterator[dict]:
    """The rows of one log."""
    units = {entry.pattern: entry.units for entry in log.plan.patterns}
    averaged = {entry.name for entry in log.plan.types if entry.averaged}
    seconds = {(r.partition, r.method, r.type): r.elapsed_seconds for r in log.all(PatternType)}
    for record in log.all(Measurement):
        if record.pattern in units:
            yield fields_of(record, COLUMNS) | {
                "log": number,
                "averaged": record.type in averaged,
                "units": units[record.pattern],
                "type_seconds": seconds.get((record.partition, record.method, record.type)),
                "bandwidth": record.bytes / record.elapsed_seconds / MBYTE,
            }


def partition_paper(types: pd.DataFrame) -> pd.Series:
    """Partition values of release 1.x, the paper's section 5.1: 25 % initial write, 25 % rewrite, 50 % read, in
    MByte/s."""
    return method_bandwidth(types).mul(WEIGHTS, axis=1).sum(axis=1, skipna=False)


def partition_2_1(types: pd.DataFrame) -> pd.Series:
    """Partition values of release 2.1 in MByte/s: sqrt(W * R), with

    W = (write0 + rewrite0 + write1 + write2 + write3 + write4) / 6,   R = (2 read0 + read1 + ... + read4) / 6.
    """
    rewrite = types["rewrite"].xs("scatter", level="type")
    written = (
        types["write"].groupby(level=["log", "partition"]).sum(min_count=len(TYPES)) + rewrite
    ) / TYPE_WEIGHTS.sum()
    return cast(pd.Series, np.sqrt(written * method_bandwidth(types)["read"]))


def partition_0_5(table: pd.DataFrame) -> pd.Series:
    """Partition values of release 0.5 in MByte/s: all bytes / all time, weighted by U because patterns do not take
    exactly their share of the time.

    Sum over access methods and patterns of U * bandwidth / sum of U: where every pattern takes exactly its share of the
    time, this is all bytes / all time. NaN unless all three access methods measured every weighted pattern.
    """
    weighted = table[table["averaged"] & (table["units"] > 0)]
    sums = (
        weighted.assign(product=weighted["units"] * weighted["bandwidth"])
        .groupby(["log", "partition"])[["product", "units"]]
        .sum()
    )
    return (sums["product"] / sums["units"]).where(sums["units"] == len(METHODS) * 64)


def partition_values(table: pd.DataFrame) -> pd.DataFrame:
    """The three reductions and the access method values, in MByte/s; a row per log and partition."""
    types = type_bandwidth(table)
    return method_bandwidth(types).assign(
        b_eff_io=partition_paper(types), b_eff_io_2_1=partition_2_1(types), b_eff_io_0_5=partition_0_5(table)
    )


def best_partitions(values: pd.DataFrame) -> pd.MultiIndex:
    """The partition with the largest value of every log, by the paper's reduction or, where that is not defined, by
    release 2.1."""
    ranked = values["b_eff_io"].fillna(values["b_eff_io_2_1"]).groupby(level="log").idxmax()
    return pd.MultiIndex.from_tuples(ranked, names=["log", "partition"])


def moved_bytes(log: Log[Plan]) -> int:
    """What all processes wrote and read, in all types."""
    return sum(record.bytes for record in log.all(Measurement))


def metrics(logs: list[Log[Plan]], table: pd.DataFrame) -> pd.DataFrame:
    """All metrics of the benchmark, a column each; a row per log in `table`, NaN where a log's form does not define
    one."""
    found = library.metrics(logs, table)
    rest = table[~table["log"].isin([number for frame in found for number in frame.index])]
    return pd.concat(found if rest.empty else [*found, paper_metrics(logs, rest)])


def paper_metrics(logs: list[Log[Plan]], table: pd.DataFrame) -> pd.DataFrame:
    """The metrics of runs with all types.

    The three reductions are the system's: each the largest of its partition values. Access methods and types are those
    of the partition with the largest value; a type's value weights the access methods as the paper does. The times of
    the coffee-cup rule are minutes that the memory of all the run's nodes takes at the bandwidths of initial write and
    of read; the rule wants 10.
    """
    values, types = partition_values(table), type_bandwidth(table)
    best = best_partitions(values)
    at_best, of_types = (each.loc[best].droplevel("partition") for each in (values, type_values(types)))
    memory = pd.Series(
        {number: float(sum(host.memory_bytes for host in logs[number].run.hosts)) for number in at_best.index}
    )
    written = table[table["averaged"] & (table["method"] == "write")].groupby(["log", "partition"])["bytes"].sum()
    return pd.DataFrame(
        {
            **{name: values[name].groupby(level="log").max() for name in ("b_eff_io", "b_eff_io_2_1", "b_eff_io_0_5")},
            **{name: at_best[name] for name in METHODS},
            **of_types,
            "best_partition": pd.Series(
                best.get_level_values("partition"), index=best.get_level_values("log"), dtype=float
            ),
            "memory_write_time": memory / (at_best["write"] * MBYTE) / 60,
            "memory_read_time": memory / (at_best["read"] * MBYTE) / 60,
            "written_share_of_memory": written.loc[best].droplevel("partition") / memory,
        }
    )[list(BENCHMARK.units)]
