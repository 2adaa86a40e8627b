# SPDX-License-Identifier: Apache-2.0
"""The records of runs under load that benchmarks have in common."""

from typing import Annotated, Generic, TypeVar

from msgspec import Meta

from coffeecup.postprocess.logs.records import (
    FROM_ONE,
    WHICH,
    Bytes,
    Node,
    Part,
    PositiveBytes,
    PositiveSeconds,
    Processes,
    Rank,
    Record,
    Repetition,
    about,
    distinct,
)

Kind = TypeVar("Kind", bound=str)  # of load
Phase = Annotated[int, Meta(ge=0, le=100)]  # from 0; odd phases are under load


class PlannedVictims(Part, Generic[Kind], kw_only=True):
    """Which nodes are measured, the victims, while the others generate which load."""

    kinds: Annotated[list[Kind], Meta(min_length=1), about("the kinds of load, in the order of the option `--kinds`")]
    victims_percent: Annotated[int, Meta(ge=1, le=99), about("share of the nodes that are measured")]
    victims: Annotated[
        list[Node], Meta(min_length=1), about("the nodes that are measured, numbered as the run's `hosts`")
    ]
    victim_processes: Annotated[Processes, about("their processes")]
    latency_relative_error: Annotated[
        float, Meta(gt=0, le=1), about("half the width of a bin of the histograms, divided by its middle")
    ]
    file_bytes: Annotated[PositiveBytes | None, about("size of the file of each process that generates I/O")] = None

    @property
    def phases(self) -> list[str | None]:
        """The load of each phase of a repetition: none, the first kind, none, the next kind, ..., none."""
        return [None, *(load for kind in self.kinds for load in (kind, None))]

    def __post_init__(self):
        distinct("kinds", self.kinds)
        distinct("victims", self.victims)


class LoadRecord(Record, Generic[Kind], kw_only=True):
    """Follows each phase under load: what the generating processes moved."""

    repetition: Annotated[Repetition, FROM_ONE]
    phase: Annotated[Phase, WHICH]
    load: Annotated[Kind, about("the kind of load")]
    elapsed_seconds: Annotated[
        PositiveSeconds,
        about(
            "how long a process generated load, from when it had sent and received its first message until it was told "
            "to stop, with files from the end of its first round to that of its last one; on the process with the "
            "longest time. All that is measured in the phase lies within"
        ),
    ]
    shortest_seconds: Annotated[PositiveSeconds, about("the same on the process with the shortest time")]
    sent_bytes: Annotated[
        Bytes,
        about("messages of all generating processes that were completed in this time; of files, written and synced"),
    ]
    received_bytes: Annotated[Bytes, about("the same for messages received; of files, read")]
    senders: Annotated[Processes, about("processes that were to generate load")]
    silent_senders: Annotated[Rank, about("how many of them completed nothing in this time")]
    cached_bytes: Annotated[
        Bytes | None,
        about("of the bytes read from files, those that were still in the reading node's page cache after eviction"),
    ] = None
