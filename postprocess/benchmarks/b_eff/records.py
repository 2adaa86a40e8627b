# SPDX-License-Identifier: Apache-2.0
"""The records of b_eff, besides those of every log. docs/log.md explains the fields."""

from typing import Annotated, ClassVar, Literal, get_args

from msgspec import Meta

from postprocess.logs.records import (
    Bytes,
    Count,
    Name,
    Node,
    Part,
    PositiveBytes,
    PositiveSeconds,
    Processes,
    Rank,
    Record,
    Repetition,
    Resolution,
    Seconds,
    Text,
    distinct,
    matching,
)

Kind = Literal["host", "cuda", "cuda-managed", "hip", "hip-managed", "level-zero", "level-zero-shared"]
HOST = "host"
KINDS: tuple[str, ...] = get_args(Kind)  # in the order of --memory
Group = Literal["ring", "random", "worst_cycle", "bisection", "cartesian_2d", "cartesian_3d", "ping_pong"]


class Rings(Part):
    """Rings of the same size that follow each other in rank order."""

    size: Processes
    count: Processes


class Pattern(Part):
    """`memory` is missing without --memory, and otherwise has the kinds of the process at position 0, as of all others,
    and of the one at position 1. They end the name."""

    name: Name
    group: Group
    averaged: bool
    messages_per_exchange: Count
    processes: Processes
    rings: Annotated[list[Rings], Meta(min_length=1)] | None
    methods: Annotated[list[Name], Meta(min_length=1)]
    memory: Annotated[list[Kind], Meta(min_length=2, max_length=2)] | None = None

    def __post_init__(self):
        distinct("methods", self.methods)

    @property
    def kind(self) -> str:
        """The kind of memory of its messages; of those between two kinds the names of both."""
        return "-".join(dict.fromkeys(self.memory or [HOST]))

    @property
    def base(self) -> str:
        """Its name without the kind."""
        return self.name.removesuffix(f"-{self.kind}") if self.memory else self.name


class Device(Part):
    """An accelerator and the processes that use it."""

    pci_address: Annotated[str, matching("[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}[.][0-9a-f]")]
    numa_node: Annotated[int, Meta(ge=0, le=10**6)] | None
    memory_bytes: PositiveBytes
    ranks: Annotated[list[Rank], Meta(min_length=1)]


class Memory(Part):
    """A kind of memory in which messages are, with what the MPI library answered. That of the host has only the first
    two fields."""

    kind: Kind
    memory_per_process_bytes: PositiveBytes
    library: Text | None = None
    supported: bool | None = None
    asked: dict[Text, Text | bool | None] | None = None
    devices: Annotated[list[Device], Meta(min_length=1)] | None = None


class Method(Part):
    name: Name
    averaged: bool


class Matchings(Part):
    """The loops that show slow nodes; none if `count` is 0. `groups` are those of the nodes, by name."""

    count: Annotated[int, Meta(ge=0, le=1000)]
    lengths: Annotated[list[PositiveBytes], Meta(min_length=1, max_length=3)]
    loop_lengths: Annotated[list[Count], Meta(min_length=1, max_length=3)]
    resolution: Resolution
    groups: dict[Text, Text] | None
    all_pairs: bool
    reserved_seconds: Seconds


class PlannedLoops(Record):
    """Which patterns, methods and message lengths are going to be measured."""

    message_bytes: Annotated[list[PositiveBytes], Meta(min_length=1, max_length=1000)]
    l_max_bytes: PositiveBytes
    buffer_bytes: PositiveBytes
    repetitions: Repetition
    first_loop_length: Count
    longest_loop_length: Count
    random_patterns: Annotated[int, Meta(ge=1, le=30)]
    time_budget_seconds: PositiveSeconds
    seed: Annotated[int, Meta(ge=0)]
    methods: Annotated[list[Method], Meta(min_length=1)]
    patterns: Annotated[list[Pattern], Meta(min_length=1, max_length=10_000)]

    def __post_init__(self):
        if self.seed >= 2**64:  # msgspec has no bounds beyond 63 bits
            raise ValueError("seed: does not fit into 64 bits")


class Plan(PlannedLoops):
    """What b_eff is going to measure."""

    matchings: Matchings | None = None  # missing in early logs
    memory: Annotated[list[Memory], Meta(min_length=1, max_length=7)] | None = None  # missing without --memory


class Loop(Record):
    """One timed loop. The number of its exchanges is adapted unless it is fixed (the longest loop of the plan may be
    shorter)."""

    fixed_length: ClassVar[int | None] = None

    repetition: Repetition
    pattern: Name
    method: Name
    message_bytes: PositiveBytes
    loop_length: Count
    elapsed_seconds: PositiveSeconds
    fastest_seconds: Seconds
    slowest_message_seconds: PositiveSeconds


