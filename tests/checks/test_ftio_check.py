# SPDX-License-Identifier: Apache-2.0
"""The check of ftio as ReFrame runs it: what it hands to the kernel, what it makes of the log, the sweep."""

import pytest
from check_runs import configuration, only_case, references, values
from logs_made_ftio import ftio_log

CHECKS_OF = "ftio"
TWO = ["-n", "^ftio.*%num_processes=2"]


def calls(tmp_path):
    return (tmp_path / "calls").read_text().splitlines()


def names(case):
    return {key.split(":")[-1] for key in case["perfvalues"]}


def test_complete_log_passes_with_its_metrics(reframe, kernel_with, tmp_path):
    session = reframe(*kernel_with(ftio_log(ranks=2, i=4), "ftio"), *TWO)
    assert session.returncode == 0, session.output
    case = only_case(session)
    assert {"io_fraction", "io_fraction_low", "mflops", "transpose_write"} <= names(case)
    assert case["reference_status"] == "no reference"
    [call] = calls(tmp_path)
    assert "--input 64MiB --repeat 3 --storage posix" in call
    assert "--directory" in call
    assert "--direct " not in f"{call} "


def test_metric_that_not_every_run_has_may_be_missing(reframe, kernel_with):
    session = reframe(*kernel_with(ftio_log(ranks=2, i=4, repetitions=1, time_stamp_cycles=None), "ftio"), *TWO)
    assert session.returncode == 0, session.output
    assert not {"io_fraction_low", "time_stamp_cycles_per_flop"} & names(only_case(session))


def test_reference_for_a_metric_that_was_not_measured_fails(reframe, kernel_with, tmp_path):
    entry = {"cycles_per_flop": [20.0, None, 0.1, "1"]}
    compared = references(tmp_path, "ftio", {"local:default": {"stage": {2: entry}}})
    records = ftio_log(ranks=2, i=4, time_stamp_cycles=None)
    session = reframe(*kernel_with(records, "ftio"), *TWO, *compared)
    assert session.returncode == 1
    assert "cycles_per_flop, which this run did not measure" in only_case(session)["fail_reason"]


def test_wrong_transform_fails(reframe, kernel_with):
    session = reframe(*kernel_with(ftio_log(ranks=2, i=4, relative_difference=0.5), "ftio"), *TWO)
    assert session.returncode == 1
    case = only_case(session)
    assert case["fail_phase"] == "sanity"
    assert "verification failed" in case["fail_reason"]


def test_sweep_runs_every_input_parameter_and_compares_none_with_references_of_the_default_one(
    reframe, kernel_with, tmp_path
):
    entry = {"io_fraction": [0.01, None, 0.1, "1"]}
    compared = references(tmp_path, "ftio", {"local:default": {"stage": {2: entry}}})
    made = [*kernel_with(ftio_log(ranks=2, i=4), "ftio"), *TWO, *compared]
    session = reframe(*made, "-P", "ftio.input_parameter=1MiB,24,auto")
    assert session.returncode == 0, session.output
    assert {case["reference_status"] for case in session.cases} == {"no reference"}
    assert sorted(call.split("--input ")[1].split()[0] for call in calls(tmp_path)) == ["1MiB", "24", "auto"]
    assert reframe(*made).returncode == 1  # the default one is compared


def test_options_are_handed_to_the_kernel(reframe, kernel_with, tmp_path):
    variables = ["direct=yes", "input_parameter=1MiB", "storage=posix", "repetitions=5"]
    variables.append("most_per_node=1")  # of a partition of several nodes
    chosen = values(*(f"ftio.{variable}" for variable in (*variables, f"directory={tmp_path}")))
    session = reframe(*kernel_with(ftio_log(ranks=2, i=4), "ftio"), *TWO, *chosen)
    assert session.returncode == 0, session.output
    [call] = calls(tmp_path)
    for option in ("--direct", "--repeat 5", f"--directory {tmp_path}"):
        assert option in call
    case = only_case(session)
    assert (case["variant"], case["reference_status"]) == ("input_parameter=1MiB direct=yes", "no reference")
    assert case["least_bytes"] == 64 * 2**20, "i = 32, where it would be 12 without direct I/O"
    # 11 passes at 50 MByte/s, and in each process two calls for each of the 2 * 32^3 rows of Mini-Squares, 1 ms each
    assert case["time_limit"] == 600 + int(5 * (11 * 64 * 2**20 / 50e6 + 2 * 2 * 32**3 * 1e-3))


@pytest.mark.parametrize(("options", "each"), [([], 2), (["-S", "ftio.processes_per_node=3"], 3)])
def test_most_per_node_limits_the_nodes_of_a_cluster_and_no_requested_number(reframe, tmp_path, options, each):
    config = configuration(tmp_path, {"extras": {"num_nodes": 2, "cores_per_node": 4}})
    session = reframe("--dry-run", "-n", "^ftio%", "-S", "ftio.most_per_node=2", *options, config=config)
    assert session.returncode == 0, session.output
    started = {(case["num_tasks"], case["num_processes"], case["num_tasks_per_node"]) for case in session.cases}
    assert started == {(each, each, each), (2 * each, 2 * each, each)}
