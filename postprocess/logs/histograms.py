# SPDX-License-Identifier: Apache-2.0
"""Histograms of times with logarithmic bins, as kernels/common/latency.c writes them: what they contain, and what has
to agree in them."""

import itertools
from collections.abc import Iterator
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
    bins = list(zip(found.from_seconds, found.to_seconds, found.bin_calls))
    counted = len(found.from_seconds) == len(found.to_seconds) == len(found.bin_calls)
    first, last, ticks = bins[0], bins[-1], NANOSECONDS * found.calls
    least = max(sum(low * count for low, _, count in bins), found.calls * found.shortest_seconds) - ticks
    most = min(sum(high * count for _, high, count in bins), found.calls * found.longest_seconds) + ticks
    kept = {
        "latency_calls": counted and sum(found.bin_calls) == found.calls == calls,
        "bins": all(low < high for low, high, _ in bins)
        and all(one[1] <= other[0] * (1 + ROUNDING) for one, other in itertools.pairwise(bins)),
        "bin_widths": all(
            high - low <= max((high + low) * relative_error * (1 + CLOCK_TOLERANCE), NANOSECONDS)
            for low, high, _ in bins
        ),
        "extremes": first[0] - NANOSECONDS <= found.shortest_seconds <= first[1] + NANOSECONDS
        and last[0] - NANOSECONDS <= found.longest_seconds <= last[1] + NANOSECONDS
        and found.shortest_seconds <= found.longest_seconds,
        "latency_sum": least * (1 - CLOCK_TOLERANCE) <= found.sum_seconds <= most * (1 + CLOCK_TOLERANCE),
    }
    yield from itertools.islice(broken(record, kept), 1)
