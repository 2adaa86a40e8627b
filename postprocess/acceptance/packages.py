# SPDX-License-Identifier: Apache-2.0
"""Which package of this machine installed a file, as Debian's and Spack's own records state it.

A path alone proves nothing: a file belongs to a package only if it has the expected hash on this machine, and still the
content that the package installed.
"""

import base64
import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

DEBIAN, SPACK = "deb", "spack"
NO_PACKAGE = "no package of Debian or Spack on this machine contains it"
Key = tuple[str, str | None]  # path and expected SHA-256 of a file, None if it is unknown


@dataclass(frozen=True)
class Package:
    """`vendor` is the distribution or Spack's repository; `build` tells builds of one version apart: the architecture
    of a Debian package, the hash of a Spack package."""

    manager: str
    vendor: str
    name: str
    version: str
    build: str


def packages_of(files: Iterable[Key]) -> dict[Key, Package | str]:
    """The package that installed each file with its content, or the reason why none is known."""
    found: dict[Key, Package | str] = {key: why_not_here(*key) for key in files}
    here = {path: (path, expected) for (path, expected), reason in found.items() if not reason}
    debian = debian_packages(list(here))
    for path, key in here.items():
        found[key] = debian.get(path) or spack_package(path) or NO_PACKAGE
    return found


def why_not_here(path: str, expected: str | None) -> str:
    """Empty if the file of this path has the expected SHA-256."""
    if expected is None:
        return "the log does not state its hash"
    try:
        now = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except (OSError, ValueError):
        return "this machine has no such file"
    return "" if now == expected else "this machine has another file of this name"


# --- Debian -----------------------------------------------------------------------------------------------------------


def debian_packages(paths: list[str]) -> dict[str, Package | str]:
    """The packages of files, or why they do not count; nothing for files that no package contains."""
    owners = dict(owned(paths))
    names = sorted(set(owners.values()))
    if not names:
        return {}
    form = "--showformat=${binary:Package}\t${Package}\t${Version}\t${Architecture}\n"
    shown = [line.split("\t") for line in lines_of("dpkg-query", "--show", form, *names)]
    packages = {key: Package(DEBIAN, distribution(), *fields) for key, *fields in shown}
    # A line of `dpkg --verify` is nine results, such as ??5??????, a kind of file and the path.
    changed = [line[12:] for line in lines_of("dpkg", "--verify", *names)]
    return {
        path: changed_after(packages[name]) if any(same_file(path, other) for other in changed) else packages[name]
        for path, name in owners.items()
        if name in packages
    }


def owned(paths: list[str]) -> Iterable[tuple[str, str]]:
    """Pairs of path and package. Debian knows many files of /usr/lib as those of /lib, which is a link to it."""
    asked = {name: path for path in paths for name in (path, path.removeprefix("/usr"))}
    for line in lines_of("dpkg-query", "--search", *asked) if asked else ():
        names, _, place = line.partition(": ")
        if place in asked and not names.startswith("diversion ") and same_file(place, asked[place]):
            yield asked[place], names.split(", ")[0]


def distribution() -> str:
    """Such as `debian`."""
    try:
        return platform.freedesktop_os_release()["ID"]
    except OSError:
        return "debian"


def same_file(one: str, other: str) -> bool:
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):
        return False


def lines_of(*command: str) -> list[str]:
    """What a program prints, nothing if this machine does not have it. dpkg exits with 1 if one of several files is
    unknown or changed."""
    try:
        done = subprocess.run(command, capture_output=True, check=False, env=os.environ | {"LC_ALL": "C.UTF-8"})
    except (OSError, ValueError):
        return []
    return done.stdout.decode(errors="replace").splitlines()


def changed_after(package: Package) -> str:
    return f"the file was changed after {package.name} {package.version} had been installed"


# --- Spack ------------------------------------------------------------------------------------------------------------


def spack_package(path: str) -> Package | str:
    """The package whose prefix contains the file, or why it does not count; empty if there is none."""
    prefix = next((folder for folder in Path(path).parents if (folder / ".spack" / "spec.json").is_file()), None)
    if prefix is None:
        return ""
    try:
        spec = json.loads((prefix / ".spack" / "spec.json").read_bytes())["spec"]["nodes"][0]
        package = Package(SPACK, *(str(spec[key]) for key in ("namespace", "name", "version", "hash")))
        installed = json.loads((prefix / ".spack" / "install_manifest.json").read_bytes())[path]["hash"]
        now = base64.b32encode(hashlib.sha1(Path(path).read_bytes(), usedforsecurity=False).digest()).decode()
    except (OSError, ValueError, LookupError, TypeError) as error:
        return f"Spack's records in {prefix} cannot be read: {type(error).__name__}"
    return package if now == installed else changed_after(package)
