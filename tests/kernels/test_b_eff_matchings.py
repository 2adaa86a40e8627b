# SPDX-License-Identifier: Apache-2.0
"""The loops of b_eff that show slow nodes: who exchanges messages with whom, whose times are in the log, and what is
left out if there is no time. The network is a formula (faults/network.c) on which each rank has a speed of its own, so
the time of each process in the log has to be that of the formula."""

from itertools import groupby, product

import pytest
from b_eff_runs import check_bytes
from builds import faulty
from kernel_runs import error, of_kind, on_nodes, run
from raw_log import read_log
from simulations import HEADER, SHORT, memory, platform

from coffeecup.postprocess.benchmarks import scoring
from coffeecup.postprocess.benchmarks.b_eff.nodes import matchings
from coffeecup.postprocess.benchmarks.b_eff.nodes.examination import examination
from coffeecup.postprocess.benchmarks.b_eff.rules import problems

# Ranks of a node need not follow each other: a has 0, 1 and 5, b 2, c 3 and 4, d 6, e 7.
NODES = [("a", 2), ("b", 1), ("c", 2), ("a", 1), ("d", 1), ("e", 1)]
PLACED = {"a": [0, 1, 5], "b": [2], "c": [3, 4], "d": [6], "e": [7]}
RANKS = list(PLACED.values())
TWO = [("a", 1), ("b", 1)]
LATENCY, BANDWIDTH, SLOWDOWN = 4e-4, 1e8, 0.25
SHORT_LOOPS = ["--first-loop-length", "1", "--longest-loop", "20", "--repetitions", "1"]
BRIEF = ["--memory-per-process", "4MiB", *SHORT_LOOPS, "--methods", "nonblocking"]
WITH_TAILS = [word if word != "20" else "250" for word in BRIEF]  # round trips that a loop of them has
LENGTHS, LOOPS = [4096, 11585, 32768], [20, 20, 3]  # 4 MiB / 128, and the geometric mean with 4096
RESTED = matchings.RESTS
RESTS = -1.0  # instead of null, which cannot be compared approximately


def started(mpi, folder, nodes, *options, **model):
    """A run over the formula's network, and its log."""
    model = {"MODEL_LATENCY": LATENCY, "MODEL_BANDWIDTH": BANDWIDTH, "MODEL_SLOWDOWN": SLOWDOWN} | model
    env = faulty(mpi, "network", **model)
    log = folder / "log.jsonl"
    done = run(on_nodes(mpi, nodes, "b_eff", f"--log {log}", *options, env=env), env=mpi.impatient.environment)
    return done, log


def complete(*request, **model):
    done, log = started(*request, **model)
    assert done.returncode == 0, done.stderr
    return read_log(log)


def groups_file(folder, **groups):
    path = folder / "groups"
    path.write_text("# leaf switches\n\n" + "".join(f"{node} {group}\n" for node, group in groups.items()))
    return ["--node-groups", path]


# --- who exchanges messages with whom ---------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [1, 2, 7])
def test_matchings_are_those_of_the_kernel(printed, groups):
    sizes = range(max(2, groups), 66)
    cases = [(n, groups, seed, index) for n in sizes for seed, index in ((1, n % 3), (2**63 - 1, 3 * n))]
    lines = printed("matchings", *(number for case in cases for number in case))
    for (nodes, _, seed, index), *of_kernel in zip(cases, lines[::2], lines[1::2], strict=True):
        group = [node % groups for node in range(nodes)]
        ours = [matchings.within(group, seed, index), matchings.across(group, seed, index)]
        assert of_kernel == ours, (nodes, seed, index)


def pairs(partner):
    """Of a matching: each partner has its own, and none is its own partner."""
    assert all(other == RESTED or (partner[other] == node and other != node) for node, other in enumerate(partner))
    return {frozenset((node, other)) for node, other in enumerate(partner) if other != RESTED}


