# SPDX-License-Identifier: Apache-2.0
"""The rules of b_eff on the loops that show slow nodes (nodes/pairwise.c of the kernel): what the plan says of them,
which follow, who exchanges messages with whom, and how many times they have. docs/log.md lists the invariants."""

from collections.abc import Iterator
from itertools import product

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
    Tails,
)
from coffeecup.postprocess.benchmarks.b_eff.records import Plan
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Host, Run
from coffeecup.postprocess.logs.rules import Expected, Problem, broken, problems_of_fields, problems_of_options

DIRECTIONS = ("both", "up", "down")
PLACES, LOOP_LENGTHS = (12, 16, 20), (300, 30, 3)  # of the lengths in the plan's, and their loops
PATTERN_LOOP = 1
TAIL_PLACE, TAIL_LOOP, TAIL_LOOPS = 10, 250, 4
SUSPICIOUS = 1.1
MOST_NODES_ALL_LENGTHS = MOST_RANKS_EACH = 16384
MOST_NODES_REPEATED, EACH_MATCHING = 4, 4
RESERVED_SHARE = 0.05


# --- the plan ---------------------------------------------------------------------------------------------------------


def problems_of_matchings(log: Log[Plan]) -> Iterator[Problem]:
    """What the plan says of the matchings follows from the options, the nodes and the lengths of the messages."""
    run, plan, matchings, nodes = log.run, log.plan, log.plan.matchings, len(log.run.hosts)
    places = range(len(PLACES))[-1 if nodes > MOST_NODES_ALL_LENGTHS else 0 :]
    planned = {
        "count": count_of_matchings(nodes, run.options["matchings"]),
        "lengths": [plan.message_bytes[PLACES[place]] for place in places],
        "loop_lengths": [min(LOOP_LENGTHS[place], plan.longest_loop_length) for place in places],
        "resolution": "node" if run.ranks > MOST_RANKS_EACH else "process",
        "reserved_seconds": RESERVED_SHARE * plan.time_budget_seconds if matchings.count else 0.0,
    }
    yield from problems_of_fields(plan, {f"matchings.{name}": value for name, value in planned.items()})
    named, asked = matchings.groups, run.options["node-groups"]
    of_hosts = asked is not None and named is not None and named.keys() == {host.name for host in run.hosts}
    yield from broken(plan, {"matching_groups": of_hosts or (asked is None and named is None)})
    yield from problems_of_options(run, {"all-pairs": matchings.all_pairs})


def count_of_matchings(nodes: int, asked: object) -> object:
    """Few nodes have few different matchings."""
    if nodes < 2:
        return 0
    if nodes <= MOST_NODES_REPEATED and isinstance(asked, int):
        return min(asked, EACH_MATCHING * tournament_rounds(nodes))
    return asked


# --- which loops, in which order --------------------------------------------------------------------------------------


def expected_pairwise(log: Log[Plan]) -> Iterator[Expected]:
    """In the order of measuring, without what was left out for lack of time."""
    plan, matchings, nodes = log.plan, log.plan.matchings, len(log.run.hosts)
    if not matchings.count:
        return
    left_out: dict[tuple[str | None, str | None], int] = {
        (record.loops, record.scope): record.measured for record in log.all(MatchingsLeftOut)
    }
    patterns = [pattern.name for pattern in plan.patterns if pattern.averaged]
    # units are made when they are needed: each partner of a large run is computed once
    sets: list[tuple[str | None, str | None, list[Iterator[Expected]]]] = [
        (loops, scope, [expected_matching(log, loops, scope, index) for index in range(matchings.count)])
        for loops, scope in planned_sets(log.run, matchings)
    ]
    compared = [suspect for record in log.all(Suspects) for suspect in record.suspects if suspect.good]
    sets.append((None, None, [iter([Expected(Suspects, ())])]))
    sets.append(("confirmation", None, [expected_confirmation(log, suspect) for suspect in compared]))
    if has_tails(plan):
        scope = planned_sets(log.run, matchings)[0][1]
        sets.append(("tails", scope, [expected_tails(log, scope, index) for index in range(matchings.count)]))
    one = {"loop_length": PATTERN_LOOP}
    sets.append(
        ("patterns", None, [iter([Expected(PatternProcesses, (name, plan.l_max_bytes), one)]) for name in patterns])
    )
    for loops, scope, units in sets:
        measured = left_out.get((loops, scope), len(units))
        for unit in units[:measured]:
            yield from unit
        if measured < len(units):
            yield Expected(MatchingsLeftOut, (loops, scope, measured))
    if matchings.all_pairs:
        rounds = tournament_rounds(nodes)
        yield Expected(AllPairs, (rounds,))
        fields = {"message_bytes": plan.l_max_bytes, "loop_length": loop_length(matchings, plan.l_max_bytes)}
        for number in range(rounds):
            yield Expected(Pair, (number,), fields | {"partners": tournament(nodes, number)})


