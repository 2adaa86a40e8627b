# SPDX-License-Identifier: Apache-2.0
"""The ReFrame check of b_eff_io: its forms, its options, and a real run through it."""

import pytest
import yaml
from builds import ROOT

CHECKS_OF = "b_eff_io"
TWO = ["-n", "^b_eff_io.*%num_processes=2$"]
SHORT = ["-S", "b_eff_io.scheduled_time=1", "-S", "b_eff_io.memory_per_process=32MiB"]


def prebuilt(mpi):
    return ["-S", "builder=prebuilt", "-S", f"prebuilt_directory={mpi.bin}"]


def only_case(session):
    assert session.returncode == 0, session.output
    [case] = session.cases
    return case


def test_short_run_passes_is_not_official_and_leaves_nothing(reframe, openmpi, tmp_path):
    tested = tmp_path / "tested"
    tested.mkdir()
    case = only_case(reframe("-r", *TWO, *SHORT, *prebuilt(openmpi), "-S", f"b_eff_io.directory={tested}"))
    assert case["num_tasks"] == 2 and not case["official"] and "scheduled_time" in case["breaches"].split(",")
    assert case["perfvalues"]["local:default:b_eff_io"][0] > 0
    assert case["perfvalues"]["local:default:best_partition"][0] == 2
    assert not list(tested.iterdir())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "--partitions all --directory"),
        (["-S", "b_eff_io.form=quick"], "--partitions all --quick --directory"),
        (["-S", "b_eff_io.form=top_clusters"], "b_eff_io.jsonl --top-clusters --directory"),
        (
            ["-S", "b_eff_io.hints=hints.cfg", "-S", "b_eff_io.individual_pointers=yes"],
            "--hints hints.cfg --individual-pointers",
        ),
        (["-S", "b_eff_io.read_shift=yes", "-S", "b_eff_io.fill_memory=80%"], "--read-shift --fill-memory 80%"),
    ],
)
def test_options_reach_the_kernel(reframe, options, says):
    session = reframe("--dry-run", *TWO, *options)
    assert session.returncode == 0, session.output
    [script] = (reframe.folder / "stage").glob("local/default/mpi/b_eff_io_*/rfm_job.sh")
    assert says in script.read_text()


def test_top_clusters_form_is_compared_with_references_of_its_own(reframe, tmp_path):
    """Never with those of the paper's form, and three times the half hour is no hang."""
    entry = {"b_eff_io_2_1": [60.0, -0.05, None, "MByte/s"]}
    forms = {"standard": {2: {"b_eff_io": [10.0, -0.05, None, "MByte/s"]}}, "form=top_clusters": {2: entry}}
    index = ["$partition", "file_system", "variant", "num_processes"]
    content = {"_meta": {}, "b_eff_io": {"$index": index, "local:default": {"stage": forms}}}
    file = tmp_path / "b_eff_io.yaml"
    file.write_text(yaml.safe_dump(content))
    options = ["-S", "b_eff_io.form=top_clusters", "-S", f"b_eff_io.reference_file={file}"]
    case = only_case(reframe("--dry-run", *TWO, *options))
    compared = {name: values[1] for name, values in case["perfvalues"].items() if values[1]}
    assert compared == {"local:default:b_eff_io_2_1": 60} and case["variant"] == "form=top_clusters"
    assert case["time_limit"] >= 3 * 1800


def test_unknown_form_ends_the_session_and_names_the_valid_ones(reframe):
    session = reframe("-l", *TWO, "-S", "b_eff_io.form=brief")
    assert session.returncode != 0 and "valid are official, top_clusters, quick" in session.output


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
    session = reframe("--dry-run", *TWO, *options)
    assert session.returncode == 0, session.output
    [script] = (reframe.folder / "stage").glob("local/default/mpi/b_eff_io_*/rfm_job.sh")
    assert ("--quick" in script.read_text()) is quick
