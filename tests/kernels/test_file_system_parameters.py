# SPDX-License-Identifier: Apache-2.0
"""The parameters of file systems in log, report and facts: of real ones, made with known parameters, as far as they can
be mounted here (ext4, tmpfs, GlusterFS). kernels/tests/test_filesystem.c has mounts of others by their lines."""

import stat
from pathlib import Path

import logs_made
import pytest
from commands import run
from file_systems import disk, glusterfs, memory
from kernel_runs import good, records
from logs_made_ftio import ftio_log

from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.logs.facts import facts
from coffeecup.postprocess.logs.records import Filesystem


def logged(mpi, folder, directory):
    """What FTIO logs about the file system of this directory; the log yields a score."""
    if not (mpi.bin / "ftio").exists():
        pytest.skip("ftio was not built: there is no FFTW")
    log = folder / "ftio.jsonl"
    good(mpi.run(2, "ftio", f"--input 2 --directory {directory} --log {log}", cwd=folder))
    score_log(log)
    return records(log)[0]["filesystem"]


@pytest.mark.parametrize("block", [1024, 4096])
def test_blocks_options_and_device_of_ext4(openmpi, tmp_path, block):
    options = "noatime,nodiratime,commit=7,data=writeback"
    with disk(tmp_path, 1, settings=("-b", block), options=options) as mount:
        found = logged(openmpi, tmp_path, mount)
    assert (found["type"], found["mount_point"]) == ("ext4", str(mount))
    assert (found["block_bytes"], found["fragment_bytes"]) == (block, block)
    assert {"rw", *options.split(",")} <= set(found["mount_options"]) and "relatime" not in found["mount_options"]
    assert found["source"].startswith("/dev/loop") and stat.S_ISBLK(Path(found["source"]).stat().st_mode)


def test_size_and_options_of_tmpfs(openmpi, tmp_path):
    with memory(tmp_path / "memory", "size=64m,mode=0750") as mount:
        found = logged(openmpi, tmp_path, mount)
    assert (found["type"], found["total_bytes"], found["mount_point"]) == ("tmpfs", 64 * 2**20, str(mount))
    assert {"size=65536k", "mode=750"} <= set(found["mount_options"])


def test_server_and_volume_of_glusterfs(openmpi, tmp_path):
    with glusterfs(tmp_path) as mount:
        found = logged(openmpi, tmp_path, mount)
    assert (found["type"], found["source"]) == ("fuse.glusterfs", "10.231.8.1:cup")
    assert found["block_bytes"] and found["total_bytes"] % found["fragment_bytes"] == 0
    log = records(tmp_path / "ftio.jsonl")
    [layout], [repetition] = (logs_made.of_kind(log, kind) for kind in ("layout", "repetition"))
    bricks = {server.partition(":")[2] for server in layout["servers"]}
    assert bricks <= {f"{tmp_path}/brick{number}" for number in range(3)}
    assert [one["stripes"] for one in repetition["striping"]] == [None]  # clients cannot read the size of shards


def made(**changes):
    return Filesystem(**logs_made.file_system("nfs4") | changes)


@pytest.mark.parametrize(
    ("source", "name"),
    [("mgs@tcp:/work", "lustre mgs@tcp:/work"), ("/dev/sda1", "lustre at /scratch"), (None, "lustre at /scratch")],
)
def test_a_file_system_is_named_by_its_server_or_else_by_its_mount_point(source, name):
    """A device may have another name after the next mount."""
    assert made(type="lustre", source=source).name == name
    assert made(type="lustre", source=None, mount_point=None).name == "lustre"


def facts_of(tmp_path, **changes):
    log = ftio_log()
    log[0]["filesystem"].update(changes)
    return facts(score_log(logs_made.write(tmp_path / "ftio.jsonl", log)).log)


def test_facts_change_with_the_parameters_and_not_with_the_mount(tmp_path):
    before = facts_of(tmp_path, mount_options=["rw", "vers=4.2", "rsize=1048576", "clientaddr=10.0.0.9"])
    assert (before["file system"], before["mount options"]) == ("lustre server:/scratch", "rsize=1048576, rw, vers=4.2")
    assert before["block size"] == "1 MiB, allocated in units of 512 byte"
    again = facts_of(tmp_path, mount_options=["clientaddr=10.0.0.8", "rw", "rsize=1048576", "vers=4.2"])
    assert again == before
    for changes, name in (
        ({"mount_options": ["rw", "vers=4.2", "rsize=65536"]}, "mount options"),
        ({"source": "other:/scratch"}, "file system"),
        ({"block_bytes": 4096}, "block size"),
    ):
        options = {"mount_options": ["rw", "vers=4.2", "rsize=1048576"]}
        assert [key for key, value in facts_of(tmp_path, **options | changes).items() if value != before[key]] == [name]


def test_how_full_the_file_system_is_and_what_others_used_are_numbers(tmp_path):
    found = facts_of(tmp_path, total_bytes=4 * 2**20, free_bytes=2**20)
    assert found["fill of the file system (%)"] == 75.0
    assert isinstance(found["cores of a host that others used"], float)
    assert "fill of the file system (%)" not in facts_of(tmp_path, total_bytes=0, free_bytes=0)
    target = {"name": "work-OST0003", "total_bytes": 2**20, "free_bytes": 2**17}
    assert facts_of(tmp_path, fullest_target=target)["fill of its fullest target (%)"] == 87.5
    assert "fill of its fullest target (%)" not in found


def test_the_largest_number_of_stripes_is_a_fact(tmp_path):
    """Composite layouts have more stripes in longer files."""
    log = ftio_log()
    found = logs_made.of_kind(log, "repetition")
    found[0]["striping"] = [logs_made.striping(stripes=n, stripe_bytes=n * 2**20, pool="flash") for n in (1, 16, 9)][:2]
    assert facts(score_log(logs_made.write(tmp_path / "a", log)).log)["stripes"] == "16 stripes of 16 MiB, pool flash"
    for record in found:
        record["striping"] = [logs_made.striping(parts=None, stripes=None, stripe_bytes=None)]
    assert "stripes" not in facts(score_log(logs_made.write(tmp_path / "b", log)).log)


def test_the_report_has_the_parameters(tmp_path):
    log = ftio_log()
    log[0]["filesystem"].update(source="<b>:/x", mount_options=["rw", "stripe=16"], fragment_bytes=4096)
    place = next(number for number, record in enumerate(log) if record["record"] == "repetition")
    log[place]["striping"] = [logs_made.striping(parts=3)]
    files = [0] + [1] * (log[0]["ranks"] - 1)
    log.insert(place, {"record": "layout", "servers": ["c a", "b"], "files": files, "repetition": 1})
    path = logs_made.write(tmp_path / "ftio.jsonl", logs_made.numbered(log))
    assert run("report", path, "-o", tmp_path / "page.html").exit_code == 0
    page = (tmp_path / "page.html").read_text()
    section = page.partition(">File system</h3>")[2].partition("<h3")[0]
    for text in (
        "&lt;b&gt;:/x",
        "rw, stripe=16",
        "1 MiB, allocated in units of 4 KiB",
        "/scratch",
        "3: a, b, c",
        "1 MiB in the widest of 3 parts",
    ):
        assert text in section
