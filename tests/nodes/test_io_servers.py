# SPDX-License-Identifier: Apache-2.0
"""A server of files that is slow is named where the file system tells which files it holds, and no node for it: made
logs of which the slow server is known, and GlusterFS with a brick on a slow disk."""

import json
from collections import Counter
from contextlib import ExitStack, contextmanager

import kernel_runs
import logs_made
import pytest
from builds import PATIENCE
from commands import run
from file_systems import disk, glusterfs_mounts, root, unmount
from kernel_runs import good, on_nodes, records
from logs_made import KIB, MIB, of_kind
from logs_made_b_eff_io import b_eff_io_on_servers, rounded
from logs_made_ftio import ftio_log, half
from logs_made_priomark import priomark_log, times_of_processes

from coffeecup.postprocess.benchmarks import io_nodes, nodes
from coffeecup.postprocess.benchmarks.nodes import Verdict
from coffeecup.postprocess.benchmarks.scoring import read_log, score_log
from coffeecup.postprocess.logs.reader import LogError

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
    assert found.slow_servers == [f"server2: {share} of its peers [{share}, {share}], slow in 9 of 9 writes"] * is_slow
    assert found.verdict == Verdict.NONE


def test_a_slow_node_makes_no_server_slow(tmp_path):
    found = scored(tmp_path, lambda node, server: 0.5 if node == SLOW else 1.0)
    assert found.nodes.slow_servers == []
    assert list(found.nodes.named["node"]) == [found.log.run.hosts[SLOW].name]


def test_a_slow_node_and_a_slow_server_are_both_named(tmp_path):
    found = scored(tmp_path, lambda node, server: (0.5 if node == SLOW else 1.0) * (0.4 if server == 2 else 1.0))
    [server] = found.nodes.slow_servers
    assert server.startswith("server2: 0.40 ")
    assert list(found.nodes.named["node"]) == [found.log.run.hosts[SLOW].name]


@pytest.mark.parametrize(("share", "named"), [(0.55, True), (0.75, False)])
def test_a_server_that_is_slow_because_of_its_many_files_is_not_named(tmp_path, share, named):
    """Of 16 files in turn on five servers, the first one has four and the others three: 0.75 of their time for each."""
    found = scored(tmp_path, lambda node, server: share if server == 0 else 1.0).nodes
    assert [text[:13] for text in found.slow_servers] == ["server0: 0.73"] * named


@pytest.mark.parametrize("servers", [2, 16])
def test_too_few_servers_or_servers_of_a_single_node_are_not_compared(tmp_path, servers):
    assert scored(tmp_path, lambda node, server: 0.5 if server == 1 else 1.0, servers=servers).nodes.slow_servers == []


def test_without_a_layout_nothing_is_said_about_servers(tmp_path):
    found = scored(tmp_path, lambda node, server: 0.5 if server == 2 else 1.0, told=False).nodes
    assert found.slow_servers == []


@pytest.mark.slow
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
    assert found.nodes.slow_servers == ["server2: 0.50 of its peers [0.50, 0.50], slow in 15 of 15 writes"] * told


def test_a_shared_file_of_ftio_has_no_servers_of_each_process(tmp_path):
    records = ftio_log(ranks=4, storage="mpiio")
    place = next(number for number, record in enumerate(records) if record["record"] == "repetition")
    records.insert(place, {"record": "layout", "servers": ["a"], "files": [0] * 4, "repetition": 1})
    with pytest.raises(LogError, match=r" files have servers only where each process has its own; .*\[layout\]$"):
        score_log(logs_made.write(tmp_path / "ftio.jsonl", logs_made.numbered(records)))


