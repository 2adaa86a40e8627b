# SPDX-License-Identifier: Apache-2.0
"""The sub-benchmark `metadata` of PRIOMark's kernel: its system calls against the definition on
docs/priomark_metadata.md, on whose files they are made, and how it ends."""

import re
from collections import Counter

import kernel_runs
import pytest
from builds import faulty
from file_systems import glusterfs_mounts, memory
from kernel_runs import error, good, mounted_instead, on_nodes
from priomark_runs import command, leftovers, of_kind, records, run
from raw_log import read_log

from coffeecup.postprocess.benchmarks.scoring import score_log

FILES, BYTES = 6, 5000
BESIDE = 'single_file = { process_size = "64KiB"; block_size = "4KiB"; patterns = "write"; };\n'
SMALL = f'metadata = {{ files = {FILES}; file_size = "{BYTES}B"; sync = true; }};\n'
OPERATIONS = ["create", "stat", "read", "rename", "readdir", "remove"]
TRACED = "openat,pwrite64,pread64,fsync,stat,newfstatat,rename,renameat2,unlink,unlinkat,mkdir,rmdir,getdents64"
RUNS = [("openmpi", 1), ("openmpi", 3), ("mpich", 2)]


def counts(ranks, pattern):
    """Operations of all processes: by the definition, each entry that readdir returns is one."""
    listed = FILES * ranks * (ranks if pattern == "shared-directory" else 1)
    return dict.fromkeys(OPERATIONS, FILES * ranks) | {"readdir": listed}


@pytest.mark.parametrize("mpi, ranks", RUNS, indirect=["mpi"])
def test_each_operation_is_done_once_on_each_file(mpi, tmp_path, ranks):
    good(run(mpi, tmp_path, "check = true; repetitions = 2;" + BESIDE + SMALL, ranks))
    log = read_log(tmp_path / "log.jsonl")
    patterns = {case["case"]: case["pattern"] for case in log.plan["cases"] if case["benchmark"] == "metadata"}
    assert list(patterns.values()) == ["own-directory", "shared-directory"]
    found = [(record["case"], record["repetition"]) for record in log.records["metadata"]]
    assert found == [(case, number) for case in patterns for number in (1, 2)]
    for record in log.records["metadata"]:
        done = {entry["operation"]: entry["count"] for entry in record["operations"]}
        assert list(done.items()) == list(counts(ranks, patterns[record["case"]]).items()) and record["synchronised"]
        calls = [entry["calls"] for entry in record["operations"]]
        assert calls == [ranks if name == "readdir" else FILES * ranks for name in OPERATIONS]
    [check] = log.records["data_check"]
    assert check["read_bytes"] == check["checked_bytes"] == ranks * 2 * 2 * FILES * BYTES
    assert leftovers(tmp_path) == [] and score_log(log.path).metrics["metadata"].value > 0


def test_tree_has_a_directory_for_each_hundred_files(openmpi, tmp_path):
    """Of 250 files, three directories of 100, 100 and 50, each in one of the first level of three."""
    workload = f'check = true; {BESIDE} metadata = {{ files = 250; file_size = "1B"; patterns = "own-tree"; }};'
    words = ["strace", "-f", "-qq", "-o", tmp_path / "strace", "-e", f"trace={TRACED}", "-e", "signal=none", "-y"]
    good(kernel_runs.run([*words, *command(openmpi, tmp_path, workload, 2, "--read-shift")], env=openmpi.environment))
    text = (tmp_path / "strace").read_text()
    for made in ("mkdir", "rmdir"):
        folders = re.findall(rf'{made}\("[^"]*/metadata-(\d{{6}}[^"]*)"', text)
        levels = ["", "/00", "/00/00", "/00/00/00", "/00/00/01", "/00/00/02"]
        assert sorted(folders) == sorted(f"{rank:06}{level}" for rank in (0, 1) for level in levels)
    created = re.findall(r'/metadata-(\d{6})/(\d\d/\d\d/\d\d)/f\1-(\d{6})\d\d", [^)\n]*O_CREAT', text)
    assert Counter(created) == {
        (f"{rank:06}", f"00/00/0{leaf}", f"00000{leaf}"): count
        for rank in (0, 1)
        for leaf, count in enumerate((100, 100, 50))
    }
    [record] = of_kind(tmp_path, "metadata")
    calls = {entry["operation"]: (entry["count"], entry["calls"]) for entry in record["operations"]}
    assert calls == dict.fromkeys(OPERATIONS, (500, 500)) | {"readdir": (500, 6)}
    assert leftovers(tmp_path) == [] and score_log(tmp_path / "log.jsonl").metrics["metadata_readdir"].value > 0


def calls_on_files(mpi, folder, *options):
    """Of each of two processes: a Counter of (system call, owner of the file)."""
    words = ["strace", "-f", "-qq", "-o", folder / "strace", "-e", f"trace={TRACED}", "-e", "signal=none", "-y"]
    workload = BESIDE + SMALL.replace("sync", 'patterns = "shared-directory"; sync')
    good(kernel_runs.run([*words, *command(mpi, folder, workload, 2, *options)], env=mpi.environment))
    processes = {}
    for line in (folder / "strace").read_text().splitlines():
        if found := re.match(r"(\d+) +(\w+)\(.*?/metadata/[fr](\d{6})-\d{8}", line):
            kind = "create" if "O_CREAT" in line else found[2].replace("newfstatat", "stat")
            processes.setdefault(found[1], Counter())[kind, int(found[3])] += 1
    return sorted(processes.values(), key=lambda calls: next(owner for kind, owner in calls if kind == "create"))


