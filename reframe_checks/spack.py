# SPDX-License-Identifier: Apache-2.0
"""Spack as the checks use it: where it is, whether it is recent enough, the environment of all kernels, and the
commands that install one of them."""

import functools
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import yaml

from .paths import KERNELS, ROOT, SPACK_ENVIRONMENT, SPACK_RECIPES

OLDEST = (1, 0, 2)  # the first release that understands `api: v2.2` of spack-repo
MPI = ("openmpi", "mpich", "cray-mpich", "mvapich", "mvapich2", "intel-oneapi-mpi")  # packages of MPI libraries
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


def packages():
    """The kernels' Spack packages: one for each recipe of this tree."""
    return sorted(recipe.parent.name.replace("_", "-") for recipe in SPACK_RECIPES.glob("*/package.py"))


def environment_text(environment_file):
    """The environment of a site, which states what differs there, with all kernels added, built from the sources of
    this tree. A file with `specs` of its own gets no others."""
    content = yaml.safe_load(Path(environment_file).read_text(encoding="utf-8"))
    content["spack"].setdefault("specs", [f"{name}@main" for name in packages()])
    content["spack"]["develop"] = {name: {"spec": f"{name}@=main", "path": str(KERNELS)} for name in packages()}
    return yaml.safe_dump(content, sort_keys=False)


def make_environment(parent, name, environment_file):
    """Writes the environment's spack.yaml into a directory below `parent` and returns the directory. A change of the
    site's file, of a file that it may include or of the list of kernels leads to a new directory."""
    text = environment_text(environment_file)
    included = {*Path(environment_file).parent.glob("*.yaml"), *SPACK_ENVIRONMENT.parent.glob("*.yaml")}
    texts = [text.encode(), *(path.read_bytes() for path in sorted(included))]
    digest = hashlib.sha256(b"\0".join(texts)).hexdigest()[:8]
    directory = Path(parent) / f"{name}-{digest}"
    directory.mkdir(parents=True, exist_ok=True)
    if not (directory / "spack.yaml").exists():
        (directory / "spack.yaml").write_text(text, encoding="utf-8")
    return directory


@functools.cache
def packages_of(spack, directory):
    """The `packages` of an environment as Spack combines them from all its files."""
    environment = {**os.environ, ROOT_VARIABLE: str(ROOT)}
    command = [spack, "-e", str(directory), "config", "get", "packages"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    try:
        found = yaml.safe_load(answer.stdout)["packages"]
        return {name.rstrip(":"): entry or {} for name, entry in found.items()}
    except (AttributeError, KeyError, TypeError, yaml.YAMLError):
        reason = (answer.stderr.strip().splitlines() or ["it lists no packages"])[-1]
        raise SpackUnusableError(f"`{' '.join(command)}` fails: {reason}") from None


def mpi_problem(packages, compiler):
    """Why Spack would not certainly take the MPI library of this compiler with these `packages`; empty if it must: it
    may build none, and `mpi: require`, or else all packages of MPI libraries, leave one external, with its prefix."""
    mpi = packages.get("mpi", {})
    if mpi.get("buildable", packages.get("all", {}).get("buildable", True)):
        return "lets Spack build an MPI library of its own"
    required = mpi.get("require", MPI)
    externals = [
        external
        for name, version in map(_split, [required] if isinstance(required, str) else required)
        for external in packages.get(name, {}).get("externals", ())
        if not version or f"{_split(external['spec'])[1]}.".startswith(f"{version}.")
    ]
    if len(externals) != 1:
        return f"leaves {len(externals)} MPI libraries for Spack to choose from"
    prefix = externals[0].get("prefix")
    if prefix and other_library(f"{prefix}/bin", compiler):
        return f"has the MPI library in {prefix}, but the MPI compiler is {compiler}"
    return ""


def _split(spec):
    """(package, version) of a spec; empty what it does not state."""
    name, version = re.match(r"([\w-]*)(?:@=?([\w.-]*))?", str(spec)).groups("")  # pyright: ignore[reportOptionalMemberAccess]
    return name, version


def other_library(mpi_bin, compiler):
    """Whether Spack's MPI library is not that of the environment's compiler; a compiler that is not called mpi..., like
    Cray's, may be in another directory than its library."""
    if not (mpi_bin and compiler and Path(compiler).name.startswith("mpi")):
        return False
    return Path(compiler).parent.resolve() != Path(mpi_bin).resolve()


def install_commands(spack, directory, package, mpi):
    """Concretise the environment if it is new, install the package, and record its spec and prefix."""
    # Spack loads the modules of an external, and takes it for an error if LOADEDMODULES is the same afterwards, as it
    # is where the environment of the build has loaded them.
    in_environment = f"env -u LOADEDMODULES {spack} -e {directory}"
    return [
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
