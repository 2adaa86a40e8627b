# SPDX-License-Identifier: Apache-2.0
"""Memory errors and leaks of b_eff's kernel, by the compiler's sanitizers and valgrind."""

import os
import shutil
import subprocess
from dataclasses import replace

import pytest
from b_eff_runs import network
from builds import FAULTS, OPEN_MPI
from kernel_runs import run
from raw_log import read_log

__all__ = ["network"]  # a fixture


def short_run(mpi, ranks, log, wrapper=(), **settings):
    """A run of b_eff in which `wrapper` comes before the kernel."""
    options = ["--memory-per-process", "1MiB", "--patterns", "ring,bisection,cartesian_2d,ping_pong"]
    command = mpi.command(
        ranks, "b_eff", "--log", log, *options, "--first-loop-length", "1", "--time-budget", "1", env=settings
    )
    kernel = command.index(str(mpi.bin / "b_eff"))
    return run([*command[:kernel], *wrapper, *command[kernel:]], env=mpi.environment)


@pytest.mark.parametrize("ranks", [pytest.param(2, marks=pytest.mark.prove), 3])
def test_address_and_undefined_behaviour_sanitizers_are_silent(sanitized, openmpi, network, tmp_path, ranks):
    """Leaks are left to valgrind, which can tell ours from those of the MPI library."""
    done = short_run(
        replace(openmpi, bin=sanitized / "install" / "bin"),
        ranks,
        tmp_path / "log.jsonl",
        ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0",
        MODEL_LATENCY="1e-3",
        LD_PRELOAD=network("openmpi"),
    )
    assert done.returncode == 0, done.stderr
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr
    assert read_log(tmp_path / "log.jsonl").end["status"] == "complete"


def test_unit_tests_are_clean_under_the_sanitizers(sanitized):
    """Leaks of these are only those of the tests themselves."""
    environment = os.environ | OPEN_MPI | {"ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(
        ["ctest", "--test-dir", sanitized, "--output-on-failure"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def valgrind(folder):
    """The words before a kernel that valgrind watches; a report of each process is in the folder. For MPICH, which
    itself is nearly clean; faults/valgrind.supp names the rest."""
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind on this machine")
    return [
        "valgrind",
        "--quiet",
        "--leak-check=full",
        "--show-leak-kinds=definite",
        "--errors-for-leak-kinds=definite",
        "--error-exitcode=7",
        f"--suppressions={FAULTS / 'valgrind.supp'}",
        f"--log-file={folder}/valgrind.%p",
    ]


@pytest.mark.prove
@pytest.mark.parametrize("ranks", [2, 3])
def test_valgrind_finds_no_error_and_no_leak(mpich, network, tmp_path, ranks):
    settings = {"LD_PRELOAD": network("mpich"), "MODEL_LATENCY": "1e-3"}
    done = short_run(mpich, ranks, tmp_path / "log.jsonl", valgrind(tmp_path), **settings)
    reports = [path.read_text() for path in tmp_path.glob("valgrind.*")]
    assert done.returncode == 0, "\n".join([*reports, done.stderr])
    assert len(reports) == ranks + 1, "those of the ranks and of the keeper that rank 0 started"
    assert read_log(tmp_path / "log.jsonl").end["status"] == "complete"
