# SPDX-License-Identifier: Apache-2.0
"""A run in which a process is stopped ends by itself, names this process and leaves nothing behind; one that is only
slow goes on."""

import os
import signal
import time

import pytest
from builds import PATIENCE
from kernel_runs import on_nodes, rank_processes, read_processes, records, started, wait_until
from raw_log import read_log

from coffeecup.postprocess.logs.reader import LogError

NODES = [("n0", 2), ("n1", 2)]
SECONDS = 3  # of --hang-after


def command(mpi, log, *options):
    usual = ("--memory-per-process", "16MiB", "--time-budget", "600", "--hang-after", SECONDS)
    return on_nodes(mpi, NODES, "b_eff", *map(str, usual), *options, "--log", log)


@pytest.mark.parametrize("rank", [0, 1, 2, 3])  # the first process of each node, which has a keeper, and the other one
def test_a_stopped_process_is_named(openmpi, tmp_path, rank):
    log = tmp_path / "log.jsonl"
    with started(command(openmpi, log), lambda: len(records(log)) > 20, env=openmpi.environment) as process:
        numbers = rank_processes("b_eff", log)
        os.kill(numbers[rank], signal.SIGSTOP)
        assert process.wait(PATIENCE) != 0
    wait_until(lambda: records(log)[-1]["record"] == "end" and list(tmp_path.iterdir()) == [log])
    wait_until(lambda: not {other.pid for other in read_processes()} & set(numbers.values()))
    end = records(log)[-1]
    assert end["status"] == "hung" and len(end["processes"]) == len(numbers)
    assert [each["rank"] for each in end["processes"] if each["state"] == "stopped"] == [rank]
    with pytest.raises(
        LogError, match=rf"the run hangs: no progress for {SECONDS} s; rank {rank} on n{rank // 2} is st"
    ):
        read_log(log)


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
    assert records(log)[-1]["status"] == "interrupted"
