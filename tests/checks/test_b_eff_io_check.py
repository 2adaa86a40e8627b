# SPDX-License-Identifier: Apache-2.0
"""The ReFrame check of b_eff_io: its forms, its options, and a real run through it."""

import check_runs
import pytest
from builds import ROOT
from check_runs import prebuilt, references, values

CHECKS_OF = "b_eff_io"
TWO = ["-n", "^b_eff_io.*%num_processes=2$"]
SHORT = values("b_eff_io.scheduled_time=1", "b_eff_io.memory_per_process=32MiB")


def only_case(session):
    assert session.returncode == 0, session.output
    return check_runs.only_case(session)


def script_of(session, folder):
    assert session.returncode == 0, session.output
    [script] = (folder / "stage").glob("local/default/mpi/b_eff_io_*/rfm_job.sh")
    return script.read_text()


def test_short_run_passes_is_not_official_and_leaves_nothing(reframe, openmpi, tmp_path):
    tested = tmp_path / "tested"
    tested.mkdir()
    case = only_case(reframe("-r", *TWO, *SHORT, *prebuilt(openmpi.bin), "-S", f"b_eff_io.directory={tested}"))
    assert case["num_tasks"] == 2 and not case["official"] and "scheduled_time" in case["breaches"].split(",")
    assert case["perfvalues"]["local:default:b_eff_io"][0] > 0
    assert case["perfvalues"]["local:default:best_partition"][0] == 2
    assert not list(tested.iterdir())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], ["--partitions all --directory"]),
        (
            ["form=quick", "read_shift=yes", "fill_memory=80%"],
            ["--partitions all --quick --", "--read-shift --fill-memory 80%"],
        ),
        (
            ["form=top_clusters", "hints=hints.cfg", "individual_pointers=yes"],
            ["b_eff_io.jsonl --top-clusters --hints {folder}/hints.cfg --individual-pointers --directory"],
        ),
        (["hints=cb_config_list=*:1;2 $x"], ["--hints 'cb_config_list=*:1;2 $x' --"]),
    ],
)
def test_options_reach_the_kernel(reframe, options, says):
    chosen = values(*(f"b_eff_io.{option}" for option in options))
    script = script_of(reframe("--dry-run", *TWO, *chosen), reframe.folder)
    assert [words for words in says if words.format(folder=reframe.folder) not in script] == []


def test_top_clusters_form_is_compared_with_references_of_its_own(reframe, tmp_path):
    """Never with those of the paper's form, and three times the half hour is no hang."""
    entry = {"b_eff_io_2_1": [60.0, -0.05, None, "MByte/s"]}
    forms = {"standard": {2: {"b_eff_io": [10.0, -0.05, None, "MByte/s"]}}, "form=top_clusters": {2: entry}}
    index = ["$partition", "file_system", "variant", "num_processes"]
    options = references(tmp_path, "b_eff_io", {"local:default": {"stage": forms}}, index)
    case = only_case(reframe("--dry-run", *TWO, *values("b_eff_io.form=top_clusters"), *options))
    compared = {name: values[1] for name, values in case["perfvalues"].items() if values[1]}
    assert compared == {"local:default:b_eff_io_2_1": 60} and case["variant"] == "form=top_clusters"
    assert case["time_limit"] >= 3 * 1800


def test_unknown_form_ends_the_session_and_names_the_valid_ones(reframe):
    session = reframe("-l", *TWO, "-S", "b_eff_io.form=brief")
    assert session.returncode != 0 and "valid are official, top_clusters, quick" in session.output


@pytest.mark.parametrize("number", [0, -1])
def test_number_of_processes_of_a_node_that_is_none_fails(reframe, number):
    """ReFrame skips a check with less than one process."""
    session = reframe("--dry-run", *TWO, *values(f"b_eff_io.processes_per_node={number}"))
    says = f"processes_per_node: {number} is not a number of processes"
    assert session.returncode == 1 and says in check_runs.only_case(session)["fail_reason"]


@pytest.mark.parametrize(
    ("options", "quick"),
    [
        (["--mode=scaling"], True),
        (["--mode=scaling", "-S", "b_eff_io.form=official"], False),
        (["--mode=scaling", "--mode=acceptance"], False),
    ],
)
def test_the_mode_of_make_run_is_quick_unless_a_later_option_says_otherwise(reframe, options, quick):
    assert "-r --mode=scaling $(REFRAME_OPTIONS)" in (ROOT / "Makefile").read_text()
    assert ("--quick" in script_of(reframe("--dry-run", *TWO, *options), reframe.folder)) is quick
