# SPDX-License-Identifier: Apache-2.0
"""b_eff, the effective communication bandwidth: the reduction of Rabenseifner and Koniges, section 4.

Pure functions from a tidy table of measurements, of one log or of many, to scores. "the paper" is R. Rabenseifner and
A. E. Koniges, "The Parallel Communication and I/O Bandwidth Benchmarks: b_eff and b_eff_io". Which logs may be reduced
at all is decided in rules.py.
"""

from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter
from typing import Any, cast

import numpy as np
import pandas as pd
import pandera.pandas as pa

from coffeecup.postprocess.benchmarks.b_eff import BALANCE_FACTOR, BENCHMARK, R_MAX
from coffeecup.postprocess.benchmarks.b_eff.definition import LENGTHS, PATTERNS_AVERAGED
from coffeecup.postprocess.benchmarks.b_eff.parts import doors, views
from coffeecup.postprocess.benchmarks.b_eff.records import DataCheck, Latency, Loop, Measurement, Plan, PlannedLoops
from coffeecup.postprocess.benchmarks.score import Metric, Score
from coffeecup.postprocess.logs.placement import number_stated
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.units import MBYTE, MIB

COLUMNS = pa.DataFrameSchema(
    {
        "log": pa.Column(int, pa.Check.ge(0)),
        "view": pa.Column("category"),
        "group": pa.Column("category"),
        "pattern": pa.Column("category"),
        "method": pa.Column("category"),
        "averaged": pa.Column(bool),
        "message_bytes": pa.Column(int, pa.Check.gt(0)),
        "messages_per_exchange": pa.Column(int, pa.Check.gt(0)),
        "random_patterns": pa.Column(int, pa.Check.gt(0)),
        "processes": pa.Column(int, pa.Check.gt(0)),
        "loop_length": pa.Column(int, pa.Check.gt(0)),
        "repetition": pa.Column(int, pa.Check.ge(1)),
        "elapsed_seconds": pa.Column(float, pa.Check.gt(0)),
        "fastest_seconds": pa.Column(float, pa.Check.ge(0), nullable=True),
        "slowest_message_seconds": pa.Column(float, pa.Check.gt(0)),
        "bandwidth": pa.Column(float, pa.Check.gt(0)),
    },
    strict=True,
)


def measurement_table(logs: list[Log[Plan]]) -> pd.DataFrame:
    """All repetitions of all measurements, a row each.

    `log` is the index in `logs`; `view` the suffix of its view, in each of which patterns have the paper's names;
    `averaged` marks the rows that enter b_eff, because both pattern and method do.
    `bandwidth` is the paper's b(pattern, L, method, rep) in MByte/s (10^6 byte/s): L * messages of all processes * loop
    length / longest loop time of all processes. Measurements that the log's plan does not contain are left out:
    `refusals` reports them.
    """
    return table_of(
        rows_of(number, view.log, Measurement, view.suffix) for number, log in enumerate(logs) for view in views(log)
    )


