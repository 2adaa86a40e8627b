# SPDX-License-Identifier: Apache-2.0
"""What Spack detects on this machine: packages that it need not build, and the processors."""

import platform
import tempfile
from pathlib import Path

import yaml

from . import machine

NONE = "# Packages that this machine already has, so that Spack does not build them. {why}\npackages: {{}}\n"
FOUND = (
    "# Packages that this machine already has, so that Spack does not build them; found by `spack external find` on "
    "{host}.\n"
)
NO_MPI = (
    "# LOOK: no MPI library was found; Spack builds its own unless one is added here, with `packages: mpi: buildable: "
    "false`.\n"
)
DEBIAN = Path(__file__).with_name("debian12.yaml")
MPI = ("openmpi", "mpich", "cray-mpich", "mvapich", "intel-oneapi-mpi")
WANTED = ("cmake", "gmake", "pkgconf", "gcc", *MPI)
SECONDS = 300


def spack():
    """Spack's command, None if there is no usable one."""
    from reframe_checks.spack import SpackUnusableError, find_spack

    try:
        return find_spack()
    except SpackUnusableError:
        return None


def externals():
    """Text of an externals.yaml: what Spack finds, without what debian12.yaml lists; empty, with the reason, if there
    is no Spack."""
    command = spack()
    if command is None:
        return NONE.format(
            why="Empty: Spack was not available when this file was written;\n# run `spack external find` where it is."
        )
    found, listed = detected(command), listed_elsewhere()
    new = {name: entry for name, entry in found.items() if name not in listed}
    if not new:
        why = "Empty: common/debian12.yaml lists it." if listed else "Empty: `spack external find` found nothing."
        return NONE.format(why=why)
    has_mpi = [name for name in MPI if name in {**found, **listed}]
    packages = {**new, **({"mpi": {"buildable": False}} if has_mpi else {})}
    return (
        FOUND.format(host=platform.node())
        + ("" if has_mpi else NO_MPI)
        + yaml.safe_dump({"packages": packages}, sort_keys=False)
    )


def detected(command):
    """The packages of `spack external find`, in a temporary environment: the user's configuration does not change."""
    with tempfile.TemporaryDirectory(prefix="coffeecup-") as scratch:
        folder = Path(scratch, "environment")
        machine.ask(command, "env", "create", "-d", str(folder), timeout=SECONDS)
        if machine.ask(command, "-e", str(folder), "external", "find", *WANTED, timeout=SECONDS) is None:
            return {}
        packages = yaml.safe_load((folder / "spack.yaml").read_text(encoding="utf-8"))["spack"].get("packages", {})
    return {name: entry for name, entry in packages.items() if entry.get("externals")}


def listed_elsewhere():
    """The packages of debian12.yaml, if this is Debian 12."""
    try:
        system = platform.freedesktop_os_release()
    except OSError:
        return {}
    if (system["ID"], system.get("VERSION_ID")) != ("debian", "12"):
        return {}
    return yaml.safe_load(DEBIAN.read_text(encoding="utf-8"))["packages"]


def target():
    """Spack's generic target for this architecture: not that of this host, which may be newer than compute nodes."""
    return {"x86_64": "x86_64_v3", "aarch64": "aarch64", "ppc64le": "power9le"}.get(
        machine.ask("uname", "-m") or "", "x86_64"
    )
