# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff on the loops that show slow nodes (nodes/pairwise.c of the kernel): what the plan says of them,
which follow, who exchanges messages with whom, and how many times they have. docs/log.md lists the invariants."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from coffeecup.postprocess.benchmarks.b_eff.nodes.matchings import (
    RESTS,
    across,
    numbered,
    tournament,
    tournament_rounds,
    within,
)
from coffeecup.postprocess.benchmarks.b_eff.nodes.records import (
    AllPairs,
    Confirmation,
    Matching,
    Matchings,
    MatchingsLeftOut,
    Pair,
    PatternProcesses,
    Suspect,
    Suspects,
)
from coffeecup.postprocess.benchmarks.b_eff.records import Plan
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Host, Record, Run, kind_of
from coffeecup.postprocess.logs.rules import EDITED, Problem, problems_of_options

DIRECTIONS = ("both", "up", "down")
PLACES, LOOP_LENGTHS = (12, 16, 20), (300, 30, 3)  # of the lengths in the plan's, and their loops
PATTERN_LOOP = 1
CONFIRMATIONS, SUSPICIOUS = 3, 1.1
MOST_NODES_ALL_LENGTHS = MOST_RANKS_EACH = 16384
MOST_NODES_REPEATED, EACH_MATCHING = 4, 4
RESERVED_SHARE = 0.05


# --- the plan ---------------------------------------------------------------------------------------------------------


def problems_of_matchings(log: Log[Plan]) -> Iterator[Problem]:
    """What the plan says of the matchings follows from the options, the nodes and the lengths of the messages."""
    run, plan, matchings = log.run, log.plan, log.plan.matchings
    asked, nodes = run.options["matchings"], len(run.hosts)
    if matchings.count != count_of_matchings(nodes, asked):
        yield "matchings", f"{matchings.count} matchings of {nodes} nodes where {asked} were requested; {EDITED}"
    places = range(len(PLACES))[-1 if nodes > MOST_NODES_ALL_LENGTHS else 0 :]
    wanted = (
        [plan.message_bytes[PLACES[place]] for place in places],
        [min(LOOP_LENGTHS[place], plan.longest_loop_length) for place in places],
    )
    if (matchings.lengths, matchings.loop_lengths) != wanted:
        yield (
            "matchings",
            f"the message and loop lengths of the matchings are not {wanted[0]} and {wanted[1]}; {EDITED}",
        )
    if matchings.resolution != ("node" if run.ranks > MOST_RANKS_EACH else "process"):
        yield "matchings", f"{run.ranks} processes have no times for each {matchings.resolution}; {EDITED}"
    reserved = RESERVED_SHARE * plan.time_budget_seconds if matchings.count else 0.0
    if abs(matchings.reserved_seconds - reserved) > 1e-9 * reserved:
        yield (
            "matchings",
            f"{matchings.reserved_seconds} s are reserved for matchings where {reserved} belong; {EDITED}",
        )
    if matchings.groups is not None and set(matchings.groups) != {host.name for host in run.hosts}:
        yield "matching_groups", f"the groups are not those of the run's hosts; {EDITED}"
    if (run.options["node-groups"] is None) != (matchings.groups is None):
        yield "matching_groups", f"the plan has groups, or none, against the option node-groups; {EDITED}"
    yield from problems_of_options(run, {"all-pairs": matchings.all_pairs})


def count_of_matchings(nodes: int, asked: object) -> object:
    """Few nodes have few different matchings."""
    if nodes < 2:
        return 0
    if nodes <= MOST_NODES_REPEATED and isinstance(asked, int):
        return min(asked, EACH_MATCHING * tournament_rounds(nodes))
    return asked


# --- which loops, in which order --------------------------------------------------------------------------------------


def key_of(record: Record) -> tuple:
    """What identifies a record of this part in the order of measuring: its kind and its fields that are planned."""
    kind = kind_of(record)
    match record:
        case Matching():
            where = record.processes, record.scope, record.matching, record.message_bytes, record.direction
            return kind, *where
        case MatchingsLeftOut():
            return kind, record.loops, record.scope, record.measured
        case Suspects():
            return (kind,)
        case Confirmation():
            return kind, record.suspect, record.repetition, record.processes, *record.pair, record.message_bytes
        case PatternProcesses():
            return kind, record.pattern, record.message_bytes
        case AllPairs():
            return kind, record.rounds
        case Pair():
            return kind, record.round
    raise TypeError(kind)


