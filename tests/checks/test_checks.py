# SPDX-License-Identifier: Apache-2.0
"""The checks as ReFrame runs them: sizes, launching, sanity, references and builders."""

import collections
import os
import re
import shutil
import sys
import sysconfig
import time
from functools import partial
from pathlib import Path

import logs_made
import pytest
import yaml
from builds import OPEN_MPI, ROOT, executable, run
from check_runs import configuration, only_case, values
from conftest import CHECKS, LOCAL
from logs_made_b_eff import averaged_log, stopped_log
from reframe.core.exceptions import PipelineError

from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.reframe_checks.references import check_reference_file

CHECKS_OF = "b_eff"
TWO = ["-n", "b_eff%num_processes=2$"]
SHORT = values("b_eff.time_budget=1", "b_eff.memory_per_process=1MiB")


@pytest.fixture
def good(kernel_with):
    """Options for a run of two processes whose kernel leaves a good log."""
    return [*kernel_with(averaged_log(ranks=2, nodes=1)), *TWO]


@pytest.fixture
def by_size(reframe, tmp_path, kernel_that):
    """A function of records for each number of processes, which the kernel leaves: the session, and its cases by the
    number of processes."""

    def started(logs, *options):
        for size, records in logs.items():
            logs_made.write(tmp_path / f"{size}.jsonl", records)
        kernel = kernel_that(f'cp {tmp_path}/$OMPI_COMM_WORLD_SIZE.jsonl "$log"')
        config = configuration(tmp_path, {"env_vars": [*map(list, OPEN_MPI.items())], "extras": {"sizes": [*logs]}})
        session = reframe("-r", "-n", "b_eff%", *kernel, *options, config=config)
        found = {case["num_processes"]: case for case in session.cases}
        assert found.keys() == logs.keys(), session.output
        return session, found

    return started


def refused(session, says):
    """The only test case fails for this reason."""
    assert session.returncode == 1 and says in only_case(session)["fail_reason"]


# Listing


def test_listing_is_quick_and_knows_every_check(reframe, record_property):
    started = time.monotonic()
    session = reframe("-L", checks=CHECKS)
    seconds = time.monotonic() - started
    record_property("listing_seconds", seconds)
    print(f"listing took {seconds:.2f} s")
    assert session.returncode == 0, session.output
    assert all((f"{name} %" in session.output) is not name.endswith("_load") for name in benchmarks()), "not asked for"
    assert "WARNING" not in session.output


def test_python_without_pandas_is_told_the_command_that_mends_it(reframe, tmp_path):
    bare = tmp_path / "site-packages"
    bare.mkdir()
    for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if not entry.name.lower().startswith(("pandas", "__editable__", "coffeecup")):
            (bare / entry.name).symlink_to(entry)
    start = [sys.executable, "-S", "-c", "from reframe.frontend.cli import main; main()"]
    session = reframe("-L", command=start, env={"PYTHONPATH": str(bare)})
    assert session.returncode == 1
    assert "lacks coffeecup, pandas" in session.output
    assert f"-m pip install {ROOT}" in session.output
    assert "Traceback" not in session.output


# Sanity


def test_complete_log_passes_with_its_metrics_and_no_reference(reframe, good):
    session = reframe(*good)
    assert session.returncode == 0, session.output
    case = only_case(session)
    assert case["reference_status"] == "no reference"
    assert "no reference" in session.output
    assert case["builder"] == "prebuilt"
    assert len(case["log_sha256"]) == 64
    assert (case["mpi_library"], case["num_hosts"]) == ("Open MPI v4.1.4", 1)
    assert (case["node_effects"]["verdict"], case["node_effects"]["values"]) == ("not examined", {})
    assert all(value[0] > 0 for value in case["perfvalues"].values())
    assert Path(case["outputdir"], "b_eff.jsonl").is_file()


def changed(ranks=2, **fields):
    """A good log whose end record differs."""
    records = averaged_log(ranks=ranks, nodes=1)
    return [*records[:-1], {**records[-1], **fields}]


