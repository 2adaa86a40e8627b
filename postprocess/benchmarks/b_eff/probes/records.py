# SPDX-License-Identifier: Apache-2.0
"""The records of measurements beside the messages. docs/log.md is made from these texts."""

from typing import Annotated

from msgspec import Meta

from coffeecup.postprocess.logs.records import FROM_ONE, Part, PositiveBytes, PositiveSeconds, Record, Repetition, about


class RoundTrips(Part):
    """One per node in the order of the run's `hosts`; null for a node with one process."""

    shortest_round_trip_seconds: Annotated[PositiveSeconds, about("of the pair with the shortest time")]
    longest_round_trip_seconds: Annotated[PositiveSeconds, about("of the pair with the longest time")]


class Probe(Record):
    """Written before each repetition, not in simulations: the time in which a cache line goes from one process to
    another and back, without MPI, measured for the node's processes 0 and 1, 2 and 3, ... at the same time."""

    key = ("repetition",)
    repetition: Annotated[Repetition, FROM_ONE]
    hosts: Annotated[list[RoundTrips | None], Meta(min_length=1)]


class MemoryCopy(Record):
    """Written after each `probe` if messages are in memory of the host: all processes copy from their send buffer to
    their receive buffer at the same time."""

    key = ("repetition",)
    repetition: Annotated[Repetition, FROM_ONE]
    copied_bytes: Annotated[PositiveBytes, about("of each process: 4 MiB, or `buffer_bytes` if that is less")]
    seconds: Annotated[
        list[PositiveSeconds],
        Meta(min_length=1),
        about(
            "one value per node in the order of the run's `hosts`: the time of its slowest process, "
            "the shortest of five copies"
        ),
    ]
