# SPDX-License-Identifier: Apache-2.0
"""Names that people give to directories, and environments without a home or a language: they work, or one sentence says
what to do."""

import os
from functools import partial

import pytest
from builds import ROOT, run
from conftest import CHECKS, REFRAME, Reframe
from file_systems import memory
from raw_log import read_log

from coffeecup.reframe_checks.paths import LOCAL_CONFIGURATION
from coffeecup.site_configs.common import machine
from coffeecup.site_configs.common.new import new_site
from coffeecup.site_configs.common.tree import read_configuration

ODD = "Meß läufe"


def test_checkout_with_blanks_and_umlauts_builds_and_runs_without_a_home(tree, no_scheduler):
    """In a working directory with umlauts; the measured directory, the workload and TMPDIR have blanks as well."""
    checkout, user, odd = (tree.scratch / name for name in ("coffee cup, große Tasse", "läufe", ODD))
    tree.folder.rename(checkout)
    user.mkdir()
    odd.mkdir()
    workload = odd / "one workload.cfg"
    workload.write_text((ROOT / "kernels" / "priomark" / "workloads" / "probe.cfg").read_text())
    session = Reframe(user)(
        *("-r", "-n", "^priomark%", "--tag=smallest", "-S", "builder=cmake", "-S", f"priomark.workload={workload}"),
        *("-S", f"priomark.directory={odd}", "-S", "priomark.time_limit=10m"),
        config=checkout / "site_configs" / "local" / "settings.py",
        checks=checkout / "reframe_checks" / "priomark.py",
        env=no_scheduler | {"HOME": "/proc/none", "LC_ALL": "C", "TMPDIR": str(odd)},
    )
    assert session.returncode == 0, session.output
    [case] = session.cases
    [log] = (user / "output").rglob("priomark.jsonl")
    assert read_log(log).run["filesystem"]["directory"] == str(odd) and case["result"] == "pass"


@pytest.mark.parametrize("name", [ODD, "a(b)", "it's"])
def test_working_directory_in_which_reframe_runs_no_job_is_refused_in_one_sentence(tmp_path, no_scheduler, name):
    folder = tmp_path / name
    folder.mkdir()
    listed = partial(Reframe(folder, CHECKS / "b_eff.py"), "-L", "-n", "^b_eff%", config=LOCAL_CONFIGURATION)
    session = listed(env=no_scheduler)
    assert session.returncode == 1 and "Traceback" not in session.output
    assert session.output.count("coffeecup: ReFrame runs no jobs in ") == 1 and "--prefix=DIRECTORY" in session.output
    if name == ODD:
        elsewhere = listed(f"--prefix={tmp_path}/ä-1.0", env=no_scheduler)
        assert elsewhere.returncode == 0 and "- b_eff %" in elsewhere.output


@pytest.mark.parametrize("home", [None, "/proc/none"])
def test_listing_needs_no_home_directory(tmp_path, no_scheduler, home):
    """None that is set, or one that nobody can write."""
    environment = {name: value for name, value in os.environ.items() if name != "HOME" and not name.startswith("RFM_")}
    environment |= no_scheduler | {"LC_ALL": "C"} | ({"HOME": home} if home else {})
    command = [*REFRAME, "-C", LOCAL_CONFIGURATION, "-c", CHECKS / "b_eff.py", "-L", "-n", "^b_eff%"]
    done = run(command, cwd=tmp_path, env=environment)
    assert done.returncode == 0 and "- b_eff %" in done.stdout and "Traceback" not in done.stdout + done.stderr
    assert not (tmp_path / "${HOME}").exists()


@pytest.mark.parametrize(
    ("name", "usable"), [(ODD, True), ('back\\slash and "quotes"', True), (os.fsdecode(b"no text \xff"), False)]
)
def test_new_site_has_file_systems_with_odd_names(tmp_path, monkeypatch, no_scheduler, name, usable):
    """The kernel writes blanks and backslashes of a mount point as octal numbers. No configuration can contain a name
    that is not text."""
    monkeypatch.setattr(machine, "LOCAL", ("tmpfs",))
    monkeypatch.setattr(machine, "scheduler", lambda: ("local", ""))
    monkeypatch.setenv("PATH", no_scheduler["PATH"])
    with memory(tmp_path / name, "size=1m") as small:
        new_site("here", tmp_path / "here")
    [system] = read_configuration(tmp_path / "here" / "settings.py")["systems"]
    seen = [entry["directory"] for entry in system["partitions"][0]["extras"].get("file_systems", ())]
    assert [directory for directory in seen if directory.startswith(str(tmp_path))] == [str(small)] * usable
