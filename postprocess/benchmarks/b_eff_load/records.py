# SPDX-License-Identifier: Apache-2.0
"""The records of b_eff_load, besides those of every log and of b_eff. docs/log.md explains the fields."""

from typing import Annotated, Literal, get_args

from msgspec import Meta

from coffeecup.postprocess.benchmarks.b_eff.records import Loop, PlannedLoops
from coffeecup.postprocess.benchmarks.load_records import LoadRecord, Phase, PlannedVictims
from coffeecup.postprocess.logs.histograms import Histogram
from coffeecup.postprocess.logs.records import Name, PositiveBytes, Rank

LoadKind = Literal["incast", "alltoall", "broadcast", "io"]
LOADS: tuple[str, ...] = get_args(LoadKind)  # in the order of --kinds
IO = "io"  # the load that is no messages, but files


class PlannedLoad(PlannedVictims[LoadKind], kw_only=True):
    """And the messages of the load."""

    message_bytes: PositiveBytes
    sends_at_once: Annotated[int, Meta(ge=1, le=1000)]


class Plan(PlannedLoops):
    """What b_eff_load is going to measure."""

    load: PlannedLoad


class LoadedLoop(Loop):
    """A loop of the victims in a phase of a pattern: with a kind of load, or without (null). `exchanges` has the times
    of each exchange on each process, at the shortest and at the longest message length."""

    phase: Phase
    load: LoadKind | None
    exchanges: Histogram | None


class Loaded(LoadedLoop):
    """A loop that enters a result."""


class LoadedTrial(LoadedLoop):
    """A loop of one exchange before the others of a phase."""

    fixed_length = 1


class Load(LoadRecord[LoadKind], kw_only=True):
    """What the load moved in a phase of a pattern. `root` is the process to which all send in an incast, and that sends
    to all in a broadcast."""

    pattern: Name
    root: Rank | None
