# SPDX-License-Identifier: Apache-2.0
"""What the tests of b_eff's kernel share. Most runs go over a network that is a formula (faults/network.c): the times
in the log then have to be those of the formula, every byte is checked, and a message can be damaged on purpose."""

import os
import signal
import subprocess
from contextlib import contextmanager, suppress

import pytest
from builds import IMPATIENT, OPEN_MPI, PATIENCE, SANITIZERS, faulty
from kernel_runs import good, read_processes, records, run, wait_until

MEMORY = 4 * 2**20  # gives messages of up to 32 KiB
METHODS = ["sendrecv", "alltoallv", "nonblocking", "neighbor", "persistent"]
AVERAGED = METHODS[:3]


@pytest.fixture(scope="session", params=["openmpi", "mpich"])
def mpi(request):
    """Each MPI library, or what a test names."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def printed(sanitized):
    """A function of words: the lines of kernels/tests/facts_b_eff.c as lists of words."""

    def lines(*words):
        program, env = sanitized / "tests" / "facts_b_eff", os.environ | OPEN_MPI | SANITIZERS
        text = good(run([program, *map(str, words)], env=env)).stdout
        numeric = lambda word: int(word) if word.lstrip("-").isdigit() else word  # noqa: E731
        return [list(map(numeric, line.split())) for line in text.splitlines()]

    return lines


class Kernel:
    """Starts b_eff with its log in the test's own folder, whose name is also how its processes are found."""

    def __init__(self, mpi, folder):
        self.mpi, self.folder = mpi, folder
        self.log = folder / "log.jsonl"
        self.model = {}

    def network(self, **model):
        """From now on over faults/network.c, with these variables."""
        self.model = faulty(self.mpi, "network", **model)
        return self

    def command(self, ranks, options, log, before=()):
        return [*before, *self.mpi.command(ranks, "b_eff", "--log", log, *options, env=self.model)]

    @contextmanager
    def started(self, ranks, *options, log=None, environment=OPEN_MPI, before=()):
        command, env = self.command(ranks, options, log or self.log, before), os.environ | environment
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
        process = subprocess.Popen(command, env=env, cwd=self.folder, **pipes)
        try:
            yield process
        finally:
            for pid in self.processes():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.kill()
            process.communicate()

    def run(self, ranks, *options, **how):
        with self.started(ranks, *options, environment=OPEN_MPI | IMPATIENT, **how) as process:
            process.out, process.err = process.communicate(timeout=PATIENCE)
            self.wait_until_no_process_is_left()
        return process

    def processes(self):
        return [process.pid for process in read_processes() if any(str(self.folder) in word for word in process.words)]

    def wait_until_no_process_is_left(self):
        wait_until(lambda: not self.processes())

    def records(self):
        """What lies in the log, complete or not."""
        return records(self.log)

    def errors(self, process):
        return [line for line in process.err.splitlines() if line.startswith(("b_eff: error", "coffeecup: error"))]


@pytest.fixture
def kernel(mpi, tmp_path):
    return Kernel(mpi, tmp_path)


@pytest.fixture
def openmpi_kernel(openmpi, tmp_path):
    return Kernel(openmpi, tmp_path)


def check_bytes(log):
    """Received: every loop with an untimed exchange; three trials of one exchange for each pattern and method."""
    messages = {p["name"]: p["messages_per_exchange"] for p in log.plan["patterns"]}
    loops = [loop for kind in ("measurement", "latency", "trial") for loop in log.records.get(kind, [])]
    [check] = log.records["data_check"]
    assert check["received_bytes"] == sum(
        messages[m["pattern"]] * m["message_bytes"] * (m["loop_length"] + 1) for m in loops
    )
    # latency loops are longer than the buffers of 256 KiB on three ranks or more
    assert check["checked_bytes"] <= check["received_bytes"]
    assert check["wrong_bytes"] == 0
