# SPDX-License-Identifier: Apache-2.0
"""b_eff_load with faults: damaged messages, killed processes, memory errors and leaks. Nodes are made up."""

import os
import signal
from dataclasses import replace
from itertools import product

import pytest
from b_eff_runs import mpi, network
from builds import PATIENCE
from conftest import NOT_COMPLETE
from kernel_runs import of_kind, on_nodes, rank_processes, records, run, started, wait_until
from test_b_eff_kernel_memory import valgrind

from coffeecup.postprocess.benchmarks.load_rules import victims_of
from coffeecup.postprocess.benchmarks.scoring import read_log, score_log
from coffeecup.postprocess.logs.reader import LogError

__all__ = ["mpi", "network"]  # fixtures

FOUR = [(name, 1) for name in "abcd"]
SEED, VICTIMS, GENERATORS = 3, [0, 3], [1, 2]
SHORT = ["--memory-per-process", "1MiB", "--seed", SEED, "--random-patterns", 1, "--first-loop-length", 1]
L_MAX = 8192


def test_roles_of_the_processes():
    assert victims_of(len(FOUR), 50, SEED) == VICTIMS


def no_process_is_left(log):
    """The keeper, too, which closes the log of a rank 0 that was killed."""
    wait_until(lambda: not rank_processes("b_eff_load", log) and records(log)[-1]["record"] == "end")


LONG = [
    pytest.param(*case, marks=pytest.mark.prove)
    for case in product(VICTIMS, ["incast", "alltoall", "broadcast"], ["flip", "drop"])
    if case != (3, "alltoall", "flip")
]


@pytest.mark.parametrize(("rank", "load", "kind"), [(3, "alltoall", "flip"), *LONG])
def test_damaged_message_under_load_fails_the_run_and_is_named(mpi, network, tmp_path, rank, load, kind):
    """A loop is an exchange that is not timed and one that is, in each of which a victim receives a message: so the
    fourth message of a length belongs to the phase with the load. Its record is not written."""
    log = tmp_path / "log.jsonl"
    fault = {"FAULT_KIND": kind, "FAULT_CALL": "Waitall", "FAULT_BYTES": L_MAX, "FAULT_RANK": rank, "FAULT_NUMBER": 3}
    options = ["--log", log, "--kinds", load, *SHORT, "--longest-loop", 1, "--repetitions", 1, "--time-budget", 86400]
    environment = {"LD_PRELOAD": network(mpi.name), "FAULT_OFFSET": 0 if kind == "drop" else L_MAX - 3} | fault
    done = run(on_nodes(mpi, FOUR, "b_eff_load", *options, env=environment), env=mpi.environment)
    assert done.returncode != 0
    other = sum(VICTIMS) - rank
    said = f"pattern ring-1, method nonblocking, message length {L_MAX} byte: rank {rank} received a wrong byte from "
    assert f"{said}rank {other} at offset" in done.stderr
    no_process_is_left(log)
    assert list(tmp_path.iterdir()) == [log]
    last = of_kind(log, "loaded")[-1]
    assert (last["phase"], last["load"]) == (1, load) and last["message_bytes"] < L_MAX
    assert records(log)[-1]["status"] in NOT_COMPLETE
    with pytest.raises(LogError):
        score_log(log)


@pytest.mark.in_turn
@pytest.mark.parametrize("rank", [*VICTIMS, GENERATORS[0]], ids=["first victim", "victim", "generator"])
def test_killed_process_under_load_ends_the_run_without_a_score(mpi, tmp_path, rank):
    log = tmp_path / "log.jsonl"
    options = ["--log", log, "--kinds", "incast,alltoall", *SHORT, "--time-budget", 86400]
    command = on_nodes(mpi, FOUR, "b_eff_load", *options)

    def under_load():
        return any(record["record"] == "loaded" and record["load"] for record in records(log))

    with started(command, under_load, env=mpi.impatient.environment) as process:
        os.kill(rank_processes("b_eff_load", log)[rank], signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        assert process.returncode != 0
        no_process_is_left(log)
    assert list(tmp_path.iterdir()) == [log]
    with pytest.raises(LogError, match=r"interrupted|killed or crashed"):
        score_log(log)


# --- memory -----------------------------------------------------------------------------------------------------------

EVERY_LOAD = ["--kinds", "incast,alltoall,broadcast", *SHORT, "--longest-loop", 1, "--repetitions", 1]
UNEVEN = [("a", 2), ("b", 1), ("c", 2), ("d", 1)]


@pytest.mark.prove
def test_sanitizers_are_silent_under_load(sanitized, openmpi, tmp_path):
    """Leaks are left to valgrind, which can tell ours from those of the MPI library."""
    log = tmp_path / "log.jsonl"
    mpi = replace(openmpi, bin=sanitized / "install" / "bin")
    environment = {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}
    options = ["--log", log, *EVERY_LOAD, "--time-budget", 86400]
    done = run(on_nodes(mpi, UNEVEN, "b_eff_load", *options, env=environment), env=mpi.environment)
    assert done.returncode == 0, done.stderr
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr
    assert read_log(log).end.status == "complete"


@pytest.mark.prove
def test_valgrind_finds_no_error_and_no_leak_under_load(mpich, tmp_path):
    log = tmp_path / "log.jsonl"
    command = on_nodes(mpich, UNEVEN, "b_eff_load", "--log", log, *EVERY_LOAD, "--time-budget", 86400)
    kernel = str(mpich.bin / "b_eff_load")
    watched = [word for part in command for word in ((*valgrind(tmp_path), part) if part == kernel else (part,))]
    done = run(watched, env=mpich.environment)
    reports = [path.read_text() for path in tmp_path.glob("valgrind.*")]
    assert done.returncode == 0, "\n".join([*reports, done.stderr])
    assert len(reports) >= 6 + 1, "those of the processes and of the keeper that rank 0 started"
    assert read_log(log).end.status == "complete"
