# SPDX-License-Identifier: Apache-2.0
"""The records of b_eff_io_load, besides those of every log."""

from typing import Annotated, Literal, get_args

from msgspec import Meta

from coffeecup.postprocess.benchmarks.b_eff_io.records import CHECKED, Calls, Check, Number, Pass, PlannedPattern
from coffeecup.postprocess.benchmarks.load_records import LoadRecord, Phase, PlannedVictims
from coffeecup.postprocess.logs.histograms import Histogram
from coffeecup.postprocess.logs.records import (
    FROM_ONE,
    WHICH,
    Bytes,
    PositiveBytes,
    PositiveSeconds,
    Record,
    Repetition,
    Seconds,
    about,
)

LoadKind = Literal["read", "write"]
LOADS: tuple[str, ...] = get_args(LoadKind)  # in the order of --kinds


class Plan(Record):
    """What b_eff_io_load is going to measure. A repetition has an odd number of phases: without load, with the first
    kind, without, with the next kind, ..., without."""

    scheduled_seconds: Annotated[PositiveSeconds, about("the time of the whole run")]
    pass_seconds: Annotated[
        PositiveSeconds, about("the time of one access method of a pattern in a phase, if load doubles it")
    ]
    repetitions: Annotated[Repetition, about("at most so many are measured")]
    space_limit_bytes: Annotated[PositiveBytes, about("maximum space for all files")]
    check: Annotated[Check, CHECKED]
    patterns: Annotated[
        list[PlannedPattern],
        Meta(min_length=1, max_length=100),
        about("those with the numbers 3, 19 and 20 of b_eff_io"),
    ]
    load: PlannedVictims[LoadKind]


class LoadedTrial(Record):
    """The pattern is written without load, with twice as many calls each time, until it takes half of `pass_seconds` or
    has no more space. From the last one follow the calls of all passes: as many as fit into `pass_seconds`, at least 1
    and at most 10 000."""

    key = ("pattern", "calls")
    pattern: Annotated[Number, WHICH]
    calls: Annotated[Calls, about("calls of each process")]
    elapsed_seconds: Annotated[PositiveSeconds, about("from positioning to the end of the sync")]


class Loaded(Pass):
    """One per repetition, phase, pattern and access method."""

    key = ("repetition", "phase", "load", "pattern", "method")
    repetition: Annotated[Repetition, FROM_ONE]
    phase: Annotated[Phase, about("from 0; odd phases are under load")]
    load: Annotated[LoadKind | None, about("the kind of load, null in phases without")]
    calls: Annotated[Calls, about("calls of each process")]
    open_seconds: Annotated[Seconds, about("opening the files")]
    access_seconds: Annotated[PositiveSeconds, about("in the calls, on the slowest process")]
    access_fastest_seconds: Annotated[PositiveSeconds, about("in the calls, on the fastest process")]
    close_seconds: Annotated[Seconds, about("closing the files")]
    cached_bytes: Annotated[
        Bytes | None,
        about(
            "of reads: bytes of a file that were still in a node's cache after eviction, maximum over the processes; "
            "else null"
        ),
    ]
    accesses: Annotated[Histogram, about("times of each call on each process, a [histogram](#histograms)")]

    @property
    def seconds(self) -> float:
        """From opening the files to closing them, on the slowest process each."""
        return self.open_seconds + self.elapsed_seconds + self.close_seconds


class Load(LoadRecord[LoadKind], kw_only=True):
    """Follows each phase under load: what the generating processes moved."""

    key = ("repetition", "phase", "load")


class Stop(Record):
    """Written if there is no time for another repetition: nothing from this one on was measured."""

    key = ("repetition",)
    repetition: Annotated[Repetition, FROM_ONE]
    elapsed_seconds: Annotated[Seconds, about("since the run began")]