HUNG = {"rank": 5, "host": "x7", "process": 9, "state": "stopped", "kernel_function": None, "steps": 3}
HUNG |= {"place": "ring-1", "file": None, "messages": 2, "receives_from": [4], "adapters_lost": []}
STOPPED = "metrics: ['ping_pong_bandwidth', 'ping_pong_latency']; The run was stopped"


def test_log_that_is_not_of_a_complete_run_fails(by_size):
    bad = {  # by the number of processes
        2: (changed()[:-1], "sanity error"),
        3: (changed(3, status="failed", reason="a wrong byte"), "a wrong byte"),
        4: (changed(3), "the log belongs to b_eff on 3"),
        5: (stopped_log(1, "worst-cycle", ranks=5, nodes=1), STOPPED),
        6: ([], "sanity error"),
        7: (changed(7, status="interrupted", reason="SIGTERM"), "SIGTERM"),
        8: (changed(status="hung", reason="no progress for 3 s", processes=[HUNG]), "; rank 5 on x7 is stopped (ring"),
    }
    session, found = by_size({size: records for size, (records, _) in bad.items()})
    assert session.returncode == 1
    for size, (_, complaint) in bad.items():
        assert (found[size]["result"], found[size]["fail_phase"]) == ("fail", "sanity")
        assert complaint in found[size]["fail_reason"]
        hang = {"hang": {"verdict": "rank 5 on x7 is stopped (ring-1)", "nodes": ["x7"]}}
        assert found[size]["node_effects"] == (hang if size == 8 else {})


def test_job_without_log_shows_what_it_said(reframe, kernel_that):
    script = "echo 'no room for the buffers: give --memory-per-process' >&2; exit 1"
    refused(reframe("-r", *TWO, *kernel_that(script)), "give --memory-per-process")


@pytest.mark.parametrize(
    ("made", "runs", "phase"),
    [
        pytest.param(partial(stopped_log, 1, "ring-2", 700.0, nodes=1), 1, "setup", id="the budget is too small"),
        pytest.param(partial(changed, status="failed", reason="a time budget"), 2, "sanity", id="any other reason"),
    ],
)
def test_a_retry_that_would_need_the_same_budget_fails_without_a_run(reframe, tmp_path, kernel_with, made, runs, phase):
    session = reframe(*kernel_with(made(ranks=2)), *TWO, "--max-retries=1")
    assert session.returncode == 1 and len((tmp_path / "calls").read_text().splitlines()) == runs
    assert [(case["result"], case["fail_phase"]) for case in session.cases] == [("fail", "sanity"), ("fail", phase)]
    needed = "a time budget of about 700 s is needed here: with 300 s the run was stopped"
    assert [needed in case["fail_reason"] for case in session.cases] == [runs == 1] * 2


# What is known about the partition


def test_log_states_what_the_configuration_knows_of_the_partition(reframe, tmp_path, kernel_that):
    """40.5 Gflop/s on one node, of which the partition has four."""
    made = averaged_log(ranks=2, nodes=1)
    made[0]["environment"]["COFFEECUP_ASKED"] = "WHAT_WAS_STATED"
    log = logs_made.write(tmp_path / "made.jsonl", made)
    kernel = kernel_that(f'cp {log} "$log"; sed -i "s!WHAT_WAS_STATED!$COFFEECUP_ASKED!" "$log"')
    extras = {"num_nodes": 4, "cores_per_node": 2, "r_max_per_node": 40.5, "reference_values": str(tmp_path)}
    config = configuration(tmp_path, {"extras": extras})
    written(tmp_path, {}, b_eff={"$index": INDEX}).rename(tmp_path / "b_eff.yaml")
    session = reframe("-r", *TWO, *kernel, config=config, env=OPEN_MPI)
    assert session.returncode == 0, session.output
    case = only_case(session)
    found = {name.rpartition(":")[2]: value[0] for name, value in case["perfvalues"].items()}
    assert found["balance_factor"] == pytest.approx(found["b_eff"] * 1e6 / 40.5e9, rel=1e-9)
    assert found["r_max"] == 40.5 and "part_of_partition" in case["qualifications"]
    stated = re.search(r"COFFEECUP_ASKED=(\S+)", Path(case["outputdir"], "rfm_job.sh").read_text())
    assert stated[1].endswith("partition=made:p0,partition_nodes=4,r_max_per_node=40.5")


