# SPDX-License-Identifier: Apache-2.0
"""--fill-memory of b_eff_io and PRIOMark: what room it leaves for the page cache, as fincore (util-linux) sees it, in a
control group with little memory; when it is refused; what a log has to state."""

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import kernel_runs
import pytest
from kernel_runs import error, good
from logs_made_b_eff_io import b_eff_io_log
from logs_made_priomark import priomark_log
from raw_log import read_log
from scores import keys

from coffeecup.postprocess.benchmarks.scoring import score_log

KIB, MIB, GIB = 2**10, 2**20, 2**30
GROUPS, UNIFIED = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
LIMIT_BYTES = 256 * MIB
FILE_BYTES = 150 * MIB
WORKLOAD = """evict = false; single_file = { process_size = "150MiB"; block_size = "1MiB"; read_write = "1:0";
    patterns = "read-write"; };"""


def own_group():
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return GROUPS / path.strip("/"), "memory.limit_in_bytes"
        if not controllers and (UNIFIED / "memory.stat").exists():
            return UNIFIED / path.strip("/"), "memory.max"
    return None, None


@contextmanager
def little_memory():
    """Joins a control group with LIMIT_BYTES of memory, when called in a child process."""
    parent, limit = own_group()
    if os.geteuid() != 0 or parent is None or not parent.exists():
        pytest.skip("only root can make a control group that limits memory")
    group = parent / f"coffeecup-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / limit).write_text(str(LIMIT_BYTES))
    except OSError as failure:
        pytest.skip(f"cannot make a control group that limits memory: {failure}")
    try:
        yield lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        group.rmdir()


def run(kernel, folder, *options, **popen):
    (folder / "workload.cfg").write_text(WORKLOAD)
    (folder / "disk").mkdir(exist_ok=True)
    words = ("--workload", folder / "workload.cfg", "--directory", folder / "disk", "--log", folder / "log.jsonl")
    return kernel_runs.run([kernel, *words, *options], **popen)


def cached_bytes(path):
    done = kernel_runs.run(["fincore", "-nbo", "RES", path], check=True)
    return int(done.stdout)


def test_page_cache_gives_way_and_gets_its_room_back(serial, tmp_path):
    """70 % of 256 MiB leave 77 MiB for everything else; without them, the file of 150 MiB stays in the cache."""
    if not shutil.which("fincore"):
        pytest.skip("no fincore on this machine (Debian: util-linux-extra)")
    cached = {}
    with little_memory() as join:
        for share in (None, "70%"):
            folder = tmp_path / str(share)
            folder.mkdir()
            options = ["--fill-memory", share] if share else []
            good(run(serial.bin / "priomark", folder, "--keep", *options, preexec_fn=join))
            [file] = (folder / "disk").glob("priomark-*/single-000000")
            assert file.stat().st_size == FILE_BYTES
            cached[share] = cached_bytes(file)
            file.unlink()
    assert cached[None] > 0.95 * FILE_BYTES
    assert cached["70%"] < 0.3 * LIMIT_BYTES
    log = read_log(tmp_path / "70%" / "log.jsonl")
    assert log.run["options"]["fill-memory"] == log.plan["fill_memory_percent"] == 70
    [fill] = log.records["memory_fill"]
    [host] = fill["hosts"]
    page = os.sysconf("SC_PAGESIZE")
    assert host["filled_bytes"] == LIMIT_BYTES // 100 * 70 // page * page
    assert host["resident_bytes"] == host["filled_bytes"] < host["available_before_bytes"] <= LIMIT_BYTES
    found = score_log(log.path)
    assert "filled_memory" in keys(found) and "fill_not_resident" not in keys(found)


def test_share_that_does_not_fit_is_refused(serial, tmp_path):
    with little_memory() as join:
        done = run(serial.bin / "priomark", tmp_path, "--fill-memory", "95%", preexec_fn=join)
    assert done.returncode == 2
    bytes_of_share = LIMIT_BYTES // 100 * 95 // 4096 * 4096
    assert f"--fill-memory 95%: {bytes_of_share} bytes of a node are to be filled" in error(done)
    assert "choose a smaller share" in error(done) and not list((tmp_path / "disk").iterdir())


