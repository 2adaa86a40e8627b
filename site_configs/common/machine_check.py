# SPDX-License-Identifier: Apache-2.0
"""Compares a site's configuration with the local machine: scheduler, compilers, file systems."""

import os
import shlex
import shutil
import tempfile
from pathlib import Path

from reframe_checks.vocabulary import Extra

from . import machine

COMMANDS = {
    "slurm": "sbatch",
    "squeue": "sbatch",
    "pbs": "qsub",
    "pbspro": "qsub",
    "torque": "qsub",
    "flux": "flux",
    "lsf": "bsub",
    "sge": "qsub",
}
LAUNCHERS = {"srun", "mpirun", "mpiexec", "aprun", "lrun", "ibrun"}


def findings(site):
    """(level, place, what, remedy) on every partition, and on each compiler and file system once."""
    seen = set()
    for full_name, partition in site.partitions():
        for finding in (
            *of_scheduler(full_name, partition),
            *of_mpi(site, full_name, partition),
            *of_file_systems(full_name, partition),
        ):
            if finding[1:] not in seen:
                seen.add(finding[1:])
                yield finding


def of_scheduler(full_name, partition):
    command = COMMANDS.get(partition["scheduler"])
    if command and not shutil.which(command):
        yield (
            "refused",
            f"partition {full_name}",
            f"{command} is not on PATH",
            "correct `scheduler`, or load its module",
        )
        return
    if partition["scheduler"] not in ("slurm", "squeue"):
        return
    asked = next(
        (option.split("=")[1] for option in partition.get("access", ()) if option.startswith("--partition=")), None
    )
    known = {entry.name: entry for entry in machine.slurm_partitions()}
    if not known:
        yield (
            "refused",
            f"partition {full_name}",
            "sinfo lists no partition",
            "check whether slurmctld is running: sinfo",
        )
        return
    found = known.get(asked) if asked else next((entry for entry in known.values() if entry.default), None)
    if found is None:
        yield (
            "refused",
            f"partition {full_name}",
            f"Slurm has no partition {asked!r}" if asked else "Slurm has no default partition",
            f"put one of {', '.join(known)} into `access`",
        )
        return
    extras = partition.get("extras", {})
    for extra, there, word in (
        (Extra.NUM_NODES, found.nodes, "nodes"),
        (Extra.CORES_PER_NODE, found.cpus_per_node, "cores on each node"),
    ):
        if extras.get(extra, 1) > there:
            yield (
                "refused",
                f"partition {full_name}",
                f"{extra} is {extras[extra]}, but Slurm's partition {found.name!r} has {there} {word}",
                f"correct {extra}",
            )


def of_mpi(site, full_name, partition):
    """The compiler of each environment, after its modules, and the launcher."""
    for name in partition.get("environs", ()):
        environment = site.environments[name]
        compiler = environment.get("cc") or "cc"
        modules = [
            module if isinstance(module, str) else module["name"]
            for module in (*partition.get("modules", ()), *environment.get("modules", ()))
        ]
        if not machine.finds(compiler, modules):
            after = f" after `module load {' '.join(modules)}`" if modules else ""
            yield (
                "refused",
                f"environment {name} of {full_name}",
                f"the MPI compiler {compiler!r} is not on PATH{after}",
                "install MPI (Debian: libopenmpi-dev), or name its modules in the environment's `modules`",
            )
    launcher = partition["launcher"]
    if launcher in LAUNCHERS and not machine.finds(launcher, partition.get("modules", ())):
        yield (
            "refused",
            f"partition {full_name}",
            f"{launcher} is not on PATH",
            "correct `launcher`, or load its module",
        )


def of_file_systems(full_name, partition):
    """Each directory exists and is writable."""
    for entry in partition.get("extras", {}).get(Extra.FILE_SYSTEMS, ()):
        place = f"file system {entry['name']} of {full_name}"
        directory = Path(os.path.expandvars(entry["directory"]))
        if not directory.is_dir():
            yield (
                "refused",
                place,
                f"directory {directory} does not exist",
                f"create it with `mkdir -p {shlex.quote(str(directory))}`, or correct {Extra.FILE_SYSTEMS}",
            )
            continue
        try:
            with tempfile.TemporaryFile(dir=directory) as file:
                file.write(b"coffeecup")
        except OSError as error:
            yield (
                "refused",
                place,
                f"cannot write to {directory}: {error.strerror}",
                "request write access, or choose another directory",
            )
            continue
        yield (
            "ok",
            place,
            f"{directory}: {machine.file_system_of(directory)}, {shutil.disk_usage(directory).free / 1e9:.3g} GByte "
            "free",
        )