# References


INDEX = ["$partition", "num_processes"]


def written(folder, entry, **replaced):
    """A reference file with one entry."""
    path = folder / "references.yaml"
    content = {"_meta": {"provenance": "a test"}, "b_eff": {"$index": INDEX, "local:default": {2: entry}}}
    path.write_text(yaml.safe_dump(content | replaced))
    return path


def test_result_is_compared_with_the_reference_of_its_partition_and_size(by_size, tmp_path):
    """Within it, outside of it, and where a failure is expected. The partition may be an expression, the number of
    processes is none: 2 is no part of 22."""
    high = [1e9, -0.1, None, "MByte/s"]
    entries = {
        2: {"b_eff": [1.0, -0.1, None, "MByte/s"]},
        3: {"b_eff": high, "ping_pong_latency": [1000, None, 0.1, "us"]},
        5: {"b_eff": ["$xfail", "HPC-17", high]},
    }
    other = {22: {"ping_pong_latency": [1e-9, None, 0.1, "us"]}}
    places = {"$index": INDEX, "mad": other, "made:(p|x).*": entries | other}
    logs = {size: averaged_log(ranks=size, nodes=1) for size in entries}
    session, found = by_size(logs, *values(f"b_eff.reference_file={written(tmp_path, {}, b_eff=places)}"))
    assert session.returncode == 1
    assert [case["result"] for _, case in sorted(found.items())] == ["pass", "fail", "xfail"], session.output
    assert {case["reference_status"] for case in found.values()} == {"reference for some metrics"}
    assert {len(case["reference_sha256"]) for case in found.values()} == {64}
    assert found[3]["fail_phase"] == "performance" and "b_eff=" in found[3]["fail_reason"]
    assert Path(found[3]["stagedir"], "b_eff.jsonl").exists(), "`make run` shows it as well"
    assert "ping_pong_latency" not in found[3]["fail_reason"]
    measured = {size: case["perfvalues"] for size, case in found.items()}
    assert measured[2]["made:p0:b_eff"][1] == 1.0
    assert measured[5]["made:p0:b_eff"][1:] == [*high, "xfail"]
    assert [measured[size]["made:p0:ping_pong_latency"][2:4] for size in (2, 5)] == [[None, None]] * 2


@pytest.mark.parametrize(
    ("entry", "replaced", "complaint"),
    [
        ({"b_ef": [1.0, -0.1, None, "MByte/s"]}, {}, "no such metric; valid are b_eff,"),
        ({"b_eff": [1.0, -0.1, None, "GB/s"]}, {}, "the unit is 'MByte/s', not 'GB/s'"),
        ({"b_eff": [1.0, -0.1, None]}, {}, "expected [reference, lower, upper, unit]"),
        ({"b_eff": [1.0, None, None, "MByte/s"]}, {}, "no bad value fails this reference"),
        ({"b_eff": [1.0, -1.0, None, "MByte/s"]}, {}, "no bad value fails this reference"),
        ({"b_eff": ["fast", -0.1, None, "MByte/s"]}, {}, "must be numbers"),
        ({"b_eff": [1.0, 0.1, None, "MByte/s"]}, {}, "the lower one at most 0"),
        ({"b_eff": [1.0, -0.1, -0.05, "MByte/s"]}, {}, "the upper one at least 0"),
        ({"b_eff": ["$xfail", [1.0, -0.1, None, "MByte/s"]]}, {}, "expected [$xfail, reason,"),
        ({"b_eff": ["$xfail", 17, [1.0, -0.1, None, "MByte/s"]]}, {}, "expected [$xfail, reason,"),
        ({}, {"_meta": None}, "origin of its values"),
        ({}, {"b_eff": None}, "no entry 'b_eff'"),
        ({}, {"b_eff": {"$index": ["$partition", "num_procs"]}}, "$index must be"),
        ({}, {"b_eff": {"$index": INDEX, "local:default": {"2": {}}}}, "must be an integer"),
        ({}, {"b_eff": {"$index": INDEX, "local:(": {2: {}}}}, "is no regular expression"),
    ],
    ids=[
        *("metric", "unit", "no unit", "no bound", "bound of 0", "no number", "lower above 0"),
        *("upper below 0", "no reason", "number as reason"),
        *("no origin", "no entry", "index", "size", "expression"),
    ],
)
def test_reference_that_reframe_would_pass_over_is_refused(tmp_path, entry, replaced, complaint):
    path = written(tmp_path, entry, **replaced)
    units = {"b_eff": "MByte/s", "ping_pong_latency": "us"}
    with pytest.raises(PipelineError, match=re.escape(complaint)):
        check_reference_file(path, "b_eff", INDEX, units)


