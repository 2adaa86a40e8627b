# SPDX-License-Identifier: Apache-2.0
"""How a run of FTIO's kernel ends that cannot go on, and what it leaves alone."""

import os
import signal
from pathlib import Path

import kernel_runs
import pytest
from builds import PATIENCE
from conftest import NOT_COMPLETE
from file_systems import memory, vanish
from ftio_runs import mpi, run
from kernel_runs import error, fill, of_kind, started
from raw_log import read_log

__all__ = ["mpi"]  # a fixture

MIB = 2**20
LONG = ("--input", 24, "--repeat", 10000)


def going_on(mpi, folder, *options, directory=None):
    """A run on two processes that goes on until something ends it, in its own directory below the test's; the log lies
    beside."""
    directory = directory or folder / "disk"
    directory.mkdir(exist_ok=True)
    words = mpi.command(2, "ftio", "--directory", directory, "--log", folder / "ftio.jsonl", *options)
    return started(words, lambda: list(directory.glob("ftio-*/strip-000001")), env=mpi.environment)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_interrupted_run_closes_its_log_and_leaves_nothing(mpi, tmp_path, number):
    with going_on(mpi, tmp_path, *LONG) as process:
        process.send_signal(number)
        process.communicate(timeout=PATIENCE)
        assert process.returncode != 0
        assert not list((tmp_path / "disk").iterdir())
        [end] = of_kind(tmp_path / "ftio.jsonl", "end")
        # a launcher hands on SIGTERM in either case
        assert (end["status"], end["reason"]) == ("interrupted", "SIGTERM")


def test_killed_process_takes_the_run_and_its_files_along(mpi, tmp_path):
    with going_on(mpi, tmp_path, *LONG) as process:
        children = [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
        os.kill(children[-1], signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        assert process.returncode != 0
        assert not list((tmp_path / "disk").iterdir())


def test_removed_directory_ends_the_run_with_a_clear_line(mpi, tmp_path):
    with going_on(mpi, tmp_path, *LONG) as process:
        vanish(tmp_path / "disk")
        _, stderr = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1
        # by one of the ranks, or by both where it strikes them apart
        assert stderr.count("error:") == stderr.count("removed during the run?") in (1, 2)
        [end] = of_kind(tmp_path / "ftio.jsonl", "end")
        assert end["status"] in NOT_COMPLETE


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 8 MiB."""
    with memory(tmp_path / "small", "size=8m") as folder:
        yield folder


def test_too_small_disk_is_refused_before_any_file_is_made(mpi, small_disk, tmp_path):
    done = run(mpi, tmp_path, 2, "--input", "16MiB", "--directory", small_disk)
    assert done.returncode == 2
    assert "8388608 bytes free" in error(done)
    assert not list(small_disk.iterdir())
    assert not (tmp_path / "ftio.jsonl").exists()


def test_disk_that_fills_up_ends_the_run_with_a_clear_line(mpi, small_disk, tmp_path):
    with going_on(mpi, tmp_path, "--input", "5MiB", "--repeat", 10000, directory=small_disk) as process:
        fill(small_disk, process)
        _, stderr = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1
        full = "No space left on device; free some space or choose a smaller --input"
        assert stderr.count("error:") == stderr.count(full) in (1, 2)
        [end] = of_kind(tmp_path / "ftio.jsonl", "end")
        assert end["status"] in NOT_COMPLETE
        assert [path.name for path in small_disk.iterdir()] == ["of others"]


def test_matrix_several_times_larger_than_a_memory_limit_runs_inside_it(mpi, tmp_path):
    limit = 32 * MIB  # of data that is not a file's, each process
    command = mpi.command(2, "ftio", "--input", "256MiB", "--log", tmp_path / "ftio.jsonl")
    command[3:3] = ["prlimit", f"--data={limit}"]
    done = kernel_runs.run(command, env=mpi.environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    log = read_log(tmp_path / "ftio.jsonl")
    assert log.plan["matrix_bytes"] >= 4 * 2 * limit
    assert log.records["repetition"][0]["peak_resident_bytes"] < log.plan["matrix_bytes"] / 8


def test_kernel_writes_no_more_than_its_own_directory(mpi, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "precious").write_text("data")
    done = run(mpi, tmp_path, 2, "--input", 4, "--directory", tmp_path / "disk")
    assert done.returncode == 0
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["precious"]
    assert (tmp_path / "disk" / "precious").read_text() == "data"
