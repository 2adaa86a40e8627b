# SPDX-License-Identifier: Apache-2.0
"""Several file systems of one partition: I/O checks run on each, and each has its name in the result, the references
and the report."""

from collections import defaultdict

import logs_made
import pytest
import yaml
from conftest import HASH, WHO
from logs_made_b_eff_io import b_eff_io_log

from coffeecup.postprocess.sessions.verdicts import read_session

CONFIGURATION = """
site_configuration = {{
    "systems": [{{"name": "made", "hostnames": [".*"], "partitions": {partitions}}}],
    "environments": [{{"name": "mpi", "cc": "mpicc"}}],
}}
"""
COMMON = {
    "scheduler": "local",
    "launcher": "local",
    "environs": ["mpi"],
    "env_vars": [
        ["OMPI_ALLOW_RUN_AS_ROOT", "1"],
        ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"],
        ["OMPI_MCA_rmaps_base_oversubscribe", "1"],
    ],
}


@pytest.fixture
def made(reframe, tmp_path):
    """Runs ReFrame on partitions with these extras; `a` has two file systems, `b` one, `c` names none."""
    configuration = tmp_path / "made.py"
    configuration.write_text(
        CONFIGURATION.format(
            partitions=[
                COMMON
                | {
                    "name": "a",
                    "extras": {
                        "sizes": [2],
                        "file_systems": [
                            {"name": "scratch", "directory": str(tmp_path)},
                            {"name": "home", "directory": str(tmp_path / "home")},
                        ],
                    },
                },
                COMMON
                | {
                    "name": "b",
                    "extras": {
                        "sizes": [2],
                        "file_systems": [
                            {"name": "scratch", "directory": "/other/scratch", "options": ["--licenses=scratch"]}
                        ],
                    },
                },
                COMMON | {"name": "c", "extras": {"sizes": [2]}},
            ]
        )
    )
    (tmp_path / "home").mkdir()
    return lambda *options: reframe(*options, config=configuration)


@pytest.fixture
def kernel(tmp_path):
    """Options for a b_eff_io of a few lines that leaves a good log."""
    folder = tmp_path / "bin"
    folder.mkdir()
    log = logs_made.write(tmp_path / "made.jsonl", b_eff_io_log(partitions=(2,), ranks=2, nodes=1))
    script = folder / "b_eff_io"
    script.write_text(f'#!/bin/bash\n[ "$1" = --version ] && exit\n{WHO["first"]}\nlog=$2; cp {log} "$log"\n{HASH}\n')
    script.chmod(0o755)
    return ["-r", "-S", "builder=prebuilt", "-S", f"prebuilt_directory={folder}"]


def ran_on(session, folder):
    """What each job script hands to the kernel: {check: {(partition, file system): directory}}."""
    assert session.returncode == 0, session.output
    found = defaultdict(dict)
    for case in session.cases:
        [script] = (folder / "stage").glob(f"made/{case['partition']}/mpi/*_{case['hashcode']}/rfm_job.sh")
        assert f"%file_system={case['file_system']}" in case["name"]
        check, place = case["name"].split()[0], (case["partition"], case["file_system"])
        found[check][place] = script.read_text().split("--directory ")[1].split()[0]
    return found


CHECKS = ["b_eff_io", "ftio", "priomark"]


def test_checks_run_on_every_file_system_that_a_partition_names(made, tmp_path):
    found = ran_on(made("--dry-run", "-n", f"^({'|'.join(CHECKS)})%"), tmp_path)
    for check in CHECKS:
        assert found[check].pop(("c", "stage")).startswith(str(tmp_path / "stage"))
    on_each = {
        ("a", "scratch"): str(tmp_path),
        ("a", "home"): str(tmp_path / "home"),
        ("b", "scratch"): "/other/scratch",
    }
    assert found == dict.fromkeys(CHECKS, on_each)


def test_directory_that_is_given_takes_the_place_of_all(made, tmp_path):
    given = [word for check in CHECKS for word in ("-S", f"{check}.directory=/given/here")]
    found = ran_on(made("--dry-run", "-n", f"^({'|'.join(CHECKS)})%", *given), tmp_path)
    everywhere = {(partition, "given"): "/given/here" for partition in "abc"}
    assert found == dict.fromkeys(CHECKS, everywhere)


def test_one_file_system_can_be_selected(made, tmp_path):
    found = ran_on(made("--dry-run", "-n", "^b_eff_io%.*file_system=home"), tmp_path)
    assert found == {"b_eff_io": {("a", "home"): str(tmp_path / "home")}}


def test_references_are_by_file_system(made, kernel, tmp_path):
    references = tmp_path / "references.yaml"
    entry = lambda least: {2: {"b_eff_io": [least, 0.0, None, "MByte/s"]}}  # noqa: E731
    references.write_text(
        yaml.safe_dump(
            {
                "_meta": {"provenance": "made"},
                "b_eff_io": {
                    "$index": ["$partition", "file_system", "num_processes"],
                    "made:a": {"scratch": entry(1e-6), "home": entry(1e12)},
                },
            }
        )
    )
    session = made(
        *kernel, "-n", "^b_eff_io.*num_processes=2", "-S", f"b_eff_io.reference_file={references}", "--system=made:a"
    )
    results = {case["file_system"]: (case["result"], case["reference_status"]) for case in session.cases}
    assert results == {
        "scratch": ("pass", "reference for some metrics"),
        "home": ("fail", "reference for some metrics"),
    }, session.output
    names = {case.name: case.result for case in read_session(tmp_path / "session.json")}
    assert names["b_eff_io %file_system=home %num_processes=2"] == "fail"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"$index": ["$partition", "num_processes"]}, "$index must be"),
        ({"made:a": {2: {"b_eff_io": [1.0, 0.0, None, "MByte/s"]}}}, "must be an integer"),
        (
            {"made:a": {"scratch": {2: {"b_eff": [1.0, 0.0, None, "MByte/s"]}}}},
            "made:a, scratch, 2, b_eff: there is no such metric",
        ),
    ],
)
def test_reference_file_without_the_file_system_is_refused(made, kernel, tmp_path, content, says):
    references = tmp_path / "references.yaml"
    references.write_text(
        yaml.safe_dump(
            {
                "_meta": {"provenance": "made"},
                "b_eff_io": {"$index": ["$partition", "file_system", "num_processes"]} | content,
            }
        )
    )
    session = made(
        *kernel,
        "-n",
        "^b_eff_io.*file_system=scratch",
        "-S",
        f"b_eff_io.reference_file={references}",
        "--system=made:a",
    )
    assert session.returncode == 1
    assert says in session.cases[0]["fail_reason"]


def test_size_whose_smallest_matrix_is_too_large_is_skipped_with_the_reason(reframe, tmp_path):
    configuration = tmp_path / "large.py"
    configuration.write_text(CONFIGURATION.format(partitions=[COMMON | {"name": "a", "extras": {"sizes": [2, 512]}}]))
    session = reframe("--dry-run", "-n", "^ftio", config=configuration)
    assert {case["num_processes"]: case["result"] for case in session.cases} == {2: "pass", 512: "skip"}
    assert "the smallest matrix of 512 processes has 4096 GiB, more than the 128 GiB" in session.output
