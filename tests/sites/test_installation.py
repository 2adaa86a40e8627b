# SPDX-License-Identifier: Apache-2.0
"""One installation for many users: nothing is written into it."""

import os
import re
import shutil
import subprocess
import tarfile

import pytest
from builds import ROOT
from conftest import PATIENCE, REFRAME
from file_systems import memory
from privileges import without_privileges

from coffeecup.reframe_checks.paths import LOCAL_CONFIGURATION
from coffeecup.site_configs.common import bundle, new
from coffeecup.site_configs.common import tree as site_tree


def files(folder):
    """When each was changed, without those of Python."""
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path: path.stat().st_mtime_ns for path in found}


@pytest.mark.parametrize("named", [False, True], ids=["working_directory", "COFFEECUP_OUTPUT"])
def test_reframe_writes_into_the_users_own_place(tree, kernel_that, named):
    user, elsewhere = tree.scratch / "user", tree.scratch / "elsewhere"
    user.mkdir()
    before = files(tree.folder)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("RFM_", "SPACK_"))}
    environment |= {"HOME": str(tree.scratch / "home")} | ({"COFFEECUP_OUTPUT": str(elsewhere)} if named else {})
    (tree.scratch / "home").mkdir()
    settings, checks = tree.folder / "site_configs" / "local" / "settings.py", tree.folder / "reframe_checks"
    selection = ["-r", "-n", "^b_eff%num_processes=2", *kernel_that("true")]
    command = [*REFRAME, "-C", settings, "-c", checks, *selection]
    subprocess.run(command, cwd=user, env=environment, capture_output=True, check=False, timeout=PATIENCE)
    output = elsewhere if named else user / "output"
    assert {path.name for path in output.iterdir()} >= {"stage", "sessions", "results.db"}
    assert list(output.glob("sessions/session-*.json"))
    assert files(tree.folder) == before
    assert not list((tree.scratch / "home").rglob("*.db"))
    if named:
        assert not list(user.iterdir())


def set_up(folder, *goal, before=lambda: None):
    """Runs setup in a tree that has nothing but what it needs."""
    for name in ("pyproject.toml", "site_configs/local/setup", "site_configs/local/constraints.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    before()
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"PIP_NO_INDEX": "1"}
    command = [folder / "site_configs" / "local" / "setup", *goal]
    return subprocess.run(command, env=clean, capture_output=True, text=True, check=False, timeout=PATIENCE)


@pytest.mark.parametrize("goal", [(), pytest.param(("prove",), marks=pytest.mark.prove)], ids=["run", "prove"])
def test_setup_in_a_fresh_tree_creates_the_environment_or_fails(tmp_path, goal):
    """Without an index of packages, pip fails."""
    done = set_up(tmp_path, *goal)
    assert done.returncode != 0 and "creating the Python environment .venv" in done.stdout, done.stdout + done.stderr
    assert "No matching distribution found" in done.stderr
    assert not list((tmp_path / ".venv").glob("coffeecup-*"))


def test_setup_in_a_tree_that_cannot_be_written_says_so_and_leaves_it_alone(tmp_path):
    """It would try to remove each file of an environment that does not work here, and blame Python."""
    with memory(tmp_path / "tree", "size=1m") as tree:
        (tree / ".venv" / "bin").mkdir(parents=True)
        (tree / ".venv" / "bin" / "python").touch()
        done = set_up(tree, before=lambda: subprocess.run(["mount", "-o", "remount,ro", tree], check=True))
        first, second = done.stderr.splitlines()
        assert done.returncode == 1 and done.stdout == ""
        missing = f"{tree}/.venv is missing or not up to date"
        assert first == f"coffeecup: the Python environment {missing}, and you cannot write there"
        assert second.startswith("coffeecup: ask the owner of this tree to run ")


def test_new_site_outside_a_checkout_is_written_where_the_user_says(tree):
    """The site has the settings of one in the checkout, and passes its check by its path."""
    for command in ("sinfo", "pbsnodes", "qstat"):
        path = tree.stub(command, "exit 1")
    own = tree.scratch / "own"
    made = tree.run("new", "here", "--directory", str(own), path=path)
    assert made.code == 0, made.text
    assert sorted(path.name for path in own.iterdir()) == ["externals.yaml", "settings.py", "spack.yaml"]
    assert not (tree.folder / "site_configs" / "here").exists()
    assert f"- path: {own}/externals.yaml" in (own / "spack.yaml").read_text()
    checked = tree.run("check", str(own))
    assert checked.code == 0, checked.text
    again = tree.run("new", "here", "--directory", str(own), path=path)
    assert again.code == 2 and "already exists" in " ".join(again.err.replace("│", " ").split())


