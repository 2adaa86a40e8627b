# SPDX-License-Identifier: Apache-2.0
"""How a run of any kernel ends whose processes are killed or fail, wherever that strikes: nothing is left behind, and
the log says why."""

import itertools
import json
import os
import re
import signal
import socket
import subprocess
from contextlib import suppress

import pytest
from builds import OPEN_MPI, PATIENCE, faulty, words
from kernel_runs import read_processes, run, wait_until
from raw_log import read_log

from coffeecup.postprocess.logs.reader import LogError

WORKLOAD = """repetitions = 2; single_file = { process_size = "256KiB"; block_size = "4KiB"; };
common_file = { process_size = "256KiB"; block_size = "4KiB"; methods = "explicit"; };
metadata = { files = 20; };"""
OPTIONS = {
    "b_eff": ["--memory-per-process 1MiB"],
    "b_eff_io": ["--directory disk --memory-per-process 64MiB --scheduled-time 2 --space-limit 1GiB"],
    "ftio": ["--directory disk --input 8"],
    "priomark": ["--directory disk --workload workload.cfg"],
}
# Where a process strikes: its kernel, a call, how many of these calls go before, and what the run is doing there.
WHERE = [
    ("b_eff", "MPI_Gather", 0, "starting"),
    ("b_eff", "MPI_Sendrecv", 1000, "exchanging pairwise"),
    ("b_eff", "MPI_Alltoallv", 500, "exchanging collectively"),
    ("b_eff", "MPI_Waitall", 500, "exchanging without blocking"),
    ("b_eff_io", "MPI_File_open", 0, "opening"),
    ("b_eff_io", "MPI_File_write_all", 3, "writing"),
    ("b_eff_io", "MPI_File_sync", 0, "synchronising"),
    ("b_eff_io", "MPI_File_read_all", 3, "reading"),
    ("ftio", "mkdir", 0, "creating its directory"),
    ("ftio", "pwrite", 10, "initialising"),
    ("ftio", "fdatasync", 0, "flushing"),
    ("ftio", "pread", 128 + 30, "transposing"),
    ("ftio", "MPI_Sendrecv_replace", 0, "exchanging Squares"),
    ("ftio", "pread", 128 + 2 * 64 * 8 + 1 + 128 + 10, "verifying"),
    ("priomark", "mkdir", 0, "creating its directory"),
    ("priomark", "pwrite", 10, "writing"),
    ("priomark", "fsync", 0, "synchronising"),
    ("priomark", "pread", 10, "reading"),
    ("priomark", "MPI_File_open", 0, "opening"),
    ("priomark", "rename", 10, "renaming"),
]
STARTING = {("b_eff", "MPI_Gather")}  # there is no log yet


def place(kernel, call, number, doing):
    marks = () if kernel == "ftio" else pytest.mark.in_turn  # there may be no ftio for one of them
    return pytest.param(kernel, call, number, id=f"{kernel}-{doing.replace(' ', '-')}", marks=marks)


@pytest.fixture
def started(mpi, tmp_path):
    """Starts a kernel in the test's own folder, where a chosen call halts or fails."""
    processes = []

    def start(kernel, **strike):
        if not (mpi.bin / kernel).exists():
            pytest.skip(f"{kernel} was not built with {mpi.name}")
        (tmp_path / "disk").mkdir()
        (tmp_path / "workload.cfg").write_text(WORKLOAD)
        settings = faulty(mpi, "strike", **{f"STRIKE_{name}": value for name, value in strike.items()})
        words = mpi.command(2, kernel, *OPTIONS[kernel], "--log", tmp_path / "log.jsonl", env=settings)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen(words, cwd=tmp_path, env=mpi.environment, **pipes)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def descendants(pid):
    """The processes of a run: the launcher, what it started, and so on, without the keepers."""
    parents = {process.pid: process for process in read_processes()}
    found, before = {pid}, 0
    while len(found) > before:
        before = len(found)
        found |= {process.pid for process in parents.values() if process.parent in found}
    return [process for process in found if process in parents and parents[process].words[0] != "keeper"]


def kill_all(process):
    """The launcher and all that it started, but not the keepers."""
    for victim in descendants(process.pid):
        with suppress(ProcessLookupError):  # it ended with one that was killed before
            os.kill(victim, signal.SIGKILL)


def keepers(folder):
    return [process for process in read_processes() if process.words[0] == "keeper" and process.folder == folder]


def refusal(folder):
    """Why the log yields no score."""
    with pytest.raises(LogError) as error:
        read_log(folder / "log.jsonl")
    return str(error.value)