def loop_length(matchings: Matchings, length: int) -> int | None:
    return dict(zip(matchings.lengths, matchings.loop_lengths)).get(length)


def expected_matching(log: Log[Plan], loops: str, scope: str, index: int) -> Iterator[Expected]:
    partners = partners_of(log, scope, index)
    for length in log.plan.matchings.lengths:
        fields = {"loop_length": loop_length(log.plan.matchings, length), "partners": partners}
        for direction in DIRECTIONS:
            yield Expected(Matching, (loops, scope, index, length, direction), fields)


def partners_of(log: Log[Plan], scope: str, index: int) -> list[int]:
    """Who exchanges messages with whom is determined by the seed."""
    named, hosts = log.plan.matchings.groups or {}, log.run.hosts
    groups = numbered(named.get(host.name, "") for host in hosts)
    return (across if scope == "across" else within)(groups, log.plan.seed, index)


def has_tails(plan: Plan) -> bool:
    """Whether loops are long enough, and the log of so many nodes not too long."""
    return plan.longest_loop_length >= TAIL_LOOP and len(plan.matchings.lengths) == len(PLACES)


def expected_tails(log: Log[Plan], scope: str, index: int) -> Iterator[Expected]:
    fields = {"message_bytes": log.plan.message_bytes[TAIL_PLACE], "partners": partners_of(log, scope, index)}
    yield Expected(Tails, (scope, index), fields)


def expected_confirmation(log: Log[Plan], suspect: Suspect) -> Iterator[Expected]:
    one, other, length = suspect.good[0], suspect.good[-1], log.plan.l_max_bytes
    pairs = ([suspect.node, one], [suspect.node, other], [one, other])
    rounds = max((record.repetition for record in log.all(Confirmation) if record.suspect == suspect.node), default=1)
    for repetition, processes, pair in product(range(1, 1 + rounds), kinds_of_processes(log.run), pairs):
        fields = {"loop_length": loop_length(log.plan.matchings, length)}
        yield Expected(Confirmation, (suspect.node, repetition, processes, pair, length), fields)


def kinds_of_processes(run: Run) -> list[str]:
    return ["one_per_node", *["all"] * any(len(host.ranks) > 1 for host in run.hosts)]


def planned_sets(run: Run, matchings: Matchings) -> list[tuple[str, str]]:
    """Processes and scopes. A file of groups may name one group, or one for each node."""
    nodes = len(run.hosts)
    groups = len(set(matchings.groups.values())) if matchings.groups else 1
    scopes = [scope for scope, pairs in (("within", groups < nodes), ("across", groups > 1)) if pairs]
    return [(loops, scope) for loops in kinds_of_processes(run) for scope in (scopes if matchings.groups else ["all"])]


# --- partners and times -----------------------------------------------------------------------------------------------


def rests(hosts: list[Host], record: Matching | Pair | Tails, resolution: str) -> list[bool]:
    """Whether each process for which the record has a time, or should have one, rests."""
    if isinstance(record, Pair | Tails) or record.processes == "one_per_node" or resolution == "node":
        return [partner == RESTS for partner in record.partners]
    resting = [False] * sum(len(host.ranks) for host in hosts)
    for host, partner in zip(hosts, record.partners):
        others = 0 if partner == RESTS else len(hosts[partner].ranks)
        for place, rank in enumerate(host.ranks):
            resting[rank] = place >= others
    return resting


def rests_in_pair(hosts: list[Host], record: Confirmation) -> list[bool]:
    """The same for the processes of both nodes."""
    if record.processes == "one_per_node":
        return [False, False]
    sizes = [len(hosts[node].ranks) for node in record.pair]
    return [place >= min(sizes) for size in sizes for place in range(size)]


