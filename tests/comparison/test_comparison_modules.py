# SPDX-License-Identifier: Apache-2.0
"""Arms with modules: the program that all arms run is found as in the others, whether the shell knows
`module` or not."""

import pytest
from modules_made import LMOD

from coffeecup.postprocess.cli import alternation
from coffeecup.postprocess.comparison.plan import Arm, Plan


@pytest.mark.parametrize("initialised", [False, True])
def test_modules_of_an_arm_are_loaded_and_nothing_else_changes(tmp_path, monkeypatch, initialised):
    if not LMOD.exists():
        pytest.skip("no Lmod on this machine (Debian: lmod)")
    (tmp_path / "modules" / "eager").mkdir(parents=True)
    (tmp_path / "modules" / "eager" / "1.lua").write_text('setenv("EAGER", "64k")\n')
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kernel").write_text('#!/bin/sh\necho "${EAGER-usual} $*" > said\n')
    (tmp_path / "bin" / "kernel").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setenv("MODULEPATH", str(tmp_path / "modules"))
    monkeypatch.setenv("BASH_ENV", str(LMOD) if initialised else "")
    plan = Plan(
        command=["kernel", "a b"],
        arms={"usual": Arm(), "eager": Arm(modules=["eager/1"]), "bad": Arm(modules=["none"])},
    )
    problems = {}
    for name, arm in plan.arms.items():
        (tmp_path / name).mkdir()
        problems[name] = alternation.run_in(tmp_path / name, plan, arm, 60, [])
    assert (problems["usual"], problems["eager"]) == (None, None)
    assert (tmp_path / "usual" / "said").read_text() == "usual a b\n"
    assert (tmp_path / "eager" / "said").read_text() == "64k a b\n"
    assert "exit code 1" in problems["bad"] and "none" in problems["bad"] and not (tmp_path / "bad" / "said").exists()