def test_second_entry_of_a_reference_is_refused(tmp_path):
    """YAML would silently take the last one."""
    path = written(tmp_path, {"b_eff": [1.0, -0.1, None, "MByte/s"]})
    path.write_text(path.read_text() + "_meta: {}\n")
    with pytest.raises(PipelineError, match=r"line \d+: the key '_meta' occurs twice"):
        check_reference_file(path, "b_eff", INDEX, {"b_eff": "MByte/s"})


def test_missing_reference_file_fails(reframe, good):
    session = reframe(*good, *values("b_eff.reference_file=/nowhere/references.yaml"))
    refused(session, "/nowhere/references.yaml: cannot be read")


def test_required_references_are_enforced_without_running(reframe):
    session = reframe("--dry-run", *TWO, *values("require_reference=true"))
    assert session.returncode == 1 and "no reference value found" in session.output


# Builders


def first_on_path(reframe, folder, name, script):
    """An environment in which a script stands in for a program."""
    return {"PATH": f"{executable(folder / 'fake' / name, script).parent}:{reframe.environment()['PATH']}"}


@pytest.mark.parametrize(
    ("builder", "says"),
    [
        ("spack", "builder=spack was requested, but no `spack` on PATH"),
        ("make", "valid are auto, spack, cmake, prebuilt"),
        ("prebuilt", "build error: exit code 1: there is no working b_eff in"),
    ],
)
def test_builder_that_cannot_be_used_fails_and_never_falls_back(reframe, tmp_path, builder, says):
    session = reframe("-r", *TWO, *values(f"builder={builder}", f"prebuilt_directory={tmp_path}"))
    assert session.returncode == 1 and says in session.output
    assert not list(reframe.folder.rglob("CMakeCache.txt"))


def test_build_that_fails_shows_its_first_error(reframe, tmp_path):
    """ReFrame alone shows the exit code and the last lines, here of make."""

    def built(script, *options):
        return reframe("-r", *TWO, *options, env=first_on_path(reframe, tmp_path, "cmake", script))

    session = built(
        '[ "$1" = --build ] || { echo "-- 0 tests"; exit 0; }\necho "cc -c main.c" >&2\n'
        "echo \"main.c:7:3: error: unknown type name 'foo'\" >&2\nseq 20 >&2; echo 'make: Error 2' >&2; exit 2"
    )
    assert session.returncode == 1
    assert "build error: exit code 2: main.c:7:3: error: unknown type name 'foo'\n" in session.output
    session = built("printf 'CMake Error at CMakeLists.txt:34 (find_package):\\n\\n  No MPI.\\n' >&2; exit 1")
    assert "build error: exit code 1: CMake Error at CMakeLists.txt:34 (find_package): No MPI.\n" in session.output
    text = r"CMake Error at CMakeLists.txt:4 (project):\n  The compiler:\n\n    mpicc\n\n  is not\n  found.\n\n  Tell"
    session = built(f"printf '{text}\\n' >&2; exit 1")
    assert "1: CMake Error at CMakeLists.txt:4 (project): The compiler: mpicc is not found.\n" in session.output
    session = built("", "--dont-restage")
    assert "build error" not in session.output and only_case(session)["fail_phase"] == "sanity"


