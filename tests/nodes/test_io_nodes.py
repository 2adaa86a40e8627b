# SPDX-License-Identifier: Apache-2.0
"""Nodes with slow I/O are named by the times of their processes, and no others: made logs of which the slow node is
known, with exact times. tests/evidence/bench_nodes.py counts over many runs with noise."""

import json

import logs_made
import numpy as np
import pytest
from commands import run
from logs_made_b_eff_io import b_eff_io_log
from nodes_made import ACCESS_NOISE, accesses
from sessions_made import case, night, session, write

from coffeecup.postprocess.benchmarks import io_nodes, nodes
from coffeecup.postprocess.benchmarks.nodes import Verdict
from coffeecup.postprocess.benchmarks.scoring import read_log, score_log

SLOW = 3


def made(tmp_path, speed, **options):
    """A run of two processes on each of eight nodes."""
    options = {"ranks": 16, "nodes": 8, "partitions": (4, 16), "speed": speed} | options
    return logs_made.write(tmp_path / "b_eff_io.jsonl", b_eff_io_log(**options))


def slow_at(share, methods=("write", "rewrite", "read"), types=("separate", "segmented")):
    return lambda node, method, name: share if node == SLOW and method in methods and name in types else 1.0


@pytest.mark.slow
def test_the_score_names_the_node_with_slow_files_in_every_form(tmp_path):
    """Its slowest accesses are those that count."""
    log = made(tmp_path, lambda node, method, _: 1 if node != SLOW else 0.7 if method == "read" else 0.6)
    score = score_log(log)
    name = score.log.run.hosts[SLOW].name
    assert nodes.listed(score.nodes.named) == [f"{name}: 0.60 of its peers [0.60, 0.60], slow in 28 of 28 writes"]
    assert score.nodes.verdict == Verdict.SUSPECTS and score.nodes.remarks == ()
    printed = json.loads(run("score", log, "--json").stdout)[0]["nodes"]
    expected = {"node": name, "units": "writes", "slow": 28, "examined": 28, "suspect": True, "confirmed": False}
    assert printed["nodes"][0] == expected | dict.fromkeys(("ratio", "low", "high"), pytest.approx(0.6, rel=1e-3))
    assert f"Slow node suspected: {name}: 0.60" in " ".join(run("score", log).stdout.split())
    assert run("report", log, "-o", tmp_path / "page.html", "--figures", tmp_path).exit_code == 0
    page = (tmp_path / "page.html").read_text()
    assert "1 of 8 nodes suspected" in page and "Nodes by their speed" in page and "0.60 of its peers" in page
    table = (tmp_path / "b_eff_io-nodes.csv").read_text().splitlines()
    assert len(table) == 9 and table[1].startswith(f"{name},0.5999") and ",28,28,writes,True," in table[1]


@pytest.mark.parametrize(("share", "verdict"), [(0.94, Verdict.SUSPECTS), (0.96, Verdict.NONE), (1.0, Verdict.NONE)])
def test_a_node_is_slow_below_95_percent_of_its_peers(tmp_path, share, verdict):
    found = score_log(made(tmp_path, slow_at(share))).nodes
    assert found.verdict == verdict and len(found.named) == (verdict == Verdict.SUSPECTS)


@pytest.mark.parametrize(
    ("methods", "units", "of"),
    [(("read",), "reads", 14), (("write", "rewrite"), "writes", 28)],
    ids=["reads", "writes"],
)
def test_a_node_that_only_reads_or_writes_slowly_is_named_with_what_is_slow(tmp_path, methods, units, of):
    """Reads may come from a cache, and say nothing about writes then."""
    found = score_log(made(tmp_path, slow_at(0.5, methods))).nodes
    assert [(row.units, row.slow, row.examined) for row in found.named.itertuples()] == [(units, of, of)]


@pytest.mark.parametrize("types", [("separate",), ("segmented",)])
def test_slow_files_of_a_kind_are_not_held_against_the_node(tmp_path, types):
    """The file of each process is on servers of its own: one that is slow makes only these accesses slow."""
    found = score_log(made(tmp_path, slow_at(0.5, types=types))).nodes
    assert found.verdict == Verdict.NONE and found.named.empty


def test_a_node_with_another_number_of_processes_is_not_compared(tmp_path):
    """Of sixteen processes the last one does no I/O, so that its node has one, which is slow."""
    found = score_log(made(tmp_path, lambda node, *_: 0.5 if node == 7 else 1.0, partitions=(15,))).nodes
    assert found.verdict == Verdict.NONE
    assert found.remarks == tuple(f"Not examined, because of too few {what}: 1 node" for what in ("writes", "reads"))


@pytest.mark.parametrize(("hosts", "examined"), [(2, False), (3, True)])
def test_partitions_on_fewer_than_three_nodes_tell_nothing(tmp_path, hosts, examined):
    found = score_log(made(tmp_path, slow_at(1.0), ranks=2 * hosts, nodes=hosts, partitions=(2 * hosts,))).nodes
    assert (found.verdict == Verdict.NONE) == examined


