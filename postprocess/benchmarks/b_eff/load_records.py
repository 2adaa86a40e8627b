# SPDX-License-Identifier: Apache-2.0
"""The records of b_eff under load (--load), besides its plan. docs/log.md explains the fields."""

from postprocess.benchmarks.b_eff.records import LoadKind, Loop
from postprocess.benchmarks.load_records import LoadRecord, Phase
from postprocess.logs.histograms import Histogram
from postprocess.logs.records import Name, Rank


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


class Load(LoadRecord[LoadKind], kw_only=True):
    """What the load moved in a phase of a pattern. `root` is the process to which all send in an incast, and that sends
    to all in a broadcast."""

    pattern: Name
    root: Rank | None
