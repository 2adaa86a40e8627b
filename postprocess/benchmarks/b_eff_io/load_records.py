# SPDX-License-Identifier: Apache-2.0
"""The records of b_eff_io under load (--load), besides its plan. docs/log.md explains the fields."""

from postprocess.benchmarks.b_eff_io.records import Calls, LoadKind, Number, Pass
from postprocess.benchmarks.load_records import LoadRecord, Phase, Repetition
from postprocess.logs.histograms import Histogram
from postprocess.logs.records import Bytes, PositiveSeconds, Record, Seconds


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
