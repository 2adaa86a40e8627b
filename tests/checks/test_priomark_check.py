# SPDX-License-Identifier: Apache-2.0
"""The check of priomark as ReFrame runs it: what it hands to the kernel, what it compares, and a real run through
it."""

import logs_made
import pytest
import yaml
from builds import ROOT
from conftest import HASH, WHO
from logs_made_priomark import ALL, priomark_log

from coffeecup.site_configs.common.frame import MODES

CHECKS_OF = "priomark"
TWO = ["-n", "^priomark.*%num_processes=2"]
SMALL = 'single_file = { process_size = "64KiB"; block_size = "4KiB"; }; common_file = { process_size = "64KiB"; };'


@pytest.fixture
def kernel(tmp_path):
    """Options for a priomark of a few lines that notes its options and leaves a good log."""
    folder = tmp_path / "bin"
    folder.mkdir()
    made = logs_made.write(tmp_path / "made.jsonl", priomark_log(ranks=2, nodes=1))
    script = folder / "priomark"
    script.write_text(
        f'#!/bin/bash\n[ "$1" = --version ] && exit\n{WHO["first"]}\necho "$@" >>{tmp_path}/calls\n'
        'while [ "$1" != --log ]; do shift; done\n'
        f'log=$2; cp {made} "$log"\n{HASH}\n'
    )
    script.chmod(0o755)
    return ["-r", *TWO, "-S", "builder=prebuilt", "-S", f"prebuilt_directory={folder}"]


def references(path, total):
    path.write_text(
        yaml.safe_dump(
            {
                "_meta": {"provenance": "made"},
                "priomark": {
                    "$index": ["$partition", "file_system", "num_processes"],
                    "local:default": {"stage": {2: {"total": [total, -0.05, None, "MByte/s"]}}},
                },
            }
        )
    )
    return ["-S", f"priomark.reference_file={path}"]


def test_real_run_of_a_file_s_workload_passes_and_leaves_nothing(reframe, openmpi, tmp_path):
    """The file is named from where ReFrame was started."""
    tested = tmp_path / "tested"
    tested.mkdir()
    (tmp_path / "mine.cfg").write_text(SMALL)
    session = reframe(
        "-r",
        *TWO,
        "-S",
        "builder=prebuilt",
        "-S",
        f"prebuilt_directory={openmpi.bin}",
        "-S",
        "priomark.workload=mine.cfg",
        "-S",
        f"priomark.directory={tested}",
    )
    assert session.returncode == 0, session.output
    [case] = session.cases
    values = {key.split(":")[-1]: found[0] for key, found in case["perfvalues"].items()}
    assert values["total"] == pytest.approx((values["common_file"] + values["single_file"]) / 2)
    assert "raw" not in values and case["workload"] == "mine.cfg" and case["reference_status"] == "no reference"
    assert not list(tested.iterdir())


def test_default_workload_is_measured_and_compared(reframe, kernel, tmp_path):
    session = reframe(*kernel, *references(tmp_path / "references.yaml", 1e9))
    assert session.returncode == 1
    [case] = session.cases
    assert case["fail_phase"] == "performance" and case["reference_status"] == "reference for some metrics"
    assert "--workload default\n" in (tmp_path / "calls").read_text()


def test_other_workloads_are_measured_and_not_compared(reframe, kernel, tmp_path):
    session = reframe(
        *kernel,
        *references(tmp_path / "references.yaml", 1e9),
        "-P",
        "priomark.workload=oltp,webserver",
        "-S",
        "priomark.only=single_file",
        "-S",
        "priomark.plugins=mine",
    )
    assert session.returncode == 0, session.output
    assert {case["reference_status"] for case in session.cases} == {"no reference"}
    variants = sorted(case["variant"] for case in session.cases)
    assert variants == ["workload=oltp only=single_file", "workload=webserver only=single_file"]
    calls = (tmp_path / "calls").read_text().splitlines()
    assert sorted(call.split("--workload ")[1].split()[0] for call in calls) == ["oltp", "webserver"]
    assert all(f"--only single_file --plugins {tmp_path}/mine" in call for call in calls)


@pytest.mark.parametrize(
    "option, words", [("read_shift=yes", "--read-shift"), ("fill_memory=20%", "--fill-memory 20%")]
)
def test_shifted_and_filled_runs_are_measured_and_not_compared(reframe, kernel, tmp_path, option, words):
    session = reframe(*kernel, *references(tmp_path / "references.yaml", 1e9), "-S", f"priomark.{option}")
    assert session.returncode == 0, session.output
    assert {(case["variant"], case["reference_status"]) for case in session.cases} == {(option, "no reference")}
    assert words in (tmp_path / "calls").read_text()


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
