# SPDX-License-Identifier: Apache-2.0
"""Histograms of times with logarithmic bins, as kernels/common/latency.c writes them: what they contain, and what has
to agree in them."""

import itertools
from collections.abc import Iterator
from operator import lt, mul
from typing import Annotated

from msgspec import Meta

from coffeecup.postprocess.logs.records import Part, PositiveSeconds, Record, Seconds, about
from coffeecup.postprocess.logs.rules import ROUNDING, Problem, broken

BinCalls = Annotated[int, Meta(ge=1, le=10**15)]
Bins = Meta(min_length=1, max_length=10_000)
CLOCK_TOLERANCE = 1e-6
NANOSECONDS = 2e-9  # the edges of bins are whole nanoseconds


class Histogram(Part):
    """How long calls took; bins that are not empty, ascending."""

    calls: Annotated[BinCalls, about("their number")]
    sum_seconds: Annotated[float, Meta(ge=0, le=1e12), about("of all calls together")]
    shortest_seconds: Annotated[Seconds, about("of the shortest call")]
    longest_seconds: Annotated[Seconds, about("of the longest call")]
    from_seconds: Annotated[list[Seconds], Bins, about("where each bin that is not empty begins")]
    to_seconds: Annotated[list[PositiveSeconds], Bins, about("where it ends: its calls took less time")]
    bin_calls: Annotated[list[BinCalls], Bins, about("the number of its calls")]


def problems_of_histogram(found: Histogram, calls: int, relative_error: float, record: Record) -> Iterator[Problem]:
    """A histogram of `calls` calls, which is in `record`: the first rule that it breaks, since others rely on it."""
    low, high, of_bins = found.from_seconds, found.to_seconds, found.bin_calls
    counted, ticks = len(low) == len(high) == len(of_bins), NANOSECONDS * found.calls
    least = max(sum(map(mul, low, of_bins)), found.calls * found.shortest_seconds) - ticks
    most = min(sum(map(mul, high, of_bins)), found.calls * found.longest_seconds) + ticks
    wide = relative_error * (1 + CLOCK_TOLERANCE)
    kept = {
        "latency_calls": counted and sum(of_bins) == found.calls == calls,
        "bins": all(map(lt, low, high)) and all(end <= begin * (1 + ROUNDING) for end, begin in zip(high, low[1:])),
        "bin_widths": all(b - a <= NANOSECONDS or b - a <= (a + b) * wide for a, b in zip(low, high)),
        "extremes": low[0] - NANOSECONDS <= found.shortest_seconds <= high[0] + NANOSECONDS
        and low[-1] - NANOSECONDS <= found.longest_seconds <= high[-1] + NANOSECONDS
        and found.shortest_seconds <= found.longest_seconds,
        "latency_sum": least * (1 - CLOCK_TOLERANCE) <= found.sum_seconds <= most * (1 + CLOCK_TOLERANCE),
    }
    yield from itertools.islice(broken(record, kept), 1)