def planned_pairwise(log: Log[Plan]) -> Iterator[tuple]:
    """The keys of the records in the order of measuring, without what was left out for lack of time."""
    plan, matchings = log.plan, log.plan.matchings
    if not matchings.count:
        return
    left_out: dict[tuple[str | None, str | None], int] = {
        (record.loops, record.scope): record.measured for record in log.all(MatchingsLeftOut)
    }
    patterns = [("pattern_processes", pattern.name, plan.l_max_bytes) for pattern in plan.patterns if pattern.averaged]
    sets: list[tuple[str | None, str | None, list[list[tuple]]]] = [
        (loops, scope, [[*planned_matching(loops, scope, index, matchings)] for index in range(matchings.count)])
        for loops, scope in planned_sets(log.run, matchings)
    ]
    compared = [suspect for record in log.all(Suspects) for suspect in record.suspects if suspect.good]
    sets.append((None, None, [[("suspects",)]]))
    sets.append(("confirmation", None, [[*planned_confirmation(log, suspect)] for suspect in compared]))
    sets.append(("patterns", None, [[key] for key in patterns]))
    for loops, scope, units in sets:
        measured = left_out.get((loops, scope), len(units))
        for unit in units[:measured]:
            yield from unit
        if measured < len(units):
            yield "matchings_left_out", loops, scope, measured
    if matchings.all_pairs:
        rounds = tournament_rounds(len(log.run.hosts))
        yield "all_pairs", rounds
        yield from (("pair", number) for number in range(rounds))


def planned_matching(loops: str, scope: str, index: int, matchings: Matchings) -> Iterator[tuple]:
    for length in matchings.lengths:
        for direction in DIRECTIONS:
            yield "matching", loops, scope, index, length, direction


def planned_confirmation(log: Log[Plan], suspect: Suspect) -> Iterator[tuple]:
    one, other = suspect.good[0], suspect.good[-1]
    for repetition in range(1, 1 + CONFIRMATIONS):
        for processes in kinds_of_processes(log.run):
            for pair in ((suspect.node, one), (suspect.node, other), (one, other)):
                yield "confirmation", suspect.node, repetition, processes, *pair, log.plan.l_max_bytes


def kinds_of_processes(run: Run) -> list[str]:
    return ["one_per_node", *["all"] * any(len(host.ranks) > 1 for host in run.hosts)]


def planned_sets(run: Run, matchings: Matchings) -> list[tuple[str, str]]:
    """Processes and scopes. A file of groups may name one group, or one for each node."""
    nodes = len(run.hosts)
    groups = len(set(matchings.groups.values())) if matchings.groups else 1
    scopes = [scope for scope, pairs in (("within", groups < nodes), ("across", groups > 1)) if pairs]
    return [(loops, scope) for loops in kinds_of_processes(run) for scope in (scopes if matchings.groups else ["all"])]


# --- partners and times -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Partners:
    """Who exchanges messages with whom, as the seed determines it."""

    hosts: list[Host]
    groups: tuple[int, ...]
    seed: int

    def of(self, record: Matching | Pair) -> list[int]:
        if isinstance(record, Pair):
            return tournament(len(self.hosts), record.round)
        return matched(self.groups, self.seed, record.scope == "across", record.matching)

    def rests(self, record: Matching | Pair, resolution: str) -> list[bool]:
        """Whether each process for which the record has a time, or should have one, rests."""
        if isinstance(record, Pair) or record.processes == "one_per_node" or resolution == "node":
            return [partner == RESTS for partner in record.partners]
        rests = [False] * sum(len(host.ranks) for host in self.hosts)
        for host, partner in zip(self.hosts, record.partners):
            others = 0 if partner == RESTS else len(self.hosts[partner].ranks)
            for place, rank in enumerate(host.ranks):
                rests[rank] = place >= others
        return rests

    def rests_in_pair(self, record: Confirmation) -> list[bool]:
        """The same for the processes of both nodes."""
        if record.processes == "one_per_node":
            return [False, False]
        sizes = [len(self.hosts[node].ranks) for node in record.pair]
        return [place >= min(sizes) for size in sizes for place in range(size)]

    def messages(self, record: Matching | Pair | Confirmation) -> int:
        """Messages of all processes in one exchange."""
        if isinstance(record, Confirmation):
            return 2 if record.processes == "one_per_node" else 2 * min(len(self.hosts[n].ranks) for n in record.pair)
        one = isinstance(record, Pair) or record.processes == "one_per_node"
        sizes = [1 if one else len(host.ranks) for host in self.hosts]
        both = sum(min(size, sizes[other]) for size, other in zip(sizes, record.partners) if other != RESTS)
        return both if isinstance(record, Pair) or record.direction == "both" else both // 2


