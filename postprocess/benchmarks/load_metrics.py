# SPDX-License-Identifier: Apache-2.0
"""The metrics of benchmarks under load: factors by which a load slows down what is measured beside it, for each kind of
load. `impacts` are the beginnings of their names."""

from collections.abc import Iterable

from coffeecup.postprocess.benchmarks.benchmark import Better, MetricKind

ENDS = ("", "_low", "_high")  # of the names: a factor, and its interval


def of_kind(kind: str, impacts: Iterable[str]) -> list[MetricKind]:
    """Those of the victims with their intervals, and the bandwidth of the load."""
    return [
        *(
            MetricKind(f"{impact}_{kind}{end}", "1", Better.NEITHER if end else Better.LOWER, optional=True)
            for impact in impacts
            for end in ENDS
        ),
        MetricKind(f"load_bandwidth_{kind}", "MByte/s", Better.NEITHER, optional=True),
    ]


def of_kinds(kinds: Iterable[str], impacts: Iterable[str]) -> tuple[MetricKind, ...]:
    """The metrics of all these kinds of load."""
    return tuple(metric for kind in kinds for metric in of_kind(kind, impacts))
