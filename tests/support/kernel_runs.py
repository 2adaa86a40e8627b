# SPDX-License-Identifier: Apache-2.0
"""Runs of the kernels as processes, for the tests of all four: to start one and strike it, to find its processes, and
to read what it left."""

import json
import subprocess
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from builds import PATIENCE, good, run

__all__ = ["good", "run"]


def on_nodes(mpi, nodes, kernel, *options, env=None):
    """The command that starts a kernel with so many processes on each node. Nodes are made up: the kernels go by the
    name that Slurm gives to a node. `nodes`: (name, processes), in the order of the ranks, and variables of a node."""
    parts = [
        mpi.command(processes, kernel, *options, env=(env or {}) | {"SLURMD_NODENAME": name} | dict(*own))[1:]
        for name, processes, *own in nodes
    ]
    return [mpi.mpirun, *[word for part in parts for word in (":", *part)][1:]]


def mounted_instead(words, program, place, other):
    """A command whose last process of the program finds one folder at the path of another one."""
    at = len(words) - 1 - words[::-1].index(str(program))
    bind = ["unshare", "--mount", "sh", "-c", f'mount --bind {other} {place} && exec "$@"', "sh"]
    return [*words[:at], *bind, *words[at:]]


def wait_until(condition, what="it happens"):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} within {PATIENCE} s"
        time.sleep(0.02)


@contextmanager
def started(command, until, **popen):
    """A run in which `until()` holds; whatever comes, it ends here."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen)
    try:
        wait_until(lambda: process.poll() is not None or until())
        assert process.poll() is None, process.communicate()
        yield process
    finally:
        process.kill()
        process.communicate()


def fill(folder, process):
    """Others fill the disk as long as the process goes on. Returns its output and errors, which are read meanwhile: a
    library that prints a line for each failed call would wait for its reader for ever."""
    latest = time.monotonic() + PATIENCE
    with (folder / "of others").open("wb", buffering=0) as others:
        while time.monotonic() < latest:
            try:
                others.write(bytes(2**18))
            except OSError:
                with suppress(subprocess.TimeoutExpired):
                    return process.communicate(timeout=0.01)
    raise TimeoutError(f"{process.args} goes on on a full disk")


@dataclass(frozen=True)
class Process:
    """A process of this machine, from /proc."""

    pid: int
    parent: int
    words: list[str]
    folder: Path


def read_processes():
    """All processes that can be looked at and are not just ending."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError):
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            found.append(Process(int(entry.name), parent, words, (entry / "cwd").readlink()))
    return found


def processes_in(folder):
    """Those whose working directory is in a folder, or below it."""
    return [process for process in read_processes() if process.folder.is_relative_to(folder)]


def rank_processes(kernel, log):
    """{rank: process number} of the kernel that writes this log."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            settings = dict(s.split(b"=", 1) for s in (folder / "environ").read_bytes().split(b"\0") if b"=" in s)
        except OSError:
            continue
        if words[0].endswith(b"/" + kernel.encode()) and str(log).encode() in words:
            rank = settings.get(b"OMPI_COMM_WORLD_RANK") or settings[b"PMI_RANK"]
            found[int(rank)] = int(folder.name)
    return found


def records(log):
    """The whole lines of a log, complete or not."""
    lines = Path(log).read_text().split("\n")[:-1] if Path(log).exists() else []
    return [json.loads(line) for line in lines]


def of_kind(log, kind):
    return [record for record in records(log) if record["record"] == kind]


def error(done):
    """The one line with which a kernel gives up."""
    lines = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(lines) == 1, done.stderr
    return lines[0]


def refused(done, *words):
    """The one line with which a kernel refuses a request; it has these words."""
    assert done.returncode == 2, done.stdout + done.stderr
    assert all(word in error(done) for word in words), error(done)
    return error(done)
