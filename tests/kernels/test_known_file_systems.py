# SPDX-License-Identifier: Apache-2.0
"""b_eff_io, ftio and priomark on file systems whose truth is known: a disk that moves a known number of bytes per
second, and a real distributed file system (GlusterFS), on such a disk too.

On the disk, b_eff_io goes through the page cache as programs do: a write with its sync, and a read after eviction,
cannot be faster than the disk. ftio goes past the page cache (--direct).
"""

import json
import shutil
import subprocess
from itertools import count

import numpy as np
import pytest
from b_eff_io_files import files_by_definition
from b_eff_io_runs import EACH, SMALL
from file_systems import disk, glusterfs
from kernel_runs import good
from rates import about, assert_rates
from raw_log import checked_bytes, read_log

from coffeecup.postprocess.benchmarks.b_eff_io.definition import METHODS, TYPES
from coffeecup.postprocess.benchmarks.priomark import figures as priomark_plots
from coffeecup.postprocess.benchmarks.scoring import score_log, score_logs
from coffeecup.postprocess.reports.page import html, items

RATE = 50_000_000  # byte/s, each way
MBYTE = 1e6


@pytest.fixture(scope="module")
def throttled_disk(tmp_path_factory):
    with disk(tmp_path_factory.mktemp("throttled"), 2, bytes_per_second=RATE, in_memory=True) as folder:
        yield folder


@pytest.fixture(scope="module")
def distributed(tmp_path_factory):
    with glusterfs(tmp_path_factory.mktemp("glusterfs")) as folder:
        yield folder


def run(mpi, kernel, ranks, directory, log, *options):
    good(mpi.run(ranks, kernel, f"--directory {directory} --log {log}", *options))
    return read_log(log)


def run_on_glusterfs(mpi, kernel, ranks, directory, log, *options):
    """GlusterFS 10.3 now and then (in one of about a hundred runs on a loaded machine) stores the last, short request
    of a write with the data of the request of 128 KiB before it. The kernel is right to refuse such a run: another one
    takes its place, twice at most."""
    for _ in range(2):
        done = mpi.run(ranks, kernel, f"--directory {directory} --log {log}", *options)
        if "bytes were read wrong" not in done.stdout + done.stderr:
            good(done)
            return read_log(log)
        log.unlink()
        for kept in directory.glob(f"{kernel}*"):
            shutil.rmtree(kept)
    return run(mpi, kernel, ranks, directory, log, *options)


@pytest.fixture
def logs(tmp_path):
    """Names of logs, one for each run."""
    return (tmp_path / f"{number}.jsonl" for number in count())


@pytest.mark.rate
def test_b_eff_io_on_a_disk_of_known_bandwidth_is_that_bandwidth(openmpi, throttled_disk, logs):
    expected = {"b_eff_io": about(RATE, 0.07)}
    # with a first write come the file system's own blocks and its journal
    expected |= {name: about(RATE, 0.12) for name in METHODS}
    # a sixth of the data each: what is read ahead for a pattern that ends, or left of a pause, weighs more
    expected |= {name.replace("-", "_"): about(RATE, 0.15) for name in TYPES}

    def measured():
        options = "--partitions 2 --scheduled-time 24 --evict --check-all"
        log = run(openmpi, "b_eff_io", 2, throttled_disk, next(logs), *SMALL, options)
        assert checked_bytes(log) == sum(r["bytes"] for r in log.records["measurement"] if r["method"] == "read")
        assert not list(throttled_disk.glob("b_eff_io*"))
        metrics = score_log(log.path).metrics
        return {name: metrics[name].value * MBYTE for name in expected}

    assert_rates(measured, expected)


@pytest.mark.rate
def test_ftio_past_the_page_cache_on_a_disk_of_known_bandwidth_is_that_bandwidth(openmpi, tmp_path, logs):
    """One process, 16 MiB, on a disk so slow that a stage takes more than a second: the limit lets pass a tenth of a
    second's bytes after a pause. Reads and writes have a limit each: a series is as fast as its writes. The
    mini-squares of the transpose are too small to reach the limit."""
    slow, matrix = RATE // 4, 16 * 2**20

    def measured():
        log = run(openmpi, "ftio", 1, folder, next(logs), "--input 32 --direct")
        seconds = {(r["stage"], r["activity"]): r["elapsed_seconds"] for r in log.records["measurement"]}
        taken = {
            stage: sum(seconds.get((stage, activity), 0) for activity in ("read", "write", "flush"))
            for stage in ("initialise", "series_1", "transpose")
        }
        assert log.plan["matrix_bytes"] == matrix and taken["transpose"] > matrix / slow
        assert not list(folder.glob("ftio*"))
        rates = {stage: matrix / taken[stage] for stage in ("initialise", "series_1")}
        return rates | {"io_fraction": score_log(log.path).metrics["io_fraction"].value}

    # a transform that waits for its core lowers the fraction, too
    expected = dict.fromkeys(("initialise", "series_1"), about(slow, 0.1)) | {"io_fraction": (0.9, 1)}
    with disk(tmp_path, 1, bytes_per_second=slow, in_memory=True) as folder:
        assert_rates(measured, expected)


