# SPDX-License-Identifier: Apache-2.0
"""The records of b_eff, besides those of every log. docs/log.md is made from these texts."""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from coffeecup.postprocess.benchmarks.b_eff.memory.records import Kind, Memory
from coffeecup.postprocess.benchmarks.b_eff.nodes.records import Matchings
from coffeecup.postprocess.logs.records import (
    FROM_ONE,
    WHICH,
    Bytes,
    Count,
    Name,
    Part,
    PlannedName,
    PositiveBytes,
    PositiveSeconds,
    Processes,
    Record,
    Repetition,
    Seconds,
    about,
    distinct,
)

Group = Literal["ring", "random", "worst_cycle", "bisection", "cartesian_2d", "cartesian_3d", "ping_pong"]


class Rings(Part):
    """Rings of the same size that follow each other in rank order; null if the pattern has no rings."""

    size: Annotated[Processes, about("processes of a ring")]
    count: Annotated[Processes, about("number of rings")]


class Pattern(Part):
    """The patterns in the order of measuring."""

    name: Annotated[Name, about("with `--memory`, it ends with the kind: `ring-1-cuda`")]
    group: Annotated[
        Group,
        about(
            "`ring` (`ring-1` to `ring-6`), `random` (`random-01` to `random-30`), `worst_cycle`, `bisection` "
            "(`bisection-best`, `bisection-worst`), `cartesian_2d` (`cartesian-2d-x`, `-y`, `-all`), `cartesian_3d` "
            "(`-x`, `-y`, `-z`, `-all`) or `ping_pong` (`ping-pong`)"
        ),
    ]
    averaged: Annotated[bool, about("whether it enters b_eff")]
    messages_per_exchange: Annotated[Count, about("messages of all processes")]
    processes: Annotated[Processes, about("those that send or receive")]
    rings: Annotated[list[Rings], Meta(min_length=1)] | None
    methods: Annotated[list[Name], Meta(min_length=1), about("methods that apply to it")]
    memory: Annotated[
        Annotated[list[Kind], Meta(min_length=2, max_length=2)] | None,
        about(
            "the kinds of memory of the process at position 0, as of all others, and of that at "
            "position 1; never null, only with `--memory`"
        ),
    ] = None

    def __post_init__(self):
        distinct("methods", self.methods)


class Method(Part):
    name: Annotated[
        Name,
        about("`sendrecv`, `alltoallv`, `nonblocking`, `neighbor`, `persistent` or `blocking` (of the ping-pong only)"),
    ]
    averaged: Annotated[bool, about("whether it enters b_eff")]


class PlannedLoops(Record):
    """Which patterns, methods and message lengths are going to be measured."""

    message_bytes: Annotated[
        list[PositiveBytes], Meta(min_length=1, max_length=1000), about("the 21 message lengths, ascending")
    ]
    l_max_bytes: Annotated[PositiveBytes, about("the longest")]
    buffer_bytes: Annotated[
        PositiveBytes, about("size of the send and of the receive buffer through which messages walk")
    ]
    repetitions: Annotated[Repetition, about("3: passes through all patterns, message lengths and methods")]
    first_loop_length: Annotated[Count, about("300")]
    longest_loop_length: Annotated[Count, about("100000, no limit in practice; less in short simulations")]
    random_patterns: Annotated[int, Meta(ge=1, le=30), about("30; the number of random patterns")]
    time_budget_seconds: Annotated[PositiveSeconds, about("the time budget")]
    seed: Annotated[int, Meta(ge=0), about("of the random patterns")]
    methods: Annotated[list[Method], Meta(min_length=1), about("the methods by which messages are sent")]
    patterns: Annotated[list[Pattern], Meta(min_length=1, max_length=10_000)]

    def __post_init__(self):
        if self.seed >= 2**64:  # msgspec has no bounds beyond 63 bits
            raise ValueError("seed: does not fit into 64 bits")


