# SPDX-License-Identifier: Apache-2.0
"""A run in which a process is stopped ends by itself, names this process and leaves nothing behind; one that is only
slow goes on."""

import os
import re
import signal
import time
from contextlib import ExitStack, contextmanager

import pytest
from builds import OPEN_MPI, PATIENCE, ROOT, faulty
from conftest import NOT_COMPLETE
from kernel_runs import (
    of_kind,
    on_nodes,
    processes_in,
    rank_processes,
    read_processes,
    records,
    run,
    started,
    wait_until,
)
from links import across, links
from raw_log import read_log

from coffeecup.postprocess.logs.reader import LogError

NODES = [("n0", 2), ("n1", 2)]
SECONDS = 3  # of --hang-after
HANGS = ROOT / "docs" / "hangs.md"
RATE, BURST = 50e6, 64 * 1024  # byte/s of a link


def command(mpi, log, *options, env=None):
    usual = ("--memory-per-process", "16MiB", "--time-budget", "600", "--hang-after", SECONDS)
    return on_nodes(mpi, NODES, "b_eff", *map(str, usual), *options, "--log", log, env=env)


@pytest.mark.parametrize("rank", [0, 3])  # the one that writes the log and has a keeper; one of another node
def test_a_stopped_process_is_named(openmpi, tmp_path, rank):
    log = tmp_path / "log.jsonl"
    with started(command(openmpi, log), lambda: len(records(log)) > 20, env=openmpi.environment) as process:
        numbers = rank_processes("b_eff", log)
        os.kill(numbers[rank], signal.SIGSTOP)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode != 0 and errors.count("error: the run hangs and was ended") == 1
    wait_until(lambda: records(log)[-1]["record"] == "end" and list(tmp_path.iterdir()) == [log])
    wait_until(lambda: not {other.pid for other in read_processes()} & set(numbers.values()))
    end = records(log)[-1]
    assert end["status"] == "hung" and len(end["processes"]) == len(numbers)
    assert [each["rank"] for each in end["processes"] if each["state"] == "stopped"] == [rank]
    said = why(log)
    assert f"the run hangs: no progress for {SECONDS} s; rank {rank} on n{rank // 2} is st" in said
    shown = re.search(r"^coffeecup: b_eff.jsonl: (.*?)```", HANGS.read_text(), re.MULTILINE | re.DOTALL)[1]
    verdict, measured, _ = shape(" ".join(shown.split())).partition(" (N of the N planned measurements")
    assert measured and verdict in shape(said)


def test_a_process_that_stops_while_the_run_starts_ends_it(openmpi, tmp_path):
    """Rank 0 has created its log, but no process knows it yet."""
    log, halted = tmp_path / "log.jsonl", tmp_path / "halted"
    fault = faulty(openmpi, "strike", STRIKE_CALL="realpath", STRIKE_FILE=halted)
    words = command(openmpi, log, env=fault)
    with started(words, halted.exists, env=openmpi.environment, cwd=tmp_path) as process:
        time.sleep(2)  # its keeper looks once a second
        os.kill(rank_processes("b_eff", log)[0], signal.SIGSTOP)
        assert process.wait(PATIENCE) != 0
        wait_until(lambda: not processes_in(tmp_path))
    assert set(tmp_path.iterdir()) == {log, halted}


def shape(text):
    """Without names and numbers, and whether the process was in a loop or after it, when the data is checked."""
    return re.sub(r"\d+( bytes?)?", "N", re.sub(r"(?:after )?(pattern|method) [\w-]+", r"\1 NAME", text))


def why(log):
    with pytest.raises(LogError) as error:
        read_log(log)
    return str(error.value)


@pytest.mark.parametrize("method", ["sendrecv", "nonblocking"])
def test_the_ends_of_a_lost_message_are_named(openmpi, tmp_path, method):
    """In a cycle of four processes, all of which wait in the end. If a process waits for messages from both neighbours
    at once, its log does not state which one is missing."""
    log, to = tmp_path / "log.jsonl", tmp_path / "to"
    fault = faulty(openmpi, "swallow", SWALLOW_RANK=2, SWALLOW_AFTER=50, SWALLOW_FILE=to)
    words = command(openmpi, log, "--patterns", "worst_cycle", "--methods", method, env=fault)
    assert run(words, env=openmpi.environment).returncode != 0
    [named] = re.findall(r"; (rank . on n. waits for .*) \(pattern worst-cycle", why(log))
    [waiting, *senders] = map(int, re.findall("rank (.)", named))
    assert waiting == int(to.read_text())
    assert senders == [2] if method == "sendrecv" else len(senders) == 2 and 2 in senders


