# SPDX-License-Identifier: Apache-2.0
"""What reductions of runs under load have in common: factors of several units with their intervals, and the
bandwidth of the load. Pure functions."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from coffeecup.postprocess.benchmarks.benchmark import Benchmark
from coffeecup.postprocess.benchmarks.load_metrics import ENDS
from coffeecup.postprocess.benchmarks.load_records import LoadRecord
from coffeecup.postprocess.logs.histograms import Histogram
from coffeecup.postprocess.logs.percentiles import percentile
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.units import MBYTE
from coffeecup.postprocess.statistics.medians import CONFIDENCE, interval

LATE = 0.99  # the share of exchanges or accesses that were faster
Interval = tuple[float, float, float]  # a value with the low and the high end of its interval


def ratio_at(share: float, loaded: Sequence[Histogram], without: Sequence[Histogram]) -> float:
    """A percentile of the times with load / the percentile of those without."""
    return percentile(loaded, share) / percentile(without, share)


def of_units(factors: pd.Series) -> Interval:
    """The median over the units, and its interval, NaN if there are too few units for CONFIDENCE."""
    values = factors.to_numpy()
    low, high, confidence = interval(values)
    ends = (low, high) if confidence >= CONFIDENCE else (np.nan, np.nan)
    return (float(np.median(values)), *ends)


def metrics(
    benchmark: Benchmark,
    logs: Mapping[int, Log],
    impacts: Callable[[Log, str], dict[str, Interval]],
    load_bandwidth: Callable[[Log, str], float],
) -> pd.DataFrame:
    """A row per log: of each kind of load, every impact with the ends of its interval, and the bandwidth; NaN of loads
    that a log lacks."""
    values: dict[int, dict[str, float]] = {number: {} for number in logs}
    for number, log in logs.items():
        for kind in log.plan.load.kinds:
            for name, found in impacts(log, kind).items():
                values[number] |= {f"{name}_{kind}{end}": value for end, value in zip(ENDS, found)}
            values[number][f"load_bandwidth_{kind}"] = load_bandwidth(log, kind)
    table = pd.DataFrame.from_dict(values, orient="index")
    return table[[name for name in benchmark.units if name in table]]


def bandwidth(phases: Iterable[tuple[LoadRecord, int]]) -> float:
    """What a load moved while the victims were measured, in MByte/s; of each of its phases the bytes."""
    listed = list(phases)
    return sum(moved for _, moved in listed) / sum(record.elapsed_seconds for record, _ in listed) / MBYTE
