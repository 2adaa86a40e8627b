# SPDX-License-Identifier: Apache-2.0
"""Checks compare_NAME: the arms of a plan in one job, with the kernel and launcher of the partition; they pass if
everything is decided, and say why if not. Without a plan they are not there."""

import json

import pytest
from builds import OPEN_MPI, executable, faulty
from check_runs import configuration, only_case, prebuilt, values

CHECKS_OF = "compare"
LOOPS = "--longest-loop 2 --first-loop-length 1 --repetitions 1 --random-patterns 1 --patterns ring,random"
PLAN = {"command": f"b_eff {LOOPS} --methods sendrecv --memory-per-process 4MiB", "pairs": 6}
USUAL = {"environment": {"MODEL_BANDWIDTH": "4e8"}}


@pytest.fixture
def compared(reframe, openmpi, tmp_path):
    """A function of a plan: ReFrame's session of compare_b_eff on two processes, on a network that is a formula."""

    def compared(plan):
        (tmp_path / "plan.yaml").write_text(json.dumps(PLAN | plan))
        here = {"env_vars": [list(pair) for pair in OPEN_MPI.items()], "features": ["overcommit"]}
        model = " ".join(f"{name}={value}" for name, value in faulty(openmpi, "network", MODEL_LATENCY=0).items())
        kernel = executable(tmp_path / "bin" / "b_eff", f'#!/bin/sh\nexec env {model} {openmpi.bin}/b_eff "$@"\n')
        chosen = [*prebuilt(kernel.parent), *values(f"compare_b_eff.plan={tmp_path / 'plan.yaml'}")]
        words = ["-r", "-n", "compare_b_eff.*num_processes=2$", *chosen]
        return reframe(*words, config=configuration(tmp_path, here))

    return compared


def test_a_link_that_is_faster_by_a_tenth(compared):
    session = compared({"arms": {"usual": USUAL, "faster": {"environment": {"MODEL_BANDWIDTH": "4.4e8"}}}})
    case = only_case(session)
    assert case["result"] == "pass", session.output
    value, *_, unit, _ = case["perfvalues"]["made:p0:b_eff_of_faster"]
    assert (value, unit) == (pytest.approx(1.1, rel=1e-4), "1")


def test_an_arm_that_fails_is_the_reason(compared):
    session = compared({"arms": {"usual": USUAL, "broken": {"options": ["--no-such-option"]}}})
    assert session.returncode == 1
    assert "0002-broken: exit code 2: b_eff: error: unknown option '--no-such-option'" in session.output


def test_another_command_is_refused(compared):
    session = compared({"command": "b_eff_io", "arms": {"usual": USUAL, "other": {}}})
    assert session.returncode == 1
    assert "the only command here is 'b_eff', with options" in session.output


def test_without_a_plan_nothing_is_listed(reframe):
    assert "- compare" not in reframe("-L", "-n", "compare").output