@pytest.mark.slow
def test_coffeecup_nodes_lists_the_nodes_of_sessions_with_slow_files(tmp_path):
    """Three nights, the last two with a slow node."""
    found = [score_log(made(tmp_path, slow_at(share))) for share in (1.0, 0.6, 0.6)]
    slow = found[0].log.run.hosts[SLOW].name
    sessions = [
        session([case({"b_eff_io": (100.0, "MByte/s")}, node_effects=nodes.stored(score.nodes))], night(number))
        for number, score in enumerate(found)
    ]
    done = run("nodes", write(tmp_path / "sessions", sessions))
    assert done.exit_code == 0 and done.stdout.startswith("8 nodes examined.")
    [line] = done.stdout.splitlines()[1:]
    assert line.startswith(f"{slow}: 0.60 of its peers") and "suspected in 2 and confirmed in 0 of 3 sessions" in line


# --- one access -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return read_log(made(tmp_path_factory.mktemp("log"), slow_at(0.5)))


def test_a_node_has_the_geometric_mean_of_its_processes(log):
    seconds = [1.0, 4.0, *[2.0] * 14]
    times = io_nodes.of_nodes(log.run, "process", 16, seconds, [1, 4, *[2] * 14])
    assert times[0] == pytest.approx(1) and times[1] == pytest.approx(1)
    assert io_nodes.of_nodes(log.run, "process", 16, seconds)[0] == pytest.approx(2)
    assert io_nodes.of_nodes(log.run, "node", 16, [1.0, *[2.0] * 7], [4, *[2] * 7])[0] == 0.25


@pytest.mark.parametrize(("seconds", "known"), [(0.21, True), (0.19, False)])
def test_in_a_short_access_it_matters_which_process_begins_first(log, seconds, known):
    assert bool(io_nodes.of_nodes(log.run, "process", 16, [seconds] * 16)) == known


def test_a_process_without_a_time_makes_an_access_unknown(log):
    assert not io_nodes.of_nodes(log.run, "process", 16, [0.0, *[1.0] * 15])


@pytest.mark.parametrize(
    ("separate", "access", "sync", "own"),
    [
        (True, [1.0, 2.0], [3.0, 1.0], [4.0, 3.0]),  # each syncs its own file
        (False, [1.0, 2.0], [3.0, 1.0], [1.0, 2.0]),  # the first one waits for the other one
        (False, [1.0, 2.0], [1.6, 1.6], [0.0, 0.0]),  # the calls only filled a cache
        (False, [1.0, 2.0], [1.4, 1.4], [1.0, 2.0]),
    ],
)
def test_own_time_of_a_process(separate, access, sync, own):
    assert io_nodes.own_seconds(access, sync, separate) == own


@pytest.mark.parametrize(("fast", "verdict"), [(2, Verdict.SUSPECTS), (3, Verdict.UNCLEAR)])
def test_a_slow_node_is_fast_in_at_most_an_eighth_of_its_accesses(log, fast, verdict):
    """Some of its accesses take ten times as long as on others, others a fifth longer: that depends on their sizes."""
    factors = [1.0] * fast + [1.2] * 7 + [10] * (9 - fast)
    accesses = {
        f"write {place}": {node: factor if node == SLOW else 1.0 for node in range(8)}
        for place, factor in enumerate(factors)
    }
    found = io_nodes.examination(log.run, {nodes.WRITES: accesses})
    assert found.verdict == verdict
    assert list(found.named["node"]) == [log.run.hosts[SLOW].name] * (verdict == Verdict.SUSPECTS)
    text = "Nodes are slow in some writes only, which may be a property of the files' servers"
    assert found.remarks == (text,) * (verdict == Verdict.UNCLEAR)


def test_accesses_with_an_interval_count_for_a_node_that_is_not_suspected(log):
    """It was slow in the only read, which tells nothing."""
    same = dict.fromkeys(range(8), 1.0)
    writes = {f"write {place}": same for place in range(8)}
    found = io_nodes.examination(log.run, {nodes.WRITES: writes, nodes.READS: {"read": same | {0: 3.0}}})
    assert set(found.nodes["units"]) == {nodes.WRITES} and found.verdict == Verdict.NONE


@pytest.mark.parametrize("noise", ACCESS_NOISE)
def test_with_recorded_noise_the_slow_node_is_named_and_nobody_else(noise):
    """Also where the files of some nodes are on slow servers."""
    names = [f"n{node}" for node in range(16)]
    for share in (1.0, 0.5):
        rng = np.random.default_rng(20)
        speeds = np.ones(16)
        speeds[SLOW] = share
        found = nodes.examination(names, {"writes": accesses(rng, speeds, 28, noise)})
        assert list(found.named["node"]) == [f"n{SLOW}"] * (share < 1)


def test_of_writes_and_reads_chance_names_a_node_no_more_often_than_of_one(log):
    """Of twelve accesses of eight nodes each, six are slow on one node and, by noise, some on others: the probability
    has to be below 0.01 for both kinds together, so below 0.005 for each."""
    slow = {f"{place}": dict.fromkeys(range(8), 1.0) for place in range(6)}
    for place in range(6):
        slow[str(place)][0] = 2.0
    for number in range(14):
        slow[str(number % 6)][1 + (number * 3) % 7] = 1.2
    times = io_nodes.table(slow)
    alone = nodes.examination([host.name for host in log.run.hosts], {nodes.WRITES: times})
    both = nodes.examination([host.name for host in log.run.hosts], {nodes.WRITES: times, nodes.READS: times})
    disturbed = sum(value == 1.2 for unit in slow.values() for value in unit.values())
    probability = 8 * ((disturbed + 1) / 50) ** 6
    assert 0.005 < probability < 0.01
    assert (len(alone.named), len(both.named)) == (1, 0)