@pytest.mark.parametrize("nodes", range(1, 66))
def test_in_a_tournament_each_pair_meets_once_and_so_do_random_matchings_before_all_have_met(nodes):
    rounds = range(matchings.tournament_rounds(nodes))
    for matched in (lambda k: matchings.tournament(nodes, k), lambda k: matchings.within([0] * nodes, 7, k)):
        met = [pair for k in rounds for pair in pairs(matched(k))]
        assert all(len(pairs(matched(k))) == nodes // 2 for k in rounds)
        assert len(met) == len(set(met)) == nodes * (nodes - 1) // 2
    assert nodes < 10 or matchings.within([0] * nodes, 8, 0) != matchings.within([0] * nodes, 7, 0), "another seed"


def test_the_second_tournament_of_the_same_nodes_is_in_another_order():
    assert matchings.within([0] * 16, 1, 0) != matchings.within([0] * 16, 1, 15)


@pytest.mark.parametrize("nodes", range(2, 66))
def test_inside_and_across_groups_nobody_rests_without_need(nodes):
    """Groups of equal size, up to one node."""
    for groups in range(1, nodes + 1):
        group = [node % groups for node in range(nodes)]
        alone = sum(group.count(number) % 2 for number in range(groups))
        for index in range(3):
            inside, outside = (pairs(match(group, 3, index)) for match in (matchings.within, matchings.across))
            assert nodes - 2 * len(inside) == alone
            assert nodes - 2 * len(outside) == (nodes if groups == 1 else nodes % 2)
            assert {len({group[node] for node in pair}) for pair in inside} <= {1}
            assert {len({group[node] for node in pair}) for pair in outside} <= {2}


def test_across_a_group_of_more_than_half_the_rest_is_paired():
    """Of seven nodes of one group and two others, five have nobody to exchange messages with."""
    partners = [matchings.across([0, 0, 1, 0, 0, 0, 2, 0, 0], 1, index) for index in range(200)]
    assert all(len(pairs(partner)) == 2 and RESTED not in (partner[2], partner[6]) for partner in partners)
    assert {partner[2] for partner in partners} == {0, 1, 3, 4, 5, 7, 8}


def test_groups_are_numbered_in_the_order_of_the_nodes():
    assert matchings.numbered(["x", "b", "x", "a"]) == [0, 1, 0, 2]


# --- whose times are in the log ---------------------------------------------------------------------------------------


def expected_seconds(record, one_per_node):
    """One message in each exchange, in either direction; RESTS for a process without a counterpart."""
    exchange = LATENCY + record["message_bytes"] / BANDWIDTH
    seconds = {}
    for ranks, partner in zip(RANKS, record["partners"]):
        others = [] if partner == -1 else RANKS[partner]
        for place, rank in enumerate(ranks[:1] if one_per_node else ranks):
            takes_part = place < (min(1, len(others)) if one_per_node else len(others))
            seconds[rank] = record["loop_length"] * exchange * (1 + SLOWDOWN * rank) if takes_part else RESTS
    return [seconds[rank] for rank in sorted(seconds)]


@pytest.mark.in_turn
def test_every_process_has_its_own_time_in_every_matching(mpi, tmp_path):
    log = complete(mpi, tmp_path, NODES, *BRIEF, "--patterns ring --time-budget 86400 --all-pairs")
    assert {host["name"]: host["ranks"] for host in log.run["hosts"]} == PLACED
    asked = {"count": 16, "lengths": LENGTHS, "loop_lengths": LOOPS, "groups": None, "all_pairs": True}
    assert log.plan["matchings"] == {**asked, "resolution": "process", "reserved_seconds": 4320.0}
    records = log.records["matching"]
    assert [
        (m["processes"], m["scope"], m["matching"], m["message_bytes"], m["loop_length"], m["direction"])
        for m in records
    ] == [
        (processes, "all", number, length, loop, direction)
        for processes in ("one_per_node", "all")
        for number in range(16)
        for length, loop in zip(LENGTHS, LOOPS)
        for direction in ("both", "up", "down")
    ]
    for record in [*records, *log.records["pair"]]:
        expected = expected_seconds(record, record.get("processes") != "all")
        seconds = [RESTS if value is None else value for value in record["seconds"]]
        assert seconds == pytest.approx(expected, rel=1e-3), record
    # five rounds of tournaments: each pair once, and each node rests once
    for _, matching in groupby(records[: 5 * 9], lambda record: record["matching"]):
        assert len({tuple(record["partners"]) for record in matching}) == 1
    for rounds in (records[: 5 * 9 : 9], log.records["pair"]):
        met = [(a, b) for record in rounds for a, b in enumerate(record["partners"])]
        assert sorted(met) == sorted((a, b) for a in range(5) for b in [-1, *range(5)] if a != b)
    assert [record["rounds"] for record in log.records["all_pairs"]] == [5]
    patterns = log.records["pattern_processes"]
    assert [record["pattern"] for record in patterns] == [f"ring-{k}" for k in range(1, 7)]
    for record in patterns:
        sent = 2 if record["pattern"] != "ring-1" else 1  # eight processes: rings of two in the first
        exchange = sent * (LATENCY + 32768 / BANDWIDTH)
        assert (record["message_bytes"], record["loop_length"]) == (32768, 1)
        assert record["seconds"] == pytest.approx([exchange * (1 + SLOWDOWN * rank) for rank in range(8)], rel=1e-3)
    words = [str(seconds) for record in records for seconds in record["seconds"] if seconds]
    assert all(len(word.split("e")[0].replace(".", "").strip("0")) <= 4 for word in words)


def test_matchings_are_first_within_groups_and_then_across(openmpi, tmp_path):
    groups = {"a": "left", "b": "right", "c": "left", "d": "right", "e": "left"}
    log = complete(openmpi, tmp_path, NODES, *BRIEF, "--patterns ring", *groups_file(tmp_path, **groups, other="far"))
    assert log.plan["matchings"]["groups"] == groups
    scopes = [(record["processes"], record["scope"]) for record in log.records["matching"]]
    assert [key for key, _ in groupby(scopes)] == [*product(("one_per_node", "all"), ("within", "across"))]
    side = [*groups.values()]
    for record in log.records["matching"]:
        pairs = [(side[a], side[b]) for a, b in enumerate(record["partners"]) if b != -1]
        assert len(pairs) == 4
        assert all((one == other) == (record["scope"] == "within") for one, other in pairs), record


@pytest.mark.parametrize(
    ("nodes", "options", "count", "loops"),
    [
        ([("a", 3)], [], 0, 0),
        (TWO, ["--matchings", "0"], 0, 0),
        (TWO, [], 4, 4 * 9),
        ([("a", 1), ("b", 1), ("c", 2)], [], 12, 2 * 12 * 9),
    ],
)
def test_few_nodes_have_few_matchings_and_one_has_none(openmpi, tmp_path, nodes, options, count, loops):
    log = complete(openmpi, tmp_path, nodes, *BRIEF, "--patterns ping_pong,ring", *options)
    assert (log.plan["matchings"]["count"], len(log.records.get("matching", []))) == (count, loops)
    assert len(log.records.get("pattern_processes", [])) == (6 if count else 0)
    assert (log.plan["matchings"]["reserved_seconds"] > 0) == (count > 0)
    if count == 0:
        assert not {"matching", "pattern_processes", "pair", "matchings_left_out"} & set(log.records)
        check_bytes(log)


@pytest.mark.parametrize(("latency", "count"), [(1e-4, 1000), (4e-4, 500), (1e-3, 250)])
def test_round_trips_are_timed_until_there_are_1000_or_they_took_long(openmpi, tmp_path, latency, count):
    """A round trip is two messages of 1024 byte. Loops of 250 end after 0.4 s."""
    nodes = [(name, 1) for name in "abcd"]
    log = complete(openmpi, tmp_path, nodes, *WITH_TAILS, "--patterns ring --time-budget 86400", MODEL_LATENCY=latency)
    matchings_ = [record for record in log.records["matching"] if record["message_bytes"] == LENGTHS[0]]
    records = log.records["tails"]
    assert [(r["matching"], r["scope"], r["partners"]) for r in records] == [
        (m["matching"], m["scope"], m["partners"]) for m in matchings_ if m["direction"] == "both"
    ]
    expected = [2 * (latency + 1024 / BANDWIDTH) * (1 + SLOWDOWN * rank) for rank in range(4)]
    for record in records:
        assert (record["message_bytes"], record["loop_length"]) == (1024, count)
        for name in ("median_seconds", "p999_seconds", "longest_seconds"):
            assert record[name] == pytest.approx(expected, rel=1e-3)
    of_the_formula = {"all_patterns", "activity_time", "whole_time"}  # its time is not that of the log
    assert {invariant for invariant, *_ in problems(scoring.read_log(log.path))} <= of_the_formula


# --- time and errors --------------------------------------------------------------------------------------------------


def test_what_does_not_fit_into_the_reserved_time_is_left_out_and_recorded(openmpi, tmp_path):
    """An exchange takes 0.1 s. The rings take more than the budget, two seconds are kept for the rest, and a matching
    of one process per node takes 0.1 s * 3 * (251 + 31 + 4): one is tried, then the time is over."""
    model = {"MODEL_LATENCY": 0.1, "MODEL_SLOWDOWN": 0}
    nodes = [("a", 2), ("b", 2)]
    log = complete(openmpi, tmp_path, nodes, *WITH_TAILS, "--patterns ring --time-budget 40", **model)
    left_out = [(r["loops"], r["scope"], r["measured"]) for r in log.records["matchings_left_out"]]
    assert left_out == [("one_per_node", "all", 1), ("all", "all", 0), ("tails", "all", 0), ("patterns", None, 0)]
    assert len(log.records["matching"]) == 9


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot read --node-groups"),
        ("a left\nc left\n", "names no group of the node 'b'; add a line"),
        ("a left\nb\n", "line 2 is not 'NODE GROUP'"),
        ("a left\nb left right\n", "line 2 is not 'NODE GROUP'"),
        ("a left\nb left\na right\n", "line 3 names a group of 'a' again"),
    ],
)
def test_a_file_that_names_no_group_of_each_node_once_is_refused(openmpi, tmp_path, text, said):
    if text is not None:
        (tmp_path / "groups").write_text(text)
    done, log = started(openmpi, tmp_path, TWO, *BRIEF, "--node-groups", tmp_path / "groups")
    assert done.returncode != 0 and not log.exists()
    assert said in error(done)


