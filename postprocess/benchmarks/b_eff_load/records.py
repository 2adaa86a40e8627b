# SPDX-License-Identifier: Apache-2.0
"""The records of b_eff_load, besides those of every log and of b_eff."""

from typing import Annotated, Literal, get_args

from msgspec import Meta

from coffeecup.postprocess.benchmarks.b_eff.records import Loop, PlannedLoops
from coffeecup.postprocess.benchmarks.load_records import LoadRecord, Phase, PlannedVictims
from coffeecup.postprocess.logs.histograms import Histogram
from coffeecup.postprocess.logs.records import WHICH, Name, PositiveBytes, Rank, about

LoadKind = Literal["incast", "alltoall", "broadcast", "io"]
LOADS: tuple[str, ...] = get_args(LoadKind)  # in the order of --kinds
IO = "io"  # the load that is no messages, but files


class PlannedLoad(PlannedVictims[LoadKind], kw_only=True):
    """Which nodes are measured, the victims, while the others generate which load."""

    message_bytes: Annotated[PositiveBytes, about("length of the messages of the load")]
    sends_at_once: Annotated[int, Meta(ge=1, le=1000), about("how many of them a process has in flight")]


class Plan(PlannedLoops):
    """What b_eff_load is going to measure: the averaged patterns, on the processes of the victims. A pattern has an odd
    number of phases: without load, with the first kind, without, with the next kind, ..., without."""

    load: PlannedLoad


class LoadedLoop(Loop):
    """A loop of the victims in a phase of a pattern: with a kind of load, or without."""

    key = ("repetition", "pattern", "phase", "load", "message_bytes", "method")
    phase: Annotated[Phase, about("from 0; odd phases are under load")]
    load: Annotated[LoadKind | None, about("the kind of load, null in phases without")]
    exchanges: Annotated[
        Histogram | None,
        about(
            "times of each exchange on each process at the shortest and the longest length, a "
            "[histogram](#histograms); null at other lengths"
        ),
    ]


class Loaded(LoadedLoop):
    """One per repetition, pattern, phase and message length."""


class LoadedTrial(LoadedLoop):
    """A loop of one exchange before the others of a phase, by which the length of the first loop is chosen."""

    fixed_length = 1


class Load(LoadRecord[LoadKind], kw_only=True):
    """Follows each phase under load: what the generating processes moved."""

    key = ("repetition", "pattern", "phase", "load")
    pattern: Annotated[Name, WHICH]
    root: Annotated[
        Rank | None,
        about("the one process of an incast or a broadcast; else null"),
    ]
