"""What Spack knows of this machine: the packages it need not build, and the processors."""

import tempfile
from pathlib import Path

from . import machine

NONE = "# What this machine has already, so that Spack does not build it. {why}\npackages: {{}}\n"
FOUND = """\
# What this machine has already, so that Spack does not build it; found by `spack external find` on {host}.
# LOOK: an MPI library of the machine should be here, with `packages: mpi: buildable: false`, or Spack builds one of its own.
"""
WANTED = ("cmake", "gmake", "pkgconf", "openmpi", "mpich", "cray-mpich", "mvapich", "intel-oneapi-mpi", "gcc")


def spack():
    """Spack's command, None where none is usable."""
    from reframe_checks.spack import SpackUnusable, find_spack

    try:
        return find_spack()
    except SpackUnusable:
        return None


def externals():
    """Text of an externals.yaml: found by Spack where it is there, else empty with the reason."""
    command = spack()
    if command is None:
        return NONE.format(why="Empty: no Spack was found when it was written;\n# run `spack external find` where there is one.")
    with tempfile.TemporaryDirectory(prefix="coffeecup-") as folder:
        machine.ask(command, "-C", folder, "external", "find", "--scope", folder, *WANTED)
        found = Path(folder, "packages.yaml")
        if not found.exists():
            return NONE.format(why="Empty: `spack external find` found nothing.")
        return FOUND.format(host=machine.ask("uname", "-n")) + found.read_text(encoding="utf-8")


def target():
    """Spack's word for a processor that all of this kind are: not that of this host, which may be newer than compute nodes."""
    return {"x86_64": "x86_64_v3", "aarch64": "aarch64", "ppc64le": "power9le"}.get(machine.ask("uname", "-m"), "x86_64")