def table_of(rows: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """A measurement_table of what rows_of returned."""
    return (
        pd.concat(rows, ignore_index=True)
        .astype(dict.fromkeys(("view", "group", "pattern", "method"), "category"))
        .assign(
            bandwidth=lambda t: (
                t["message_bytes"].astype(float)
                * t["messages_per_exchange"]
                * t["loop_length"]
                / t["elapsed_seconds"]
                / MBYTE
            )
        )
        .pipe(COLUMNS.validate)
    )


def rows_of(number: int, log: Log[PlannedLoops], kind: type[Loop], suffix: str = "") -> pd.DataFrame:
    """A row per loop of a kind in one log, or in its view with this suffix, in the order of measuring."""
    places = {pattern.name: place for place, pattern in enumerate(log.plan.patterns)}
    averaged_methods = [method.name for method in log.plan.methods if method.averaged]
    records = [record for record in log.all(kind) if record.pattern in places]
    planned = np.array([places[record.pattern] for record in records], dtype=np.int64)

    def column(field: str, kind: type) -> np.ndarray:
        return np.array([*map(attrgetter(field), records)], dtype=kind)

    def of_pattern(field: str, kind: type) -> np.ndarray:
        return np.array([getattr(pattern, field) for pattern in log.plan.patterns], dtype=kind)[planned]

    def name_of_pattern(field: str) -> pd.Categorical:
        names = pd.Categorical([getattr(pattern, field) for pattern in log.plan.patterns])
        return names[planned].remove_unused_categories()

    method = pd.Categorical([*map(attrgetter("method"), records)])
    return pd.DataFrame(
        {
            "log": number,
            "group": name_of_pattern("group"),
            "pattern": name_of_pattern("name"),
            "method": method,
            "averaged": of_pattern("averaged", bool) & method.isin(averaged_methods),
            "message_bytes": column("message_bytes", np.int64),
            "messages_per_exchange": of_pattern("messages_per_exchange", np.int64),
            "random_patterns": log.plan.random_patterns,
            "processes": of_pattern("processes", np.int64),
            "loop_length": column("loop_length", np.int64),
            "repetition": column("repetition", np.int64),
            "elapsed_seconds": column("elapsed_seconds", float),
            "fastest_seconds": column("fastest_seconds", float),
            "slowest_message_seconds": column("slowest_message_seconds", float),
            "view": pd.Categorical([suffix]).repeat(len(records)),
        }
    )


def logavg(values, by):
    """The paper's logarithmic average, the geometric mean, of positive values within each group of the index levels
    `by`."""
    return np.exp(np.log(values).groupby(level=by, observed=True).mean())


def best_bandwidth(table: pd.DataFrame, column: str | list[str] = "bandwidth") -> Any:
    """max over methods and repetitions of b, in MByte/s, by log, group, pattern and message length; averaged rows only.
    A Series of a column of bandwidths, or a DataFrame of several: then so are the results of the functions that take
    it.

    Raises ValueError where a log lacks one of the 6 ring and 30 random patterns (or as many as its plan takes, column
    `random_patterns`), or a pattern one of its 21 lengths: a mean over fewer is not b_eff.
    """
    best = best_of(table[table["averaged"]], column)
    lengths = best.groupby(level=["log", "group", "pattern"], observed=True).size()
    patterns = lengths.groupby(level=["log", "group"], observed=True).size()
    wanted = patterns_wanted(table)
    if (lengths != LENGTHS).any() or len(patterns) != len(wanted) or (patterns.reindex(wanted.index) != wanted).any():
        raise ValueError(f"b_eff takes {PATTERNS_AVERAGED} patterns of {LENGTHS} message lengths from every log")
    return best


def best_of(rows: pd.DataFrame, column: str | list[str] = "bandwidth") -> Any:
    """best_bandwidth of these rows of a measurement_table, without any demand on them."""
    return rows.groupby(["log", "group", "pattern", "message_bytes"], observed=True)[column].max()


def patterns_wanted(table: pd.DataFrame) -> pd.Series:
    """The number of averaged patterns that each log must contain, by log and group."""
    logs = table["log"].drop_duplicates()
    random = table["random_patterns"].loc[logs.index] if "random_patterns" in table else PATTERNS_AVERAGED["random"]
    return cast(
        pd.Series,
        pd.DataFrame({"ring": PATTERNS_AVERAGED["ring"], "random": random}, index=logs.index)
        .set_axis(pd.Index(logs, name="log"))
        .rename_axis(columns="group")
        .stack(),
    )


# The functions from here to b_eff_at_l_max take what best_bandwidth returns.


def pattern_bandwidth(best):
    """sum over L of best_bandwidth / 21, in MByte/s, by log, group and pattern: 36 values for each log (the paper's
    section 4)."""
    return best.groupby(level=["log", "group", "pattern"], observed=True).sum() / LENGTHS


def group_bandwidth(best):
    """logavg of pattern_bandwidth over the 6 ring and over the 30 random patterns, in MByte/s, by log and group."""
    return logavg(pattern_bandwidth(best), ["log", "group"])


def b_eff(best):
    """The effective bandwidth in MByte/s, one value per log (the paper's section 4):

    b_eff = logavg( logavg over ring patterns   of  sum_L max_method max_rep b(pattern, L, method, rep) / 21 ,
                    logavg over random patterns of  sum_L max_method max_rep b(pattern, L, method, rep) / 21 )
    """
    return logavg(group_bandwidth(best), "log")


def group_bandwidth_at_l_max(best):
    """As group_bandwidth, of the longest message length alone instead of the mean over 21 (the paper's Table 1)."""
    at_l_max = best.groupby(level=["log", "group", "pattern"], observed=True).last()
    return logavg(at_l_max, ["log", "group"])


def b_eff_at_l_max(best):
    """b_eff of the longest message length alone, in MByte/s, one value per log (the paper's Table 1)."""
    return logavg(group_bandwidth_at_l_max(best), "log")


def ping_pong_bandwidth(table: pd.DataFrame) -> pd.Series:
    """Best bandwidth of the ping-pong at the longest message length, in MByte/s, per log that measured it: a message
    after the other, so this is the bandwidth of one direction."""
    alone = table[table["group"] == "ping_pong"]
    return alone.groupby(["log", "message_bytes"])["bandwidth"].max().groupby(level="log").last()


def latency_table(logs: list[Log[Plan]], table: pd.DataFrame) -> pd.DataFrame:
    """Time of an exchange of 1 byte in us, of all processes at the same time, a row per loop.

    Of a pattern's own latency loops, or of its loops at 1 byte in `table`, a measurement_table, where the log has none.
    Columns: `log`, `group`, `pattern`, `messages` that each process sends in an exchange (on average, where rings
    differ), `exchange`.
    """
    short = table[(table["message_bytes"] == 1) & (table["averaged"] | (table["group"] == "ping_pong"))]
    columns = ["log", "group", "pattern", "messages_per_exchange", "processes", "loop_length", "elapsed_seconds"]
    own = pd.concat([rows_of(number, logs[number], Latency)[columns] for number in table["log"].unique()])
    own = own.astype({"group": object, "pattern": object})
    with_own = pd.MultiIndex.from_frame(own[["log", "pattern"]])
    without = ~pd.MultiIndex.from_frame(short[["log", "pattern"]].astype({"pattern": object})).isin(with_own)
    loops = pd.concat([own, short.loc[without, columns].astype({"group": object, "pattern": object})])
    return pd.DataFrame(
        {
            "log": loops["log"].astype(int),
            "group": loops["group"],
            "pattern": loops["pattern"],
            "messages": (loops["messages_per_exchange"] / loops["processes"]).astype(float),
            "exchange": (loops["elapsed_seconds"] / loops["loop_length"] * 1e6).astype(float),
        }
    )


def ping_pong_latency(latencies: pd.DataFrame) -> pd.Series:
    """Half the round trip of 1 byte, in us, per log of a latency_table that measured it: an exchange is a round trip.
    The minimum over repetitions."""
    return latencies[latencies["group"] == "ping_pong"].groupby("log")["exchange"].min() / 2


def ring_latency(latencies: pd.DataFrame, column: str | list[str] = "exchange"):
    """Time of one exchange of 1 byte with both neighbours while all processes do the same, in us, per log of a
    latency_table: for each ring pattern the minimum over the averaged methods and repetitions, then the geometric mean
    over the six patterns. It is what an application waits for its two neighbours."""
    rings = latencies[latencies["group"] == "ring"]
    return logavg(rings.groupby(["log", "pattern"])[column].min(), "log")


def per_message(latencies: pd.DataFrame) -> pd.Series:
    """The exchanges of a latency_table divided by the messages that a process sends in one: 2, or 1 in a ring of two.
    So the original program and HPCC report them."""
    return latencies["exchange"] / latencies["messages"]


def bandwidth_release_3_6(table: pd.DataFrame) -> pd.Series:
    """Bandwidths in MByte/s as release 3.6 of the original program computes them: the number of processes times the
    smallest bandwidth of a process, instead of all bytes over the longest time. They differ where rings of two, with
    one message a process, stand beside a larger one: on odd numbers of processes."""
    moved = table["processes"] * table["message_bytes"].astype(float) * table["loop_length"]
    return moved / table["slowest_message_seconds"] / MBYTE


def moved_bytes(log: Log[PlannedLoops]) -> int:
    """What all processes received in all loops, also in those that enter no score."""
    return sum(check.received_bytes for check in log.all(DataCheck))


def metrics(logs: list[Log[Plan]], table: pd.DataFrame) -> pd.DataFrame:
    """All metrics of the benchmark, a column each; a row per log in `table`, NaN where a log has no ping-pong or not
    this view. Views are never mixed: each has metrics of its own."""
    columns = [found for door in doors().values() for found in door.metrics(logs)]
    split = [{view.suffix: view.log for view in views(log)} for log in logs]
    for suffix in table["view"].unique():
        parts = [by_suffix.get(suffix, log) for by_suffix, log in zip(split, logs)]
        columns.append(metrics_of_view(parts, table[table["view"] == suffix]).add_suffix(suffix))
    listed = [metric.name for metric in BENCHMARK.every_metric]
    together = pd.concat(columns, axis="columns").sort_index()
    return together[[name for name in listed if name in together]]


def metrics_of_view(logs: list[Log[Plan]], table: pd.DataFrame) -> pd.DataFrame:
    """The metrics of logs, or of their views with the same suffix.

    The time to communicate the total memory is memory per process * processes / b_eff (the paper's section 2.2), with
    both in powers of ten. The paper's own 3.2 s and 13.6 s divide a memory in MiB by MByte/s and so are 4.6 % shorter.
    """
    runs = pd.DataFrame(
        {
            "ranks": [log.run.ranks for log in logs],
            "total_bytes": [float(log.run.ranks * log.run.memory_per_process_bytes) for log in logs],
            "l_max_bytes": [log.plan.l_max_bytes for log in logs],
            "r_max_gflops": [r_max_stated(log) for log in logs],
        }
    ).loc[table["log"].unique()]
    latencies, columns = latency_table(logs, table), ["bandwidth", "release_3_6"]
    best = best_bandwidth(table.assign(release_3_6=bandwidth_release_3_6(table)), columns)
    together, groups_at_l_max = b_eff(best), group_bandwidth_at_l_max(best["bandwidth"])
    effective, at_l_max = together["bandwidth"], logavg(groups_at_l_max, "log")
    rings = ring_latency(latencies.assign(per_message=per_message(latencies)), ["exchange", "per_message"])
    rings_at_l_max = groups_at_l_max.xs("ring", level="group")
    return pd.DataFrame(
        {
            "b_eff": effective,
            "b_eff_per_process": effective / runs["ranks"],
            "b_eff_at_l_max": at_l_max,
            "b_eff_at_l_max_per_process": at_l_max / runs["ranks"],
            "b_eff_at_l_max_rings_per_process": rings_at_l_max / runs["ranks"],
            "ping_pong_bandwidth": ping_pong_bandwidth(table),
            "ping_pong_latency": ping_pong_latency(latencies),
            "ring_latency": rings["exchange"],
            "ring_latency_per_message": rings["per_message"],
            "b_eff_release_3_6": together["release_3_6"],
            "time_to_communicate_total_memory": runs["total_bytes"] / (effective * MBYTE),
            "l_max": runs["l_max_bytes"] / MIB,
            "balance_factor": balance_factor(effective, runs["r_max_gflops"]),
            "r_max": runs["r_max_gflops"],
        }
    )


def r_max_stated(log: Log[Plan]) -> float:
    """R_max in Gflop/s of the nodes of the run, by what the check stated of each; NaN if it stated nothing."""
    return len(log.run.hosts) * (number_stated(log.run, "r_max_per_node") or np.nan)


def balance_factor(b_eff_mbyte, r_max_gflops):
    """b_eff / R_max in byte/flop (the paper's section 2.1)."""
    return b_eff_mbyte * MBYTE / (r_max_gflops * 1e9)


def with_balance_factor(score: Score, r_max_gflops: float) -> Score:
    """The score with the balance factor by this R_max, the Linpack performance in Gflop/s of the processors of the
    run."""
    factors = {
        f"balance_factor{view.suffix}": Metric(
            balance_factor(score.metrics[f"b_eff{view.suffix}"].value, r_max_gflops), BALANCE_FACTOR.unit
        )
        for view in views(score.log)
    }
    return replace(score, metrics=score.metrics | factors | {"r_max": Metric(r_max_gflops, R_MAX.unit)})


def values_in(score: Score, suffix: str) -> dict[str, float]:
    """The metrics of a view, under the names without its suffix."""
    return {name: score.metrics[own].value for name in BENCHMARK.units if (own := f"{name}{suffix}") in score.metrics}
