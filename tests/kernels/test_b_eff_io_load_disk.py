# SPDX-License-Identifier: Apache-2.0
"""b_eff_io_load on disks of known bandwidth: one for all nodes, or one for the victims and one for the others.
Reads and writes of a disk are limited each on their own, so a load that reads takes nothing from writes."""

from contextlib import contextmanager
from statistics import median

import pytest
from file_systems import disk
from kernel_runs import good, mounted_instead, on_nodes, run

from coffeecup.postprocess.benchmarks.b_eff_io_load.records import Load, Loaded
from coffeecup.postprocess.benchmarks.scoring import read_log, score_log

RATE = 50_000_000  # byte/s, each way
TWO = [("a", 1), ("b", 1)]


@contextmanager
def of_both(folder):
    """Two disks."""
    for name in ("first", "second"):
        (folder / name).mkdir()
    with (
        disk(folder / "first", 1, bytes_per_second=RATE, in_memory=True) as first,
        disk(folder / "second", 1, bytes_per_second=RATE, in_memory=True) as second,
    ):
        yield first, second


def on_two_disks(mpi, disks, *options):
    """A process on each of two nodes: both find a disk of their own at the path of the first one."""
    return mounted_instead(on_one_disk(mpi, *options), mpi.bin / "b_eff_io_load", *disks)


def on_one_disk(mpi, *options):
    return on_nodes(mpi, TWO, "b_eff_io_load", *options)


def measured(mpi, folder, command, directory, kind):
    log = folder / "log.jsonl"
    options = ["--log", log, "--directory", directory, "--kinds", kind, "--scheduled-time", 180, "--load-file", "16MiB"]
    good(run(command(mpi, *options), env=mpi.impatient.environment))
    return log


def factor(log, method, kind):
    return score_log(log).metrics[f"{method}_impact_by_{kind}"].value


@pytest.mark.prove
def test_load_that_reads_from_the_same_disk_takes_its_share_of_reads_and_nothing_of_writes(openmpi, tmp_path):
    """Two processes read from the disk at the same time. The one that generates the load evicts and checks its data in
    between: its share is at most a half, and so large that the victim loses a quarter at least."""
    with disk(tmp_path, 1, bytes_per_second=RATE, in_memory=True) as folder:
        log = measured(openmpi, tmp_path, on_one_disk, folder, "read")
    print(score_log(log).metrics)
    assert 4 / 3 < factor(log, "read", "read") < 2.2
    assert score_log(log).metrics["read_impact_by_read_low"].value > 1.2
    for method in ("write", "rewrite"):
        assert factor(log, method, "read") == pytest.approx(1, abs=0.15)
    for record in read_log(log).all(Load):
        assert record.received_bytes / record.elapsed_seconds < 1.1 * RATE
    for method, load, share in (("read", None, (0.85, 1.1)), ("read", "read", (0.45, 0.75))):
        passes = [r for r in read_log(log).all(Loaded) if (r.method, r.load) == (method, load)]
        assert share[0] < median(r.bytes / r.seconds for r in passes) / RATE < share[1]


@pytest.mark.prove
def test_load_that_writes_to_the_same_disk_takes_nothing_of_reads(openmpi, tmp_path):
    with disk(tmp_path, 1, bytes_per_second=RATE, in_memory=True) as folder:
        log = measured(openmpi, tmp_path, on_one_disk, folder, "write")
    print(score_log(log).metrics)
    assert factor(log, "read", "write") == pytest.approx(1, abs=0.15)
    assert score_log(log).metrics["load_bandwidth_write"].value < 1.1e-6 * RATE


@pytest.mark.prove
@pytest.mark.parametrize("kind", ["read", "write"])
def test_load_on_another_disk_costs_nothing(openmpi, tmp_path, kind):
    with of_both(tmp_path) as disks:
        log = measured(openmpi, tmp_path, lambda mpi, *options: on_two_disks(mpi, disks, *options), disks[0], kind)
    print(score_log(log).metrics)
    for method in ("write", "rewrite", "read"):
        assert factor(log, method, kind) == pytest.approx(1, abs=0.1)
    assert score_log(log).metrics[f"load_bandwidth_{kind}"].value > 0.5e-6 * RATE
