# SPDX-License-Identifier: Apache-2.0
"""`coffeecup site bundle`: everything that an installation would download, in one directory, with the command that
installs it."""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from coffeecup.reframe_checks.spack import ROOT_VARIABLE, SpackUnusableError, find_spack, make_environment

from .tree import SiteError, find_tree, is_checkout, new_folder, settings_of

SOURCES = "coffeecup"  # install_from_bundle knows these names, too
WHEELS = "wheels"
SPACK = "spack"
SUMS = "SHA256SUMS"
INSTALL = "install"


def make_bundle(folder, site, with_spack=True) -> Iterator[str]:
    """Fills a new directory and yields a line per part. Raises SiteError for a part that is not available."""
    tree, folder = find_tree(), Path(folder).resolve()
    if not is_checkout(tree):
        raise SiteError(f"{tree} is an installation, not a checkout: change to a checkout of coffeecup")
    environment = settings_of(tree, site).with_name("spack.yaml")
    if not environment.exists():
        environment = tree / "site_configs" / "common" / "spack.yaml"
    if folder.exists():
        raise SiteError(f"{folder} already exists: choose a new name")
    try:
        with new_folder(folder):
            yield from parts(tree, folder, environment if with_spack else None)
    except OSError as error:
        raise SiteError(f"cannot write {error.filename or folder}: {error.strerror}") from None


def parts(tree, folder, spack_environment):
    """Fills the directory and yields a line per part; without Spack's if there is no environment of it."""
    yield from sources(tree, folder)
    yield from wheels(tree, folder)
    if spack_environment:
        yield from spack(tree, folder, spack_environment)
    shutil.copy(Path(__file__).with_name("install_from_bundle"), folder / INSTALL)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n" for path in files)
    (folder / SUMS).write_text(sums, encoding="utf-8")
    yield (
        f"{len(files)} files, {sum(path.stat().st_size for path in files) / 1e6:.0f} MByte; install with: "
        f"{folder.name}/{INSTALL} FOLDER"
    )


def run(what, *command, **more):
    """Standard output of a command. Raises SiteError with the end of its error output."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **more)
    if done.returncode:
        complaint = " ".join(line.strip() for line in (done.stderr or done.stdout).strip().splitlines()[-3:])
        raise SiteError(f"{what}: {complaint or f'{command[0]} ended with {done.returncode}'}")
    return done.stdout.strip()


def sources(tree, folder):
    """The revision that is checked out, as a clone without history, so that builds know it; or the files of a tree that
    came as a tarball."""
    if not (tree / ".git").exists():
        with tarfile.open(folder / f"{SOURCES}.tar.gz", "w:gz") as archive:
            archive.add(tree, SOURCES, filter=without_output)
        yield "sources as they are here, of unknown revision: there is no .git"
        return
    with tempfile.TemporaryDirectory(prefix="coffeecup-") as scratch:
        clone = Path(scratch, SOURCES)
        run("the sources cannot be bundled", "git", "clone", "--quiet", "--depth=1", tree.as_uri(), clone)
        run("the clone keeps its origin", "git", "-C", clone, "remote", "remove", "origin")
        shutil.make_archive(folder / SOURCES, "gztar", scratch, SOURCES)
    revision = run("the revision of the sources is unknown", "git", "-C", tree, "rev-parse", "--short", "HEAD")
    but = [f":(exclude){folder.relative_to(tree)}"] if folder.is_relative_to(tree) else []
    changed = run("the state of the sources is unknown", "git", "-C", tree, "status", "--porcelain", "--", *but)
    yield f"sources at {revision}" + ("; your uncommitted changes are not included" if changed else "")


def without_output(entry):
    """An entry of the sources' archive; None for what commands write into a tree."""
    parts = Path(entry.name).parts
    written = len(parts) == 2 and parts[1] in (".venv", "build", "output")
    return None if written or "__pycache__" in parts or parts[-1].endswith(".egg-info") else entry


def wheels(tree, folder):
    """Wheels of everything that setup installs, for this Python and architecture; built here if there are only
    sources."""
    project = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))
    download("the wheels", tree, folder, *project["build-system"]["requires"], *project["project"]["dependencies"])
    yield (
        f"{len(list((folder / WHEELS).iterdir()))} wheels for Python {platform.python_version()} on "
        f"{platform.machine()}"
    )


def download(what, tree, folder, *requirements):
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    versions = ["--constraint", tree / "site_configs" / "local" / "constraints.txt"]
    run(f"{what} cannot be downloaded", *pip, "--wheel-dir", folder / WHEELS, *versions, *requirements)


def spack(tree, folder, environment_file):
    """Spack itself, its recipes, the solver that it would fetch, and the sources of what the environment would
    build."""
    try:
        command = find_spack()
    except SpackUnusableError as reason:
        yield f"no Spack: {reason}"
        return
    (folder / SPACK).mkdir()
    download("Spack's solver", tree, folder, "clingo")
    # The path of a repository of recipes, like .../spack-packages/repos/spack_repo/builtin.
    recipes = Path(run("Spack's recipes are not found", command, "location", "--repo", "builtin"))
    for name, root in (("spack", Path(command).resolve().parents[1]), ("packages", recipes.parents[2])):
        archive = ["archive", "--output", folder / SPACK / f"{name}.tar.gz", "HEAD"]
        run(f"{root} cannot be archived", "git", "-C", root, *archive)
    with tempfile.TemporaryDirectory(prefix="coffeecup-") as scratch:
        variables = os.environ | {ROOT_VARIABLE: str(tree)}
        at = ["-e", make_environment(scratch, "bundle", environment_file)]
        run("the Spack environment cannot be concretised", command, *at, "concretize", env=variables)
        mirror = ["mirror", "create", "--all", "--directory", folder / SPACK / "mirror"]
        run("a source is missing", command, *at, *mirror, env=variables)
    fetched = sum(path.is_file() for path in (folder / SPACK / "mirror").rglob("*"))
    yield (
        f"Spack {run('Spack has no version', command, '--version')} with its recipes, its solver, and {fetched} files "
        "of sources"
    )
