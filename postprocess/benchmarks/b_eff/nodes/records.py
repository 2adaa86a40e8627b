# SPDX-License-Identifier: Apache-2.0
"""The records of b_eff's matchings of nodes. docs/log.md is made from these texts."""

from typing import Annotated, Literal

from msgspec import Meta

from coffeecup.postprocess.logs.records import (
    WHICH,
    Count,
    Name,
    Node,
    Part,
    PositiveBytes,
    PositiveSeconds,
    Record,
    Resolution,
    Seconds,
    Text,
    about,
)

Partners = Annotated[list[Annotated[int, Meta(ge=-1, le=10**8)]], Meta(min_length=2)]
Times = Annotated[list[PositiveSeconds | None], Meta(min_length=2)]
Scope = Literal["all", "within", "across"]
PER_NODE = about("`one_per_node` or `all`")
EXCHANGES = about("exchanges in the timed loop")
PARTNERS = about("the partner of each node, -1 if it rests")


class Matching(Record):
    """A loop in which nodes exchange messages in pairs. The order is `processes`, `scope`, `matching`, `message_bytes`,
    `direction`."""

    key = ("processes", "scope", "matching", "message_bytes", "direction")
    processes: Annotated[Literal["one_per_node", "all"], PER_NODE]
    scope: Annotated[
        Scope,
        about("`all`; with groups first `within` (pairs in the same group), then `across`"),
    ]
    matching: Annotated[int, Meta(ge=0, le=1000), about("from 0")]
    direction: Annotated[
        Literal["both", "up", "down"],
        about("`both`; `up`: the node with the lower number sends; `down`: the other one sends"),
    ]
    message_bytes: Annotated[PositiveBytes, WHICH]
    loop_length: Annotated[Count, EXCHANGES]
    partners: Annotated[Partners, PARTNERS]
    seconds: Annotated[
        Times,
        about(
            "the loop's time on each process: one value per node for `one_per_node`, one per rank "
            "for `all`; null at rest"
        ),
    ]


class MatchingsLeftOut(Record):
    """Written where the time did not suffice."""

    key = ("loops", "scope", "measured")
    loops: Annotated[
        Literal["one_per_node", "all", "confirmation", "tails", "patterns"],
        about("`one_per_node`, `all`, `confirmation`, `tails` or `patterns`"),
    ]
    scope: Annotated[Scope | None, about("of matchings and tails, else null")]
    measured: Annotated[int, Meta(ge=0, le=1000), about("how many of these loops were measured")]
    elapsed_seconds: Annotated[Seconds, about("since the run began")]


class Suspect(Part):
    """At most eight nodes, the slowest first."""

    node: Annotated[Node, about("its number")]
    ratio: Annotated[
        float,
        Meta(ge=1, le=1e9),
        about(
            "how much slower its pairs were at L_max than the median node's, of one process per node or of all; above "
            "1.1"
        ),
    ]
    good: Annotated[
        list[Node],
        Meta(max_length=2),
        about("two nodes that are not suspected, of the same group if possible"),
    ]


class Suspects(Record):
    """Follows the matchings: the nodes that the kernel measures again. `postprocess` judges."""

    suspects: Annotated[list[Suspect], Meta(max_length=8)]


class Confirmation(Record):
    """One for each loop of a pair of nodes in both directions, while all others rest."""

    key = ("suspect", "repetition", "processes", "pair", "message_bytes")
    suspect: Annotated[Node, about("its number")]
    repetition: Annotated[int, Meta(ge=1, le=31), about("of the same pairs, from 1 until most agree")]
    processes: Annotated[Literal["one_per_node", "all"], PER_NODE]
    pair: Annotated[
        list[Node], Meta(min_length=2, max_length=2), about("the suspect and a good node, or both good nodes")
    ]
    message_bytes: Annotated[PositiveBytes, about("L_max")]
    loop_length: Annotated[Count, EXCHANGES]
    seconds: Annotated[
        Times,
        about(
            "of the processes of the first node of the pair, then of the second one; null for those without a "
            "counterpart"
        ),
    ]


class Tails(Record):
    """Round trips between the first processes of the nodes of a matching, each timed; before each 250, one is not."""

    key = ("scope", "matching")
    scope: Annotated[Scope, about("of the first matchings")]
    matching: Annotated[int, Meta(ge=0, le=1000), about("from 0")]
    message_bytes: Annotated[PositiveBytes, about("1024 byte")]
    loop_length: Annotated[Count, about("round trips: 250 to 1000")]
    partners: Annotated[Partners, PARTNERS]
    median_seconds: Annotated[Times, about("of each node; null at rest")]
    p999_seconds: Annotated[Times, about("99.9th percentile; of fewer than 1000, the longest")]
    longest_seconds: Annotated[Times, about("maximum")]


class PatternProcesses(Record):
    """One for each averaged pattern."""

    key = ("pattern", "message_bytes")
    pattern: Annotated[Name, WHICH]
    message_bytes: Annotated[PositiveBytes, about("L_max")]
    loop_length: Annotated[Count, about("1")]
    seconds: Annotated[Times, about("the time of each rank; none is null")]


class AllPairs(Record):
    """Precedes the pairs of all nodes."""

    key = ("rounds",)
    rounds: Annotated[Count, about("their number")]
    estimate_seconds: Annotated[Seconds, about("how long they will take")]


class Pair(Record):
    """A matching of one process per node in both directions."""

    key = ("round",)
    message_bytes: Annotated[PositiveBytes, about("L_max")]
    loop_length: Annotated[Count, EXCHANGES]
    partners: Annotated[Partners, PARTNERS]
    seconds: Annotated[Times, about("one value per node; null for a node that rests")]
    round: Annotated[int, Meta(ge=0, le=10**8), about("from 0")]


class Matchings(Part):
    """The loops that show slow nodes, see [matchings of nodes](#matchings-of-nodes)."""

    count: Annotated[
        int,
        Meta(ge=0, le=1000),
        about(
            "number of random matchings: the option `--matchings`, but 4 of two nodes, at most 12 "
            "of three or four, and 0 of one"
        ),
    ]
    lengths: Annotated[
        list[PositiveBytes],
        Meta(min_length=1, max_length=3),
        about("message lengths: 4096 byte, the 17th of the 21 lengths, L_max"),
    ]
    loop_lengths: Annotated[
        list[Count],
        Meta(min_length=1, max_length=3),
        about("exchanges in the loops of each: 300, 30 and 3, at most `longest_loop_length`"),
    ]
    resolution: Annotated[Resolution, about("`process` or `node`: what has a value in the lists")]
    groups: Annotated[
        dict[Text, Text] | None, about("node to group, by name, as the file of `--node-groups` says; null without it")
    ]
    all_pairs: Annotated[bool, about("whether all pairs of nodes are measured")]
    reserved_seconds: Annotated[
        Seconds, about("part of the time budget that is kept for these loops: a twentieth; 0 if `count` is 0")
    ]
