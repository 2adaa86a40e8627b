# SPDX-License-Identifier: Apache-2.0
"""`coffeecup site bundle`: what it collects installs and runs in a network namespace that has no route, not even to
this machine's others.

Collecting and installing take two to three minutes, so that they are only tested where COFFEECUP_TEST_BUNDLE is set.
"""

import os
import shutil
import sys
from zipfile import ZipFile

import pytest
from builds import OPEN_MPI, ROOT, executable, run
from check_runs import values
from conftest import COFFEECUP
from file_systems import memory

WITHOUT_NETWORK = ["unshare", "--net", "sh", "-ec", 'ip link set lo up; exec "$@"', "sh"]


def call(*command, **more):
    return run(command, **more)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """The bundle of this tree's last commit, without Spack."""
    if not os.environ.get("COFFEECUP_TEST_BUNDLE"):
        pytest.skip("takes minutes; COFFEECUP_TEST_BUNDLE=1 runs it")
    folder = tmp_path_factory.mktemp("bundle") / "a bundle"
    made = call(COFFEECUP, "site", "bundle", folder, "--no-spack", cwd=ROOT)
    if "cannot be downloaded" in made.stderr:
        pytest.skip(f"no package registry to collect from: {made.stderr.strip()[-200:]}")
    if "cannot be bundled" in made.stderr:
        pytest.skip(f"the tree is no git checkout: {made.stderr.strip()[-200:]}")
    assert made.returncode == 0, made.stderr
    return folder


def test_bundle_installs_and_measures_without_a_network(bundle, tmp_path):
    if call(*WITHOUT_NETWORK, "true").returncode:
        pytest.skip("no leave to make a network namespace")
    routes = call(*WITHOUT_NETWORK, "ip", "route", "show")
    assert routes.stdout == ""
    there = tmp_path / "coffeecup"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "SPACK_", "RFM_"))}
    environment = clean | OPEN_MPI | {"HOME": str(tmp_path), "PIP_NO_CACHE_DIR": "1"}
    installed = call(*WITHOUT_NETWORK, bundle / "install", there, env=environment)
    assert installed.returncode == 0, installed.stdout + installed.stderr
    words = ["-C", "site_configs/local/settings.py", "-c", "reframe_checks", "-r", "-n", "^b_eff%num_processes=2$"]
    words += values("builder=cmake", "b_eff.time_budget=1", "b_eff.memory_per_process=1MiB")
    measured = call(*WITHOUT_NETWORK, there / ".venv" / "bin" / "reframe", *words, cwd=there, env=environment)
    assert measured.returncode == 0, measured.stdout
    [log] = there.glob("output/output/**/b_eff.jsonl")
    scored = call(there / ".venv" / "bin" / "coffeecup", "score", log, cwd=there)
    assert scored.returncode == 0, scored.stderr
    revision = call("git", "-C", ROOT, "rev-parse", "--short=7", "HEAD").stdout.strip()
    assert f'"git_revision":"{revision}' in log.read_text().replace(" ", "")


def test_a_bundle_that_could_not_be_written_leaves_no_directory(tmp_path):
    with memory(tmp_path / "small", "size=64k") as small:
        done = call(COFFEECUP, "site", "bundle", small / "bundle", "--no-spack", cwd=ROOT)
        if "cannot be bundled" in done.stderr:
            pytest.skip(f"the tree is no git checkout: {done.stderr.strip()[-200:]}")
        assert done.returncode == 1 and f"cannot write {small}/bundle" in done.stderr, done.stdout + done.stderr
        assert "No space left on device" in done.stderr and list(small.iterdir()) == []


def test_damaged_bundle_is_refused(bundle, tmp_path):
    damaged = tmp_path / "damaged"
    shutil.copytree(bundle, damaged)
    wheel = next((damaged / "wheels").glob("rich-*.whl"))
    wheel.write_bytes(wheel.read_bytes()[:-1])
    refused = call(damaged / "install", tmp_path / "there")
    assert refused.returncode == 1
    assert f"wheels/{wheel.name}: FAILED" in refused.stdout + refused.stderr
    assert "the bundle is damaged: copy it again" in refused.stderr
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize("code", [0, 3])
def test_installation_that_failed_can_be_repeated(tmp_path, code):
    """From a bundle whose path has a blank: its setup finds a wheel there, and ends with this code."""
    folder, setup = tmp_path / "a bundle", tmp_path / "coffeecup" / "site_configs" / "local" / "setup"
    executable(setup, f"{sys.executable} -m pip download --no-deps --dest {tmp_path} made || exit 9; exit {code}")
    (folder / "wheels").mkdir(parents=True)
    with ZipFile(folder / "wheels" / "made-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("made-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: made\nVersion: 1\n")
        wheel.writestr("made-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    shutil.make_archive(folder / "coffeecup", "gztar", tmp_path, "coffeecup")
    (folder / "SHA256SUMS").write_text(call("sha256sum", "coffeecup.tar.gz", cwd=folder).stdout)
    shutil.copy(ROOT / "site_configs" / "common" / "install_from_bundle", folder / "install")
    done = call(folder / "install", tmp_path / "there")
    assert done.returncode == code, done.stdout + done.stderr
    assert (tmp_path / "there").exists() == (code == 0)


def test_folder_that_is_there_is_not_touched(tmp_path):
    for command in (
        (COFFEECUP, "site", "bundle", tmp_path),
        (ROOT / "site_configs" / "common" / "install_from_bundle", tmp_path),
    ):
        refused = call(*command, cwd=ROOT)
        assert (refused.returncode, refused.stderr.count("already exists: choose a new name")) == (1, 1)
    assert not list(tmp_path.iterdir())


def test_unknown_site_is_refused(tmp_path):
    refused = call(COFFEECUP, "site", "bundle", tmp_path / "new", "--site", "lokal", cwd=ROOT)
    assert refused.returncode == 1
    assert "there is no site 'lokal' (did you mean 'local'?)" in refused.stderr
    assert not (tmp_path / "new").exists()