@pytest.mark.parametrize(("share", "is_slow"), [(0.94, True), (0.96, False)])
@pytest.mark.parametrize("method_shift", [0, 1])
def test_b_eff_io_names_a_server_below_95_percent_of_the_others_and_no_node(tmp_path, share, is_slow, method_shift):
    """By hand: seven patterns of `separate` have a share of the time, written and rewritten by all processes."""
    log = b_eff_io_on_servers(
        lambda method, server: share if server == 2 and method != "read" else 1.0, method_shift=method_shift
    )
    found = score_log(logs_made.write(tmp_path / "b_eff_io.jsonl", log)).nodes
    assert (
        found.slow_servers == [f"server2: {share} of its peers [{share}, {share}], slow in 14 of 14 writes"] * is_slow
    )
    assert found.verdict == Verdict.NONE


@pytest.mark.parametrize("told", [True, False])
def test_b_eff_io_compares_files_on_the_same_server_if_it_is_known(tmp_path, told):
    """All files of two nodes are on a server of a tenth of the speed, and their part of a shared file is as slow: only
    a log that states the servers tells that the nodes are as fast as others in their own files."""
    log = b_eff_io_on_servers(lambda *_: 1.0, servers=4, told=told)
    for record in log:
        if record["record"] == "layout" and record["partition"] == RANKS:
            record.update(servers=["a", "slow", "b"], files=[0] * 4 + [1] * 4 + [2, 0] * 4)
        elif record["record"] == "process_times" and record["partition"] == RANKS:
            for name in ("access_seconds", "sync_seconds"):
                longest = max(record[name])
                record[name] = [longest if 4 <= rank < 8 else rounded(longest / 10) for rank in range(RANKS)]
    for record in log:
        of_all = record["record"] == "measurement" and record["partition"] == RANKS
        if of_all and record["type"] in ("separate", "segmented"):
            record["access_fastest_seconds"] = record["access_seconds"] / 10
    score = score_log(logs_made.write(tmp_path / "b_eff_io.jsonl", log))
    slow = {host.name for host in score.log.run.hosts[2:4]}
    assert set(score.nodes.named["node"]) == (set() if told else slow)
    assert [text.partition(":")[0] for text in score.nodes.slow_servers] == ["slow"] * told


def test_calls_count_where_the_time_is_the_same(tmp_path):
    """Every process writes for a second; those with files on the slow server make half as many calls."""
    log = read_log(logs_made.write(tmp_path / "b_eff_io.jsonl", b_eff_io_on_servers(lambda *_: 1.0)))
    servers = [f"server{rank % 5}" for rank in range(RANKS)]
    calls = [100 if server == "server3" else 200 for server in servers]
    accesses = [io_nodes.Access(nodes.WRITES, f"write {n}", [1.0] * RANKS, servers, RANKS, calls) for n in range(7)]
    found = io_nodes.of_accesses(log.run, "process", accesses)
    assert found.slow_servers == ["server3: 0.50 of its peers [0.50, 0.50], slow in 7 of 7 writes"]
    assert found.verdict == Verdict.NONE
    assert len(found.servers) == 5 and not found.servers["confirmed"].any()


def test_files_of_each_access_are_counted(tmp_path):
    """A repetition has other files than the next one: in each, one server has twice as many as the others, and takes
    twice as long for them. That is no property of a server."""
    log = read_log(logs_made.write(tmp_path / "b_eff_io.jsonl", b_eff_io_on_servers(lambda *_: 1.0)))
    accesses = []
    for number in range(8):
        often = [0, 0, 1, 2] if number < 4 else [0, 1, 1, 2]
        servers = [f"server{(often * 4)[rank]}" for rank in range(RANKS)]
        seconds = [2.0 if servers.count(server) == 8 else 1.0 for server in servers]
        accesses.append(io_nodes.Access(nodes.WRITES, f"write {number}", seconds, servers))
    assert io_nodes.of_accesses(log.run, "process", accesses).slow_servers == []


# --- GlusterFS --------------------------------------------------------------------------------------------------------

SLOW_BRICK = "/volume/brick2"


