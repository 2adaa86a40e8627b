# SPDX-License-Identifier: Apache-2.0
"""Several file systems of one partition: I/O checks run on each, and each has its name in the result, the references
and the report."""

from collections import defaultdict

import pytest
from builds import OPEN_MPI
from check_runs import configuration, only_case, references, values
from logs_made_b_eff_io import b_eff_io_log
from reframe.core.exceptions import PipelineError

from coffeecup.postprocess.sessions.verdicts import read_session
from coffeecup.reframe_checks.references import check_reference_file

COMMON = {"env_vars": [list(variable) for variable in OPEN_MPI.items()]}


def partition(name, *file_systems, sizes=(2,)):
    return COMMON | {"name": name, "extras": {"sizes": list(sizes), "file_systems": list(file_systems)}}


@pytest.fixture
def made(reframe, tmp_path):
    """Runs ReFrame on partitions of which `a` has two file systems, `b` one, and `c` names none."""
    (tmp_path / "home").mkdir()
    scratch = {"name": "scratch", "directory": str(tmp_path)}
    home = {"name": "home", "directory": str(tmp_path / "home")}
    other = {"name": "scratch", "directory": "/other/scratch", "options": ["--licenses=scratch"]}
    c = COMMON | {"name": "c", "extras": {"sizes": [2]}}
    config = configuration(tmp_path, partition("a", scratch, home), partition("b", other), c)
    return lambda *options: reframe(*options, config=config)


@pytest.fixture
def kernel(kernel_with):
    return kernel_with(b_eff_io_log(partitions=(2,), ranks=2, nodes=1), "b_eff_io")


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
    places = {"scratch": str(tmp_path), "home": str(tmp_path / "home")}
    on_each = {("a", name): place for name, place in places.items()} | {("b", "scratch"): "/other/scratch"}
    assert found == dict.fromkeys(CHECKS, on_each)


def test_directory_that_is_given_takes_the_place_of_all(made, tmp_path):
    given = values(*(f"{check}.directory=/given/here" for check in CHECKS))
    found = ran_on(made("--dry-run", "-n", f"^({'|'.join(CHECKS)})%", *given), tmp_path)
    everywhere = {(partition, "given"): "/given/here" for partition in "abc"}
    assert found == dict.fromkeys(CHECKS, everywhere)


def test_references_are_by_file_system(made, kernel, tmp_path):
    entry = lambda least: {2: {"b_eff_io": [least, 0.0, None, "MByte/s"]}}  # noqa: E731
    compared = references(tmp_path, "b_eff_io", {"made:a": {"scratch": entry(1e-6), "home": entry(1e12)}})
    session = made(*kernel, "-n", "^b_eff_io.*num_processes=2", *compared, "--system=made:a")
    results = {case["file_system"]: (case["result"], case["reference_status"]) for case in session.cases}
    compared = "reference for some metrics"
    assert results == {"scratch": ("pass", compared), "home": ("fail", compared)}, session.output
    names = {case.name: case.result for case in read_session(tmp_path / "session.json")}
    assert names["b_eff_io %file_system=home %num_processes=2"] == "fail"


def test_one_file_system_is_selected_and_a_reference_file_without_it_is_refused(made, kernel, tmp_path):
    compared = references(tmp_path, "b_eff_io", {"$index": ["$partition", "num_processes"]})
    session = made(*kernel, "-n", "^b_eff_io.*file_system=scratch", *compared, "--system=made:a")
    case = only_case(session)
    assert session.returncode == 1 and case["file_system"] == "scratch"
    assert "$index must be" in case["fail_reason"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({2: {"b_eff_io": [1.0, 0.0, None, "MByte/s"]}}, "must be an integer"),
        ({"scratch": {2: {"b_eff": [1.0, 0.0, None, "MByte/s"]}}}, "2, b_eff: there is no such metric"),
    ],
)
def test_reference_that_belongs_to_no_size_of_a_file_system_is_refused(tmp_path, content, says):
    references(tmp_path, "b_eff_io", {"made:a": content})
    index = ["$partition", "file_system", "num_processes"]
    with pytest.raises(PipelineError, match=says):
        check_reference_file(tmp_path / "references.yaml", "b_eff_io", index, {"b_eff_io": "MByte/s"})


def test_size_whose_smallest_matrix_is_too_large_is_skipped_with_the_reason(reframe, tmp_path):
    config = configuration(tmp_path, COMMON | {"extras": {"sizes": [2, 512]}})
    session = reframe("--dry-run", "-n", "^ftio", config=config)
    assert {case["num_processes"]: case["result"] for case in session.cases} == {2: "pass", 512: "skip"}
    assert "the smallest matrix of 512 processes has 4096 GiB, more than the 128 GiB" in session.output