@lru_cache(maxsize=64)  # the loops of a matching follow each other
def matched(groups: tuple[int, ...], seed: int, crossing: bool, index: int) -> list[int]:
    return (across if crossing else within)(groups, seed, index)


def partners_of(log: Log[Plan]) -> Partners:
    hosts, matchings = log.run.hosts, log.plan.matchings
    named = matchings.groups or {}
    return Partners(hosts, tuple(numbered(named.get(host.name, "") for host in hosts)), log.plan.seed)


def problems_of_pairwise(log: Log[Plan]) -> Iterator[Problem]:
    """Called after the order of the records was checked."""
    partners, matchings = partners_of(log), log.plan.matchings
    loop_lengths = dict(zip(matchings.lengths, matchings.loop_lengths))
    for kind in (Matching, Pair):
        for record in log.all(kind):
            where = f"line {record.sequence + 1}: the {kind_of(record)}"
            if record.partners != partners.of(record):
                yield "partners", f"{where} has other partners than its seed gives; {EDITED}"
            if [seconds is None for seconds in record.seconds] != partners.rests(record, matchings.resolution):
                yield "process_times", f"{where} does not have a time for each process that takes part; {EDITED}"
            if record.loop_length != loop_lengths.get(record.message_bytes) or (
                kind is Pair and record.message_bytes != log.plan.l_max_bytes
            ):
                yield "loop_length", f"{where} has another message or loop length than planned; {EDITED}"
    yield from problems_of_suspects(log)
    for record in log.all(Confirmation):
        where = f"line {record.sequence + 1}: the confirmation"
        if [seconds is None for seconds in record.seconds] != partners.rests_in_pair(record):
            yield "process_times", f"{where} does not have a time for each process that takes part; {EDITED}"
        if record.loop_length != loop_lengths.get(record.message_bytes):
            yield "loop_length", f"{where} has another loop length than planned; {EDITED}"
    times = len(log.run.hosts) if matchings.resolution == "node" else log.run.ranks
    for record in log.all(PatternProcesses):
        where = f"line {record.sequence + 1}: the loop of {record.pattern}"
        if len(record.seconds) != times or None in record.seconds:
            yield "process_times", f"{where} does not have a time for each process; {EDITED}"
        if record.loop_length != PATTERN_LOOP:
            yield "loop_length", f"{where} has {record.loop_length} exchanges where {PATTERN_LOOP} belongs; {EDITED}"


def problems_of_suspects(log: Log[Plan]) -> Iterator[Problem]:
    """Suspects and good nodes are different nodes of the run, the slowest first."""
    for record in log.all(Suspects):
        nodes, ratios = [suspect.node for suspect in record.suspects], [suspect.ratio for suspect in record.suspects]
        good = [set(suspect.good) for suspect in record.suspects]
        if (
            len(set(nodes)) != len(nodes)
            or any(len(two) != len(suspect.good) or len(two) == 1 for two, suspect in zip(good, record.suspects))
            or set(nodes) & set().union(*good)
            or any(node >= len(log.run.hosts) for node in set(nodes).union(*good))
            or ratios != sorted(ratios, reverse=True)
            or any(ratio < SUSPICIOUS for ratio in ratios)
        ):
            yield "suspects", f"the suspects are not nodes that are slow, with two other nodes each; {EDITED}"


# --- sums -------------------------------------------------------------------------------------------------------------


def bytes_of_pairwise(log: Log[Plan]) -> tuple[int, int]:
    """Bytes of one exchange of each loop, and of all its exchanges with the untimed one before it."""
    partners = partners_of(log)
    messages = {pattern.name: pattern.messages_per_exchange for pattern in log.plan.patterns}
    loops = [(record, partners.messages(record)) for kind in (Matching, Confirmation, Pair) for record in log.all(kind)]
    loops += [(record, messages[record.pattern]) for record in log.all(PatternProcesses)]
    once = [(count * record.message_bytes, record.loop_length + 1) for record, count in loops]
    return sum(one for one, _ in once), sum(one * exchanges for one, exchanges in once)


def seconds_of_pairwise(log: Log[Plan]) -> float:
    """The time of the slowest process of each loop, summed up."""
    loops = [record for kind in (Matching, Confirmation, Pair, PatternProcesses) for record in log.all(kind)]
    return sum(max((seconds for seconds in record.seconds if seconds), default=0.0) for record in loops)
