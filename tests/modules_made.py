# SPDX-License-Identifier: Apache-2.0
"""Lmod modules of Debian's MPI libraries, each with a prefix of its own, as a centre has them."""

import shutil
from pathlib import Path

import pytest

LMOD = Path("/etc/profile.d/lmod.sh")
LIBRARIES = {"openmpi": "Open MPI", "mpich": "MPICH"}
OF_VERSION = {"openmpi": "ompi_info", "mpich": "mpichversion"}  # by which Spack recognises the library


def write_modules(folder):
    """`folder/modules`, with a module of each library that puts the commands below `folder/LIBRARY/bin` first on PATH.
    Skips the test where Lmod or a library is missing."""
    if not LMOD.exists():
        pytest.skip("no Lmod on this machine (Debian: lmod)")
    for library in LIBRARIES:
        commands = folder / library / "bin"
        commands.mkdir(parents=True)
        for name in ("mpicc", "mpirun", "mpiexec"):
            if not (command := shutil.which(f"{name}.{library}")):
                pytest.skip(f"no {library} on this machine: {name}.{library} is not on PATH")
            (commands / name).symlink_to(command)
        (commands / OF_VERSION[library]).symlink_to(f"/usr/bin/{OF_VERSION[library]}")
        (folder / "modules" / library).mkdir(parents=True)
        (folder / "modules" / library / "1.0.lua").write_text(f'prepend_path("PATH", "{commands}")\n')
    return folder / "modules"


def shell(modules, library):
    """The start of a command that runs another one in a shell with Lmod that has loaded this library's module."""
    return ["bash", "-c", f'. {LMOD}; module use {modules}; module load {library}; exec "$@"', "bash"]
