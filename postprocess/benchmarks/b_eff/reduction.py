"""b_eff, the effective communication bandwidth: the reduction of Rabenseifner and Koniges, section 4.

Pure functions from a tidy table of measurements, of one log or of many, to scores. "the paper" is R. Rabenseifner and A. E. Koniges,
"The Parallel Communication and I/O Bandwidth Benchmarks: b_eff and b_eff_io". Which logs may be reduced at all is decided in
rules.py.
"""

from dataclasses import replace
from itertools import chain

import numpy as np
import pandas as pd
import pandera.pandas as pa

from postprocess.benchmarks.b_eff import BENCHMARK
from postprocess.benchmarks.b_eff.rules import LENGTHS, MBYTE, MIB, PATTERNS_AVERAGED
from postprocess.benchmarks.score import Metric, Score
from postprocess.logs.reader import Log

COLUMNS = pa.DataFrameSchema(
    {
        "log": pa.Column(int, pa.Check.ge(0)),
        "group": pa.Column("category"),
        "pattern": pa.Column("category"),
        "method": pa.Column("category"),
        "averaged": pa.Column(bool),
        "message_bytes": pa.Column(int, pa.Check.gt(0)),
        "messages_per_exchange": pa.Column(int, pa.Check.gt(0)),
        "random_patterns": pa.Column(int, pa.Check.gt(0)),
        "loop_length": pa.Column(int, pa.Check.gt(0)),
        "repetition": pa.Column(int, pa.Check.ge(1)),
        "elapsed_seconds": pa.Column(float, pa.Check.gt(0)),
        "fastest_seconds": pa.Column(float, pa.Check.ge(0), nullable=True),
        "bandwidth": pa.Column(float, pa.Check.gt(0)),
    },
    strict=True,
)


def measurement_table(logs: list[Log]) -> pd.DataFrame:
    """All repetitions of all measurements, a row each.

    `log` is the place in `logs`; `averaged` tells the rows that enter b_eff: both pattern and method do. `bandwidth` is the paper's
    b(pattern, L, method, rep) in MByte/s (10^6 byte/s): L * messages of all processes * loop length / longest loop time of all
    processes. Measurements that the log's plan does not know are left out: `refusals` tells of them.
    """
    records = (
        pd.concat([records_of(number, log) for number, log in enumerate(logs)], ignore_index=True)
        .astype({"group": "category", "pattern": "category", "method": "category"})
    )
    return (
        records.drop(columns=["elapsed", "fastest"])
        .loc[records.index.repeat(records["elapsed"].map(len))]
        .assign(
            repetition=lambda t: t.groupby(level=0).cumcount() + 1,
            elapsed_seconds=list(chain.from_iterable(records["elapsed"])),
            fastest_seconds=list(chain.from_iterable(records["fastest"])),
            bandwidth=lambda t: t["message_bytes"].astype(float) * t["messages_per_exchange"] * t["loop_length"]
            / t["elapsed_seconds"] / MBYTE,
        )
        .astype({"fastest_seconds": float})
        .reset_index(drop=True)
        .pipe(COLUMNS.validate)
    )


def records_of(number: int, log: Log) -> pd.DataFrame:
    """A row per measurement record of one log, in the order of measuring, with its repetitions' times as lists. Where the fastest
    process's times do not match, they are NaN."""
    patterns = {pattern["name"]: pattern for pattern in log.plan["patterns"]}
    averaged_methods = {method["name"] for method in log.plan["methods"] if method["averaged"]}
    records = [record for record in log.records.get("measurement", []) if record["pattern"] in patterns]
    planned = [patterns[record["pattern"]] for record in records]
    return pd.DataFrame({
        "log": number,
        "group": np.array([pattern["group"] for pattern in planned], dtype=object),
        "pattern": np.array([record["pattern"] for record in records], dtype=object),
        "method": np.array([record["method"] for record in records], dtype=object),
        "averaged": np.array([pattern["averaged"] and record["method"] in averaged_methods
                              for pattern, record in zip(planned, records)], dtype=bool),
        "message_bytes": np.array([record["message_bytes"] for record in records], dtype=np.int64),
        "messages_per_exchange": np.array([pattern["messages_per_exchange"] for pattern in planned], dtype=np.int64),
        "random_patterns": log.plan["random_patterns"],
        "loop_length": np.array([record["loop_length"] for record in records], dtype=np.int64),
        "elapsed": [record["elapsed_seconds"] for record in records],
        "fastest": [record["fastest_seconds"] if len(record["fastest_seconds"]) == len(record["elapsed_seconds"])
                    else [np.nan] * len(record["elapsed_seconds"]) for record in records],
    })


