# SPDX-License-Identifier: Apache-2.0
"""What the tests of b_eff_io's kernel share: running it in a test's own folder, and looking at what it left. Some runs
go to a file system that is a formula (faults/b_eff_io.c): the values have to be those of the formula."""

import socket

import pytest
from kernel_runs import records
from raw_log import read_log

from coffeecup.postprocess.benchmarks.b_eff_io.definition import TYPES
from coffeecup.postprocess.logs.reader import LogError

SMALL = ("--memory-per-process", "64MiB")  # M_PART is 2 MiB
BRIEF = (*SMALL, "--scheduled-time", "0.4", "--space-limit", "4GiB")
ALL_TYPES = ",".join([*TYPES, "random", "random-collective"])
EACH = pytest.mark.parametrize("mpi", ["openmpi", "openmpi_romio", "mpich"], indirect=True)  # components for MPI-I/O


def where(folder):
    """Options for a run in this folder."""
    return "--directory", folder, "--log", folder / "log.jsonl"


def run(mpi, folder, ranks, *options, env=None):
    return mpi.run(ranks, "b_eff_io", *where(folder), *options, env=env)


def end(folder):
    found = records(folder / "log.jsonl")
    assert found[-1]["record"] == "end" and found[-1]["records"] == len(found)
    return found[-1]


def leftovers(folder):
    return [path.name for path in folder.iterdir() if path.name not in ("log.jsonl", "filler")]


def assert_failed(done, folder, *words, rank=None, scratch=None):
    """A clear error, a closed log, no score and no leftovers."""
    assert done.returncode == 1, done.stderr
    assert "error: " in done.stderr
    for word in words:
        assert word in end(folder)["reason"], end(folder)["reason"]
    assert end(folder)["status"] == "failed"
    assert end(folder)["host"] == socket.gethostname()
    if rank is not None:
        assert end(folder)["rank"] == rank and f"error: rank {rank}: " in done.stderr
    with pytest.raises(LogError, match="failed"):
        read_log(folder / "log.jsonl")
    assert not leftovers(scratch or folder)
