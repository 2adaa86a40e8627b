# SPDX-License-Identifier: Apache-2.0
"""The records of b_eff under load (--load), besides its plan. docs/log.md explains the fields."""

from postprocess.benchmarks.b_eff.records import LoadKind, Loop, Phase, Repetition
from postprocess.logs.histograms import Histogram
from postprocess.logs.records import Bytes, Name, PositiveSeconds, Processes, Rank, Record


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


class Load(Record):
    """What the generating processes moved in a phase, from when the load was there until they were told to stop: on
    the process with the longest and with the shortest time. `root` is the process to which all send in an incast, and
    that sends to all in a broadcast; `silent_senders` of the `senders` completed no message in this time.
    Of the load io, bytes sent are those written and bytes received those read, `cached_bytes` of them from the page
    cache."""

    repetition: Repetition
    pattern: Name
    phase: Phase
    load: LoadKind
    root: Rank | None
    elapsed_seconds: PositiveSeconds
    shortest_seconds: PositiveSeconds
    sent_bytes: Bytes
    received_bytes: Bytes
    senders: Processes
    silent_senders: Rank
    cached_bytes: Bytes | None = None  # missing in other loads than io
