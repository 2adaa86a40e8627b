# SPDX-License-Identifier: Apache-2.0
"""The record of the nodes' counters, in the logs of all benchmarks."""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from coffeecup.postprocess.logs.records import (
    MOST_BYTES,
    Part,
    PositiveSeconds,
    Record,
    Text,
    about,
    distinct,
    matching,
)

Reading = Annotated[int, Meta(ge=0, le=MOST_BYTES)] | Literal["absent", "forbidden", "unreadable"]
# Not a tuple: msgspec 0.22 crashes where a union has one whose members have limits.
Readings = Annotated[list[Reading], Meta(min_length=2, max_length=3)]


class CounterSource(Part):
    """What counts on at least one node."""

    counter: Annotated[str, matching("[a-zA-Z0-9_]{1,64}"), about("[which counter](counter-list.md)")]
    instance: Annotated[
        str, Meta(max_length=4096), about("such as `mlx5_0/1` or `0 package-0`; empty if there is only one")
    ]
    largest: Annotated[
        Annotated[int, Meta(ge=1, le=MOST_BYTES)] | None,
        about("the value after which it begins again at 0, if the system states it"),
    ] = None


class CountersOfHost(Part):
    """The nodes in the order of the run's `hosts`."""

    values: Annotated[
        list[Reading | Readings],
        about(
            "one for each of its sources: the two readings as a list, followed by how often the counter was seen to "
            "begin again between them if it did; or one reading if both are the same. A reading is a number, "
            '`"absent"`, `"forbidden"` or `"unreadable"` (no number from 0 to 2^63 - 1)'
        ),
    ]
    has: Annotated[
        list[Annotated[int, Meta(ge=0, le=10**7)]] | None,
        about("the numbers of its sources, from 0, unless it has all of them in their order"),
    ] = None
    root: Annotated[Text | None, about("only in tests: the directory below which the files were read")] = None

    def __post_init__(self):
        for value in self.values:
            if isinstance(value, list) and len(value) == 2 and value[0] == value[1]:
                raise ValueError("values: two equal readings, which are written as one")
            if isinstance(value, list) and len(value) == 3 and not all(isinstance(part, int) for part in value):
                raise ValueError("values: a counter that began again has numbers only")
        if self.has is not None:
            distinct("has", self.has)


class Counters(Record):
    """What the nodes [counted](counters.md) (missing in simulations)."""

    phase: Annotated[
        Literal["idle", "run"],
        about("`run`, or `idle`: a record before it of the time of `--idle-power`, with counters of energy only"),
    ]
    elapsed_seconds: Annotated[PositiveSeconds, about("between the two readings on rank 0's node")]
    longest_seconds: Annotated[
        PositiveSeconds,
        about("the longest time between two readings of energy on a node"),
    ]
    sources: list[CounterSource]
    absent: Annotated[list[Text], about("names of counters that no node has")]
    hosts: Annotated[list[CountersOfHost], Meta(min_length=1)]

    def __post_init__(self):
        distinct("sources", [(source.counter, source.instance, source.largest) for source in self.sources])
        distinct("absent", self.absent)

    def of_host(self, number: int) -> list[tuple[CounterSource, Sequence[int | str]]]:
        """Each source of a host with its readings: two, and a third number if it began again. Raises IndexError and
        ValueError where the log contradicts itself."""
        counted = self.hosts[number]
        sources = self.sources if counted.has is None else [self.sources[place] for place in counted.has]
        readings = [list(value) if isinstance(value, list) else [value, value] for value in counted.values]
        return list(zip(sources, readings, strict=True))
