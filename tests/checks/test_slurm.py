# SPDX-License-Identifier: Apache-2.0
"""Checks through a real Slurm of several nodes on this machine: jobs that run, and jobs that are killed, drained away
or never start."""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import counters_made
import logs_made
import pytest
import slurm_made
from builds import PATIENCE, ROOT
from check_runs import only_case, prebuilt, values
from conftest import CHECKS, COFFEECUP, Reframe, kernel_of
from documented import groups_of_nodes
from kernel_runs import processes_in, wait_until
from kernel_runs import records as read_records
from kernel_runs import run as run_command
from logs_made_b_eff import averaged_log
from raw_log import read_log
from slurm_made import settings

from coffeecup.site_configs.common.dry_run import checks

SHORT = values(
    *("b_eff.time_budget=2", "b_eff.memory_per_process=1MiB", "ftio.input_parameter=1MiB", "ftio.repetitions=1"),
    *("b_eff_io.scheduled_time=0.2", "b_eff_io.memory_per_process=32MiB"),
)
TWO = ["-n", "^b_eff%num_processes=2$"]
NODES = 2


@pytest.fixture(scope="module")
def slurm(tmp_path_factory, openmpi):
    """With `openmpi`, so that all tests of this file run one after the other, in one Slurm."""
    if reason := slurm_made.missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("slurm")
    switches = f"SwitchName=a Nodes=n1\nSwitchName=b Nodes=n[2-{NODES + 1}]\nSwitchName=top Switches=a,b\n"
    (folder / "topology.conf").write_text(switches)
    tree = f"TopologyPlugin=topology/tree\n{slurm_made.EQUAL}"
    with slurm_made.slurm(folder, nodes=NODES, cores=2, machines=tree) as made:
        yield made


@pytest.fixture(scope="module")
def endless(slurm, tmp_path_factory):
    """A check whose kernel never ends, on a node that no other test uses. Slurm's limits have a resolution of a minute,
    in which the other tests run; the session, when it has ended."""
    folder = tmp_path_factory.mktemp("endless")
    kernel = kernel_of(folder, "sleep 600")
    slurm("scontrol", "create", "PartitionName=apart", f"Nodes=n{NODES + 1}", "State=UP", "MaxTime=60")
    config = settings(slurm, folder)
    config.write_text(config.read_text().replace("--partition=debug", "--partition=apart"))
    with ThreadPoolExecutor(1) as pool:
        options = ["-r", "--system=toy:mpirun", *TWO, *values("b_eff.time_limit=1m"), *kernel]
        session = pool.submit(Reframe(folder, CHECKS / "b_eff.py"), *options, config=config, env=slurm.environment)
        yield session.result


@pytest.fixture
def run(slurm, tmp_path, kernel_that):
    """Runs the checks on one partition: `run(partition, *options)`, with a kernel of shell where a script is given."""

    def start(partition, *options, script=None):
        made = kernel_that(script, ranks="first") if script else []
        options = ["-r", f"--system=toy:{partition}", *made, *options]
        session = Reframe(tmp_path, CHECKS / "b_eff.py" if script else CHECKS)
        return session(*options, config=settings(slurm, tmp_path), env=slurm.environment)

    return start


def built(mpi):
    return [*prebuilt(mpi.bin), *SHORT]


def test_every_check_runs_through_the_queue(endless, run, slurm, openmpi, tmp_path):
    """All checks that load no other jobs, on all nodes, and b_eff on one. Each records the scheduler, and where in the
    topology its nodes are."""
    (tmp_path / "small.cfg").write_text('single_file = { process_size = "64KiB"; block_size = "4KiB"; };')
    wanted = f"^b_eff%num_processes=2$|%num_processes={2 * NODES}(%|$)"
    session = run("mpirun", "-n", wanted, "-S", "priomark.workload=small.cfg", *built(openmpi))
    assert session.returncode == 0, session.output
    found = {(case["name"].split(" ")[0], case["num_processes"]): case["num_hosts"] for case in session.cases}
    assert found == {("b_eff", 2): 1} | {
        (check, 2 * NODES): NODES for check in checks(ROOT) if not check.endswith("_load")
    }
    version = slurm("sinfo", "--version").split()[-1]
    stated = ("scheduler", "topology", "order of nodes")
    for case in session.cases:
        nodes = "1 node in 1 group" if case["num_hosts"] == 1 else "2 nodes in 2 groups"
        assert [case["facts"][name] for name in stated] == [f"slurm-{version}", nodes, "group by group"]
    [log] = {Path(case["outputdir"], "b_eff.jsonl") for case in session.cases if case["num_processes"] == 2}
    assert read_log(log).run["hosts"][0]["topology"] == "top.a.n1"