@pytest.mark.parametrize(("nodes", "options"), [([("a", 2)], []), (TWO, ["--matchings", "0"])])
def test_all_pairs_of_one_node_or_without_matchings_are_refused(openmpi, tmp_path, nodes, options):
    done, log = started(openmpi, tmp_path, nodes, *BRIEF, "--all-pairs", *options)
    assert done.returncode != 0 and not log.exists()
    assert "--all-pairs requires 2 to 4096 nodes and --matchings of at least 1" in error(done)


def test_a_damaged_message_of_a_matching_ends_the_run(openmpi, tmp_path):
    """The ping-pong's messages are not received by MPI_Waitall."""
    fault = {"FAULT_KIND": "flip", "FAULT_CALL": "Waitall", "FAULT_BYTES": 32768, "FAULT_RANK": 1, "FAULT_NUMBER": 2}
    request = [*BRIEF[:-1], "blocking", "--patterns", "ping_pong"]
    done, log = started(openmpi, tmp_path, TWO, *request, **fault)
    assert done.returncode != 0
    assert "data check: pattern matching, method nonblocking, message length 32768 byte: rank 1" in error(done)
    assert of_kind(log, "end")[0]["status"] == "failed"


# --- a slow node on a simulated machine -------------------------------------------------------------------------------


