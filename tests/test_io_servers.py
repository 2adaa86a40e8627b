# SPDX-License-Identifier: Apache-2.0
"""A server of files that is slow is named where the file system tells which files it holds, and no node for it: made
logs of which the slow server is known, and GlusterFS with a brick on a slow disk."""

import json
from contextlib import ExitStack

import logs_made
import pytest
from commands import run
from file_systems import disk, glusterfs_mounts, root, unmount
from kernel_runs import on_nodes, records
from kernel_runs import run as run_kernel
from logs_made import KIB, MIB, of_kind
from logs_made_ftio import ftio_log, half
from logs_made_priomark import priomark_log, times_of_processes

from postprocess.benchmarks.nodes import Verdict
from postprocess.benchmarks.scoring import score_log
from postprocess.logs.reader import LogError

RANKS, NODES, SLOW = 16, 8, 5
RUNS = 5
SHAPE = {"ranks": RANKS, "nodes": NODES, "process_bytes": (256 * MIB,), "block_bytes": (256 * KIB,), "repetitions": 3}


def scored(tmp_path, speed, servers=5, told=True):
    """Two processes on each of eight nodes; `speed(node, server)` of their own files, which are on the servers in
    turn."""
    made = []
    for record in priomark_log(speed=lambda *_: 1.0, benchmarks=("single_file",), **SHAPE):
        if record["record"] != "process_times":
            made.append(record)
            continue
        made.append(times_of_processes(made[-1], [speed(rank // 2, rank % servers) for rank in range(RANKS)]))
        names = [f"server{number}" for number in range(servers)]
        layout = {"servers": names, "files": [rank % servers for rank in range(RANKS)]}
        if told:
            made.append({"record": "layout", "case": record["case"], "repetition": record["repetition"], **layout})
    return score_log(logs_made.write(tmp_path / "priomark.jsonl", logs_made.numbered(made)))


@pytest.mark.parametrize(("share", "is_slow"), [(0.94, True), (0.96, False)])
def test_a_server_below_95_percent_of_the_others_is_named_and_no_node(tmp_path, share, is_slow):
    """By hand: of three repetitions of four patterns, nine write and three only read."""
    found = scored(tmp_path, lambda node, server: share if server == 2 else 1.0).nodes
    assert found.servers == (f"server2: {share} of its peers [{share}, {share}], slow in 9 of 9 writes",) * is_slow
    assert found.verdict == Verdict.NONE


def test_a_slow_node_makes_no_server_slow(tmp_path):
    found = scored(tmp_path, lambda node, server: 0.5 if node == SLOW else 1.0)
    assert found.nodes.servers == ()
    assert list(found.nodes.named["node"]) == [found.log.run.hosts[SLOW].name]


def test_a_slow_node_and_a_slow_server_are_both_named(tmp_path):
    found = scored(tmp_path, lambda node, server: (0.5 if node == SLOW else 1.0) * (0.4 if server == 2 else 1.0))
    [server] = found.nodes.servers
    assert server.startswith("server2: 0.40 ")
    assert list(found.nodes.named["node"]) == [found.log.run.hosts[SLOW].name]


@pytest.mark.parametrize(("share", "named"), [(0.55, True), (0.75, False)])
def test_a_server_that_is_slow_because_of_its_many_files_is_not_named(tmp_path, share, named):
    """Of 16 files in turn on five servers, the first one has four and the others three: 0.75 of their time for each."""
    found = scored(tmp_path, lambda node, server: share if server == 0 else 1.0).nodes
    assert [text[:13] for text in found.servers] == ["server0: 0.73"] * named


@pytest.mark.parametrize("servers", [2, 16])
def test_too_few_servers_or_servers_of_a_single_node_are_not_compared(tmp_path, servers):
    assert scored(tmp_path, lambda node, server: 0.5 if server == 1 else 1.0, servers=servers).nodes.servers == ()


def test_without_a_layout_nothing_is_said_about_servers(tmp_path):
    found = scored(tmp_path, lambda node, server: 0.5 if server == 2 else 1.0, told=False).nodes
    assert found.servers == ()


def test_the_slow_server_is_in_text_json_and_report(tmp_path):
    log = scored(tmp_path, lambda node, server: 0.5 if server == 2 else 1.0).log.path
    text = "server2: 0.50 of its peers [0.50, 0.50], slow in 9 of 9 writes"
    assert f"Slow server of files suspected: {text}" in " ".join(run("score", log).stdout.split())
    assert json.loads(run("score", log, "--json").stdout)[0]["nodes"]["servers"] == [text]
    assert run("report", log, "-o", tmp_path / "page.html").exit_code == 0
    assert f"Slow server of files suspected: {text}" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("told", [True, False])
def test_ftio_names_the_server_and_no_node_if_it_knows_where_its_files_are(tmp_path, told):
    """By hand: a process on each of 16 nodes, their files on four servers in turn, in three repetitions of five stages
    that write and five that read. Without the layout, the four nodes with files on the slow server seem slow."""

    def seconds(stage, activity, process, repetition):
        on_slow = activity in ("read", "write", "flush") and process % 4 == 2
        return (2.0 if on_slow else 1.0) * half(stage, activity, process, repetition)

    layout = {"record": "layout", "servers": [f"server{n}" for n in range(4)], "files": [n % 4 for n in range(RANKS)]}
    records = []
    for record in ftio_log(ranks=RANKS, nodes=RANKS, repetitions=3, seconds=seconds):
        if record["record"] == "repetition" and told:
            records.append(layout | {"repetition": record["repetition"]})
        records.append(record)
    found = score_log(logs_made.write(tmp_path / "ftio.jsonl", logs_made.numbered(records)))
    slow = [found.log.run.hosts[node].name for node in range(2, RANKS, 4)]
    assert set(found.nodes.named["node"]) == (set() if told else set(slow))
    assert found.nodes.servers == ("server2: 0.50 of its peers [0.50, 0.50], slow in 15 of 15 writes",) * told


def test_a_shared_file_of_ftio_has_no_servers_of_each_process(tmp_path):
    records = ftio_log(ranks=4, storage="mpiio")
    place = next(number for number, record in enumerate(records) if record["record"] == "repetition")
    records.insert(place, {"record": "layout", "servers": ["a"], "files": [0] * 4, "repetition": 1})
    with pytest.raises(LogError, match=r"has no file of each process.*\[layout\]"):
        score_log(logs_made.write(tmp_path / "ftio.jsonl", logs_made.numbered(records)))


@pytest.mark.prove
def test_the_brick_on_a_slow_disk_is_named_by_the_layout_and_no_node(openmpi, tmp_path):
    """Sixteen nodes with a process each, and a file of its own; GlusterFS puts each whole file on one of four bricks,
    each on a disk, of which one has 8 MByte/s and the others 40. A run has a directory of its own, in which the same
    names may be on other bricks: a run that has the files of too few nodes on the slow one tells nothing."""
    (tmp_path / "volume").mkdir()
    workload = (
        'single_file = { process_size = "8MiB"; block_size = "256KiB"; patterns = ["write"]; };\nrepetitions = 9;'
    )
    with ExitStack() as undo:
        for number in range(4):
            folder, brick = tmp_path / f"disk{number}", tmp_path / "volume" / f"brick{number}"
            folder.mkdir()
            brick.mkdir()
            made = undo.enter_context(disk(folder, 1, bytes_per_second=8_000_000 if number == 2 else 40_000_000))
            root("a brick on a disk", "mount", "--bind", made, brick)
            undo.callback(unmount, brick)
        [mount] = undo.enter_context(glusterfs_mounts(tmp_path / "volume", 1, bricks=4, shards=False))
        (tmp_path / "workload.cfg").write_text(workload)
        options = ("--workload", tmp_path / "workload.cfg", "--directory", mount, "--log", tmp_path / "log.jsonl")
        nodes = [(f"n{number:02}", 1) for number in range(16)]
        for _ in range(RUNS):
            done = run_kernel(on_nodes(openmpi, nodes, "priomark", *options), env=openmpi.environment)
            assert done.returncode == 0, done.stderr
            layouts = of_kind(records(tmp_path / "log.jsonl"), "layout")
            on_slow = [layouts[0]["servers"][place].endswith("/volume/brick2") for place in layouts[0]["files"]]
            if 2 <= sum(on_slow) <= 6:
                break
            (tmp_path / "log.jsonl").unlink()
    assert len(layouts) == 9 and len(on_slow) == 16
    found = score_log(tmp_path / "log.jsonl").nodes
    [server] = found.servers
    assert "/volume/brick2: " in server
    assert found.named.empty
