# SPDX-License-Identifier: Apache-2.0
"""--read-shift on GlusterFS that is mounted twice, as on two nodes: what is read comes from the servers, not from a
cache of the node that reads it.

The second node is a mount namespace in which the second mount has the path of the first one. Each mount has a page
cache of its own, which `fopen-keep-cache` keeps while a file is closed, and a client process. The client has a cache as
well, which fincore(1) cannot see, so the bytes that the client receives are counted instead, in /proc/PID/io.
"""

import re
from pathlib import Path

import pytest
from b_eff_io_runs import SMALL
from file_systems import glusterfs_mounts
from kernel_runs import mounted_instead, on_nodes
from raw_log import read_log
from system_calls import traced

MIB = 2**20
OTHER = {0: 1, 1: 0}  # the process of the other node
OPTIONS = {
    "b_eff_io": (*SMALL, "--scheduled-time 0.3 --types separate --partitions 2 --space-limit 64MiB"),
    "priomark": ("--workload", "workload.cfg"),
}
WORKLOAD = """evict = false;
single_file = { process_size = "8MiB"; block_size = "1MiB"; read_write = "1:0"; patterns = "read-write"; };
"""


@pytest.fixture(scope="module")
def mounts(tmp_path_factory):
    with glusterfs_mounts(tmp_path_factory.mktemp("mounts"), 2, options=["--fopen-keep-cache=on"]) as mounted:
        yield mounted


def received(mount):
    """The bytes that the client of a mount has read so far from the servers and from /dev/fuse."""
    client = (mount.parent / "run" / f"{mount.name}.pid").read_text().strip()
    return int(re.search(r"rchar: (\d+)", Path(f"/proc/{client}/io").read_text())[1])


def measured(mpi, mounts, kernel, folder, *options):
    """(requests by rank, bytes that each client received) of a process on each of two nodes: both find their own mount
    at the path of the first one."""
    (folder / "workload.cfg").write_text(WORKLOAD)
    words = [folder / word if word == "workload.cfg" else word for word in OPTIONS[kernel]]
    where = ("--directory", mounts[0], "--log", folder / "log.jsonl")
    command = on_nodes(mpi, [("node0", 1), ("node1", 1)], kernel, *where, *words, *options)
    command = mounted_instead(command, mpi.bin / kernel, *mounts)
    before = [received(mount) for mount in mounts]
    done, threads = traced(command, mounts[0], folder / "strace", env=mpi.environment)
    assert done.returncode == 0, done.stderr
    accesses = {rank: requests for requests in threads if (rank := writer(requests)) is not None}
    assert set(accesses) == set(OTHER)
    return accesses, [received(mount) - start for mount, start in zip(mounts, before)]


def file_of(path):
    """The rank whose file this is."""
    found = re.search(r"(?:type2-rank|single-)0*(\d+)$", path)
    return int(found[1]) if found else None


def writer(requests):
    written = {file_of(path) for call, path, *_ in requests if call in ("write", "pwrite")} - {None}
    return next(iter(written), None)


def parts(requests, kind):
    """The (rank of the file, offset, bytes) that were accessed."""
    return [
        (rank, values[0], values[-1])
        for call, path, *values in requests
        if call in (kind, f"p{kind}") and (rank := file_of(path)) is not None
    ]


@pytest.mark.parametrize("kernel", ["b_eff_io", "priomark"])
def test_what_another_node_wrote_comes_from_the_servers(openmpi, mounts, kernel, tmp_path):
    (tmp_path / "shifted").mkdir()
    (tmp_path / "own").mkdir()
    shifted, from_others = measured(openmpi, mounts, kernel, tmp_path / "shifted", "--read-shift")
    own, from_own = measured(openmpi, mounts, kernel, tmp_path / "own")
    assert read_log(tmp_path / "shifted" / "log.jsonl").plan["read_shift"] == "node"
    for rank in OTHER:
        reads = parts(shifted[rank], "read")
        # At the offsets that the other process wrote, and nothing else.
        assert {file for file, *_ in reads} == {OTHER[rank]}
        written = covered(parts(shifted[OTHER[rank]], "write"), OTHER[rank])
        assert covered(reads, OTHER[rank]) <= written
        assert {file for file, *_ in parts(own[rank], "read")} == {rank}
        total = len(covered(reads, OTHER[rank])) * PAGE
        assert total >= 4 * MIB
        sent = sum(count for *_, count in parts(shifted[rank], "write"))
        assert from_others[rank] >= total + sent  # what it writes comes to the client through /dev/fuse
        again = len(covered(parts(own[rank], "read"), rank)) * PAGE
        sent = sum(count for *_, count in parts(own[rank], "write"))
        assert from_own[rank] < sent + again / 2  # the page cache of the mount, which --read-shift avoids


PAGE = 4096


def covered(accesses, rank):
    """The whole pages of a file that were accessed."""
    return {
        page
        for file, offset, count in accesses
        if file == rank
        for page in range(-(-offset // PAGE), (offset + count) // PAGE)
    }
