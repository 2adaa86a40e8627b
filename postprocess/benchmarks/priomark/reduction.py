# SPDX-License-Identifier: Apache-2.0
"""PRIOMark: bandwidths and latencies of a workload, and one total of them.

Pure functions from the measurements of one log or of many to scores. "the paper" is M. Krietemeyer, D. Versick and D.
Tavangarian, "The PRIOMark Parallel I/O-Benchmark". Which logs may be reduced at all is decided in rules.py.
"""

from typing import cast

import numpy as np
import pandas as pd
import pandera.pandas as pa

from coffeecup.postprocess.benchmarks.measurements import fields_of, table_of
from coffeecup.postprocess.benchmarks.priomark import BENCHMARK, PERCENTILES, metadata
from coffeecup.postprocess.benchmarks.priomark.records import Measurement, Plan
from coffeecup.postprocess.benchmarks.priomark.rules import OVERLAP
from coffeecup.postprocess.logs.percentiles import percentile
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.units import MBYTE

COLUMNS = pa.DataFrameSchema(
    {
        "log": pa.Column(int, pa.Check.ge(0)),
        "case": pa.Column(int, pa.Check.ge(1)),
        "repetition": pa.Column(int, pa.Check.ge(1)),
        "benchmark": pa.Column(str),
        "pattern": pa.Column(str),
        "method": pa.Column(str),
        "process_bytes": pa.Column(int, pa.Check.gt(0)),
        "block_bytes": pa.Column("Int64", nullable=True),
        "read_share": pa.Column(float, nullable=True),
        "direct": pa.Column(bool),
        "target": pa.Column(str),
        "evicted": pa.Column(bool),
        "bytes": pa.Column(int, pa.Check.ge(0)),
        "read_calls": pa.Column(int, pa.Check.ge(0)),
        "write_calls": pa.Column(int, pa.Check.ge(0)),
        "elapsed_seconds": pa.Column(float, pa.Check.gt(0)),
        "open_seconds": pa.Column(float, pa.Check.ge(0)),
        "access_seconds": pa.Column(float, pa.Check.ge(0)),
        "sync_seconds": pa.Column(float, pa.Check.ge(0)),
        "close_seconds": pa.Column(float, pa.Check.ge(0)),
        "bandwidth": pa.Column(float, pa.Check.ge(0)),
        "acl": pa.Column(float, nullable=True),
        "abl": pa.Column(float, nullable=True),
        "covered": pa.Column(float, nullable=True),
    },
    strict=True,
)


def measurement_table(logs: list[Log[Plan]]) -> pd.DataFrame:
    """A row per log, case and repetition, in the order of measuring.

    `log` is the index in `logs`. `bandwidth` is bytes of all processes / elapsed time of the slowest in MByte/s (10^6
    byte/s); `bytes` and calls are those of all processes, times are in s. `acl` and `abl` are those of `losses`, NaN
    where nothing was overlapped; `covered` is the share of the processes whose calculation lasted as long as the
    transfer.
    """
    return table_of(
        [
            {
                "log": number,
                **fields_of(record, COLUMNS),
                "bytes": (moved := record.read_bytes + record.written_bytes),
                "bandwidth": moved / record.elapsed_seconds / MBYTE,
                **losses(record),
            }
            for number, log in enumerate(logs)
            for record in log.all(Measurement)
        ],
        COLUMNS,
    )


def losses(record: Measurement) -> dict[str, float]:
    """The loss of calculation and transfer when they run at the same time (the paper's section 4.1), where each time is
    that of the slowest process:

        ACL = 1 - t(calculation alone) / t(calculation while I/O runs)
        ABL = 1 - bandwidth(overlapped) / bandwidth(alone) = 1 - t(I/O alone) / t(I/O overlapped)

    Near 0 if they share no resource, 0.5 if each takes twice as long, below 0 if one was faster with the other than
    alone.
    """
    values = record.values
    if not all(max(values.get(name, [0])) > 0 for name in OVERLAP[:4]):
        return {"acl": np.nan, "abl": np.nan, "covered": np.nan}
    io_alone, io, calculation_alone, calculation = (max(values[name]) for name in OVERLAP[:4])
    return {
        "acl": 1 - calculation_alone / calculation,
        "abl": 1 - io_alone / io,
        "covered": float(np.mean(values["covered"])),
    }