# On a busy machine, where one process runs ahead, Open MPI started by srun crashes in MPI_Init now and then
# (open-mpi/ompi#12495).
@pytest.mark.alone
def test_processes_are_placed_as_requested(run, slurm, openmpi, kernel_that):
    """In blocks and in turn, by srun, on two nodes; the log tells where each rank was. Few measurements instead of a
    short budget, which a busy machine exceeds."""
    listed = run_command(["srun", "--mpi=list"], env=os.environ | slurm.environment)
    if "pmix" not in listed.stdout + listed.stderr:
        pytest.skip("srun has no pmix plug-in")
    few = "--patterns ring,random,ping_pong --random-patterns 1 --methods sendrecv,blocking"
    few += " --memory-per-process 1MiB --repetitions 1 --longest-loop 1"
    kernel = kernel_that(f'LD_PRELOAD={openmpi.patience} exec {openmpi.bin}/b_eff "$@" {few}', ranks="all")
    session = run("srun", "-n", "^b_eff%num_processes=4$", "-P", "b_eff.placement=block,round_robin", *kernel)
    assert session.returncode == 0, session.output
    placed = {case["placement"]: read_log(Path(case["outputdir"], "b_eff.jsonl")) for case in session.cases}
    assert {name: [host["ranks"] for host in log.run["hosts"]] for name, log in placed.items()} == {
        "block": [[0, 1], [2, 3]],
        "round_robin": [[0, 2], [1, 3]],
    }
    assert all(len(host["core_sets"]) == 2 for log in placed.values() for host in log.run["hosts"])
    assert not any("not_as_requested" in case["qualifications"] for case in session.cases)


@pytest.mark.alone  # for the same reason
def test_sigterm_ends_the_run_of_a_comparison_on_all_nodes(slurm, openmpi, tmp_path):
    """The log of the kernel that srun started on two nodes is closed as that of an interrupted one."""
    slurm("salloc", "--no-shell", "--nodes=2", "--job-name=comparison")
    job = slurm("squeue", "--noheader", "--name=comparison", "--format=%i").strip()
    runs, kernel = tmp_path / "runs", [openmpi.bin / "b_eff", "--memory-per-process", "4MiB"]  # minutes
    command = [COFFEECUP, "compare", "--arm=usual=", "--arm=other=--seed 2", "-o", runs]
    command += ["--", "srun", "--mpi=pmix", "-n", "2", "env", f"LD_PRELOAD={openmpi.patience}", *kernel]
    within = os.environ | slurm.environment | {"SLURM_JOB_ID": job, "SLURM_NTASKS_PER_NODE": "1"}
    started = subprocess.Popen(command, env=within, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: any(runs.rglob("*.jsonl")) or started.poll() is not None, "the run has a log")
    assert started.poll() is None, started.communicate()
    assert len({process.parent for process in processes_in(runs) if "b_eff" in process.words[0]}) == 2  # slurmstepd
    started.terminate()
    assert "interrupted: the same command goes on" in started.communicate(timeout=PATIENCE)[1]
    assert started.returncode == 1 and not processes_in(runs)
    slurm("scancel", job)
    wait_until(lambda: not slurm("squeue", "--noheader", "--partition=debug").strip(), "the job ends")
    [log] = runs.rglob("*.jsonl")
    assert read_records(log)[-1]["status"] == "interrupted"


