# SPDX-License-Identifier: Apache-2.0
"""What the tests of PRIOMark's kernel share: running it on a workload that a test writes, and looking at what it
left."""

import json
import os
import subprocess
from pathlib import Path

from conftest import OPEN_MPI, PATIENCE

KIB, MIB = 2**10, 2**20


def command(mpi, folder, workload, ranks, *options, env=None):
    """`mpi` is (an MPI, its settings), or the folder of a build without MPI; `workload` is a text or a name. `env`
    reaches the kernel and not the launcher."""
    if "=" in workload:
        (folder / "workload.cfg").write_text(workload)
        workload = folder / "workload.cfg"
    settings = ["env", *(f"{name}={value}" for name, value in env.items())] if env else []
    launcher, program = (
        ([], mpi / "bin" / "priomark")
        if isinstance(mpi, Path)
        else ([mpi[0].mpirun, "-np", str(ranks)], mpi[0].bin / "priomark")
    )
    (folder / "disk").mkdir(exist_ok=True)
    return [
        *launcher,
        *settings,
        str(program),
        "--workload",
        str(workload),
        "--directory",
        str(folder / "disk"),
        "--log",
        str(folder / "log.jsonl"),
        *map(str, options),
    ]


def run(mpi, folder, workload, ranks=1, *options, env=None):
    return subprocess.run(
        command(mpi, folder, workload, ranks, *options, env=env),
        env=environment(mpi),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def environment(mpi):
    return os.environ | OPEN_MPI | ({} if isinstance(mpi, Path) else mpi[1])


def records(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def of_kind(folder, kind):
    return [record for record in records(folder) if record["record"] == kind]


def leftovers(folder):
    return sorted(path.name for path in (folder / "disk").iterdir())


def error(done):
    """The one line with which a kernel gives up."""
    lines = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(lines) == 1, done.stderr
    return lines[0]