@EACH
@pytest.mark.in_turn
def test_b_eff_io_on_glusterfs_lays_every_byte_where_the_definition_says(mpi, distributed, tmp_path, ranks=3):
    """With all types, every byte checked by the kernel, and read back here from the volume."""
    folder = distributed / mpi.name / mpi.settings.get("OMPI_MCA_io", "default")
    folder.mkdir(parents=True)
    options = f"--partitions {ranks} --scheduled-time 3 --space-limit 2GiB --check-all --keep"
    log = run_on_glusterfs(mpi, "b_eff_io", ranks, folder, tmp_path / "log.jsonl", *SMALL, options)
    assert log.run["filesystem"]["type"] == "fuse.glusterfs"
    assert checked_bytes(log)
    [scratch] = folder.iterdir()
    expected = dict(files_by_definition(list(map(json.loads, log.path.read_text().splitlines())), 0, scratch))
    assert {path.name for path in scratch.iterdir() if not path.name.startswith(".")} == set(expected)
    for name, data in expected.items():
        assert np.array_equal(np.fromfile(scratch / name, dtype=np.uint8), data), name
    subprocess.run(["rm", "-r", folder], check=True)


def test_value_on_glusterfs_is_the_mean_over_types_of_bytes_over_time(openmpi, distributed, tmp_path):
    """The reduction of the paper by hand, of a run on a distributed file system."""
    options = "--partitions 2 --scheduled-time 3"
    log = run_on_glusterfs(openmpi, "b_eff_io", 2, distributed, tmp_path / "log.jsonl", *SMALL, options)
    rate = {(r["method"], r["type"]): r["bytes"] / r["elapsed_seconds"] / MBYTE for r in log.records["pattern_type"]}
    mean = {method: (sum(rate[method, name] for name in TYPES) + rate[method, "scatter"]) / 6 for method in METHODS}
    metrics = score_log(log.path).metrics
    expected = 0.25 * mean["write"] + 0.25 * mean["rewrite"] + 0.5 * mean["read"]
    assert metrics["b_eff_io"].value == pytest.approx(expected, rel=1e-9)
    assert not list(distributed.glob("b_eff_io*"))


PARALLEL = "".join(
    f'{name} = {{ process_size = "256KiB"; {keys} }};\n'
    for name, keys in (("common_file", 'block_size = "16KiB";'), ("strided", 'block_size = "16KiB";'), ("async", ""))
)


@EACH
@pytest.mark.in_turn
def test_priomark_compares_glusterfs_with_a_local_disk_as_the_paper_compares_its_file_systems(
    mpi, distributed, tmp_path
):
    """The paper's figure 3: the mean of the parallel sub-benchmarks, every byte checked, by hand from what both logs
    measured."""
    workload = tmp_path / "parallel.cfg"
    workload.write_text("check = true;\n" + PARALLEL)
    (tmp_path / "disk").mkdir()
    by_hand, paths = {}, []
    for directory in (tmp_path / "disk", distributed):
        paths.append(tmp_path / f"{len(paths)}.jsonl")
        log = run_on_glusterfs(mpi, "priomark", 2, directory, paths[-1], f"--workload {workload}")
        assert checked_bytes(log) == sum(m["read_bytes"] for m in log.records["measurement"])
        rates = {}
        for m in log.records["measurement"]:
            rate = (m["read_bytes"] + m["written_bytes"]) / m["elapsed_seconds"] / MBYTE
            rates.setdefault(m["benchmark"], []).append(rate)
        assert set(rates) == {"common_file", "strided", "async"} and not list(directory.glob("priomark*"))
        by_hand[log.run["filesystem"]["type"]] = np.mean([np.mean(values) for values in rates.values()])
    assert len(by_hand) == 2 and "fuse.glusterfs" in by_hand
    figure = priomark_plots.over_sizes(score_logs(paths))
    drawn = figure.data.set_index("filesystem")["mbyte_per_second"].to_dict()  # "host, ext4 at /"
    assert {label.split(", ")[1].split()[0]: value for label, value in drawn.items()} == pytest.approx(by_hand)
    text = html(items(paths))
    assert all(f"{name} " in figure.description for name in by_hand) and "a factor of" in figure.description
    assert "Bandwidth over the number of processes, by file system and workload" in text


@pytest.mark.rate
def test_glusterfs_on_a_disk_of_known_bandwidth_writes_no_faster(openmpi, tmp_path, logs):
    """A sync reaches the servers' disk: initial write and rewrite have its bandwidth, less what many syncs of many
    shards cost there. Reads come from the servers' memory."""

    def measured():
        log = run_on_glusterfs(openmpi, "b_eff_io", 2, volume, next(logs), *SMALL, "--partitions 2 --scheduled-time 15")
        assert not list(volume.glob("b_eff_io*"))
        return {name: score_log(log.path).metrics[name].value * MBYTE for name in ("write", "rewrite")}

    with disk(tmp_path, 2, bytes_per_second=RATE, in_memory=True) as servers, glusterfs(servers) as volume:
        assert_rates(measured, dict.fromkeys(("write", "rewrite"), (0.5 * RATE, 1.1 * RATE)))
