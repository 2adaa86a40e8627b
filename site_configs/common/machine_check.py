# SPDX-License-Identifier: Apache-2.0
"""Compares a site's configuration with the local machine: scheduler, compilers, file systems."""

import os
import shlex
import shutil
import tempfile
from pathlib import Path

from coffeecup.reframe_checks.vocabulary import Extra

from . import machine, slurm_check

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
# ReFrame's name of a launcher: its command.
LAUNCHERS = {
    "alps": "aprun",
    "ibrun": "ibrun",
    "lrun": "lrun",
    "mpiexec": "mpiexec",
    "mpirun": "mpirun",
    "srun": "srun",
    "srunalloc": "srun",
}


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
    if partition["scheduler"] in ("slurm", "squeue"):
        yield from (("refused", f"partition {full_name}", *finding) for finding in slurm_check.findings(partition))


def of_mpi(site, full_name, partition):
    """The compiler of each environment, after its modules, and the launcher."""
    for name in partition.get("environs", ()):
        yield from of_environment(site, full_name, partition, name)
    launcher = partition["launcher"]
    command = LAUNCHERS.get(launcher)
    modules = names_of(*partition.get("modules", ()))
    if command and not any(
        machine.path_of(command, (*modules, *names_of(*site.environments[name].get("modules", ()))))
        for name in partition["environs"]
    ):
        yield (
            "refused",
            f"partition {full_name}",
            f"{command} is not on PATH",
            "correct `launcher`, or load its module",
        )
    if launcher in LAUNCHERS.values() and launcher not in LAUNCHERS:
        name = next(name for name, command in LAUNCHERS.items() if command == launcher)
        yield "refused", f"partition {full_name}", f"ReFrame has no launcher {launcher!r}", f"write {name!r}"


def of_environment(site, full_name, partition, name):
    place = f"environment {name} of {full_name}"
    compiler, modules = compiler_of(site, partition, name)
    system = next(system for system in site.systems if system["name"] == full_name.partition(":")[0])
    if modules and system.get("modules_system", "nomod") == "nomod":
        yield (
            "refused",
            place,
            f"no job loads its modules ({', '.join(modules)}), because system {system['name']!r} names no "
            "`modules_system`",
            f'add "modules_system": "{machine.modules_system() or "lmod"}" to the system',
        )
    elif not machine.path_of(compiler, modules):
        after = f" after `module load {' '.join(modules)}`" if modules else ""
        yield (
            "refused",
            place,
            f"the MPI compiler {compiler!r} is not on PATH{after}",
            "install MPI (Debian: libopenmpi-dev), or name its modules in the environment's `modules`",
        )


def compiler_of(site, partition, name):
    """(command, modules that a job loads before it) of an environment's C compiler."""
    environment = site.environments[name]
    return environment.get("cc") or "cc", names_of(*partition.get("modules", ()), *environment.get("modules", ()))


def names_of(*modules):
    """The names of modules, which a configuration may also describe as objects."""
    return [module if isinstance(module, str) else module["name"] for module in modules]


def of_file_systems(full_name, partition):
    """Each directory exists, answers and is writable."""
    for entry in partition.get("extras", {}).get(Extra.FILE_SYSTEMS, ()):
        place = f"file system {entry['name']} of {full_name}"
        directory = os.path.expandvars(entry["directory"])
        state = machine.answer(state_of, directory)
        if state is None:
            yield (
                "refused",
                place,
                f"directory {directory} does not answer within {machine.PATIENCE} s",
                f"wait for its file system, or remove it from {Extra.FILE_SYSTEMS}",
            )
        elif "missing" in state:
            yield (
                "refused",
                place,
                f"directory {directory} does not exist",
                f"create it with `mkdir -p {shlex.quote(directory)}`, or correct {Extra.FILE_SYSTEMS}",
            )
        elif "error" in state:
            yield (
                "refused",
                place,
                f"cannot write to {directory}: {state['error']}",
                "request write access, or choose another directory",
            )
        else:
            yield "ok", place, f"{directory}: {state['kind']}, {state['free'] / 1e9:.3g} GByte free"


def state_of(directory):
    """Of a directory: that it is missing, why a file cannot be written, or its file system and free bytes."""
    if not Path(directory).is_dir():
        return {"missing": True}
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(b"coffeecup")
    except OSError as error:
        return {"error": error.strerror}
    return {"kind": machine.file_system_of(directory), "free": shutil.disk_usage(directory).free}