def test_the_same_environment_and_architecture_are_compiled_once(reframe, tmp_path):
    """On three partitions, one of which has a variable of its own; CMake is a script that notes where it compiles,
    and takes its time, so that two compilations in one folder would be seen to overlap."""
    notes = tmp_path / "notes"
    script = f'case $1 in -S) echo "begin $4" >> {notes}; sleep 0.5;; --install) echo "end $2" >> {notes}; '
    script += 'mkdir -p "$4/bin"; cp /bin/false "$4/bin/b_eff";; esac'
    env = OPEN_MPI | first_on_path(reframe, tmp_path, "cmake", script)
    config = configuration(tmp_path, {}, {}, {"env_vars": [["OTHER", "1"]]})

    def folders(*options):
        notes.unlink(missing_ok=True)
        reframe("-r", *TWO, *options, config=config, env=env)
        words = [line.split() for line in notes.read_text().splitlines()]
        for folder in {folder for _, folder in words if folder != "build"}:
            phases = [phase for phase, of in words if of == folder]
            assert phases == ["begin", "end"] * (len(phases) // 2)
            assert not Path(folder).parent.exists(), "left behind"
        return sorted(collections.Counter(folder for phase, folder in words if phase == "begin").values())

    assert folders() == [1, 2]
    assert folders("-S", "build_per=partition") == [3], "each in the folder `build` of its own stage directory"
    session = reframe("-r", *TWO, "-S", "build_per=node", config=config, env=env)
    assert "unknown build_per 'node': valid are environment, partition" in session.fixtures[0]["fail_reason"]


# Launching


def test_jobs_on_this_machine_do_not_overlap(reframe, tmp_path, kernel_that, no_scheduler):
    times = tmp_path / "times"
    made = logs_made.write(tmp_path / "made.jsonl", averaged_log(ranks=2, nodes=1))
    script = f'echo begin >> {times}; sleep 1; echo end >> {times}; cp {made} "$log"'
    reframe("-r", *kernel_that(script), config=None, env=OPEN_MPI | no_scheduler)
    lines = times.read_text().split()
    assert len(lines) >= 4
    assert lines == ["begin", "end"] * (len(lines) // 2)


FEWEST = "--methods sendrecv,blocking --patterns ring,random,ping_pong --random-patterns 1"
FEWEST += " --longest-loop 1 --repetitions 1"


def quick(kernel_that, mpi):
    """The real kernel, with the fewest methods that still give every metric."""
    return kernel_that(f'exec {mpi.bin}/b_eff "$@" {FEWEST}', ranks="all")


@pytest.mark.parametrize("config", [LOCAL, None], ids=["local configuration", "built-in configuration"])
def test_real_processes_communicate_at_several_sizes(reframe, config, kernel_that, openmpi, no_scheduler):
    env = {} if config else OPEN_MPI | no_scheduler
    sizes = [2, 4] if config else [4]
    options = ["-r", "-n", f"b_eff%num_processes=({'|'.join(map(str, sizes))})$", *SHORT, *quick(kernel_that, openmpi)]
    session = reframe(*options, config=config, env=env)
    assert session.returncode == 0, session.output
    assert [case["num_processes"] for case in session.cases] == sizes
    for case in session.cases:
        assert case["num_tasks"] == case["num_processes"]
        assert "Open MPI" in case["mpi_library"]
    if config:
        assert not (reframe.folder / ".reframe").exists(), "something was written to the home directory"


def test_cmake_builds_out_of_tree_and_the_result_says_so(reframe, tmp_path):
    options = {"b_eff": FEWEST.split()}
    here = {"env_vars": [*map(list, OPEN_MPI.items())], "extras": {"sizes": [2], "kernel_options": options}}
    session = reframe("-r", *TWO, *SHORT, config=configuration(tmp_path, here))
    assert session.returncode == 0, session.output
    case = only_case(session)
    assert (case["builder"], case["spack_spec"], case["time_budget"]) == ("cmake", "", 1)
    assert case["qualifications"] and not case["official"]
    assert not list(ROOT.joinpath("kernels").rglob("CMakeCache.txt"))


@pytest.mark.skipif(os.getuid() != 0, reason="only root is refused by Open MPI")
def test_refusal_of_open_mpi_is_shown_with_its_remedy(reframe, kernel_that, no_scheduler):
    if "Open MPI" not in run([shutil.which("mpirun"), "--version"]).stdout:
        pytest.skip("mpirun on PATH is not Open MPI")
    refused(reframe("-r", *TWO, *kernel_that("true"), config=None, env=no_scheduler), "--allow-run-as-root")