class Measurement(Loop):
    """A loop that enters b_eff."""


class Latency(Loop):
    """A loop at the shortest message length, for latencies."""

    fixed_length = 10_000


class Trial(Loop):
    """A loop of one exchange before a pattern's first measurement."""

    fixed_length = 1


class Budget(Record, kw_only=True):
    """What the run leaves out in this repetition at this pattern and length to keep its time."""

    pattern: Name
    message_bytes: PositiveBytes
    repetition: Repetition
    loops: Literal["bandwidth", "latency"]
    reduced_to: Literal["averaged_methods", "best_method", "nothing"]
    methods: list[Name]
    elapsed_seconds: Seconds
    estimate_seconds: Annotated[float, Meta(ge=0, le=1e12)]

    def __post_init__(self):
        distinct("methods", self.methods)


class Stop(Record):
    """The run was out of time: nothing from this repetition, pattern and length on was measured. The needed budget is
    there only if a score requires what was not measured."""

    repetition: Repetition
    pattern: Name
    message_bytes: PositiveBytes
    elapsed_seconds: Seconds
    needed_budget_seconds: Annotated[float, Meta(gt=0, le=1e12)] | None = None


class RoundTrips(Part):
    shortest_round_trip_seconds: PositiveSeconds
    longest_round_trip_seconds: PositiveSeconds


class Probe(Record):
    """Round trips of a cache line between processes of a node, before a repetition; null for a node with one
    process."""

    repetition: Repetition
    hosts: Annotated[list[RoundTrips | None], Meta(min_length=1)]


class MemoryCopy(Record):
    """The time of a copy in memory on each node, while all processes copy so many bytes each, before a repetition. A
    node takes as long as its slowest process; the shortest of several copies counts."""

    repetition: Repetition
    copied_bytes: PositiveBytes
    seconds: Annotated[list[PositiveSeconds], Meta(min_length=1)]


Partners = Annotated[list[Annotated[int, Meta(ge=-1, le=10**8)]], Meta(min_length=2)]
Times = Annotated[list[PositiveSeconds | None], Meta(min_length=2)]
Scope = Literal["all", "within", "across"]


class Matching(Record):
    """A loop in which nodes exchange messages in pairs. `partners` has the partner of each node, -1 if it rests;
    `seconds` the time of each process, or of one for each node, null if it rests."""

    processes: Literal["one_per_node", "all"]
    scope: Scope
    matching: Annotated[int, Meta(ge=0, le=1000)]
    direction: Literal["both", "up", "down"]
    message_bytes: PositiveBytes
    loop_length: Count
    partners: Partners
    seconds: Times


class MatchingsLeftOut(Record):
    """There was no time for more than `measured` matchings, suspects or patterns."""

    loops: Literal["one_per_node", "all", "confirmation", "patterns"]
    scope: Scope | None
    measured: Annotated[int, Meta(ge=0, le=1000)]
    elapsed_seconds: Seconds


class Suspect(Part):
    """A node whose pairs were `ratio` times slower than the others, and nodes to compare it with, if there are two."""

    node: Node
    ratio: Annotated[float, Meta(ge=1, le=1e9)]
    good: Annotated[list[Node], Meta(max_length=2)]


class Suspects(Record):
    """Which nodes the kernel measured again; no judgement."""

    suspects: Annotated[list[Suspect], Meta(max_length=8)]


class Confirmation(Record):
    """A loop of one pair of nodes in both directions, while all others rest: a suspect and a good node, or both good
    nodes. `seconds` has the times of the first node's processes, then of the second one's; null for those that rest."""

    suspect: Node
    repetition: Annotated[int, Meta(ge=1, le=3)]
    processes: Literal["one_per_node", "all"]
    pair: Annotated[list[Node], Meta(min_length=2, max_length=2)]
    message_bytes: PositiveBytes
    loop_length: Count
    seconds: Times


class PatternProcesses(Record):
    """A short loop of an averaged pattern, with the time of each process."""

    pattern: Name
    message_bytes: PositiveBytes
    loop_length: Count
    seconds: Times


class AllPairs(Record):
    """The pairs of all nodes follow, in so many rounds, which will take about so long."""

    rounds: Count
    estimate_seconds: Seconds


class Pair(Record):
    """A round of all pairs, as a matching of one process per node in both directions."""

    message_bytes: PositiveBytes
    loop_length: Count
    partners: Partners
    seconds: Times
    round: Annotated[int, Meta(ge=0, le=10**8)]


class DataCheck(Record):
    """Bytes of all timed loops, summed over processes."""

    received_bytes: Bytes
    checked_bytes: Bytes
    wrong_bytes: Bytes