def test_comparison_goes_on_in_another_job_after_a_node_failed(slurm, tmp_path):
    """All arms run on both nodes of the job. In the second block a node fails and Slurm ends the job, so that nothing
    runs in the third one. In another job, the same command runs these two blocks again."""
    log = logs_made.write(tmp_path / "log.jsonl", averaged_log(ranks=2, nodes=2, repetitions=1))
    fails = f"mkdir {tmp_path}/failed && scontrol update NodeName=$SLURMD_NODENAME State=DOWN Reason=broken; true"
    kernel = f"touch $SLURMD_NODENAME; [ $SLURM_PROCID = 1 ] || exec cp {log} .; case $PWD in */0002-*) {fails} ;; esac"
    command = ["salloc", "--nodes=2", "--ntasks-per-node=1", COFFEECUP, "compare", "--arm=usual=", "--arm=other=other"]
    command += ["--pairs=6", "-o", tmp_path / "runs", "--", "srun", "sh", "-c", kernel, "sh"]
    first = run_command(command, env=os.environ | slurm.environment)
    assert first.returncode == 1 and "the same command then runs these blocks again" in first.stderr
    wait_until(lambda: "n2 idle" in slurm("sinfo", "--noheader", "--Node", "--format=%N %t"), "the node returns")
    again = run_command(command, env=os.environ | slurm.environment)
    assert (again.returncode, re.findall("^block (.)", again.stderr, re.MULTILINE)) == (0, [*"222333444555666"])
    assert [sorted(path.name for path in one.glob("n*")) for one in tmp_path.glob("runs/0*")] == 18 * [["n1", "n2"]]


def test_recipe_of_the_documentation_writes_the_groups_of_this_slurm(slurm):
    groups = ["n1 a", *(f"n{number} b" for number in range(2, NODES + 2))]
    assert slurm("bash", "-c", groups_of_nodes()).splitlines() == groups


@pytest.mark.parametrize(
    ("processes", "closed", "opened", "reason"),
    [
        (2, ["PartitionName=debug", "State=DOWN"], ["PartitionName=debug", "State=UP"], "PartitionDown"),
        (4, ["NodeName=n2", "State=DRAIN", "Reason=broken"], ["NodeName=n2", "State=RESUME"], "DRAINED"),
    ],
)
def test_job_that_never_starts_is_reported_as_that(run, slurm, processes, closed, opened, reason):
    slurm("scontrol", "update", *closed)
    wanted = ["-n", f"^b_eff%num_processes={processes}$", *values("b_eff.max_pending_time=8s")]
    try:
        session = run("mpirun", *wanted, script="true")
    finally:
        slurm("scontrol", "update", *opened)
    assert session.returncode == 1
    told = rf"job \d+ did not start within 8 s; squeue reports: .*{reason}.*; check for nodes that are down or drained"
    assert re.search(told, only_case(session)["fail_reason"])
    assert not slurm("squeue", "--noheader", "--partition=debug").strip(), "the job is still there"


FOREIGN = """
site_configuration = {{
    "systems": [{{"name": "centre", "hostnames": [".*"], "partitions": [
        {{"name": "login", "scheduler": "local", "launcher": "local", "environs": ["builtin"]}},
        *({{"name": name, "scheduler": "squeue", "launcher": "srun", "access": access, "environs": ["builtin", "mpi"]}}
          for name, access in {access!r}.items())]}}],
    "environments": [{{"name": "mpi", "cc": "mpicc", "features": ["mpi"]}}],
}}
"""


