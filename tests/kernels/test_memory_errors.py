# SPDX-License-Identifier: Apache-2.0
"""Memory errors and leaks of the kernels that exchange messages or generate load, and of the unit tests, by the
compiler's sanitizers and valgrind. test_made_up_machine.py has all kernels under the sanitizers."""

import os
import shutil

import pytest
from builds import FAULTS, OPEN_MPI, SANITIZERS, faulty
from kernel_runs import good, on_nodes, run
from raw_log import read_log

PATTERNS = "ring,bisection,cartesian_2d,ping_pong"
B_EFF = f"--memory-per-process 1MiB --patterns {PATTERNS} --first-loop-length 1 --time-budget 1"
LOADS = "--kinds incast,alltoall,broadcast --longest-loop 1 --repetitions 1 --random-patterns 1 --seed 3"
UNEVEN = [("a", 2), ("b", 1), ("c", 2), ("d", 1)]
RUNS = {  # of a kernel: nodes and options
    "b_eff": ([("a", 3)], B_EFF),
    "b_eff of two": ([("a", 2)], B_EFF),
    "b_eff_load": (UNEVEN, f"{LOADS} --memory-per-process 1MiB --first-loop-length 1 --time-budget 86400"),
    "b_eff_io_load": (UNEVEN[:2], "--load-file 2MiB --scheduled-time 1"),
}


def watched(mpi, name, folder, wrapper=(), **settings):
    """A run in which `wrapper` comes before each process of the kernel."""
    kernel, (nodes, options) = name.split()[0], RUNS[name]
    where = f"--log {folder}/log.jsonl" + (f" --directory {folder}" if kernel == "b_eff_io_load" else "")
    words = on_nodes(mpi, nodes, kernel, where, options, env=settings)
    program = str(mpi.bin / kernel)
    done = run([part for word in words for part in ((*wrapper, word) if word == program else (word,))],
               env=mpi.environment)  # fmt: skip
    assert done.returncode == 0, "\n".join([*(path.read_text() for path in folder.glob("valgrind.*")), done.stderr])
    assert read_log(folder / "log.jsonl").end["status"] == "complete"
    return done


@pytest.mark.parametrize("name", ["b_eff", *(pytest.param(name, marks=pytest.mark.prove) for name in [*RUNS][1:])])
def test_address_and_undefined_behaviour_sanitizers_are_silent(openmpi_sanitized, tmp_path, name):
    model = faulty(openmpi_sanitized, "network", MODEL_LATENCY="1e-3") if name.split()[0] == "b_eff" else {}
    done = watched(openmpi_sanitized, name, tmp_path, **SANITIZERS, **model)
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr


def test_unit_tests_are_clean_under_the_sanitizers(sanitized):
    environment = os.environ | OPEN_MPI | SANITIZERS
    good(run(["ctest", "--test-dir", sanitized, "--output-on-failure"], env=environment))


@pytest.mark.prove
@pytest.mark.parametrize("name", RUNS)
def test_valgrind_finds_no_error_and_no_leak(mpich, tmp_path, name):
    """With MPICH, which itself is nearly clean; faults/valgrind.supp names the rest."""
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind on this machine")
    leaks = "--leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite --error-exitcode=7"
    files = f"--suppressions={FAULTS}/valgrind.supp --log-file={tmp_path}/valgrind.%p"
    model = faulty(mpich, "network", MODEL_LATENCY="1e-3") if name.split()[0] == "b_eff" else {}
    watched(mpich, name, tmp_path, ["valgrind", "--quiet", *leaks.split(), *files.split()], **model)
    processes = sum(number for _, number in RUNS[name][0])
    assert len(list(tmp_path.glob("valgrind.*"))) >= processes + 1, "of the processes, and of the keeper of rank 0"
