# SPDX-License-Identifier: Apache-2.0
"""The records of runs under load that benchmarks have in common. docs/log.md explains the fields."""

from typing import Annotated, Generic, TypeVar

from msgspec import Meta

from coffeecup.postprocess.logs.records import (
    Bytes,
    Node,
    Part,
    PositiveBytes,
    PositiveSeconds,
    Processes,
    Rank,
    Record,
    Repetition,
    distinct,
)

Kind = TypeVar("Kind", bound=str)  # of load
Phase = Annotated[int, Meta(ge=0, le=100)]


class PlannedVictims(Part, Generic[Kind], kw_only=True):
    """Which nodes are measured, the victims, while the others generate which load. `file_bytes` is the size of the file
    of each process of a load of files, None without one."""

    kinds: Annotated[list[Kind], Meta(min_length=1)]
    victims_percent: Annotated[int, Meta(ge=1, le=99)]
    victims: Annotated[list[Node], Meta(min_length=1)]
    victim_processes: Processes
    latency_relative_error: Annotated[float, Meta(gt=0, le=1)]
    file_bytes: PositiveBytes | None = None

    def __post_init__(self):
        distinct("kinds", self.kinds)
        distinct("victims", self.victims)


class LoadRecord(Record, Generic[Kind], kw_only=True):
    """What the generating processes moved in a phase, from when the load was there until they were told to stop: on
    the process with the longest and with the shortest time. `silent_senders` of the `senders` completed nothing in this
    time. Of a load of files, bytes sent are those written and bytes received those read, `cached_bytes` of them from
    the page cache; None in other loads."""

    repetition: Repetition
    phase: Phase
    load: Kind
    elapsed_seconds: PositiveSeconds
    shortest_seconds: PositiveSeconds
    sent_bytes: Bytes
    received_bytes: Bytes
    senders: Processes
    silent_senders: Rank
    cached_bytes: Bytes | None = None
