# SPDX-License-Identifier: Apache-2.0
"""The check of ftio as ReFrame runs it: what it hands to the kernel, what it makes of the log, the sweep."""

import logs_made
import pytest
import yaml
from conftest import HASH, WHO
from logs_made_ftio import ftio_log

CHECKS_OF = "ftio"
TWO = ["-n", "^ftio.*%num_processes=2"]


@pytest.fixture
def kernel(tmp_path):
    """Makes a ftio of a few lines that notes its options and leaves these records as its log."""

    def make(records):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        made = logs_made.write(tmp_path / "made.jsonl", records)
        script = folder / "ftio"
        script.write_text(
            f'#!/bin/bash\n[ "$1" = --version ] && exit\n{WHO["first"]}\necho "$@" >>{tmp_path}/calls\n'
            'while [ "$1" != --log ]; do shift; done\n'
            f'log=$2; cp {made} "$log"\n{HASH}\n'
        )
        script.chmod(0o755)
        return ["-r", "-S", "builder=prebuilt", "-S", f"prebuilt_directory={folder}"]

    return make


def calls(tmp_path):
    return (tmp_path / "calls").read_text().splitlines()


def only_case(session):
    [case] = session.cases
    return case


def names(case):
    return {key.split(":")[-1] for key in case["perfvalues"]}


def test_complete_log_passes_with_its_metrics(reframe, kernel, tmp_path):
    session = reframe(*kernel(ftio_log(ranks=2, i=4)), *TWO)
    assert session.returncode == 0, session.output
    case = only_case(session)
    assert {"io_fraction", "io_fraction_low", "mflops", "transpose_write"} <= names(case)
    assert case["reference_status"] == "no reference"
    [call] = calls(tmp_path)
    assert "--input 64MiB --repeat 3 --storage posix" in call
    assert "--directory" in call
    assert "--direct " not in f"{call} "


def test_metric_that_not_every_run_has_may_be_missing(reframe, kernel):
    session = reframe(*kernel(ftio_log(ranks=2, i=4, repetitions=1, time_stamp_cycles=None)), *TWO)
    assert session.returncode == 0, session.output
    assert not {"io_fraction_low", "time_stamp_cycles_per_flop"} & names(only_case(session))


def test_reference_for_a_metric_that_was_not_measured_fails(reframe, kernel, tmp_path):
    references = tmp_path / "references.yaml"
    references.write_text(
        yaml.safe_dump(
            {
                "_meta": {"provenance": "made"},
                "ftio": {
                    "$index": ["$partition", "file_system", "num_processes"],
                    "local:default": {"stage": {2: {"cycles_per_flop": [20.0, None, 0.1, "1"]}}},
                },
            }
        )
    )
    records = ftio_log(ranks=2, i=4, time_stamp_cycles=None)
    session = reframe(*kernel(records), *TWO, "-S", f"ftio.reference_file={references}")
    assert session.returncode == 1
    assert "cycles_per_flop, which this run did not measure" in only_case(session)["fail_reason"]


def test_wrong_transform_fails(reframe, kernel):
    session = reframe(*kernel(ftio_log(ranks=2, i=4, relative_difference=0.5)), *TWO)
    assert session.returncode == 1
    case = only_case(session)
    assert case["fail_phase"] == "sanity"
    assert "verification failed" in case["fail_reason"]


def test_sweep_runs_every_input_parameter_and_compares_none_with_the_default_ones_references(reframe, kernel, tmp_path):
    references = tmp_path / "references.yaml"
    references.write_text(
        yaml.safe_dump(
            {
                "_meta": {"provenance": "made"},
                "ftio": {
                    "$index": ["$partition", "file_system", "num_processes"],
                    "local:default": {"stage": {2: {"io_fraction": [0.01, None, 0.1, "1"]}}},
                },
            }
        )
    )
    made = [*kernel(ftio_log(ranks=2, i=4)), *TWO, "-S", f"ftio.reference_file={references}"]
    session = reframe(*made, "-P", "ftio.input_parameter=1MiB,24,auto")
    assert session.returncode == 0, session.output
    assert {case["reference_status"] for case in session.cases} == {"no reference"}
    assert sorted(call.split("--input ")[1].split()[0] for call in calls(tmp_path)) == ["1MiB", "24", "auto"]
    assert reframe(*made).returncode == 1  # the default one is compared


def test_options_are_handed_to_the_kernel(reframe, kernel, tmp_path):
    session = reframe(
        *kernel(ftio_log(ranks=2, i=4)),
        *TWO,
        "-S",
        "ftio.most_per_node=1",  # of a partition of several nodes
        "-S",
        "ftio.direct=yes",
        "-S",
        "ftio.input_parameter=1MiB",
        "-S",
        "ftio.storage=posix",
        "-S",
        "ftio.repetitions=5",
        "-S",
        f"ftio.directory={tmp_path}",
    )
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
    extras = {"num_nodes": 2, "cores_per_node": 4}
    partition = {"name": "p", "scheduler": "local", "launcher": "local", "environs": ["mpi"], "extras": extras}
    settings = {
        "systems": [{"name": "made", "hostnames": [".*"], "partitions": [partition]}],
        "environments": [{"name": "mpi", "features": ["mpi"]}],
    }
    config = tmp_path / "settings.py"
    config.write_text(f"site_configuration = {settings}\n")
    session = reframe("--dry-run", "-n", "^ftio%", "-S", "ftio.most_per_node=2", *options, config=config)
    assert session.returncode == 0, session.output
    started = {(case["num_tasks"], case["num_processes"], case["num_tasks_per_node"]) for case in session.cases}
    assert started == {(each, each, each), (2 * each, 2 * each, each)}
