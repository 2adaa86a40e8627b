# SPDX-License-Identifier: Apache-2.0
"""The records of b_eff_io_load, besides those of every log. docs/log.md explains the fields."""

from typing import Annotated, Literal, get_args

from msgspec import Meta

from coffeecup.postprocess.benchmarks.b_eff_io.records import Calls, Check, Number, Pass, PlannedPattern
from coffeecup.postprocess.benchmarks.load_records import LoadRecord, Phase, PlannedVictims
from coffeecup.postprocess.logs.histograms import Histogram
from coffeecup.postprocess.logs.records import Bytes, PositiveBytes, PositiveSeconds, Record, Repetition, Seconds

LoadKind = Literal["read", "write"]
LOADS: tuple[str, ...] = get_args(LoadKind)  # in the order of --kinds


class Plan(Record):
    """What b_eff_io_load is going to measure. `pass_seconds` is the time of one access method of a pattern in a phase,
    if the load doubles it."""

    scheduled_seconds: PositiveSeconds
    pass_seconds: PositiveSeconds
    repetitions: Repetition
    space_limit_bytes: PositiveBytes
    check: Check
    patterns: Annotated[list[PlannedPattern], Meta(min_length=1, max_length=100)]
    load: PlannedVictims[LoadKind]


class LoadedTrial(Record):
    """A pattern that is written without load, by which the number of calls is chosen."""

    pattern: Number
    calls: Calls
    elapsed_seconds: PositiveSeconds


class Loaded(Pass):
    """A pass in a phase with a kind of load, or without (null). `calls` are those of each process, `accesses` the times
    of all calls on all processes. `cached_bytes`, of files that are read, stayed in a node's page cache after they had
    been evicted, at most; None in other passes."""

    repetition: Repetition
    phase: Phase
    load: LoadKind | None
    calls: Calls
    open_seconds: Seconds
    access_seconds: PositiveSeconds
    access_fastest_seconds: PositiveSeconds
    close_seconds: Seconds
    cached_bytes: Bytes | None
    accesses: Histogram

    @property
    def seconds(self) -> float:
        """From opening the files to closing them, on the slowest process each."""
        return self.open_seconds + self.elapsed_seconds + self.close_seconds


class Load(LoadRecord[LoadKind], kw_only=True):
    """What the load moved in a phase."""


class Stop(Record):
    """The run was out of time: nothing from this repetition on was measured."""

    repetition: Repetition
    elapsed_seconds: Seconds
