# SPDX-License-Identifier: Apache-2.0
"""b_eff_io_load with faults: full and removed directories, killed processes, memory errors and leaks. However a
run ends, it leaves no files. Nodes are made up."""

import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import replace

import pytest
from builds import PATIENCE, shared_library
from conftest import NOT_COMPLETE
from file_systems import memory, vanish
from kernel_runs import error, fill, of_kind, on_nodes, rank_processes, records, run, started, wait_until
from test_b_eff_kernel_memory import valgrind

from coffeecup.postprocess.benchmarks.scoring import read_log, score_log
from coffeecup.postprocess.logs.reader import LogError

UNEVEN = [("a", 2), ("b", 1)]
VICTIMS, GENERATOR = [0, 1], 2
LOAD = ["--load-file", "2MiB"]


def leftovers(folder):
    return list(folder.glob("b_eff_io_load-*"))


def command(mpi, folder, *options, directory=None, env=None):
    where = ["--log", folder / "log.jsonl", "--directory", directory or folder]
    return on_nodes(mpi, UNEVEN, "b_eff_io_load", *where, *LOAD, *options, env=env)


def going_on(mpi, folder, *options, **settings):
    """A run in which each load was there."""
    words = command(mpi, folder, "--scheduled-time", 60, *options, **settings)

    def under_load():
        return (
            len(of_kind(folder / "log.jsonl", "loaded_trial")) >= 3 and len(of_kind(folder / "log.jsonl", "loaded")) > 0
        )

    return started(words, under_load, env=mpi.environment)


def wait_until_closed(folder):
    """By rank 0, or by the keeper if rank 0 was killed; neither leaves a file or a process."""
    log = folder / "log.jsonl"
    wait_until(lambda: records(log)[-1]["record"] == "end")
    wait_until(lambda: not leftovers(folder) and not rank_processes("b_eff_io_load", log))


def ended(process):
    output, errors = process.communicate(timeout=PATIENCE)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


@pytest.mark.in_turn
@pytest.mark.parametrize("rank", [*VICTIMS, GENERATOR], ids=["first victim", "victim", "generator"])
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_killed_process_ends_the_run_without_a_score_and_without_files(request, tmp_path, mpi, rank):
    mpi = request.getfixturevalue(mpi)
    with going_on(mpi, tmp_path) as process:
        assert leftovers(tmp_path)
        os.kill(rank_processes("b_eff_io_load", tmp_path / "log.jsonl")[rank], signal.SIGKILL)
        assert ended(process).returncode != 0
        wait_until_closed(tmp_path)
    assert records(tmp_path / "log.jsonl")[-1]["status"] in NOT_COMPLETE
    with pytest.raises(LogError):
        score_log(tmp_path / "log.jsonl")


def test_killed_run_leaves_nothing(openmpi, tmp_path):
    with going_on(openmpi, tmp_path) as process:
        for number in rank_processes("b_eff_io_load", tmp_path / "log.jsonl").values():
            with suppress(ProcessLookupError):  # the launcher may have been faster
                os.kill(number, signal.SIGKILL)
        ended(process)
        wait_until(lambda: not leftovers(tmp_path))


def test_interrupted_run_leaves_nothing(openmpi, tmp_path):
    with going_on(openmpi, tmp_path) as process:
        process.send_signal(signal.SIGTERM)
        ended(process)
        wait_until_closed(tmp_path)
    assert records(tmp_path / "log.jsonl")[-1]["status"] in NOT_COMPLETE


def test_disk_that_fills_up_ends_the_run_with_a_clear_error(openmpi, tmp_path):
    with memory(tmp_path / "small", "size=64m") as small:
        with going_on(openmpi, tmp_path, "--space-limit", "32MiB", directory=small) as process:
            fill(small, process)
            done = ended(process)
        assert done.returncode == 1
        assert "No space left on device" in error(done) or "is the disk full?" in error(done)
        wait_until(lambda: of_kind(tmp_path / "log.jsonl", "end"))
        assert of_kind(tmp_path / "log.jsonl", "end")[0]["status"] == "failed" and not leftovers(small)


def test_directory_that_is_removed_ends_the_run_with_a_clear_error(openmpi, tmp_path):
    with going_on(openmpi, tmp_path) as process:
        [scratch] = leftovers(tmp_path)
        vanish(scratch)
        done = ended(process)
    assert done.returncode == 1 and "error: " in done.stderr
    assert of_kind(tmp_path / "log.jsonl", "end")[0]["status"] == "failed" and not leftovers(tmp_path)


def test_file_of_a_load_that_hangs_ends_the_run_with_its_reason(openmpi, tmp_path):
    """Writes of the load take longer than the watchdog allows."""
    (tmp_path / "notes").mkdir()
    slow = {
        "LD_PRELOAD": shared_library(tmp_path, "slow_files"),
        "SLOW_FILES_SECONDS": PATIENCE,
        "SLOW_FILES_NOTES": tmp_path / "notes",
    }
    words = command(openmpi, tmp_path, "--scheduled-time", 1, "--watchdog", 3, env=slow)
    done = run(words, env=openmpi.environment)
    assert done.returncode != 0
    assert "no progress for 3 s in a file of the load read; --watchdog sets this time" in done.stderr
    wait_until_closed(tmp_path)
    with pytest.raises(LogError, match="no progress for 3 s"):
        score_log(tmp_path / "log.jsonl")


# --- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.prove
def test_sanitizers_are_silent_under_load(sanitized, openmpi, tmp_path):
    """Leaks are left to valgrind, which can tell ours from those of the MPI library."""
    mpi = replace(openmpi, bin=sanitized / "install" / "bin")
    words = command(
        mpi, tmp_path, "--scheduled-time", 1, env={"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}
    )
    done = run(words, env=mpi.environment)
    assert done.returncode == 0, done.stderr
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr
    assert read_log(tmp_path / "log.jsonl").end.status == "complete"


@pytest.mark.prove
def test_valgrind_finds_no_error_and_no_leak_under_load(mpich, tmp_path):
    words = command(mpich, tmp_path, "--scheduled-time", 1)
    kernel = str(mpich.bin / "b_eff_io_load")
    watched = [word for part in words for word in ((*valgrind(tmp_path), part) if part == kernel else (part,))]
    done = run(watched, env=mpich.environment)
    reports = [path.read_text() for path in tmp_path.glob("valgrind.*")]
    assert done.returncode == 0, "\n".join([*reports, done.stderr])
    assert len(reports) >= 3 + 1, "those of the processes and of the keeper that rank 0 started"
    assert read_log(tmp_path / "log.jsonl").end.status == "complete"