def test_foreign_configuration_runs_on_the_nodes_that_slurm_reports(endless, slurm, tmp_path):
    """Two nodes of two cores, by all forms in which `access` can name a partition, and where it allows fewer nodes."""
    slurm("scontrol", "create", "PartitionName=limited", "Nodes=n[1-2]", "State=UP", "MaxNodes=1", "MaxTime=10")
    slurm("scontrol", "update", "NodeName=n1", "AvailableFeatures=big", "ActiveFeatures=big")
    both = {"short": ["-p debug"], "joined": ["-pdebug"], "long": ["--partition=debug"], "default": []}
    slurm("scontrol", "create", "PartitionName=half", "Nodes=n1", "State=UP")  # of several, a job gets one
    both |= {"spaced": ["--partition debug"], "several": ["-p debug,half"]}
    one = {"limited": ["-p limited"], "constrained": ["-p debug", "-C big"], "listed": ["-p debug", "-w n2"]}
    path = tmp_path / "centre.py"
    path.write_text(FOREIGN.format(access=both | one | {"unknown": ["-p nowhere"]}))
    listed = partial(Reframe(tmp_path, CHECKS / "b_eff.py"), "-n", "^b_eff%")
    session = listed("-LC", config=path, env=slurm.environment)
    assert session.returncode == 1 and "'centre:unknown': neither its configuration nor its" in session.output
    path.write_text(FOREIGN.format(access=both | one))
    session = listed("-LC", config=path, env=slurm.environment)
    cases = re.findall(r"^- b_eff %num_processes=(\w+) /\w+ @centre:(\w+)\+mpi$", session.output, re.MULTILINE)
    expected = [(size, name) for name in both for size in ("2", "4")] + [("2", name) for name in one]
    assert sorted(cases) == sorted(expected), session.output
    session = listed("--dry-run", "--system=centre:limited", config=path, env=slurm.environment)
    assert "centre:limited accepts jobs of up to 10 minutes, but this one may need 13" in session.output


def test_new_site_is_what_slurm_has(slurm, tree):
    """`coffeecup site new` against slurm.conf; `coffeecup site check` of it. What is refused: test_site_on_slurm.py."""
    made = tree.run("new", "here", **slurm.environment)
    assert made.code == 0, made.text
    text = (tree.folder / "site_configs" / "here" / "settings.py").read_text()
    facts = ['"--partition=debug"', f'"num_nodes": {NODES},', '"cores_per_node": 2,', '"max_minutes": 60,']
    facts.append('"scheduler": "squeue",  # sacct does not answer: no accounting')
    assert [fact for fact in facts if fact not in text] == []
    checked = tree.run("check", "here", **slurm.environment)
    assert checked.code == 0, checked.text


def test_jobs_run_with_accounting_on(openmpi, tmp_path, tmp_path_factory, kernel_that):
    """ReFrame's backend `slurm` asks sacct, which needs slurmdbd and a database. What the plug-in for energy counted
    is recorded: the kernel lets the counter of both nodes rise from 1000 to 1700 J."""
    if reason := slurm_made.missing(accounting=True):
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("accounting")
    cray = folder / "cray"
    counters_made.put(cray, "pm_counters/energy", "1000 J 1600000000 us")
    counters_made.put(cray, "pm_counters/power", "100 W 1600000000 us")
    rises = f'echo "1700 J 1600000000 us" >{cray}/pm_counters/energy; exec {openmpi.bin}/b_eff "$@"'
    with slurm_made.slurm(folder, nodes=2, cores=2, accounting=True, cray=cray) as slurm:
        options = ["-r", "--system=toy:mpirun", "-n", "^b_eff%num_processes=4$"]
        options += [*SHORT, *kernel_that(rises, ranks="all")]
        session = Reframe(tmp_path)(*options, config=settings(slurm, tmp_path, "slurm"), env=slurm.environment)
        assert session.returncode == 0, session.output
        steps = slurm("sacct", "--noheader", "--parsable2", "--format=JobID,NNodes").splitlines()
        nodes = {name.split(".")[1]: int(number) for name, number in (step.split("|") for step in steps) if "." in name}
        assert nodes["batch"] == 1 and nodes["0"] >= 1
        assert only_case(session)["slurm_energy"] == {step: 700 * number for step, number in nodes.items()}
        # A job's name and nodes come to the data base after its state.
        wanted = r"rfm_b_eff_\w+\|COMPLETED\|n\[1-2\]\n"
        ask = ["sacct", "--noheader", "--parsable2", f"--jobs={only_case(session)['jobid']}", "--allocations"]
        ask.append("--format=JobName,State,NodeList")
        wait_until(lambda: re.fullmatch(wanted, slurm(*ask)), "the data base has the job")


def test_job_killed_by_its_time_limit_is_reported_as_that(endless):
    session = endless()
    assert session.returncode == 1
    assert "DUE TO TIME LIMIT" in only_case(session)["fail_reason"]
