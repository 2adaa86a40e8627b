# SPDX-License-Identifier: Apache-2.0
"""What reductions of runs under load have in common: factors of several units with their intervals, and the
bandwidth of the load. Pure functions."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from coffeecup.postprocess.benchmarks.load_metrics import ENDS
from coffeecup.postprocess.benchmarks.load_records import LoadRecord
from coffeecup.postprocess.logs.histograms import Histogram
from coffeecup.postprocess.logs.percentiles import percentile
from coffeecup.postprocess.show.units import MBYTE
from coffeecup.postprocess.statistics.medians import interval

LATE = 0.99  # the share of exchanges or accesses that were faster


def ratio_at(share: float, loaded: Sequence[Histogram], without: Sequence[Histogram]) -> float:
    """A percentile of the times with load / the percentile of those without."""
    return percentile(loaded, share) / percentile(without, share)


def of_units(factors: pd.Series) -> tuple[float, float, float]:
    """(value, low, high): the median over the units, and its interval."""
    values = factors.to_numpy()
    return (float(np.median(values)), *interval(values)[:2])


def with_ends(name: str, values: tuple[float, float, float]) -> dict[str, float]:
    """The metrics of a value and the ends of its interval."""
    return {f"{name}{end}": value for end, value in zip(ENDS, values)}


def bandwidth(phases: Iterable[tuple[LoadRecord, int]]) -> float:
    """What a load moved while the victims were measured, in MByte/s; of each of its phases the bytes."""
    listed = list(phases)
    return sum(moved for _, moved in listed) / sum(record.elapsed_seconds for record, _ in listed) / MBYTE
