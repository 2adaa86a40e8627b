# SPDX-License-Identifier: Apache-2.0
"""FTIO: how much of a computation is I/O, and how fast its parts are.

Pure functions from the measurements of one log or of many to scores. "the paper" is F. C. Fagerstrom and C. L.
Kuszmaul, "The FTIO Benchmark". Which logs may be reduced at all is decided in rules.py.
"""

import numpy as np
import pandas as pd
import pandera.pandas as pa

from coffeecup.postprocess.benchmarks.ftio import BENCHMARK
from coffeecup.postprocess.benchmarks.ftio.records import Measurement, Plan, Repetition
from coffeecup.postprocess.benchmarks.ftio.rules import ACTIVITIES, STAGES
from coffeecup.postprocess.benchmarks.measurements import fields_of, table_of
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.units import MBYTE, MIB
from coffeecup.postprocess.statistics.means import bootstrap_interval

SIGNIFICANT = 0.05  # smallest difference of I/O Fractions that matters when the input parameter is chosen

COLUMNS = pa.DataFrameSchema(
    {
        "log": pa.Column(int, pa.Check.ge(0)),
        "repetition": pa.Column(int, pa.Check.ge(1)),
        "stage": pa.Column("category"),
        "activity": pa.Column("category"),
        "io": pa.Column(bool),
        "elapsed_seconds": pa.Column(float, pa.Check.gt(0)),
        "fastest_seconds": pa.Column(float, pa.Check.ge(0)),
        "mean_seconds": pa.Column(float, pa.Check.gt(0)),
        "bytes": pa.Column(int, pa.Check.ge(0)),
        "calls": pa.Column(int, pa.Check.ge(0)),
    },
    strict=True,
)


def measurement_table(logs: list[Log[Plan]]) -> pd.DataFrame:
    """All measurements, a row per log, repetition, stage and activity; times in s over the processes, `bytes` and
    `calls` of all processes. `log` is the index in `logs`."""
    return table_of(
        [
            fields_of(record, COLUMNS) | {"log": number, "io": ACTIVITIES[record.activity]}
            for number, log in enumerate(logs)
            for record in log.all(Measurement)
            if record.stage in STAGES and record.activity in ACTIVITIES
        ],
        COLUMNS,
    )


def repetition_table(logs: list[Log[Plan]]) -> pd.DataFrame:
    """A row per log and repetition: times in s of all processes reduced to the slowest and the fastest, and what was
    counted.

    io_fraction = I/O time of the process with the most of it / elapsed time of the slowest process: the process that
    waits longest for the file system delays the others, because each row's transform requires all of them.
    """
    return pd.DataFrame(
        [
            {
                "log": number,
                "repetition": record.repetition,
                "elapsed_seconds": max(record.elapsed_seconds),
                "io_fraction": max(record.io_seconds) / max(record.elapsed_seconds),
                "io_fraction_least_process": min(record.io_seconds) / max(record.elapsed_seconds),
                "io_fraction_of_transform": max(record.transform_io_seconds) / max(record.transform_elapsed_seconds),
                "nominal_flops": record.nominal_flops,
                "cycles_per_flop": per_flop(record, record.counters.cycles),
                "time_stamp_cycles_per_flop": per_flop(record, record.counters.time_stamp_cycles),
                "largest_relative_difference": record.verification.largest_relative_difference,
                "peak_resident_bytes": record.peak_resident_bytes,
            }
            for number, log in enumerate(logs)
            for record in log.all(Repetition)
        ]
    )


def per_flop(record: Repetition, cycles: int | None) -> float:
    """Cycles of all processes per nominal operation, NaN where their counter does not exist. The processor's own
    counter stands still while a process waits for a disk; the time stamp counter runs at a fixed rate."""
    return cycles / record.nominal_flops if cycles else np.nan


def bandwidth(table: pd.DataFrame, stages: list[str], activities: list[str]) -> pd.Series:
    """Bytes of all processes in MByte/s (10^6 byte/s) by log: over all repetitions, the bytes of these stages and
    activities by the sum of the slowest process's times. Writes are timed with their flush, as in the paper."""
    chosen = table[table["stage"].isin(stages) & table["activity"].isin(activities)]
    sums = chosen.groupby("log")[["bytes", "elapsed_seconds"]].sum()
    sums = sums[sums["bytes"] > 0]
    return sums["bytes"] / sums["elapsed_seconds"] / MBYTE


def moved_bytes(log: Log[Plan]) -> int:
    """What all processes wrote and read in all repetitions; the exchange between processes is not included."""
    return sum(record.bytes for record in log.all(Measurement) if ACTIVITIES[record.activity])


def metrics(logs: list[Log[Plan]], table: pd.DataFrame) -> pd.DataFrame:
    """All metrics of the benchmark, a column each; a row per log in `table`, NaN where a log did not measure one.

    Fractions and rates of several repetitions are arithmetic means, as in the paper's tables; bandwidths are the bytes
    of all repetitions by their time. mflops = nominal operations (5 N log2 N a transform) / elapsed time of the slowest
    process (the paper's Table 1).
    """
    kept = table["log"].unique()
    runs = repetition_table([logs[number] for number in kept]).assign(log=lambda t: kept[t["log"]])
    by_log = runs.assign(mflops=runs["nominal_flops"] / runs["elapsed_seconds"] / 1e6).groupby("log")
    mean = by_log[
        [
            "io_fraction",
            "io_fraction_least_process",
            "io_fraction_of_transform",
            "mflops",
            "cycles_per_flop",
            "time_stamp_cycles_per_flop",
        ]
    ].mean()
    intervals = by_log["io_fraction"].agg(lambda values: bootstrap_interval(values.to_numpy()))
    fft_seconds = table[table["activity"] == "fft"].groupby("log")["elapsed_seconds"].sum()
    written, series = ["write", "flush"], ["series_1", "series_2"]
    return mean.assign(
        io_fraction_low=intervals.str[0].astype(float),
        io_fraction_high=intervals.str[1].astype(float),
        mflops_in_fft=by_log["nominal_flops"].sum() / fft_seconds / 1e6,
        initialise_write=bandwidth(table, ["initialise"], written),
        series_read=bandwidth(table, series, ["read"]),
        series_write=bandwidth(table, series, written),
        transpose_read=bandwidth(table, ["transpose"], ["read"]),
        transpose_write=bandwidth(table, ["transpose"], written),
        exchange_read=bandwidth(table, ["exchange"], ["read"]),
        exchange_write=bandwidth(table, ["exchange"], written),
        verify_read=bandwidth(table, ["verify"], ["read"]),
        exchange_between_processes=bandwidth(table, ["exchange"], ["exchange"]),
        largest_relative_difference=by_log["largest_relative_difference"].max(),
        matrix_size=pd.Series({number: logs[number].plan.matrix_bytes / MIB for number in kept}),
        peak_resident=by_log["peak_resident_bytes"].max() / MIB,
    )[list(BENCHMARK.units)]


def representative_input(fractions: pd.Series, significant: float = SIGNIFICANT) -> int:
    """The recommended input parameter (the paper's section 5.3). `fractions` are the I/O Fractions of one number of
    processes by input parameter. Larger matrices are more reliable, smaller ones take less time. So it is the lowest
    input parameter from which on no fraction differs from that of the largest one by more than `significant`."""
    ordered = fractions.sort_index()
    differs = (ordered - ordered.iloc[-1]).abs() > significant
    return int(ordered.index[differs.to_numpy().nonzero()[0].max() + 1 if differs.any() else 0])