def defined(rank, accessed):
    """A process creates its own files and accesses those of one process: a call for each step of the definition."""
    own = dict.fromkeys(["create", "pwrite64", "fsync"], FILES)
    others = dict.fromkeys(["stat", "openat", "pread64", "rename", "unlink"], FILES)
    return {(name, rank): count for name, count in own.items()} | {
        (name, accessed): count for name, count in others.items()
    }


@pytest.mark.parametrize(("options", "accessed"), [((), (0, 1)), (("--read-shift",), (1, 0))])
def test_system_calls_are_those_of_the_definition_on_own_files_or_with_a_shift_on_those_of_others(
    openmpi, tmp_path, options, accessed
):
    assert calls_on_files(openmpi, tmp_path, *options) == [defined(rank, accessed[rank]) for rank in (0, 1)]
    keys = {found.key for found in score_log(tmp_path / "log.jsonl").qualifications}
    assert "metadata_cached" in keys and "metadata_unsynchronised" not in keys


@pytest.mark.parametrize(("number", "size"), [(0, 5000), (3, 5000), (2, 1)])
def test_file_that_is_read_wrong_is_found(serial, tmp_path, number, size):
    workload = f'check = true; {BESIDE} metadata = {{ files = 4; file_size = "{size}B"; }};'
    after = 16 + number  # those that verify single_file come first
    done = run(serial, tmp_path, workload, env=faulty(serial, "priomark", FAULT_KIND="flip_read", FAULT_NUMBER=after))
    assert done.returncode == 1 and "was read wrong; have the file system examined" in error(done)
    assert f"f000000-{number:08}'" in error(done)
    assert records(tmp_path)[-1]["status"] == "failed" and leftovers(tmp_path) == []


def test_full_file_system_ends_the_run_with_one_line_and_nothing_left(openmpi, tmp_path):
    """Files of a byte in a file system that has room for 40 of them."""
    (tmp_path / "disk").mkdir()
    with memory(tmp_path / "disk", "size=64m,nr_inodes=40"):
        done = run(openmpi, tmp_path, BESIDE + 'metadata = { files = 50; file_size = "1B"; };', 1)
        assert done.returncode == 1 and "No space left on device; free some space" in error(done)
        assert "fewer files" in error(done) and "df -i" in error(done)
        assert leftovers(tmp_path) == []


@pytest.mark.parametrize(
    "text, said",
    [
        (SMALL, "add another sub-benchmark"),
        (BESIDE + "metadata = { files = 0; };", "files must be a whole number from 1"),
        (BESIDE + 'metadata = { file_size = "0B"; };', "'0B' is not from 1 to"),
        (BESIDE + 'metadata = { methods = "posix"; };', "metadata has no key 'methods'"),
        (BESIDE + 'metadata = { patterns = "tree"; };', "are own-directory, shared-directory, own-tree"),
    ],
)
def test_impossible_workload_is_refused(serial, tmp_path, text, said):
    done = run(serial, tmp_path, text)
    assert done.returncode == 2 and said in error(done) and leftovers(tmp_path) == []


def test_included_workload_has_a_score_and_is_shown_before_it_is_run(openmpi, tmp_path):
    done = good(run(openmpi, tmp_path, "metadata", 2, "--dry-run"))
    assert len(re.findall(r"^metadata +(?:own|shared)-directory +posix", done.stdout, re.MULTILINE)) == 2
    done = good(run(openmpi, tmp_path, "metadata", 2))
    for record, row in zip(
        of_kind(tmp_path, "metadata")[2::3], re.findall(r"^metadata .*", done.stdout, re.MULTILINE), strict=True
    ):
        counts, seconds = zip(*((entry["count"], entry["elapsed_seconds"]) for entry in record["operations"]))
        assert row.endswith(f"{sum(counts) / sum(seconds):.0f} operations/s") and "MByte/s" not in row
    score = score_log(tmp_path / "log.jsonl")
    assert {f"metadata_{name}" for name in OPERATIONS} < set(score.metrics)
    assert len(of_kind(tmp_path, "metadata")) == 6 and leftovers(tmp_path) == []


def test_on_two_mounts_of_glusterfs_each_client_asks_the_servers_for_files_of_the_other(openmpi, tmp_path):
    """With a shift, every file that a client opens was created by the other one."""
    (tmp_path / "workload.cfg").write_text("check = true;" + BESIDE + SMALL)
    with glusterfs_mounts(tmp_path, 2) as mounts:
        where = ("--directory", mounts[0], "--log", tmp_path / "log.jsonl", "--workload", tmp_path / "workload.cfg")
        words = on_nodes(openmpi, [("node0", 1), ("node1", 1)], "priomark", *where, "--read-shift")
        words = mounted_instead(words, openmpi.bin / "priomark", *mounts)
        good(kernel_runs.run(words, env=openmpi.environment))
        assert [list(mount.glob("priomark*")) for mount in mounts] == [[], []]
    log = read_log(tmp_path / "log.jsonl")
    assert log.plan["read_shift"] == "node"
    for record, pattern in zip(log.records["metadata"], ("own-directory", "shared-directory")):
        assert {entry["operation"]: entry["count"] for entry in record["operations"]} == counts(2, pattern)
    assert "metadata_cached" not in {found.key for found in score_log(log.path).qualifications}