def messages(hosts: list[Host], record: Matching | Pair | Tails | Confirmation) -> int:
    """Messages of all processes in one exchange."""
    if isinstance(record, Confirmation):
        return 2 if record.processes == "one_per_node" else 2 * min(len(hosts[node].ranks) for node in record.pair)
    one = isinstance(record, Pair | Tails) or record.processes == "one_per_node"
    sizes = [1 if one else len(host.ranks) for host in hosts]
    both = sum(min(size, sizes[other]) for size, other in zip(sizes, record.partners) if other != RESTS)
    return both if isinstance(record, Pair | Tails) or record.direction == "both" else both // 2


def problems_of_tails(record: Tails, resting: list[bool]) -> Iterator[Problem]:
    """Of the round trips of a matching, of whose nodes some rest."""
    times = [record.median_seconds, record.p999_seconds, record.longest_seconds]
    loops, rest = divmod(record.loop_length, TAIL_LOOP)
    ascend = all(list(of_node) == sorted(of_node) for of_node in zip(*times) if None not in of_node)
    kept = {
        "process_times": all([seconds is None for seconds in of_nodes] == resting for of_nodes in times),
        "tails": ascend and rest == 0 and loops <= TAIL_LOOPS,
    }
    yield from broken(record, kept)


def problems_of_pairwise(log: Log[Plan]) -> Iterator[Problem]:
    """Called after the order of the records was checked."""
    hosts, resolution = log.run.hosts, log.plan.matchings.resolution
    times = [False] * (len(hosts) if resolution == "node" else log.run.ranks)
    resting = [(record, rests(hosts, record, resolution)) for kind in (Matching, Pair) for record in log.all(kind)]
    resting += [(record, rests_in_pair(hosts, record)) for record in log.all(Confirmation)]
    resting += [(record, times) for record in log.all(PatternProcesses)]
    for record, wanted in resting:
        yield from broken(record, {"process_times": [seconds is None for seconds in record.seconds] == wanted})
    for record in log.all(Tails):
        yield from problems_of_tails(record, rests(hosts, record, "node"))
    for record in log.all(Suspects):
        yield from broken(record, {"suspects": are_possible(record.suspects, len(hosts))})


def are_possible(suspects: list[Suspect], nodes: int) -> bool:
    """Suspects and good nodes are different nodes of the run, the slowest first."""
    slow, ratios = [suspect.node for suspect in suspects], [suspect.ratio for suspect in suspects]
    good = {node for suspect in suspects for node in suspect.good}
    different = len({*slow, *good}) == len(slow) + len(good) and max((*slow, *good), default=-1) < nodes
    pairs = all(len(set(suspect.good)) == len(suspect.good) != 1 for suspect in suspects)
    return different and pairs and ratios == sorted(ratios, reverse=True) and min(ratios, default=2) >= SUSPICIOUS


# --- sums -------------------------------------------------------------------------------------------------------------


def bytes_of_pairwise(log: Log[Plan]) -> tuple[int, int]:
    """Bytes of one exchange of each loop, and of all its exchanges with the untimed one before it."""
    hosts, of_patterns = log.run.hosts, {pattern.name: pattern.messages_per_exchange for pattern in log.plan.patterns}
    loops = [(record, messages(hosts, record)) for kind in (Matching, Confirmation, Pair) for record in log.all(kind)]
    loops += [(record, of_patterns[record.pattern]) for record in log.all(PatternProcesses)]
    once = [(count * record.message_bytes, record.loop_length + 1) for record, count in loops]
    for record in log.all(Tails):
        bytes_of_one = messages(hosts, record) * record.message_bytes
        once.append((bytes_of_one, record.loop_length + record.loop_length // TAIL_LOOP))
    return sum(one for one, _ in once), sum(one * exchanges for one, exchanges in once)


def seconds_of_pairwise(log: Log[Plan]) -> float:
    """The time of the slowest process of each loop, summed up; of tails, that of the longest round trip."""
    loops = [record.seconds for kind in (Matching, Confirmation, Pair, PatternProcesses) for record in log.all(kind)]
    loops += [record.longest_seconds for record in log.all(Tails)]
    return sum(max(filter(None, times), default=0.0) for times in loops)
