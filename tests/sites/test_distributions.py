# SPDX-License-Identifier: Apache-2.0
"""The source distribution has the sources of the kernels and builds the wheel, which works in an environment without a
checkout."""

import os
import shutil
import sys
from filecmp import cmp
from pathlib import Path
from types import SimpleNamespace

import builds
import logs_made
import pytest
from builds import ROOT, good
from mutator import kernel_log

from coffeecup import __version__

BUILD = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"
OWN = ("__editable__", "coffeecup")  # how this checkout is installed here


def run(*command, **more):
    return good(builds.run(command, **more)).stdout


def built(kind, folder, tree):
    """The file that setuptools makes of a tree."""
    return folder / run(sys.executable, "-c", BUILD, f"build_{kind}", folder, cwd=tree).split()[-1]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The source distribution of the tracked files, unpacked, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("distributions")
    tracked = run("git", "ls-files", cwd=ROOT).splitlines()
    for name in tracked:
        if (ROOT / name).is_file():
            (folder / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / "tree" / name)
    shutil.unpack_archive(built("sdist", folder, folder / "tree"), folder)
    sources = folder / f"coffeecup-{__version__}"
    return SimpleNamespace(tracked=tracked, sources=sources, wheel=built("wheel", folder, sources))


def test_source_distribution_has_everything_but_the_tests(made):
    """With the same content, so that its kernels are those that other tests build from copies without .git."""
    tree = made.sources.parent / "tree"
    same = {name for name in made.tracked if (made.sources / name).exists() and cmp(tree / name, made.sources / name)}
    missing = set(made.tracked) - same
    assert {name.partition("/")[0] for name in missing} == {
        ".ci", ".clang-format", ".clang-tidy", ".gitignore", ".pre-commit-config.yaml", "tests"
    }  # fmt: skip
    assert not list(made.sources.glob("tests/**/test_*.py"))


@pytest.mark.slow
def test_source_distribution_makes_the_example_centre_of_the_documentation(made, tmp_path):
    """Of the two parts that use files of tests, the shorter one."""
    run(sys.executable, made.sources / "docs" / "write_example.py", tmp_path, "--parts", "nodes")
    assert (tmp_path / "index.html").exists()
    assert (made.sources / "tests" / "history" / "real_year" / "edison_mib_per_s.csv").exists()


def test_wheel_works_in_an_environment_of_its_own(made, tmp_path):
    """Its dependencies are those of this environment, where pip may not load them."""
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", made.wheel)
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip())
    for entry in Path(run(sys.executable, "-c", "import typer; print(typer.__file__)")).parent.parent.iterdir():
        if not entry.name.startswith(OWN) and not (packages / entry.name).exists():
            (packages / entry.name).symlink_to(entry)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("RFM_", "PYTHON"))}
    here = {"cwd": tmp_path, "env": clean | {"HOME": str(tmp_path)}}
    assert __version__ in run(python.with_name("coffeecup"), "--version", **here)
    log = logs_made.write(tmp_path / "ftio.jsonl", kernel_log("ftio"))
    assert "io_fraction" in run(python.with_name("coffeecup"), "score", log, **here)
    installed = packages / "coffeecup"
    words = ["-C", installed / "site_configs" / "local" / "settings.py", "-c", installed / "reframe_checks"]
    words += ["--dry-run", "-n", "^ftio%"]
    session = run(python, "-c", "from reframe.frontend.cli import main; main()", *words, **here)
    assert "installed kernels are used" in session and "ftio %" in session


def test_sources_below_another_repository_are_not_of_its_revision(made, tmp_path):
    """Unless they are tracked there."""

    def git(*words):
        return run("git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@example.com", *words).strip()

    def revision():
        paths = [f"-DSOURCE_DIR={tmp_path / 'kernels'}", f"-DOUTPUT={tmp_path / 'revision.h'}"]
        run("cmake", *paths, "-P", tmp_path / "kernels" / "common" / "revision.cmake")
        return (tmp_path / "revision.h").read_text().split('"')[1]

    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "--message", "first")
    shutil.copytree(made.sources / "kernels", tmp_path / "kernels")
    assert revision() == ""
    git("add", "kernels")
    git("commit", "--quiet", "--message", "second")
    assert revision() == git("rev-parse", "--short=12", "HEAD")
