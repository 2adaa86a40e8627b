# SPDX-License-Identifier: Apache-2.0
"""Histograms of times with logarithmic bins, as kernels/common/latency.c writes them: what they contain, and what has
to agree in them."""

import itertools
from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from coffeecup.postprocess.logs.records import Part, PositiveSeconds, Record, Seconds, about
from coffeecup.postprocess.logs.rules import ROUNDING, Problem

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
    """A histogram of `calls` calls, which is in `record`."""
    bins = list(zip(found.from_seconds, found.to_seconds, found.bin_calls))
    counted = len(found.from_seconds) == len(found.to_seconds) == len(found.bin_calls)
    if not counted or sum(found.bin_calls) != found.calls or found.calls != calls:
        yield "latency_calls", record
    elif any(low >= high for low, high, _ in bins) or any(
        a[1] > b[0] * (1 + ROUNDING) for a, b in itertools.pairwise(bins)
    ):
        yield "bins", record
    elif any(
        high - low > max((high + low) * relative_error * (1 + CLOCK_TOLERANCE), NANOSECONDS) for low, high, _ in bins
    ):
        yield "bin_widths", record
    else:
        yield from problems_of_durations(record, found, bins)


def problems_of_durations(record: Record, found: Histogram, bins: list[tuple[float, float, int]]) -> Iterator[Problem]:
    """The shortest call is in the first bin, the longest in the last one, and the sum follows from all, nearly."""
    low, high = bins[0][0], bins[-1][1]
    if not (
        low - NANOSECONDS <= found.shortest_seconds <= bins[0][1] + NANOSECONDS
        and bins[-1][0] - NANOSECONDS <= found.longest_seconds <= high + NANOSECONDS
        and found.shortest_seconds <= found.longest_seconds
    ):
        yield "extremes", record
    least, most = (sum(edges[side] * edges[2] for edges in bins) for side in (0, 1))
    least = max(least, found.calls * found.shortest_seconds) - NANOSECONDS * found.calls
    most = min(most, found.calls * found.longest_seconds) + NANOSECONDS * found.calls
    if not least * (1 - CLOCK_TOLERANCE) <= found.sum_seconds <= most * (1 + CLOCK_TOLERANCE):
        yield "latency_sum", record