def test_memory_of_other_programs_counts(serial, tmp_path):
    """Half of the group's memory is in use: 60 % do not fit, 30 % do."""
    with little_memory() as join:
        other = subprocess.Popen(
            ["python3", "-c", f"x = bytearray(b'x') * {LIMIT_BYTES // 2}; print(flush=True); input()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            preexec_fn=join,  # noqa: PLW1509, nothing else runs in this process
        )
        try:
            other.stdout.readline()
            done = run(serial.bin / "priomark", tmp_path, "--fill-memory", "60%", preexec_fn=join)
            assert done.returncode == 2 and "are available" in error(done)
            good(run(serial.bin / "priomark", tmp_path, "--fill-memory", "30%", preexec_fn=join))
        finally:
            other.communicate(b"\n")


def test_b_eff_io_fills_the_memory_after_writing_and_by_all_processes_together(openmpi, tmp_path):
    options = ("--memory-per-process", "64MiB", "--scheduled-time", 0.3, "--partitions", "1,2", "--fill-memory", "2%")
    good(openmpi.run(2, "b_eff_io", "--directory", tmp_path, "--log", tmp_path / "log.jsonl", *options))
    log = read_log(tmp_path / "log.jsonl")
    [fill] = log.records["memory_fill"]
    [host], [node] = fill["hosts"], log.run["hosts"]
    share = node["memory_bytes"] // 100 * 2
    assert share - 2 * 64 * KIB < host["filled_bytes"] <= share
    last_read = max(r["sequence"] for r in log.records["pattern_type"] if r["method"] == "read")
    assert fill["sequence"] > last_read
    assert "filled_memory" in keys(score_log(log.path))


@pytest.mark.parametrize("share", ["0%", "96%", "80", "80 %", "8.5%", "much", "-1%"])
def test_share_is_a_whole_percentage(serial, tmp_path, share):
    done = run(serial.bin / "priomark", tmp_path, "--fill-memory", share)
    assert done.returncode == 2 and "is not a whole percentage from 1% to 95%" in error(done)


# --- what a log has to state ------------------------------------------------------------------------------------------


def filled(records, percent=50, option=50, plan=50, **hosts):
    """A log of two nodes whose memory was filled; `hosts` are fields that differ on the second one."""
    run, planned, *others = records
    run = {**run, "options": {**run["options"], "fill-memory": option}}
    halves = [host["memory_bytes"] // 100 * 50 for host in run["hosts"]]
    fill = [
        {"filled_bytes": half, "resident_bytes": half, "available_before_bytes": host["memory_bytes"]}
        for half, host in zip(halves, run["hosts"])
    ]
    fill[-1] |= hosts
    record = {"record": "memory_fill", "share_percent": percent, "hosts": fill}
    behind_data_check = run["benchmark"] == "priomark"
    place = next(number for number, other in enumerate(others) if other["record"] == "data_check") + behind_data_check
    added = [record] if percent else []
    body = [run, {**planned, "fill_memory_percent": plan}, *others[:place], *added, *others[place:]]
    body[-1] = {**body[-1], "records": len(body)}
    return [{**entry, "sequence": number} for number, entry in enumerate(body)]


@pytest.mark.parametrize("made", [lambda: b_eff_io_log(partitions=(8,)), lambda: priomark_log(ranks=8)])
def test_log_must_agree_with_itself_on_the_fill(scored, made):
    records = made()
    ranks = len(records[0]["hosts"][1]["ranks"])
    share = records[0]["hosts"][1]["memory_bytes"] // 100 * 50
    assert {"filled_memory", "fill_not_resident"} & set(keys(scored(filled(records)))) == {"filled_memory"}
    assert "filled_memory" not in keys(scored(records))
    for wrong in ({"option": None}, {"plan": None}, {"percent": None}, {"percent": 40}):
        assert "plan, option and record agree" in scored(filled(records, **wrong))
    least = share - ranks * MIB + 1
    assert "filled_memory" in keys(scored(filled(records, filled_bytes=least, resident_bytes=0)))
    for wrong in (least - 1, share + 1):
        assert "each host was filled by this share" in scored(filled(records, filled_bytes=wrong, resident_bytes=0))
    assert "no more was resident" in scored(filled(records, resident_bytes=share + 1))
    swapped = filled(records)
    next(record for record in swapped if record["record"] == "memory_fill")["hosts"].pop()
    assert "each host was filled by this share" in scored(swapped)


def test_memory_that_was_swapped_out_is_stated(scored):
    records = priomark_log(ranks=8)
    share = records[0]["hosts"][0]["memory_bytes"] // 100 * 50
    for resident, stated in ((share - share // 50 - 100, True), (share - share // 50 + 100, False)):
        found = scored(filled(records, resident_bytes=resident))  # one node of two: 1 % of both is 2 % of it
        assert ("fill_not_resident" in keys(found)) == stated
