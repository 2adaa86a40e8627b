# SPDX-License-Identifier: Apache-2.0
"""Spack as the checks use it: where it is, whether it is recent enough, and the commands that install one package."""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from .paths import SPACK_ENVIRONMENT

OLDEST = (1, 0, 2)  # the first release that understands `api: v2.2` of spack-repo
ROOT_VARIABLE = "COFFEECUP_ROOT"  # what the environment files in site_configs/ call the root of this tree
FOUND = "spack_found.txt"  # in the stage directory: what Spack installed
_FORMAT = "{prefix}|{name}{@version}{variants}{ %compiler}|{hash}"


class SpackUnusableError(Exception):
    """The reason why Spack cannot be used, in one sentence."""


def find_spack():
    """Path of a usable `spack`: the one on PATH, else the one in SPACK_ROOT."""
    in_root = Path(os.environ["SPACK_ROOT"], "bin", "spack") if os.environ.get("SPACK_ROOT") else None
    command = shutil.which("spack") or (in_root and shutil.which(in_root))
    if not command:
        raise SpackUnusableError("no `spack` on PATH and none in SPACK_ROOT")
    answer = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"(\d+)\.(\d+)\.(\d+)", answer.stdout)
    if answer.returncode or not version:
        reason = (answer.stderr.strip().splitlines() or ["no version"])[-1]
        raise SpackUnusableError(f"`{command} --version` fails: {reason}")
    if tuple(map(int, version.groups())) < OLDEST:
        raise SpackUnusableError(
            f"`{command}` is Spack {version[0]}; {'.'.join(map(str, OLDEST))} is the oldest supported version"
        )
    return str(command)


def environment_directory(parent, name, environment_file):
    """Where the concrete environment lives: one whose file or a file that it may include was changed gets a new one,
    others are kept."""
    included = {*Path(environment_file).parent.glob("*.yaml"), *SPACK_ENVIRONMENT.parent.glob("*.yaml")}
    texts = [path.read_bytes() for path in (Path(environment_file), *sorted(included))]
    digest = hashlib.sha256(b"\0".join(texts)).hexdigest()[:8]
    return Path(parent) / f"{name}-{digest}"


def install_commands(spack, environment_file, directory, package, mpi):
    """Create the environment where it is new, concretise it once, install the package, note what it is and where."""
    in_environment = f"{spack} -e {directory}"
    return [
        f"test -f {directory}/spack.yaml || {spack} env create -d {directory} {environment_file}",
        f"test -f {directory}/spack.lock || {in_environment} concretize",
        f"{in_environment} install --only-concrete {package}",
        f"{in_environment} find --format '{_FORMAT}' {package} > {FOUND}",
        f"{in_environment} location --install-dir {mpi} >> {FOUND}",
        f"cp {directory}/spack.lock .",
    ]


def read_found(path):
    """(prefix, spec, hash, prefix of the MPI library) from what `install_commands` noted."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    if len(lines) != 2 or lines[0].count("|") != 2:
        raise SpackUnusableError(f"Spack should list one installation and its MPI library, but printed {lines}")
    installation, mpi_prefix = lines
    return *installation.split("|"), mpi_prefix
