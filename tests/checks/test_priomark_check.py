# SPDX-License-Identifier: Apache-2.0
"""The check of priomark as ReFrame runs it: what it hands to the kernel, what it compares, and a real run through
it."""

import os

import pytest
from builds import ROOT
from check_runs import prebuilt, references, values
from logs_made_priomark import ALL, priomark_log

from coffeecup.site_configs.common.frame import MODES

CHECKS_OF = "priomark"
TWO = ["-n", "^priomark.*%num_processes=2"]
SMALL = 'single_file = { process_size = "64KiB"; block_size = "4KiB"; }; common_file = { process_size = "64KiB"; };'


@pytest.fixture
def compared(kernel_with, tmp_path):
    """Options for a run of two processes that is far below its reference."""
    entry = {"total": [1e9, -0.05, None, "MByte/s"]}
    below = references(tmp_path, "priomark", {"local:default": {"stage": {2: entry}}})
    return [*kernel_with(priomark_log(ranks=2, nodes=1), "priomark"), *TWO, *below]


def test_real_run_of_a_file_s_workload_passes_and_leaves_nothing(reframe, openmpi, tmp_path):
    """The file and the folders are named from where ReFrame was started."""
    tested = tmp_path / "tested"
    tested.mkdir()
    (tmp_path / "mine.cfg").write_text(SMALL)
    chosen = values("priomark.workload=mine.cfg", "priomark.directory=tested")
    session = reframe("-r", *TWO, *prebuilt(os.path.relpath(openmpi.bin, tmp_path)), *chosen)
    assert session.returncode == 0, session.output
    [case] = session.cases
    found = {key.split(":")[-1]: value[0] for key, value in case["perfvalues"].items()}
    assert found["total"] == pytest.approx((found["common_file"] + found["single_file"]) / 2)
    assert "raw" not in found and case["workload"] == "mine.cfg" and case["reference_status"] == "no reference"
    assert not list(tested.iterdir())


def test_default_workload_is_measured_and_compared(reframe, compared, tmp_path):
    session = reframe(*compared)
    assert session.returncode == 1
    [case] = session.cases
    assert case["fail_phase"] == "performance" and case["reference_status"] == "reference for some metrics"
    assert "--workload default\n" in (tmp_path / "calls").read_text()


def test_other_workloads_are_measured_and_not_compared(reframe, compared, tmp_path):
    chosen = values("priomark.only=single_file", "priomark.interfaces=mine")
    session = reframe(*compared, "-P", "priomark.workload=oltp,webserver", *chosen)
    assert session.returncode == 0, session.output
    assert {case["reference_status"] for case in session.cases} == {"no reference"}
    variants = sorted(case["variant"] for case in session.cases)
    assert variants == ["workload=oltp only=single_file", "workload=webserver only=single_file"]
    calls = (tmp_path / "calls").read_text().splitlines()
    assert sorted(call.split("--workload ")[1].split()[0] for call in calls) == ["oltp", "webserver"]
    assert all(f"--only single_file --interfaces {tmp_path}/mine" in call for call in calls)


def test_shifted_and_filled_runs_are_measured_and_not_compared(reframe, compared, tmp_path):
    session = reframe(*compared, *values("priomark.read_shift=yes", "priomark.fill_memory=20%"))
    assert session.returncode == 0, session.output
    [case] = session.cases
    assert (case["variant"], case["reference_status"]) == ("read_shift=yes fill_memory=20%", "no reference")
    assert "--read-shift --fill-memory 20%" in (tmp_path / "calls").read_text()


def test_smoke_mode_measures_the_short_workload_which_is_not_official(scored):
    [option] = [option for option in MODES["smoke"] if option.startswith("-S priomark.workload=")]
    assert option == "-S priomark.workload=short"
    text = (ROOT / "kernels" / "priomark" / "workloads" / "short.cfg").read_text()
    found = scored(priomark_log(benchmarks=ALL, workload="short", workload_text=text))
    assert [breach.key for breach in found.breaches] == ["workload"]


def test_make_run_measures_the_default_workload():
    """It selects no checks, and no other workload."""
    makefile = (ROOT / "Makefile").read_text()
    assert "priomark.workload" not in makefile and " -n " not in makefile.split("run: setup")[1].split("\n\n")[0]
