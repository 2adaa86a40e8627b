# SPDX-License-Identifier: Apache-2.0
"""Which of a partition's environments have MPI. A configuration that was written for other tests also lists others."""

import functools
import subprocess
import tempfile
from pathlib import Path

from reframe.core.environments import snapshot
from reframe.core.exceptions import ReframeError
from reframe.core.runtime import loadenv, runtime

from coffeecup.postprocess import reframe_version  # noqa: F401

from .partitions import overlaid, say
from .vocabulary import MPI

PLACEHOLDER = "builtin"  # ReFrame's own environment: the compilers that are on PATH
PROGRAM = "#include <mpi.h>\nint main(int argc, char **argv) { return MPI_Init(&argc, &argv); }\n"
SECONDS = 60


@functools.cache
def mpi_environments(partition):
    """Names of the environments in which kernels are built and run: those of the overlay, a single one, those with the
    feature `mpi`, or those whose C compiler compiles an MPI program; ReFrame's placeholder only if there is no other.

    Without any, all remain, and their builds fail with the reason of the compiler.
    """
    names = [environment.name for environment in partition.environs]
    if chosen := [name for name in overlaid(partition, "environs") if name in names]:
        return chosen
    if len(names) < 2:
        return names
    found = [environment.name for environment in partition.environs if MPI in environment.features] or [
        environment.name for environment in partition.environs if compiles_mpi(partition, environment)
    ]
    found = [name for name in found if name != PLACEHOLDER] or found
    if not found:
        say(f"partition {partition.fullname!r}: no environment compiles an MPI program: tried {', '.join(names)}")
        return names
    if left_out := [name for name in names if name not in found]:
        say(f"partition {partition.fullname!r}: environments without MPI are left out: {', '.join(left_out)}")
    return found


def compiles_mpi(partition, environment):
    """Whether the C compiler of an environment compiles and links an MPI program after its modules are loaded. Tried
    once for all partitions that add the same to the environment."""
    compiler = (environment.name, environment.cc, environment.cflags, environment.ldflags)
    parts = (partition.local_env, environment)
    loaded = [(part.modules_detailed, dict(part.env_vars), part.prepare_cmds) for part in parts]
    key = repr((compiler, loaded, partition.prepare_cmds))
    if key not in _COMPILED:
        _COMPILED[key] = _compiles_mpi(partition, environment)
    return _COMPILED[key]


_COMPILED = {}


def _compiles_mpi(partition, environment):
    with tempfile.TemporaryDirectory(prefix="coffeecup-") as folder:
        Path(folder, "mpi.c").write_text(PROGRAM, encoding="utf-8")
        compiler = " ".join([environment.cc, *environment.cflags, "mpi.c -o mpi", *environment.ldflags])
        return in_environment(partition, environment, compiler, folder) is not None


def compiler_of(partition, environment):
    """Path of the C compiler of an environment after its modules are loaded; empty if there is none."""
    return (in_environment(partition, environment, f"command -v {environment.cc}", ".") or "").strip()


def in_environment(partition, environment, command, folder):
    """What a command prints after the modules of an environment are loaded; None if it fails."""
    before = snapshot()
    try:
        _, commands = loadenv(runtime().system.preload_environ, partition.local_env, environment)
        script = "\n".join([*partition.prepare_cmds, *commands, command])
        done = subprocess.run(
            ["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        return done.stdout if done.returncode == 0 else None
    except (OSError, ReframeError, subprocess.TimeoutExpired):
        return None
    finally:
        before.restore()
