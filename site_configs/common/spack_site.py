# SPDX-License-Identifier: Apache-2.0
"""What Spack detects on this machine: packages that it need not build, and the processors."""

import platform
import re
import shutil
import tempfile
from pathlib import Path

import yaml

from coffeecup.reframe_checks.spack import MPI, SpackUnusableError, find_spack

from . import machine

NONE = "# Packages that this machine already has, so that Spack does not build them. {why}\npackages: {{}}\n"
FOUND = (
    "# Packages that this machine already has, so that Spack does not build them; found by `spack external find` on "
    "{host}.\n"
)
PINNED = "# Kernels are built with the MPI library of this file's {mpicc}.\n"
NO_MPI = (
    "# LOOK: no package of MPI was found with the prefix of {mpicc}: Spack may take another library than the\n"
    "# launcher. Add the launcher's as an external with its prefix and modules, and require it:\n"
    "# `packages: mpi: require: [NAME]`.\n"
)
DEBIAN = Path(__file__).with_name("debian12.yaml")
TOOLS = ("cmake", "gmake", "pkgconf", "gcc")
SHARED = Path("/usr/bin")  # where several libraries may be
SECONDS = 300


def externals():
    """Text of an externals.yaml: what Spack finds, without what debian12.yaml lists, and the library of the mpicc on
    PATH as the only MPI; empty, with the reason, if there is no Spack."""
    try:
        command = find_spack()
    except SpackUnusableError:
        return NONE.format(
            why="Empty: Spack was not available when this file was written;\n# run `spack external find` where it is."
        )
    found, listed = detected(command), listed_elsewhere()
    packages = {name: entry for name, entry in found.items() if name not in listed and name not in MPI}
    mpicc = shutil.which("mpicc")
    library = entry_of(mpicc, found, machine.mpi_library()) if mpicc else None
    if library:
        packages |= pinned(*library, machine.loaded_modules()) | fftw(*library, found, listed)
    return (
        FOUND.format(host=platform.node())
        + (PINNED if library else NO_MPI).format(mpicc=mpicc or "an mpicc on PATH")
        + yaml.safe_dump({"packages": packages}, sort_keys=False)
    )


def entry_of(mpicc, found, library):
    """(package, its external) with the prefix of this mpicc; None if Spack found none. Spack follows symbolic links,
    and so does the comparison, but the prefix is the one on PATH: of several libraries behind links only that has the
    right mpicc. Libraries that share a prefix, as in Debian, are told apart by the name of the library, like "Open MPI
    4.1.4"; Spack may have found another one of them."""
    folder = Path(mpicc).parent
    places = {folder.resolve(), Path(mpicc).resolve().parent}
    matching = [
        (name, {**entry, "prefix": str(folder.parent)})
        for name in MPI
        for entry in found.get(name, {}).get("externals", ())
        if folder.name == "bin" and Path(entry["prefix"], "bin").resolve() in places
    ]
    if len(matching) > 1 or SHARED in places:
        word = library.lower().replace(" ", "")
        matching = [(name, entry) for name, entry in matching if word.startswith(name)]
    return matching[0] if len(matching) == 1 else None


def pinned(name, entry, modules):
    """The packages that make Spack build with this MPI library alone, with the modules that are loaded now."""
    external = {**entry, **({"modules": modules} if modules else {})}
    version = re.match(r"[\w-]+@=?([\w.]+)", entry["spec"])
    return {
        f"{name}:": {"externals": [external], "buildable": False},  # the colon: in place of what other files list
        "mpi": {"require": [f"{name}@={version[1]}" if version else name], "buildable": False},
    }


def fftw(name, entry, found, listed):
    """A listed FFTW was built for the listed MPI library: with another one, Spack builds FFTW, with the detected
    compilers because that takes Fortran."""
    prefixes = [external["prefix"] for external in listed.get(name, {}).get("externals", ())]
    if "fftw" not in listed or entry["prefix"] in prefixes:
        return {}
    compilers = {"gcc:": {**found["gcc"], "buildable": False}} if "gcc" in found else {}
    return {"fftw:": {"buildable": True}, **compilers}


def detected(command):
    """The packages of `spack external find`, in a temporary environment: the user's configuration does not change."""
    with tempfile.TemporaryDirectory(prefix="coffeecup-") as scratch:
        folder = Path(scratch, "environment")
        machine.ask(command, "env", "create", "-d", str(folder), timeout=SECONDS)
        for wanted in (TOOLS, MPI):  # what Spack tells of Open MPI takes a known compiler
            if machine.ask(command, "-e", str(folder), "external", "find", *wanted, timeout=SECONDS) is None:
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
