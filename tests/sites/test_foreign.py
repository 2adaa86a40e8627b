# SPDX-License-Identifier: Apache-2.0
"""Configurations that other people wrote for their own tests, with the traits of public ones: partitions without our
extras, login nodes, environments with and without MPI, launchers of several kinds. Checks run at sizes that reach the
network, on no login node, or are refused by name.

Slurm is in test_slurm.py, where a real one answers.
"""

import json
import re
import shutil
from pathlib import Path

import logs_made
import logs_made_b_eff
import pytest
from builds import OPEN_MPI
from check_runs import references
from conftest import CHECKS
from foreign_made import CASE, KNOWN, LOGIN, LSF, OF_PBS, PBS, QUEUES, SLURM, of_cores, partition

CHECKS_OF = "b_eff"


def test_pbs_states_nodes_and_cores_and_login_nodes_are_skipped_once(foreign):
    made = foreign([LOGIN, PBS], answers=OF_PBS, checks=CHECKS)
    assert made.session.returncode == 0, made.session.output
    assert made.b_eff == [("batch", "gnu-mpi", 128), ("batch", "gnu-mpi", 256), ("batch", "gnu-mpi", 384)]
    assert {where for _, where, _, _ in made.cases} == {"batch"}
    assert made.session.output.count("no check runs on login nodes: skipping centre:login") == 1
    assert made.session.output.count("environments without MPI are left out: builtin, gnu") == 1


# qstat -Bf -F json: display_statserver() in src/cmds/qstat.c of OpenPBS
@pytest.mark.parametrize("default", ["workq", "route", "unknown", None])
def test_pbs_partition_without_a_queue_has_the_default_one(foreign, default):
    """If that runs jobs: a queue that routes them has no nodes. Otherwise the message says how to name one."""
    server = json.dumps({"Server": {"pbs": {"scheduling": "True", "default_queue": default}}}) if default else "no JSON"
    answers = (("qstat", {"-Qf": json.dumps(QUEUES), "-Bf": server}), OF_PBS[1])
    made = foreign([PBS | {"access": ["-A project"]}], answers=answers)
    if default == "workq":
        assert made.b_eff == [("batch", "gnu-mpi", 128), ("batch", "gnu-mpi", 256), ("batch", "gnu-mpi", 384)]
    else:
        assert made.session.returncode == 1 and not made.cases
        assert (
            "states the number of nodes and the number of cores of a node; name a queue that runs jobs in `access` "
            "(-q NAME; `qstat -Q` lists type Exec), add extras" in made.session.output
        )


def test_pbs_job_script_asks_for_all_nodes(foreign, tmp_path):
    made = foreign([LOGIN, PBS], "--dry-run", "-n", "^b_eff%num_processes=384", answers=OF_PBS, listing=False)
    assert made.session.returncode == 0, made.session.output
    [script] = (tmp_path / "stage").glob("centre/batch/gnu-mpi/b_eff_[0-9a-f]*/rfm_job.sh")
    text = script.read_text()
    assert "#PBS -l select=3:mpiprocs=128:ncpus=128" in text and "#PBS -q workq" in text
    assert re.search(r"^mpiexec -n 384 \S+/b_eff --log", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("batch", "options"),
    [(LSF, ["-L"]), (SLURM, ["-L"]), (LSF, ["-L", "--tag=smallest"]), (LSF, ["-L", "-Snum_nodes=4"])],
    ids=["LSF, which cannot be asked", "Slurm, which does not answer", "tag", "nodes of the command line"],
)
def test_partition_of_unknown_size_is_refused_before_anything_is_listed(foreign, batch, options):
    """Also where a tag would leave it out and the session succeed, and where the cores of the nodes are missing."""
    session = foreign([LOGIN, of_cores("small"), batch], *options, listing=False).session
    assert session.returncode == 1 and not session.cases + session.fixtures
    says = (
        "coffeecup: partition 'centre:batch': neither its configuration nor its scheduler states the number of nodes "
        "and the number of cores of a node; add extras {'num_nodes': N, 'cores_per_node': N}, or write an overlay with "
        "`coffeecup site overlay`; the extra 'kernels': [] leaves the partition out"
    )
    assert session.output.count(says) == 1
    assert "Traceback" not in session.output and "num_processes=given" not in session.output


def test_a_run_is_refused_if_no_size_is_known(foreign):
    """With another partition it goes on: test_sites.py."""
    session = foreign([LOGIN, SLURM], "-r", listing=False).session
    assert session.returncode == 1 and not session.cases + session.fixtures
    assert "partition 'centre:batch': neither its configuration nor its scheduler states" in session.output