def test_installation_gets_no_sites(tmp_path, monkeypatch):
    """A wheel has checks and what sites share, but no kernels."""
    for part in ("reframe_checks/base.py", "site_configs/common/frame.py"):
        (tmp_path / part).parent.mkdir(parents=True)
        (tmp_path / part).touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(site_tree.SiteError, match="is an installation, not a checkout: name a directory of your own"):
        new.new_site("here")
    assert not (tmp_path / "site_configs" / "here").exists()
    with pytest.raises(site_tree.SiteError, match="is an installation, not a checkout: change to a checkout"):
        next(bundle.make_bundle(tmp_path / "bundle", "local"))
    assert not (tmp_path / "bundle").exists()


def test_tarball_can_be_bundled(tmp_path):
    """All its files, without what commands write into a tree."""
    folder, made = tmp_path / "coffeecup-1.0", tmp_path / "bundle"
    kept = ("pyproject.toml", "kernels/main.c", "docs/output/page.md")
    written = (".venv/x", "build/x", "output/x", "coffeecup.egg-info/x", "postprocess/__pycache__/x")
    for name in (*kept, *written):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    made.mkdir()
    assert list(bundle.sources(folder, made)) == ["sources as they are here, of unknown revision: there is no .git"]
    with tarfile.open(made / "coffeecup.tar.gz") as archive:
        files = {name for name in archive.getnames() if archive.getmember(name).isfile()}
        assert files == {f"coffeecup/{name}" for name in kept}


def test_bundle_of_a_checkout_says_that_changes_are_missing(tmp_path):
    """The bundle itself, in the checkout, is none; an earlier one is."""

    def git(*words):
        command = ["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@example.com", *words]
        subprocess.run(command, check=True)

    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "--message", "first")
    for name, says in (("clean", ""), ("changed", "; your uncommitted changes are not included")):
        made = tmp_path / "bundles" / name
        made.mkdir(parents=True)
        [line] = bundle.sources(tmp_path, made)
        assert re.fullmatch(f"sources at [0-9a-f]{{7,}}{says}", line)


def test_unknown_site_of_an_installation_is_refused_with_a_command_that_works_there(tmp_path, monkeypatch):
    (tmp_path / "reframe_checks").mkdir()
    (tmp_path / "reframe_checks" / "base.py").touch()
    (tmp_path / "site_configs").mkdir()
    monkeypatch.chdir(tmp_path)
    created = re.escape("create one with `coffeecup site new here --directory DIRECTORY`")
    with pytest.raises(site_tree.SiteError, match=f"^there is no site 'here': {created}$"):
        site_tree.settings_of(site_tree.find_tree(), "here")
    (tmp_path / "site_configs" / "local").mkdir()
    (tmp_path / "site_configs" / "local" / "settings.py").touch()
    with pytest.raises(site_tree.SiteError, match=f"^there is no site 'here': existing sites are local; {created}$"):
        site_tree.settings_of(site_tree.find_tree(), "here")
    with pytest.raises(site_tree.SiteError, match=r"`coffeecup site new NAME --directory '\./my here'`$"):
        site_tree.settings_of(site_tree.find_tree(), "./my here")


def test_a_path_that_is_no_site_is_refused_with_a_remedy_that_works(tmp_path, monkeypatch):
    """In a checkout: its root, a folder of it, a settings.py, and what a user must not look into."""
    monkeypatch.chdir(ROOT)
    for name in (".", "common", "tests"):
        with pytest.raises(site_tree.SiteError, match=r"create one with `coffeecup site new NAME`$"):
            site_tree.settings_of(ROOT, name)
    with pytest.raises(site_tree.SiteError, match=r"settings\.py is a file: name its directory, site_configs/local$"):
        site_tree.settings_of(ROOT, "site_configs/local/settings.py")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    with without_privileges():
        for ask in (lambda: site_tree.settings_of(ROOT, closed), lambda: new.new_site("here", closed / "here")):
            with pytest.raises(site_tree.SiteError, match=f"{tmp_path}.*: Permission denied$"):
                ask()


def test_new_site_on_a_full_disk_leaves_nothing_and_can_be_repeated(tmp_path, monkeypatch):
    monkeypatch.setattr(new, "look", lambda name: {"uncertain": []})
    monkeypatch.setattr(new.jinja2.Template, "render", lambda *values: "x" * 6000)
    monkeypatch.setattr(new.spack_site, "externals", lambda: "")
    with memory(tmp_path / "disk", "size=16k") as disk:
        (disk / "full").write_bytes(bytes(8192))
        for _ in range(2):
            with pytest.raises(site_tree.SiteError, match=r"^cannot write .*/here: No space left on device$"):
                new.new_site("here", disk / "here")
            assert [path.name for path in disk.iterdir()] == ["full"]
        (disk / "full").unlink()
        written, _ = new.new_site("here", disk / "here")
        assert sorted(path.name for path in disk.glob("here/*")) == sorted(path.name for path in written)


def test_wheel_has_the_configuration_that_refusals_name():
    packages = (ROOT / "setup.py").read_text()
    assert f'"{".".join(LOCAL_CONFIGURATION.parent.relative_to(ROOT).parts)}"' in packages
