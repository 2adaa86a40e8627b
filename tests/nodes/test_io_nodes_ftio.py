# SPDX-License-Identifier: Apache-2.0
"""A node with slow I/O, or with slow processors, is named from FTIO's phases, and no other: made logs of which the slow
node is known, and the kernel on made-up nodes with a clock that adds a formula."""

import logs_made
import pytest
from builds import faulty
from kernel_runs import good, on_nodes, records, run
from logs_made_ftio import ftio_log, half

from coffeecup.postprocess.benchmarks.ftio.slow_nodes import examination
from coffeecup.postprocess.benchmarks.nodes import Verdict
from coffeecup.postprocess.benchmarks.scoring import read_log, score_log

SLOW = 2
NODES = [(f"n{number}", 1) for number in range(4)]


def examined(tmp_path, factor, repetitions=3, **options):
    """A run of two processes on each of eight nodes. `factor(node, stage, activity)` of the usual time."""

    def seconds(stage, activity, process, repetition):
        return factor(process // 2, stage, activity) * half(stage, activity, process, repetition)

    made = ftio_log(ranks=16, nodes=8, repetitions=repetitions, seconds=seconds, **options)
    score = score_log(logs_made.write(tmp_path / "ftio.jsonl", made))
    return score.nodes, score.log.run.hosts[SLOW].name


def slow_in(*activities, factor):
    return lambda node, stage, activity: factor if node == SLOW and activity in activities else 1.0


@pytest.mark.parametrize(("share", "verdict"), [(0.94, Verdict.SUSPECTS), (0.96, Verdict.NONE)])
@pytest.mark.parametrize(
    ("activities", "units", "count"),
    [(("write", "flush"), "writes", 15), (("read",), "reads", 15), (("compute",), "computations", 9)],
    ids=["writes", "reads", "computations"],
)
def test_a_node_below_95_percent_of_its_peers_is_named_with_what_is_slow(
    tmp_path, share, verdict, activities, units, count
):
    """By hand: three repetitions of five stages that write, five that read and three that compute."""
    found, slow = examined(tmp_path, slow_in(*activities, factor=1 / share))
    named = [(row.node, round(row.ratio, 3), row.units, row.slow, row.examined) for row in found.named.itertuples()]
    assert found.verdict == verdict
    assert named == [(slow, share, units, count, count)] * (verdict == Verdict.SUSPECTS)


def test_where_processes_wait_for_each_other_nothing_is_held_against_a_node(tmp_path):
    found, _ = examined(tmp_path, slow_in("open", "plan", "fft", "exchange", "wait", factor=3.0))
    assert found.verdict == Verdict.NONE and found.nodes["slow"].max() == 0


@pytest.mark.parametrize(
    ("write", "flush", "units"), [(2.0, 1.0, {"writes"}), (1.0, 2.0, set())], ids=["slow writes", "slow flush"]
)
def test_the_flush_of_a_shared_file_does_not_count(tmp_path, write, flush, units):
    def factor(node, stage, activity):
        return {"write": write, "flush": flush}.get(activity, 1.0) if node == SLOW else 1.0

    found, slow = examined(tmp_path, factor, storage="mpiio")
    assert set(found.named["units"]) == units and list(found.named["node"]) == [slow] * len(units)


def test_writes_to_a_shared_file_that_only_filled_a_cache_tell_nothing(tmp_path):
    """The flush of every process takes longer than the writes of most."""

    def factor(node, stage, activity):
        return 1.1 if activity == "flush" else 3.0 if node == SLOW and activity == "write" else 1.0

    found, _ = examined(tmp_path, factor, storage="mpiio")
    assert found.verdict == Verdict.NONE and "writes" not in set(found.nodes["units"])


def test_a_single_repetition_has_too_few_phases(tmp_path):
    found, _ = examined(tmp_path, slow_in("read", "write", factor=3.0), repetitions=1)
    assert found.verdict == Verdict.NOT_EXAMINED and "enough writes or reads or computations" in found.remarks[0]


def test_where_each_node_has_a_time_it_is_that_of_its_slowest_process(tmp_path, monkeypatch):
    """As in a run of more than 4096 processes: the slow process of a node differs from phase to phase."""
    monkeypatch.setattr("coffeecup.postprocess.logs.process_times.MOST_PROCESSES_EACH", 15)
    made = ftio_log(
        ranks=16, nodes=8, seconds=lambda stage, activity, process, repetition: 1 + process % 2 * (activity == "read")
    )
    of_plan = made[1]
    of_plan["process_times"] = "node"
    for record in logs_made.of_kind(made, "process_times"):
        each = record["seconds"]
        record["seconds"] = [max(pair) for pair in zip(each[::2], each[1::2])]
    assert score_log(logs_made.write(tmp_path / "ftio.jsonl", made)).nodes.verdict == Verdict.NONE


def test_the_kernel_logs_the_times_of_each_process_and_its_node_is_named(openmpi, tmp_path):
    """By the formula, every access of rank 2 of 4 takes twice as long: 16 KiB at 100 byte/s, 164 s. What else a process
    does takes milliseconds."""
    env = faulty(openmpi, "ftio", MODEL_BANDWIDTH=100, MODEL_SLOW_RANK=SLOW)
    command = on_nodes(openmpi, NODES, "ftio", "--input", 4, "--repeat", 2, env=env)
    good(run(command, env=openmpi.environment, cwd=tmp_path))
    log = tmp_path / "ftio.jsonl"
    found = [r for r in records(log) if r["record"] == "process_times" and r["activity"] in ("read", "write")]
    whole = [
        ((r["repetition"], r["stage"], r["activity"]), 64 * 64 * 16 / 4 * (0.75 if r["stage"] == "exchange" else 1))
        for r in records(log)
        if r["record"] == "measurement" and r["activity"] in ("read", "write")
    ]
    assert [(r["repetition"], r["stage"], r["activity"]) for r in found] == [key for key, _ in whole]
    for r, (_, size) in zip(found, whole):
        usual = size / 100
        assert r["seconds"] == pytest.approx([usual, usual, 2 * usual, usual], rel=0.05), r
    named = examination(read_log(log)).named
    assert [(row.node, row.ratio) for row in named.itertuples()] == [("n2", pytest.approx(0.5, rel=0.05))]