def test_partition_of_unknown_size_can_be_left_out(foreign):
    made = foreign([of_cores("small"), LSF | {"extras": {"kernels": []}}])
    assert made.session.returncode == 0, made.session.output
    assert made.b_eff == [("small", "gnu-mpi", 8), ("small", "gnu-mpi", 16)]


def test_sizes_of_the_command_line_are_used_where_only_cores_are_known(foreign):
    made = foreign([KNOWN], "-P", "b_eff.num_processes=16,32", "-n", "^b_eff%")
    assert made.session.returncode == 0, made.session.output
    assert made.b_eff == [("mc", "vendor", 16), ("mc", "vendor", 32)]
    assert "states the number of nodes; add extras {'num_nodes': N}" in foreign([KNOWN]).session.output


def test_nodes_of_the_command_line_are_used_where_only_cores_are_known(foreign, tmp_path):
    of_b_eff = ("--dry-run", "-n", "^b_eff(?!_io_system)", "-S", "num_nodes=4")
    made = foreign([LOGIN, KNOWN], *of_b_eff, listing=False, checks=CHECKS)
    assert made.session.returncode == 0, made.session.output
    assert "WARNING" not in made.session.output
    assert {(case["num_tasks"], case["num_tasks_per_node"]) for case in made.session.cases} == {(32, 8)}
    assert {case["num_processes"] for case in made.session.cases} == {32}
    [script] = (tmp_path / "stage").glob("centre/mc/vendor/b_eff_[0-9a-f]*/rfm_job.sh")
    assert "#SBATCH --ntasks=32\n#SBATCH --ntasks-per-node=8\n" in script.read_text()


def test_sizes_of_the_command_line_are_run_where_they_fit(foreign):
    small, large = of_cores("small"), of_cores("large", nodes=64)
    made = foreign([small, large], "-P", "b_eff.num_processes=16,256")
    assert made.b_eff == [("large", "gnu-mpi", 16), ("large", "gnu-mpi", 256), ("small", "gnu-mpi", 16)]
    assert "skipped: partition 'centre:small': 256 processes do not fit on 2 nodes of 8 cores" in made.session.output
    both = foreign([small, large], "-P", "b_eff.num_processes=16", "--repeat=2")
    assert len(re.findall(r"^- b_eff .*repeat_no=", both.session.output, re.MULTILINE)) == 4


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["-P", "b_eff.num_processes=1024"], "b_eff runs nowhere: partition 'centre:p': 1024 processes do not fit"),
        (["-P", "b_eff.num_processes=9"], "9 processes cannot be spread evenly over 2 nodes of 8 cores"),
        (["-P", "b_eff.num_processes=1"], "1 processes are fewer than 2"),
        (["-P", "b_eff.num_processes=all"], "num_processes: 'all' is not a number of processes"),
        (["-P", "b_eff.num_processes=0"], "num_processes: 0 is not a number of processes"),
        (["-P", "b_eff.num_processes=8", "-S", "b_eff.num_nodes=1"], "b_eff: num_nodes and num_processes exclude each"),
        (["-S", "num_nodes=0"], "num_nodes: 0 is not a number of nodes"),
        (["-S", "num_nodes=3"], "24 processes do not fit on 2 nodes of 8 cores"),
        (["-P", "b_eff_io.file_system=scrtch"], "no partition has a file system 'scrtch': known are scratch, given"),
        (["--system=centre:login"], "no check runs on login nodes (centre:login): choose another partition"),
    ],
)
def test_what_cannot_run_is_refused_in_one_sentence(foreign, options, says):
    partitions = [LOGIN, of_cores(file_systems=[{"name": "scratch", "directory": "/scratch"}])]
    made = foreign(partitions, *options, checks=CHECKS)
    assert made.session.returncode == 1
    assert made.session.output.count(says) == 1
    assert "Traceback" not in made.session.output and not made.cases


def test_more_nodes_than_an_overcommitted_machine_has_are_refused(foreign):
    """It takes the processes of two nodes, but on one."""
    machine = of_cores(cores=2, nodes=1) | {"features": ["overcommit"]}
    made = foreign([machine], "-S", "num_nodes=2")
    assert made.session.returncode == 1
    assert "partition 'centre:p': 2 nodes were requested, and checks may use 1" in made.session.output
    assert foreign([machine], "-S", "num_nodes=1").b_eff == [("p", "gnu-mpi", "given")]


