"""What Spack knows of this machine: the packages it need not build, and the processors."""

import platform
import tempfile
from pathlib import Path

import yaml

from . import machine

NONE = "# What this machine has already, so that Spack does not build it. {why}\npackages: {{}}\n"
FOUND = "# What this machine has already, so that Spack does not build it; found by `spack external find` on {host}.\n"
NO_MPI = "# LOOK: no MPI library was found; without one here, and `packages: mpi: buildable: false`, Spack builds one of its own.\n"
DEBIAN = Path(__file__).with_name("debian12.yaml")
MPI = ("openmpi", "mpich", "cray-mpich", "mvapich", "intel-oneapi-mpi")
WANTED = ("cmake", "gmake", "pkgconf", "gcc", *MPI)
SECONDS = 300


def spack():
    """Spack's command, None where none is usable."""
    from reframe_checks.spack import SpackUnusable, find_spack

    try:
        return find_spack()
    except SpackUnusable:
        return None


def externals():
    """Text of an externals.yaml: found by Spack where it is there, less what debian12.yaml tells; else empty with the reason."""
    command = spack()
    if command is None:
        return NONE.format(why="Empty: no Spack was found when it was written;\n# run `spack external find` where there is one.")
    found, told = detected(command), told_elsewhere()
    new = {name: entry for name, entry in found.items() if name not in told}
    if not new:
        why = "Empty: common/debian12.yaml tells it." if told else "Empty: `spack external find` found nothing."
        return NONE.format(why=why)
    has_mpi = [name for name in MPI if name in {**found, **told}]
    packages = {**new, **({"mpi": {"buildable": False}} if has_mpi else {})}
    return FOUND.format(host=platform.node()) + ("" if has_mpi else NO_MPI) + yaml.safe_dump({"packages": packages}, sort_keys=False)


def detected(command):
    """The packages of `spack external find`, in an environment of its own: the person's configuration stays as it is."""
    with tempfile.TemporaryDirectory(prefix="coffeecup-") as scratch:
        folder = Path(scratch, "environment")
        machine.ask(command, "env", "create", "-d", str(folder), timeout=SECONDS)
        if machine.ask(command, "-e", str(folder), "external", "find", *WANTED, timeout=SECONDS) is None:
            return {}
        packages = yaml.safe_load((folder / "spack.yaml").read_text(encoding="utf-8"))["spack"].get("packages", {})
    return {name: entry for name, entry in packages.items() if entry.get("externals")}


def told_elsewhere():
    """The packages of debian12.yaml, where it holds."""
    try:
        system = platform.freedesktop_os_release()
    except OSError:
        return {}
    if (system["ID"], system.get("VERSION_ID")) != ("debian", "12"):
        return {}
    return yaml.safe_load(DEBIAN.read_text(encoding="utf-8"))["packages"]


def target():
    """Spack's word for a processor that all of this kind are: not that of this host, which may be newer than compute nodes."""
    return {"x86_64": "x86_64_v3", "aarch64": "aarch64", "ppc64le": "power9le"}.get(machine.ask("uname", "-m"), "x86_64")