@pytest.mark.parametrize("kernel, call, number", [place(*where) for where in WHERE])
def test_killed_launcher_and_processes_leave_nothing_but_a_closed_log(started, tmp_path, kernel, call, number):
    halted = tmp_path / "halted"
    process = started(kernel, CALL=call, NUMBER=number, FILE=halted)
    wait_until(lambda: halted.exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    kill_all(process)
    wait_until(lambda: not keepers(tmp_path))
    assert list((tmp_path / "disk").iterdir()) == []
    left = {path.name for path in tmp_path.iterdir()} - {"disk", "workload.cfg", "halted"}
    if (kernel, call) in STARTING:
        assert left == set()
        return
    assert left == {"log.jsonl"}
    assert re.search(r"the run failed: .*(killed or crashed|the launcher of the run ended)", refusal(tmp_path))


# What cannot go on speaks on a rank of its own, or on all: these calls fail in one process alone.
FAILING = [
    where
    for where in WHERE
    if (
        where[3] not in ("starting", "creating its directory", "exchanging collectively", "opening", "synchronising")
        and where[0] != "b_eff_io"
    )
    or where[:2] == ("priomark", "fsync")
]


@pytest.mark.parametrize("kernel, call, number", [place(*where) for where in FAILING])
def test_log_tells_which_process_failed_and_why(started, tmp_path, kernel, call, number):
    process = started(kernel, CALL=call, NUMBER=number, RANK=1)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    wait_until(lambda: not keepers(tmp_path))
    [line] = [line for line in errors.splitlines() if "error: rank 1: " in line]
    end = json.loads((tmp_path / "log.jsonl").read_text().splitlines()[-1])
    assert (end["record"], end["status"], end["rank"]) == ("end", "failed", 1)
    assert end["host"] == socket.gethostname()
    assert line.endswith(end["reason"])
    assert {path.name for path in tmp_path.iterdir()} == {"disk", "workload.cfg", "log.jsonl"}
    assert list((tmp_path / "disk").iterdir()) == []
    assert f"the run failed: rank 1 on {end['host']}: {end['reason'][:40]}" in refusal(tmp_path)


def test_first_process_is_named_as_well(started, tmp_path):
    process = started("ftio", CALL="pwrite", NUMBER=10, RANK=0)
    process.communicate(timeout=PATIENCE)
    end = json.loads((tmp_path / "log.jsonl").read_text().splitlines()[-1])
    assert (end["status"], end["rank"], end["host"]) == ("failed", 0, socket.gethostname())


# Nothing is removed that is not the run's own


def test_keeper_takes_no_orders_from_a_command_line(mpi, tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "data").write_text("mine")
    log = tmp_path / "notes.txt"
    log.write_text('{"record":"run"}\nunfinished')
    for kernel in OPTIONS:
        if (mpi.bin / kernel).exists():
            for words in (["--keep-watch"], ["--keep-watch", log, tmp_path / "precious"]):
                done = run([mpi.bin / kernel, *words], stdin=subprocess.DEVNULL, env=os.environ | OPEN_MPI)
                assert done.returncode == 2 and "unknown option '--keep-watch'" in done.stderr
    assert (tmp_path / "precious" / "data").read_text() == "mine"
    assert log.read_text() == '{"record":"run"}\nunfinished'


@pytest.mark.parametrize(
    "how", ["without marker", "replaced by a link", "replaced by a directory", "parent replaced by a link"]
)
def test_directory_that_is_no_longer_the_runs_stays(started, tmp_path, how):
    halted = tmp_path / "halted"
    process = started("ftio", CALL="pwrite", NUMBER=10, FILE=halted)
    wait_until(lambda: halted.exists() or process.poll() is not None)
    [own] = (tmp_path / "disk").iterdir()
    [marker] = own.glob(".coffeecup-*")
    if how == "without marker":
        marker.unlink()
    elif how == "parent replaced by a link":
        (tmp_path / "disk").rename(tmp_path / "moved")
        (tmp_path / "disk").symlink_to("moved")
    else:
        own.rename(tmp_path / "moved")
        own.symlink_to(tmp_path / "moved") if how == "replaced by a link" else own.mkdir()
    kept = tmp_path / "moved" if "replaced by" in how and "parent" not in how else own.resolve()
    before = sorted(path.name for path in kept.iterdir())
    kill_all(process)
    wait_until(lambda: not keepers(tmp_path))
    assert sorted(path.name for path in kept.iterdir()) == before
    assert own.exists()
    assert "the run failed" in refusal(tmp_path)


def calls_of(trace):
    """(time, system call) of a process in strace's output."""
    for line in trace.read_text().splitlines():
        seconds, _, call = line.partition(" ")
        yield float(seconds), call


def test_keeper_only_looks_once_a_second_while_a_kernel_measures(tmp_path, openmpi):
    # Calls of messages would keep strace so busy that the keeper would wait for it.
    traced = "trace=!sched_yield,epoll_wait,process_vm_readv"
    command = [openmpi.mpirun, "-np", "2", "strace", "-qq", "-ff", "-ttt", "-s", "64", "--seccomp-bpf", "-e", traced]
    command += ["-o", str(tmp_path / "calls"), str(openmpi.bin / "b_eff")]
    command += words(["--memory-per-process 32MiB --patterns ping_pong,ring --methods sendrecv --repetitions 1"])
    command += ["--log", str(tmp_path / "log.jsonl")]
    subprocess.run(command, env=os.environ | OPEN_MPI, check=True, capture_output=True, timeout=PATIENCE)
    traces = [list(calls_of(trace)) for trace in tmp_path.glob("calls.*")]
    [keeper] = [calls for calls in traces if any("--keep-watch" in call for _, call in calls)]
    written = {
        mark: time
        for calls in traces
        for time, call in calls
        for mark in ("plan", "data_check")
        if call.startswith("write(") and f'"{{\\"record\\":\\"{mark}\\"' in call
    }
    assert written.keys() == {"plan", "data_check"}
    messages = ("sendto(", "MSG_NOSIGNAL")  # before it is ready, it asks for the adapters with sendto() alone
    [ready] = [time for time, call in keeper if all(part in call for part in messages)]
    orders = [time for calls in traces for time, call in calls if all(part in call for part in messages)]
    assert ready < written["plan"] and not [time for time in orders if written["plan"] < time < written["data_check"]]
    # The keeper wakes for an order, and once a second to look at memory. On a busy machine it may still take an order
    # when the plan has been written, or get no core until the end.
    looks = [(time, call) for (_, wait), (time, call) in itertools.pairwise(keeper) if wait.endswith("(Timeout)")]
    assert {call.partition("(")[0] for time, call in looks if time < written["data_check"]} <= {"poll"}
    waiting = [time for time, call in keeper if call.startswith("poll(") and time < written["data_check"]]
    taken = [time for time in orders if time < written["plan"] and time != ready]
    assert len(waiting) <= len(taken) + 1 + (written["data_check"] - ready)
