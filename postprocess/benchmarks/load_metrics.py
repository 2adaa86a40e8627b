# SPDX-License-Identifier: Apache-2.0
"""The metrics of benchmarks under load: factors by which a load slows down what is measured beside it, for each kind of
load. `impacts` are the beginnings of their names, with what reports call them."""

from collections.abc import Iterable, Mapping

from coffeecup.postprocess.benchmarks.benchmark import Better, MetricKind

ENDS = {"": "", "_low": ", lower end of the interval", "_high": ", upper end of the interval"}  # of names and labels


def of_kind(kind: str, impacts: Mapping[str, str]) -> list[MetricKind]:
    """Those of the victims with their intervals, and the bandwidth of the load."""
    return [
        *(
            MetricKind(
                f"{impact}_{kind}{end}",
                "1",
                Better.NEITHER if end else Better.LOWER,
                f"{label}, {kind}{which}",
                optional=True,
            )
            for impact, label in impacts.items()
            for end, which in ENDS.items()
        ),
        MetricKind(
            f"load_bandwidth_{kind}", "MByte/s", Better.NEITHER, f"bandwidth of the load, {kind}", optional=True
        ),
    ]


def of_kinds(kinds: Iterable[str], impacts: Mapping[str, str]) -> tuple[MetricKind, ...]:
    """The metrics of all these kinds of load."""
    return tuple(metric for kind in kinds for metric in of_kind(kind, impacts))
