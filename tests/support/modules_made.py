# SPDX-License-Identifier: Apache-2.0
"""Lmod modules of Debian's MPI libraries, each with a prefix of its own, as a centre has them."""

import shutil
from pathlib import Path

import pytest

LMOD = Path("/etc/profile.d/lmod.sh")
LIBRARIES = {"openmpi": "Open MPI", "mpich": "MPICH"}
COMMANDS = ("mpicc", "mpirun", "mpiexec")
DEBIAN = Path("/usr/lib/x86_64-linux-gnu")
# What else of Debian's belongs to a library: link in its prefix to file. Spack recognises it by its command, and wants
# its headers and libraries; Hydra starts its helper from the folder of mpiexec.
PARTS = {
    "openmpi": {
        "bin/ompi_info": "/usr/bin/ompi_info",
        "include": DEBIAN / "openmpi/include",
        "lib": DEBIAN / "openmpi/lib",
    },
    "mpich": {
        "bin/mpichversion": "/usr/bin/mpichversion",
        "bin/hydra_pmi_proxy": "/usr/bin/hydra_pmi_proxy",
        "include": DEBIAN / "mpich/include",
        "lib/libmpi.so": DEBIAN / "libmpich.so",
    },
}


def write_modules(folder):
    """`folder/modules`, with a module of each library that puts the commands in its prefix, `folder/LIBRARY`, first on
    PATH. Skips the test where Lmod or a library is missing."""
    if not LMOD.exists():
        pytest.skip("no Lmod on this machine (Debian: lmod)")
    for library, parts in PARTS.items():
        links = {f"bin/{name}": shutil.which(f"{name}.{library}") for name in COMMANDS} | parts
        for name, target in links.items():
            if target is None:
                pytest.skip(f"no {library} on this machine: {Path(name).name}.{library} is not on PATH")
            (folder / library / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / library / name).symlink_to(target)
        (folder / "modules" / library).mkdir(parents=True)
        commands = folder / library / "bin"
        (folder / "modules" / library / "1.0.lua").write_text(f'prepend_path("PATH", "{commands}")\n')
    return folder / "modules"


def shell(modules, library):
    """The start of a command that runs another one in a shell with Lmod that has loaded this library's module."""
    return ["bash", "-c", f'. {LMOD}; module use {modules}; module load {library}; exec "$@"', "bash"]