def crossbar(folder, changes=""):
    """Sixteen nodes on cables of 350 MByte/s, n11 on one of half of that, whose bandwidth changes with time."""
    (folder / "changes.txt").write_text(f"0.0 175e6\n{changes}")
    cable = 'latency="5us" sharing_policy="SPLITDUPLEX"'
    usual, slow = 'bandwidth="350MBps"', 'bandwidth="175MBps" bandwidth_file="changes.txt"'
    hosts = [f'<host id="n{k}" speed="1Gf">{memory(128 * 2**20)}</host>' for k in range(16)]
    links = [f'<link id="l{k}" {slow if k == 11 else usual} {cable}/>' for k in range(16)]
    routes = [
        f'<route src="n{a}" dst="n{b}"><link_ctn id="l{a}" direction="UP"/>'
        f'<link_ctn id="l{b}" direction="DOWN"/></route>'
        for a in range(16)
        for b in range(a + 1, 16)
    ]
    return platform(folder, "".join([*hosts, *links, *routes]))


MATCHED = (*SHORT, "--matchings 16 --patterns ring --methods nonblocking")


def test_a_slow_node_of_a_simulated_crossbar_has_the_longest_times(simulate, tmp_path):
    """A message over half the bandwidth takes twice as long."""
    log = read_log(simulate(crossbar(tmp_path), 16, *MATCHED))
    assert [host["ranks"] for host in log.run["hosts"]] == [[rank] for rank in range(16)]
    l_max = log.plan["l_max_bytes"]
    longest = [record for record in log.records["matching"] if record["message_bytes"] == l_max]
    assert len(longest) == 16 * 3
    for record in longest:
        partners, seconds = record["partners"], record["seconds"]
        slow = {11, partners[11]}
        expected = [10e-6 + (l_max + HEADER) / (175e6 if node in slow else 350e6) for node in range(16)]
        # a sender need not wait until its message has arrived
        pairs = [max(seconds[node], seconds[partners[node]]) for node in range(16)]
        assert pairs == pytest.approx(expected, rel=1e-3), record
        assert record["direction"] != "both" or seconds == pytest.approx(expected, rel=1e-3), record
    [suspects] = log.records["suspects"]
    [suspect] = suspects["suspects"]
    assert (suspect["node"], suspect["ratio"]) == (11, pytest.approx(expected[11] / (expected[11] / 2), rel=0.01))
    one, other = suspect["good"]
    assert [(record["repetition"], record["pair"]) for record in log.records["confirmation"]] == [
        (repetition, pair) for repetition in range(1, 7) for pair in ([11, one], [11, other], [one, other])
    ]
    for record in log.records["confirmation"]:
        alone = 10e-6 + (l_max + HEADER) / (175e6 if 11 in record["pair"] else 350e6)
        assert record["seconds"] == pytest.approx([alone] * 2, rel=1e-3), record
    found = examination(scoring.read_log(log.path))
    assert (found.verdict, list(found.named["node"])) == ("confirmed", ["n11"])
    assert found.nodes["ratio"].to_numpy() == pytest.approx([0.5, *[1.0] * 15], rel=2e-3)


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ("1.0 350e6\n", {10}),
        ("0.96 350e6\n0.98 175e6\n", {1, 2}),
        ("0.96 350e6\n1.0 175e6\n", {2, 3}),
    ],
)
def test_a_suspect_is_measured_again_until_most_rounds_agree(simulate, tmp_path, changes, counts):
    """Its cable is repaired, or as fast as the others for a round or more. A coin falls alike in 9 of 10, 11 of 13 and
    13 of 16 throws at most once in 64 times."""
    log = read_log(simulate(crossbar(tmp_path, changes), 16, *MATCHED))
    times = iter([max(record["seconds"]) for record in log.records["confirmation"]])
    fast = [good > 0.95 * min(one, other) for one, other, good in zip(times, times, times)]
    assert sum(fast) in counts
    assert len(fast) == {1: 10, 2: 13, 3: 16}.get(sum(fast)) or (sum(fast) == 10 and fast[-1] and len(fast) > 10)
    verdict = examination(scoring.read_log(log.path)).verdict
    assert verdict == ("suspects" if sum(fast) == 10 else "confirmed")