def logavg(values: pd.Series, by) -> pd.Series:
    """The paper's logarithmic average, which is the geometric mean, of positive values within each group of index levels `by`."""
    return np.exp(np.log(values).groupby(level=by, observed=True).mean())


def best_bandwidth(table: pd.DataFrame) -> pd.Series:
    """max over methods and repetitions of b, in MByte/s, by log, group, pattern and message length; averaged rows only.

    Raises ValueError where a log lacks one of the 6 ring and 30 random patterns (or as many as its plan takes, column
    `random_patterns`), or a pattern one of its 21 lengths: a mean over fewer is no b_eff.
    """
    best = (
        table.query("averaged")
        .groupby(["log", "group", "pattern", "message_bytes"], observed=True)["bandwidth"]
        .max()
    )
    lengths = best.groupby(level=["log", "group", "pattern"], observed=True).size()
    patterns = lengths.groupby(level=["log", "group"], observed=True).size()
    wanted = patterns_wanted(table)
    if (lengths != LENGTHS).any() or len(patterns) != len(wanted) or (patterns.reindex(wanted.index) != wanted).any():
        raise ValueError(f"b_eff takes {PATTERNS_AVERAGED} patterns of {LENGTHS} message lengths from every log")
    return best


def patterns_wanted(table: pd.DataFrame) -> pd.Series:
    """How many averaged patterns each log has to hold, by log and group."""
    logs = table["log"].drop_duplicates()
    random = table["random_patterns"].loc[logs.index] if "random_patterns" in table else PATTERNS_AVERAGED["random"]
    return (
        pd.DataFrame({"ring": PATTERNS_AVERAGED["ring"], "random": random}, index=logs.index)
        .set_axis(pd.Index(logs, name="log")).rename_axis(columns="group").stack()
    )


def pattern_bandwidth(table: pd.DataFrame) -> pd.Series:
    """sum over L of best_bandwidth / 21, in MByte/s, by log, group and pattern: 36 values for each log (the paper's section 4)."""
    return best_bandwidth(table).groupby(level=["log", "group", "pattern"], observed=True).sum() / LENGTHS


def group_bandwidth(table: pd.DataFrame) -> pd.Series:
    """logavg of pattern_bandwidth over the 6 ring and over the 30 random patterns, in MByte/s, by log and group."""
    return logavg(pattern_bandwidth(table), ["log", "group"])


def b_eff(table: pd.DataFrame) -> pd.Series:
    """The effective bandwidth in MByte/s, one value per log (the paper's section 4):

        b_eff = logavg( logavg over ring patterns   of  sum_L max_method max_rep b(pattern, L, method, rep) / 21 ,
                        logavg over random patterns of  sum_L max_method max_rep b(pattern, L, method, rep) / 21 )

    `table` is a measurement_table. Raises ValueError where it is not complete.
    """
    return logavg(group_bandwidth(table), "log")


def group_bandwidth_at_l_max(table: pd.DataFrame) -> pd.Series:
    """As group_bandwidth, of the longest message length alone instead of the mean over 21 (the paper's Table 1)."""
    at_l_max = best_bandwidth(table).groupby(level=["log", "group", "pattern"], observed=True).last()
    return logavg(at_l_max, ["log", "group"])