def test_a_node_whose_cable_is_pulled_is_named_and_nothing_is_left_on_any_node(openmpi, tmp_path):
    """Launcher, daemons and processes wait for each other across the dead link. The run ends all the same."""
    log, folder = tmp_path / "log.jsonl", tmp_path / "shell"
    folder.mkdir()
    options = ("--memory-per-process", "16MiB", "--time-budget", "600", "--hang-after", SECONDS, "--log", log)
    with links(4, RATE, BURST) as four:
        words = across(four, openmpi.mpirun, folder, 2**20, openmpi.bin / "b_eff", *options)
        with started(words, lambda: len(records(log)) > 20, env=os.environ | OPEN_MPI, cwd=tmp_path) as process:
            four.pull(2)
            assert process.wait(PATIENCE) != 0
            wait_until(lambda: not [other for other in read_processes() if other.folder == tmp_path])
    assert set(tmp_path.iterdir()) == {log, folder}
    assert f"; eth of {four.hosts[2]} lost the link" in why(log) and "[complete]" in why(log)


def test_processes_that_wait_for_those_of_another_node_are_no_hang(openmpi, tmp_path):
    """Each loop of the pair on n1 takes twice the stated time, and those of the others are over at once."""
    log, seconds = tmp_path / "log.jsonl", 2 * SECONDS / 300 / 2  # of each of the two calls of 300 exchanges
    nodes = [("n0", 2), ("n1", 2, faulty(openmpi, "wait", WAIT_SECONDS=seconds).items()), ("n2", 2)]
    options = f"--patterns bisection --methods sendrecv --time-budget 60000 --hang-after {SECONDS} --log {log}"
    words = on_nodes(openmpi, nodes, "b_eff", "--memory-per-process", "16MiB", *options.split())
    with started(words, lambda: len(of_kind(log, "measurement")) > 1, env=openmpi.environment) as process:
        process.terminate()
        process.wait(PATIENCE)
    wait_until(lambda: records(log)[-1]["record"] == "end" and list(tmp_path.iterdir()) == [log])
    assert of_kind(log, "measurement")[0]["loop_length"] == 300 and records(log)[-1]["status"] in NOT_COMPLETE


@contextmanager
def without_keeper(mpi, folder, of, stopped):
    """A run in which the keeper that the process `of` started was killed, and then a process stopped."""
    log = folder / "log.jsonl"
    folder.mkdir()
    words = command(mpi, log, "--hang-after", "1")
    with started(words, lambda: len(records(log)) > 20, env=mpi.environment, cwd=folder) as process:
        numbers = rank_processes("b_eff", log)
        [keeper] = [each.pid for each in read_processes() if each.parent == numbers[of]]
        os.kill(keeper, signal.SIGKILL)
        os.kill(numbers[stopped], signal.SIGSTOP)
        yield process


# By the keeper that was killed, that of n1 or of n0, and the process that was stopped: what the log states.
WITHOUT_KEEPER = {(2, 0): "rank 0 on n0 is stopped", (2, 3): "cannot tell the cause", (0, 3): None}


def test_a_node_whose_keeper_was_killed_is_not_awaited_for_ever(openmpi, tmp_path):
    """Three runs side by side, because each waits. Without the keeper of rank 0, which would take the vote of n1, that
    of n1 ends the processes of its own node."""
    folders = {case: tmp_path / f"{case[0]}-{case[1]}" for case in WITHOUT_KEEPER}
    with ExitStack() as runs:
        processes = [runs.enter_context(without_keeper(openmpi, folder, *case)) for case, folder in folders.items()]
        assert all(process.wait(PATIENCE) != 0 for process in processes)
    for case, named in WITHOUT_KEEPER.items():
        log = folders[case] / "log.jsonl"
        wait_until(lambda folder=log.parent: not processes_in(folder))
        assert list(log.parent.iterdir()) == [log]
        if named:
            end = records(log)[-1]
            assert end["status"] == "hung" and named in why(log)
            assert {each["host"] for each in end["processes"]} == {"n0"}


def test_a_process_that_stands_still_for_less_than_the_stated_time_is_no_hang(openmpi, tmp_path):
    """Each pause is shorter than the time, all of them together are longer."""
    log = tmp_path / "log.jsonl"
    with started(
        command(openmpi, log, "--hang-after", "10"), lambda: len(records(log)) > 20, env=openmpi.environment
    ) as process:
        number = rank_processes("b_eff", log)[3]
        for _ in range(6):
            before = len(records(log))
            os.kill(number, signal.SIGSTOP)
            time.sleep(2)
            os.kill(number, signal.SIGCONT)
            wait_until(lambda before=before: len(records(log)) > before or process.poll() is not None)
        assert process.poll() is None, records(log)[-1]
        process.terminate()
        process.wait(PATIENCE)
    wait_until(lambda: records(log)[-1]["record"] == "end")
    assert records(log)[-1]["status"] in NOT_COMPLETE