def test_file_system_of_the_command_line(foreign):
    systems = [{"name": name, "directory": f"/{name}"} for name in ("scratch", "home")]
    chosen = ("-P", "b_eff_io.file_system=scratch", "-n", "_io")
    made = foreign([of_cores(file_systems=systems)], *chosen, checks=CHECKS)
    found = sorted((name, int(size)) for _, name, size, _, _ in CASE.findall(made.session.output))
    assert found == [("scratch", 8), ("scratch", 16)]


CHOSEN = [
    (["builtin", "gnu", "gnu-mpi"], ["gnu-mpi"]),  # by trying
    (["builtin", "gnu-mpi", "vendor"], ["vendor"]),  # by the feature, which says it for all
    (["builtin", "vendor"], ["vendor"]),
    (["gnu"], ["gnu"]),  # no choice: CMake finds MPI, or the build says that it does not
    (["builtin"], ["builtin"]),
    (["builtin", "gnu"], ["builtin", "gnu"]),  # the builds say why it is neither
]


def test_environments_with_mpi_are_chosen(foreign):
    made = foreign([of_cores(f"p{number}", nodes=1, environs=listed) for number, (listed, _) in enumerate(CHOSEN)])
    found = {(where, environment) for _, where, environment, _ in made.cases}
    assert found == {(f"p{number}", environment) for number, (_, chosen) in enumerate(CHOSEN) for environment in chosen}


def test_environment_of_the_command_line_is_used(foreign):
    made = foreign([of_cores(nodes=1, environs=("builtin", "gnu", "gnu-mpi"))], "-p", "gnu$")
    assert {environment for _, _, environment, _ in made.cases} == {"gnu"}


# What each scheduler is asked for, from its manual: 2 nodes with 64 processes each, and nobody else on them.
COMPLETED = {
    "sge": (["-pe mpi {num_tasks}", "-l exclusive=true"], {"#$ -pe mpi 128", "#$ -l exclusive=true"}),
    "lsf": (
        ["-n {num_tasks}", '-R "span[ptile={num_tasks_per_node}]"'],
        {"#BSUB -n 128", '#BSUB -R "span[ptile=64]"', "#BSUB -x"},
    ),
    "torque": (["-n", "-l qos={num_nodes}"], {"#PBS -l nodes=2:ppn=64", "#PBS -n", "#PBS -l qos=2"}),
    "oar": ([], {"#OAR -l /host=2/core=64,walltime=0:13:0"}),
}


def of_64_cores(scheduler, **more):
    extras = {"cores_per_node": 64, "num_nodes": 2}
    return partition(scheduler, scheduler, "mpirun", ["gnu-mpi"], extras=extras, **more)


@pytest.mark.parametrize("scheduler", COMPLETED)
def test_jobs_that_request_too_little_are_refused(foreign, scheduler):
    refused = foreign([LOGIN, of_64_cores(scheduler)]).session
    assert refused.returncode == 1 and not refused.cases and "Traceback" not in refused.output
    assert refused.output.count(f"partition 'centre:{scheduler}': ReFrame's jobs for {scheduler} request no ") == 1
    assert "add what your site needs to `resources`" in refused.output and "'name': 'whole_nodes'" in refused.output


def test_jobs_that_the_site_completes_request_whole_nodes(foreign, tmp_path):
    whole = {name: [{"name": "whole_nodes", "options": options}] for name, (options, _) in COMPLETED.items()}
    batch = [of_64_cores(name, resources=resources) for name, resources in whole.items()]
    made = foreign([LOGIN, *batch], "--dry-run", "-n", "^b_eff%num_processes=128", listing=False)
    assert made.session.returncode == 0, made.session.output
    for name, (_, lines) in COMPLETED.items():
        [script] = (tmp_path / "stage").glob(f"centre/{name}/gnu-mpi/b_eff_[0-9a-f]*/rfm_job.sh")
        assert lines <= set(script.read_text().splitlines()), script.read_text()
        assert "mpirun -np 128 " in script.read_text()