def b_eff_at_l_max(table: pd.DataFrame) -> pd.Series:
    """b_eff of the longest message length alone, in MByte/s, one value per log (the paper's Table 1)."""
    return logavg(group_bandwidth_at_l_max(table), "log")


def ping_pong_bandwidth(table: pd.DataFrame) -> pd.Series:
    """Best bandwidth of the ping-pong at the longest message length, in MByte/s, per log that measured it: a message after the other,
    so this is the bandwidth of one direction."""
    return (
        table.query("group == 'ping_pong'")
        .groupby(["log", "message_bytes"])["bandwidth"].max()
        .groupby(level="log").last()
    )


def ping_pong_latency(table: pd.DataFrame) -> pd.Series:
    """Half the round trip of 1 byte, in us, per log that measured it: an exchange is a round trip and holds two messages. The minimum
    over methods and repetitions."""
    return exchange_microseconds(table.query("group == 'ping_pong' and message_bytes == 1")).groupby(level="log").min() / 2


def ring_latency(table: pd.DataFrame) -> pd.Series:
    """Time of one exchange of 1 byte with both neighbours while all processes do the same, in us, per log: for each ring pattern the
    minimum over the averaged methods and repetitions, then the geometric mean over the six patterns. Not halved: it is what an
    application waits for its two neighbours."""
    return logavg(exchange_microseconds(table.query("averaged and group == 'ring' and message_bytes == 1")), "log")


def exchange_microseconds(table: pd.DataFrame) -> pd.Series:
    """Shortest time of one exchange in us, by log and pattern."""
    return (
        table.assign(exchange=table["elapsed_seconds"] / table["loop_length"] * 1e6)
        .groupby(["log", "pattern"], observed=True)["exchange"].min()
    )


def metrics(logs: list[Log], table: pd.DataFrame) -> pd.DataFrame:
    """All metrics of the benchmark, a column each; a row per log in `table`, NaN where a log has no ping-pong.

    The time to communicate the total memory is memory per process * processes / b_eff (the paper's section 2.2), with both in powers
    of ten. The paper's own 3.2 s and 13.6 s divide a memory in MiB by MByte/s and so are 4.6 % shorter.
    """
    runs = pd.DataFrame({
        "ranks": [log.run["ranks"] for log in logs],
        "total_bytes": [float(log.run["ranks"] * log.run["memory_per_process_bytes"]) for log in logs],
        "l_max_bytes": [log.plan["l_max_bytes"] for log in logs],
    }).loc[table["log"].unique()]
    effective, at_l_max = b_eff(table), b_eff_at_l_max(table)
    rings_at_l_max = group_bandwidth_at_l_max(table).xs("ring", level="group")
    return pd.DataFrame({
        "b_eff": effective,
        "b_eff_per_process": effective / runs["ranks"],
        "b_eff_at_l_max": at_l_max,
        "b_eff_at_l_max_per_process": at_l_max / runs["ranks"],
        "b_eff_at_l_max_rings_per_process": rings_at_l_max / runs["ranks"],
        "ping_pong_bandwidth": ping_pong_bandwidth(table),
        "ping_pong_latency": ping_pong_latency(table),
        "ring_latency": ring_latency(table),
        "time_to_communicate_total_memory": runs["total_bytes"] / (effective * MBYTE),
        "l_max": runs["l_max_bytes"] / MIB,
    })[list(BENCHMARK.units)]


def with_balance_factor(score: Score, r_max_gflops: float) -> Score:
    """The score with the balance factor b_eff / R_max beside it, in byte/flop (the paper's section 2.1). R_max is the system's Linpack
    performance in Gflop/s on the same processors as the run."""
    bytes_per_second, flops_per_second = score.metrics["b_eff"].value * MBYTE, r_max_gflops * 1e9
    return replace(score, metrics=score.metrics | {"balance_factor": Metric(bytes_per_second / flops_per_second, "byte/flop")})