class Plan(PlannedLoops):
    """What b_eff is going to measure."""

    matchings: Matchings
    memory: Annotated[list[Memory], Meta(min_length=1, max_length=7)] | None = None  # missing without --memory


class Loop(Record):
    """One timed loop. The number of its exchanges is adapted unless it is fixed (the longest loop of the plan may be
    shorter)."""

    key = ("repetition", "pattern", "message_bytes", "method")
    fixed_length: ClassVar[int | None] = None

    repetition: Annotated[Repetition, FROM_ONE]
    pattern: Annotated[PlannedName, WHICH]
    method: Annotated[PlannedName, WHICH]
    message_bytes: Annotated[PositiveBytes, WHICH]
    loop_length: Annotated[Count, about("exchanges in the timed loop")]
    elapsed_seconds: Annotated[PositiveSeconds, about("the loop's time on the slowest process")]
    fastest_seconds: Annotated[Seconds, about("the loop's time on the fastest process")]
    slowest_message_seconds: Annotated[
        PositiveSeconds,
        about(
            "the loop's time on a process, divided by the messages that this process sends in one exchange; the "
            "longest of all processes"
        ),
    ]


class Measurement(Loop):
    """Its bandwidth is `message_bytes * messages_per_exchange * loop_length / elapsed_seconds`. By the formula of
    release 3.6 of the original program it is `message_bytes * processes * loop_length / slowest_message_seconds`."""


class Latency(Loop):
    """The loops of 10 000 exchanges at the shortest length, of the ring patterns and the ping-pong. They give the
    latencies and do not enter b_eff."""

    fixed_length = 10_000


class Trial(Loop):
    """The loops of one exchange before a pattern's first loop."""

    fixed_length = 1


class Budget(Record, kw_only=True):
    """Written where the run leaves something out to keep its time budget: in this repetition, pattern and length only.
    The first repetition leaves out methods, never a pattern or a length."""

    key = ("repetition", "pattern", "message_bytes")
    pattern: Annotated[Name, WHICH]
    message_bytes: Annotated[PositiveBytes, WHICH]
    repetition: Annotated[Repetition, FROM_ONE]
    loops: Annotated[Literal["bandwidth", "latency"], about("`bandwidth` or `latency`")]
    reduced_to: Annotated[
        Literal["averaged_methods", "best_method", "nothing"], about("`averaged_methods`, `best_method` or `nothing`")
    ]
    methods: Annotated[list[Name], about("those that still run")]
    elapsed_seconds: Annotated[Seconds, about("since the run began")]
    estimate_seconds: Annotated[
        float,
        Meta(ge=0, le=1e12),
        about("of the whole run without the reduction, if the remaining patterns take as long as this one"),
    ]

    def __post_init__(self):
        distinct("methods", self.methods)


class Stop(Record):
    """Written if a run ends early ([when](b_eff_run.md#how-long-it-takes)): nothing from this repetition, pattern and
    length on was measured."""

    key = ("repetition", "pattern", "message_bytes")
    repetition: Annotated[Repetition, FROM_ONE]
    pattern: Annotated[Name, WHICH]
    message_bytes: Annotated[PositiveBytes, WHICH]
    elapsed_seconds: Annotated[Seconds, about("since the run began")]
    needed_budget_seconds: Annotated[
        Annotated[float, Meta(gt=0, le=1e12)] | None,
        about(
            "the time budget that a score needs, only in the averaged patterns of the first "
            "repetition, where the log yields none"
        ),
    ] = None


class DataCheck(Record):
    """Summed over processes. Each loop begins with one exchange that is not timed, so `received_bytes` is the sum of
    `message_bytes * messages_per_exchange * (loop_length + 1)` over all loops."""

    received_bytes: Annotated[Bytes, about("of all loops")]
    checked_bytes: Annotated[
        Bytes, about("less only if a loop was longer than the buffer and overwrote its own messages")
    ]
    wrong_bytes: Annotated[Bytes, about("0 in a complete log")]
