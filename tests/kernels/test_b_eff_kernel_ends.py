# SPDX-License-Identifier: Apache-2.0
"""What b_eff's kernel refuses, and how a run of it ends that cannot go on."""

import os
import re
import shutil
import signal
import socket
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from select import select

import pytest
from b_eff_runs import Kernel
from builds import PATIENCE
from file_systems import memory
from kernel_runs import on_nodes, processes_in, rank_processes, records, started, wait_until
from raw_log import read_log

from coffeecup.postprocess.logs.reader import LogError


@pytest.mark.in_turn
@pytest.mark.parametrize(
    "ranks, options, says",
    [
        (1, [], "at least two processes.*mpirun -n 2"),
        (2, ["--memory-per-process", "10"], "'10' is not a size from 1MiB"),
        (2, ["--memory-per-process", "1000TiB"], "more than a node has for each of its processes.*choose less"),
        (2, ["--patterns", "ring,circle"], "'circle'; valid are ring,random"),
        (2, ["--methods", "telepathy"], "'telepathy'; valid are sendrecv"),
        (2, ["--patterns", "ping_pong", "--methods", "sendrecv"], "nothing to measure.*blocking"),
        (2, ["--fast"], "unknown option '--fast'; valid are --log"),
        (2, ["--time-budget", "0"], "seconds from 1 to 86400"),
        (2, ["--node-groups", "/dev/zero"], "cannot read --node-groups '/dev/zero': not a regular file"),
        (2, ["--seed", "-1"], "whole number from 0"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_wrong_request_is_refused_in_one_line_with_the_remedy(kernel, ranks, options, says):
    """kernels/tests/test_options.c has what every kind of option refuses."""
    done = kernel.run(ranks, *options)
    [error] = kernel.errors(done)
    assert re.search(says, error), error
    assert done.returncode == 2
    assert not kernel.log.exists()


def refused_log(kernel, log, says, **how):
    done = kernel.run(2, "--patterns ping_pong --memory-per-process 1MiB", log=log, **how)
    [error] = kernel.errors(done)
    assert re.search(says, error), error
    assert str(log) in error and done.returncode == 2


def test_an_existing_log_is_never_overwritten(kernel):
    kernel.log.write_text("precious\n")
    refused_log(kernel, kernel.log, "File exists; choose another name.*never overwritten")
    assert kernel.log.read_text() == "precious\n"


def test_a_log_that_is_no_new_file_in_a_directory_is_refused(kernel, tmp_path):
    refused_log(kernel, tmp_path / "missing" / "log.jsonl", "No such file or directory; create the directory")
    refused_log(kernel, Path("/dev/full"), "File exists; choose another name with --log; what exists")
    refused_log(kernel, tmp_path, "File exists; choose another name with --log; what exists")
    refused_log(kernel, f"{tmp_path}/", "Is a directory; choose a file name in a writable directory")
    refused_log(kernel, tmp_path / ("x" * 300), "File name too long; choose a file name in a writable directory")


def test_a_log_on_a_read_only_file_system_is_refused(kernel, tmp_path):
    with memory(tmp_path / "mounted", "ro,size=64k") as folder:
        refused_log(kernel, folder / "log.jsonl", "Read-only file system; choose a file name in a writable directory")


def test_a_log_in_a_directory_without_permission_is_refused(kernel):
    """Root may write anywhere, so root runs this one as nobody."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(kernel.mpi.bin / "b_eff", folder)
        folder.chmod(0o555)
        how = {}
        if os.geteuid() == 0:
            if not shutil.which("setpriv"):
                pytest.skip("root may write anywhere, and there is no setpriv to run as somebody else")
            how["before"] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=/tmp"]
        other = Kernel(replace(kernel.mpi, bin=folder), folder)
        refused_log(other, other.log, "Permission denied; choose a file name in a writable directory", **how)


@pytest.mark.in_turn
@pytest.mark.parametrize("room", ["4k", "16k"], ids=lambda room: f"{room} of room")
def test_a_disk_that_fills_up_ends_the_run_as_failed_without_a_score(kernel, tmp_path, room):
    with memory(tmp_path / "mounted", f"size={room}") as folder:
        kernel.log = folder / "log.jsonl"
        done = kernel.run(2, "--memory-per-process 1MiB --patterns ring --first-loop-length 5")
        [error] = kernel.errors(done)
        assert re.search(r"cannot write the log '.*': No space left on device; free some space", error), error
        assert done.returncode == 1
        written = kernel.records()  # whole lines only
        assert all(record.get("status") != "complete" for record in written)
        with pytest.raises(LogError):
            read_log(kernel.log)


LONG = ("--memory-per-process", "16MiB", "--time-budget", "600")


@contextmanager
def in_mid_run(kernel):
    """A run of minutes, some measurements of which are in the log."""
    with kernel.started(2, *LONG) as process:
        wait_until(lambda: process.poll() is not None or len(kernel.records()) > 20)
        assert process.poll() is None, process.communicate()
        yield process


@pytest.mark.in_turn
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
@pytest.mark.parametrize("target", ["mpirun", "rank 0"])
def test_an_interrupted_run_closes_its_log_and_yields_no_score(kernel, target, number):
    with in_mid_run(kernel) as process:
        os.kill(process.pid if target == "mpirun" else rank_processes("b_eff", kernel.log)[0], number)
        process.communicate(timeout=PATIENCE)
        kernel.wait_until_no_process_is_left()
    # MPICH's launcher ends with 0 now and then when it is told to end
    if (kernel.mpi.name, target) != ("mpich", "mpirun"):
        assert process.returncode != 0
    assert kernel.records()[-1]["status"] == "interrupted"
    assert kernel.records()[-1]["reason"] in ("SIGTERM", "SIGINT")
    with pytest.raises(LogError, match="interrupted"):
        read_log(kernel.log)


KILLED = "killed or crashed; see the output"
FIRST_KILLED = "killed or crashed, the first of several processes to end; see the output"
SEVERAL_KILLED = "several processes were killed or crashed; see the output"


def end_of_failed(log):
    """The log's last record, when the keeper has written it."""
    wait_until(lambda: records(log)[-1]["record"] == "end")
    end = records(log)[-1]
    assert end["status"] == "failed"
    with pytest.raises(LogError, match="killed or crashed"):
        read_log(log)
    return end


@pytest.mark.parametrize("rank", [0, 1])
def test_the_log_tells_which_rank_was_killed(kernel, rank):
    """Open MPI's launcher then ends the other one by SIGTERM, MPICH's by SIGKILL before anyone has noticed."""
    with in_mid_run(kernel) as process:
        os.kill(rank_processes("b_eff", kernel.log)[rank], signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        assert process.returncode != 0
        kernel.wait_until_no_process_is_left()
    end = end_of_failed(kernel.log)
    assert (end["rank"], end["host"]) == (rank, socket.gethostname())
    assert end["reason"].startswith(KILLED if kernel.mpi.name == "openmpi" else FIRST_KILLED)


def kill_and_wait(pid):
    """Until all its threads have ended. Its parent may not have noticed."""
    ended = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    assert select([ended], [], [], PATIENCE)[0]
    os.close(ended)


@pytest.mark.parametrize(
    ("nodes", "victims", "reason", "rank"),
    [
        ([4], [3, 1, 0, 2], FIRST_KILLED, 3),
        ([4], [1, 0, 2, 3, "launcher"], FIRST_KILLED, 1),
        ([4], [1, 0, 2, "launcher", 3], SEVERAL_KILLED, None),
        ([4], ["launcher", 3, 1, 0, 2], SEVERAL_KILLED, None),
        ([2, 2], ["keeper", 1, 0, 2, 3], SEVERAL_KILLED, None),  # of the other node, which leaves no note
    ],
    ids=str,
)
def test_the_log_tells_which_rank_of_a_node_was_killed_first(mpich, tmp_path, nodes, victims, reason, rank):
    """However late the keeper looks, which is stopped meanwhile. So is the launcher, or it would kill the others."""
    log = tmp_path / "log.jsonl"
    named = [(f"n{number}", processes) for number, processes in enumerate(nodes)]
    command = on_nodes(mpich, named, "b_eff", *LONG, "--log", log)
    with started(command, lambda: len(records(log)) > 20, env=mpich.environment, cwd=tmp_path) as process:
        numbers = rank_processes("b_eff", log)
        parents = {each.pid: each.parent for each in processes_in(tmp_path)}
        keepers = {rank: pid for pid, parent in parents.items() for rank in numbers if numbers[rank] == parent}
        assert sorted(keepers) == [0, 2][: len(nodes)]
        numbers |= {"launcher": parents[numbers[0]], "keeper": keepers.get(2)}
        stopped = [numbers["launcher"], *keepers.values()]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: all(") T " in Path(f"/proc/{pid}/stat").read_text() for pid in stopped))
        for victim in victims:
            kill_and_wait(numbers[victim])
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        process.wait(PATIENCE)
        end = end_of_failed(log)
    assert end["reason"].startswith(reason) and end.get("rank") == rank


@pytest.mark.parametrize("rank", [2, 3])  # the first of the node, whose keeper ends after it, and another one
def test_the_log_tells_which_rank_of_another_node_was_killed(openmpi, tmp_path, rank):
    log = tmp_path / "log.jsonl"
    command = on_nodes(openmpi, [("n0", 2), ("n1", 2)], "b_eff", *LONG, "--log", log)
    with started(command, lambda: len(records(log)) > 20, env=openmpi.environment) as process:
        process.send_signal(signal.SIGSTOP)  # or it ends the other process of the node before the keeper has looked
        os.kill(rank_processes("b_eff", log)[rank], signal.SIGKILL)
        wait_until(lambda: list(tmp_path.glob("log.jsonl.failure-*")))
        process.send_signal(signal.SIGCONT)
        assert process.wait(PATIENCE) != 0
    wait_until(lambda: records(log)[-1]["record"] == "end" and list(tmp_path.iterdir()) == [log])
    end = records(log)[-1]
    assert (end["status"], end["rank"], end["host"]) == ("failed", rank, "n1")


def test_the_second_ctrl_c_kills_no_rank(kernel):
    """Open MPI's launcher ends at once and leaves its processes, which end when they notice it. That of MPICH kills
    those that have not ended yet, on a busy machine; the keeper names the one that it saw first."""
    with in_mid_run(kernel) as process:
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        kernel.wait_until_no_process_is_left()
    wait_until(lambda: kernel.records()[-1]["record"] == "end")
    end = kernel.records()[-1]
    reasons = ["the launcher of the run ended before it", *["killed or crashed"] * (kernel.mpi.name == "mpich")]
    assert end["status"] == "interrupted" or any(reason in end["reason"] for reason in reasons)