def test_jobs_of_flux_are_refused_because_they_request_one_core(foreign, tmp_path, monkeypatch):
    """ReFrame needs Flux's bindings: these are names only, and no job is made."""
    (tmp_path / "bindings" / "flux").mkdir(parents=True)
    (tmp_path / "bindings" / "flux" / "__init__.py").write_text("")
    (tmp_path / "bindings" / "flux" / "job.py").write_text("class FluxExecutor: ...\nclass JobspecV1: ...\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "bindings"))
    batch = of_64_cores("flux")
    refused = foreign([of_cores("small"), batch]).session
    assert refused.returncode == 1 and not refused.cases and "Traceback" not in refused.output
    assert refused.output.count("partition 'centre:flux': ReFrame's jobs for flux request a single core, ") == 1
    batch["extras"]["kernels"] = []
    assert foreign([of_cores("small"), batch]).b_eff == [("small", "gnu-mpi", 8), ("small", "gnu-mpi", 16)]


def test_environment_is_tried_once_for_partitions_that_add_the_same_to_it(foreign, tmp_path):
    """A centre has 27 partitions with 19 environments each."""
    (tmp_path / "stubs").mkdir()
    compiler = tmp_path / "stubs" / "mpicc"
    compiler.write_text(f'#!/bin/sh\necho "in $PLACE" >> {tmp_path}/tried\nexec {shutil.which("mpicc")} "$@"\n')
    compiler.chmod(0o755)
    partitions = [of_cores(name, environs=["gnu", "gnu-mpi"]) for name in ("a", "b", "c")]
    partitions[2]["env_vars"] = [["PLACE", "c"]]
    made = foreign(partitions)
    assert {(where, environment) for where, environment, _ in made.b_eff} == {(name, "gnu-mpi") for name in "abc"}
    assert (tmp_path / "tried").read_text().splitlines() == ["in ", "in c"]


# On 2 nodes x 64, FTIO's smallest matrix has 16 GiB (i = 16, N = 16^2 x 128), moved 11 times in each of 3 repetitions:
# 5669 s at 50 MByte/s for each node and 10 minutes; a tenth of it and 1 minute on fast storage, which are 10.4 minutes.
OF_FTIO = {1440: "1:44:29", 11: "0:11:0", 10: ""}
OF_PRIOMARK = {1440: "0:30:0", 12: "0:12:0", 10: "0:10:0", 9: ""}
LIMITS = {("ftio", m): t for m, t in OF_FTIO.items()} | {("priomark", m): t for m, t in OF_PRIOMARK.items()}


def test_io_checks_ask_for_no_more_than_the_partition_grants(foreign, tmp_path):
    """And are skipped where it grants less than they need on fast storage, or than was requested."""
    partitions = [of_cores(f"{check}{minutes}", cores=64, max_minutes=minutes) for check, minutes in LIMITS]
    dry = ("--dry-run", "-n", "^(ftio|priomark)%.*num_processes=128")
    session = foreign(partitions, *dry, listing=False, checks=CHECKS).session
    assert session.returncode == 0, session.output

    def asked(session):
        return {
            (check, minutes): re.search(r"--time=(\S+)", Path(case["stagedir"], "rfm_job.sh").read_text())[1]
            if case["result"] != "skip"
            else ""
            for case in session.cases
            for check, minutes in LIMITS
            if case["partition"] == f"{check}{minutes}" and case["name"].startswith(check)
        }

    assert asked(session) == LIMITS
    requested = foreign(partitions, *dry, "-S", "priomark.time_limit=13m", listing=False, checks=CHECKS).session
    lower = {("priomark", 1440): "0:13:0", ("priomark", 12): "", ("priomark", 10): ""}
    assert asked(requested) == LIMITS | lower


# References


def test_references_differ_by_environment(foreign, kernel_that, tmp_path):
    made = logs_made.write(tmp_path / "made.jsonl", logs_made_b_eff.averaged_log(ranks=2, nodes=1))
    variables = [[name, value] for name, value in OPEN_MPI.items()]
    here = partition("here", "local", "local", ["vendor", "other"], env_vars=variables, extras={"sizes": [2]})

    def results(index, entries):
        chosen = references(tmp_path, "b_eff", {"centre:here": entries}, index)
        options = ["-r", "-n", "^b_eff%", *chosen, *kernel_that(f'cp {made} "$log"')]
        cases = foreign([here], *options, listing=False).session.cases
        return {case["environ"]: (case["result"], case["fail_reason"] or "") for case in cases}

    least = {number: {2: {"b_eff": [number, -0.1, None, "MByte/s"]}} for number in (1.0, 1e9)}
    found = results(["$partition", "$environ", "num_processes"], {"vendor": least[1.0], "other": least[1e9]})
    assert {name: result for name, (result, _) in found.items()} == {"vendor": "pass", "other": "fail"}
    found = results(["$partition", "num_processes"], least[1.0])
    says = "partition 'centre:here' has several environments (vendor, other): the $index must contain $environ"
    assert all(result == "fail" and says in reason for result, reason in found.values()) and len(found) == 2
