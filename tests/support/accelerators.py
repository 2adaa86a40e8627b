# SPDX-License-Identifier: Apache-2.0
"""Runs of b_eff on a stand-in for accelerators (faults/accelerator.c), whose memory cannot be accessed by the host."""

from builds import FAULTS, compiled, compiler_and_launcher
from kernel_runs import run

SOURCES = (FAULTS / "accelerator.c", FAULTS / "accelerator_mpi.c")
LIBRARIES = {"cuda": "libcudart.so.13", "hip": "libamdhip64.so.7", "level": "libze_loader.so.1"}
SHORT = ("--time-budget 1 --longest-loop 1 --memory-per-process 1MiB",)
FEW = ("--repetitions 1 --random-patterns 1",)


def stand_in(folder, name, kind="cuda", sources=SOURCES):
    """The library under the name of a vendor's, for kernels built with the MPI of this name."""
    library = folder / LIBRARIES[kind.split("-")[0]]
    flags = ["-g", "-shared", "-fPIC", f"-Wl,-soname,{library.name}"]
    compiled(library, *sources, flags=flags, compiler=compiler_and_launcher(name)[0])
    return library


def run_in_memory(mpi, folder, ranks, kinds, *options, library=None, **settings):
    """A run with --memory; the log is b_eff.jsonl in the folder."""
    preloaded = {"LD_PRELOAD": str(library)} if library else {}
    variables = preloaded | {name: str(value) for name, value in settings.items()}
    where = f"--log {folder}/b_eff.jsonl --memory {kinds}"
    command = mpi.command(ranks, "b_eff", where, *options, env=variables)
    return run(command, env=mpi.environment)