@contextmanager
def bricks_of_which_one_is_slow(folder, bricks, slow, others, cached):
    """GlusterFS puts each whole file on one of the bricks, each on a disk of so many byte/s; unless `cached`, each
    write goes to the disk at once."""
    (folder / "volume").mkdir()
    with ExitStack() as undo:
        for number in range(bricks):
            place, brick = folder / f"disk{number}", folder / "volume" / f"brick{number}"
            place.mkdir()
            brick.mkdir()
            made = undo.enter_context(disk(place, 4, bytes_per_second=slow if number == 2 else others))
            root("a brick on a disk", "mount", "--bind", made, brick)
            undo.callback(unmount, brick)
            if not cached:
                root("a disk that is written at once", "mount", "-o", "remount,sync", made)
        [mount] = undo.enter_context(glusterfs_mounts(folder / "volume", 1, bricks, shards=False, cached=cached))
        yield mount


def run_with_files_on_every_brick(
    openmpi, folder, kernel, *options, processes=RANKS, bricks=4, slow=8_000_000, others=40_000_000, cached=True
):
    """The log of a run with a process on each node. A run has a directory of its own, in which the same names may be on
    other bricks: a run that has the files of too few nodes on one of them tells nothing, and is repeated."""
    log, each = folder / "log.jsonl", [(f"n{number:02}", 1) for number in range(processes)]
    with bricks_of_which_one_is_slow(folder, bricks, slow, others, cached) as mount:
        for _ in range(RUNS):
            words = on_nodes(openmpi, each, kernel, *options, "--directory", mount, "--log", log)
            good(kernel_runs.run(words, env=openmpi.environment, timeout=3 * PATIENCE))
            [layout, *_] = layouts = of_kind(records(log), "layout")
            assert len(layout["files"]) == processes
            if len(layout["servers"]) == bricks and min(Counter(layout["files"]).values()) > 1:
                return log, len(layouts)
            log.unlink()
    pytest.fail(f"in {RUNS} runs, GlusterFS put the files of too few nodes on a brick")


WORKLOAD = 'single_file = { process_size = "8MiB"; block_size = "256KiB"; patterns = ["write"]; };\nrepetitions = 9;'
ALL_TYPES = "--largest-chunk 1MiB --partitions all --scheduled-time 120 --space-limit 3GiB"
# Options, disks, processes, and the layouts that are in a log.
RUNS_OF = {
    # a file of each process, written nine times
    "priomark": ("--workload workload.cfg", {}, RANKS, 9),
    # Two repetitions, each with five stages that write files of 0.25 MByte in many small requests, and five that read
    # them. Only disks as slow as these take longer than the requests on a busy machine.
    "ftio": ("--storage posix --input 6 --repeat 2", {"bricks": 3, "slow": 100_000, "others": 500_000}, 12, 2),
    # All types, so that there is a score; only the files of `separate` are each on a brick that is known. Small calls
    # write so little that caches would hide the disk.
    "b_eff_io": (ALL_TYPES, {"slow": 2_000_000, "others": 10_000_000, "cached": False}, RANKS, 3),
}


@pytest.mark.prove
@pytest.mark.parametrize("kernel", RUNS_OF)
def test_the_brick_on_a_slow_disk_is_named_and_no_node(openmpi, tmp_path, kernel):
    options, disks, processes, layouts = RUNS_OF[kernel]
    (tmp_path / "workload.cfg").write_text(WORKLOAD)
    words = options.replace("workload.cfg", str(tmp_path / "workload.cfg")).split()
    log, found = run_with_files_on_every_brick(openmpi, tmp_path, kernel, *words, processes=processes, **disks)
    assert found == layouts
    examined = score_log(log).nodes
    print("\n".join([*examined.slow_servers, *nodes.listed(examined.named), *examined.remarks]))
    [server] = examined.slow_servers
    assert f"{SLOW_BRICK}: " in server and examined.named.empty
    assert "Slow server of files suspected: " in run("score", log).stdout
