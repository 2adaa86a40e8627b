# SPDX-License-Identifier: Apache-2.0
"""The ReFrame check of b_eff_io: its forms, its options, and a real run through it."""

import logs_made
import pytest
import yaml
from builds import ROOT
from contracts_made import NONCE, begin, clause, contract, evaluate, write_contract
from logs_made_b_eff_io import b_eff_io_log

from postprocess.history.table import history_table
from postprocess.sessions.files import read_reports

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


def kernels_with_logs(tmp_path, kernel_that, rates):
    """Options of ReFrame for a kernel that gives, by its number of processes, the log of a run with this bandwidth in
    byte/s and this scheduled time."""
    for processes, (rate, scheduled) in rates.items():
        records = b_eff_io_log(
            lambda *_, rate=rate: rate, partitions=(processes,), ranks=processes, nodes=1, scheduled=scheduled
        )
        logs_made.write(tmp_path / f"made-{processes}.jsonl", records)
    return kernel_that(f'cp {tmp_path}/made-"$OMPI_COMM_WORLD_SIZE".jsonl "$log"', name="b_eff_io")


def test_value_of_a_system_is_the_largest_of_all_sizes_with_reference_history_and_contract(
    reframe, kernel_that, tmp_path
):
    """2 processes reach 300 MByte/s and 4 only 200: by the paper, the system's b_eff_io is 300."""
    file = tmp_path / "b_eff_io_system.yaml"
    index = ["$partition", "file_system", "num_tasks"]
    entry = {"b_eff_io_system": [400.0, -0.05, None, "MByte/s"]}
    places = {"$index": index, "local:default": {"stage": {4: entry}}}
    file.write_text(yaml.safe_dump({"_meta": {}, "b_eff_io_system": places}))
    place = {"system": "local", "partition": "default", "size": {"processes": 4}}
    wanted = {"benchmark": "b_eff_io_system", "metric": "b_eff_io_system", "unit": "MByte/s", "evidence": "session"}
    more = {"official": False, "floor": 299, "ceiling": 301, "repetitions": 1, "parameters": {"file_system": "stage"}}
    agreed = write_contract(tmp_path, contract(clause(**wanted | place | more)))
    session = reframe(
        "-r",
        *("-n", "^b_eff_io_system", "-S", f"b_eff_io_system.reference_file={file}"),
        *("--session-extras", f"{NONCE}={begin(agreed)}"),
        *kernels_with_logs(tmp_path, kernel_that, {2: (3e8, 900.0), 4: (2e8, 900.0)}),
    )
    assert session.returncode == 1, session.output  # by its reference, and by nothing else
    [case] = [case for case in session.cases if case["name"].startswith("b_eff_io_system")]
    value, reference, *_ = case["perfvalues"]["local:default:b_eff_io_system"]
    assert (value, reference) == (pytest.approx(300, rel=0.01), 400) and case["fail_phase"] == "performance"
    assert case["best"] == "2 processes, 2 on each node" and len(session.cases) == 3
    report = reframe.folder / "session.json"
    table = history_table(read_reports([report]))
    [row] = table[table["benchmark"] == "b_eff_io_system"].to_dict("records")
    assert (row["processes"], row["settings"], row["better"]) == (4, "file_system=stage", "higher")
    done, result = evaluate(tmp_path, report)
    assert result and (result["result"], done.exit_code) == ("pass", 0), done.output


@pytest.mark.parametrize(
    ("last", "result", "says"),
    [
        ((9e8, 60.0), "fail", "num_processes=4: scheduled_time"),  # the largest, and not official
        ((None, None), "fail_deps", ""),
    ],
)
def test_a_system_has_no_value_without_an_official_one_of_every_size(
    reframe, kernel_that, tmp_path, last, result, says
):
    rates = {2: (3e8, 900.0)} | ({4: last} if last[0] else {})
    session = reframe("-r", "-n", "^b_eff_io_system", *kernels_with_logs(tmp_path, kernel_that, rates))
    assert session.returncode == 1, session.output
    [case] = [case for case in session.cases if case["name"].startswith("b_eff_io_system")]
    assert case["result"] == result and says in (case["fail_reason"] or "")
    assert not case["perfvalues"].get("local:default:b_eff_io_system", [None])[0]


@pytest.mark.parametrize(
    ("options", "systems"), [([], 1), (["-S", "b_eff_io.form=quick"], 0), (["-S", "b_eff_io.directory=/tmp"], 1)]
)
def test_a_system_is_listed_where_the_paper_defines_its_value(reframe, options, systems):
    session = reframe("-l", *options)
    assert session.returncode == 0 and session.output.count("- b_eff_io_system %file_system=") == systems
    assert "could not resolve" not in session.output