def case_table(table: pd.DataFrame) -> pd.DataFrame:
    """A row per log and case: `bandwidth`, `acl` and `abl` are arithmetic means over the repetitions, in MByte/s and
    pure numbers."""
    properties = "benchmark pattern method process_bytes block_bytes read_share direct target evicted".split()
    groups = table.groupby(["log", "case"])
    return (
        groups[properties]
        .first()
        .join(groups[["bandwidth", "acl", "abl", "covered", "bytes", "elapsed_seconds"]].mean())
        .reset_index()
    )


def benchmark_values(cases: pd.DataFrame, geometric: bool = False) -> pd.Series:
    """The value of each sub-benchmark in MByte/s, by log and sub-benchmark: the mean over all of its cases, each
    counted once."""
    bandwidth = cast(pd.Series, np.log(cases["bandwidth"]) if geometric else cases["bandwidth"])
    means = bandwidth.groupby([cases["log"], cases["benchmark"]]).mean()
    return cast(pd.Series, np.exp(means) if geometric else means)


def total(values: pd.Series, geometric: bool = False) -> pd.Series:
    """The total in MByte/s by log: the mean over the sub-benchmarks that ran, the paper's `total`."""
    means = cast(pd.Series, np.log(values) if geometric else values).groupby(level="log").mean()
    return cast(pd.Series, np.exp(means) if geometric else means)


def moved_bytes(log: Log[Plan]) -> int:
    """What all processes wrote and read, in all sub-benchmarks."""
    small_files = 2 * metadata.read_bytes(log)  # each file is written once and read once
    return small_files + sum(record.written_bytes + record.read_bytes for record in log.all(Measurement))


def metrics(logs: list[Log[Plan]], table: pd.DataFrame) -> pd.DataFrame:
    """All metrics of the benchmark, a column each; a row per log in `table`, NaN where a log did not measure one.

    A loaded interface has a column that begins with its name. Latencies are those of all requests of the log, over all
    its cases and processes.
    """
    cases = case_table(table)
    values = benchmark_values(cases)
    wide = values.unstack("benchmark")
    sums = total(values)
    ranks: pd.Series = pd.Series({number: logs[number].run.ranks for number in sums.index})
    latencies = pd.DataFrame({number: latency_metrics(logs[number]) for number in sums.index}).T
    operations = pd.DataFrame({number: metadata.metadata_metrics(logs[number]) for number in sums.index}).T
    interfaces = pd.DataFrame({number: interface_metrics(logs[number]) for number in sums.index}).T
    return (
        wide.assign(
            total=sums,
            total_per_process=sums / ranks,
            total_geometric=total(benchmark_values(cases, geometric=True), geometric=True),
            acl=cases.groupby("log")["acl"].mean(),
            abl=cases.groupby("log")["abl"].mean(),
        )
        .join([latencies, operations])
        .reindex(columns=[*BENCHMARK.units])
        .join(interfaces)
    )


def interface_metrics(log: Log[Plan]) -> dict[str, float]:
    """The metric of each loaded interface: the mean over its measurements in each sub-benchmark, then over the
    sub-benchmarks. A bandwidth in MByte/s, a rate in operations/s, or the mean duration of a request in ms."""
    return {
        f"{entry.name}_{entry.figure}": float(
            pd.Series([figure_of(record, entry.figure) for record in own])
            .groupby([record.benchmark for record in own])
            .mean()
            .mean()
        )
        for entry in log.plan.interfaces
        for own in [[record for record in log.all(Measurement) if record.method == entry.name]]
    }


def figure_of(record: Measurement, figure: str) -> float:
    """Of all processes, in the unit of the figure."""
    calls, moved = record.read_calls + record.write_calls, record.read_bytes + record.written_bytes
    per_second = {"bandwidth": moved / record.elapsed_seconds / MBYTE, "rate": calls / record.elapsed_seconds}
    return per_second.get(figure, 1e3 * sum(found.sum_seconds for found in record.latencies) / calls)


def latency_metrics(log: Log[Plan]) -> dict[str, float]:
    """Percentiles of all requests of a log in ms, NaN for an operation that did not take place."""
    return {
        f"{operation}_latency_{name}": 1e3
        * percentile(
            [found for record in log.all(Measurement) for found in record.latencies if found.operation == operation],
            share,
        )
        for operation in ("read", "write")
        for name, share in PERCENTILES.items()
    }
