# SPDX-License-Identifier: Apache-2.0
"""The mode `rolling` on a real Slurm with busy nodes: idle ones are examined, and no job waits."""

import os
import shlex
from pathlib import Path

import pytest
import slurm_made
from builds import OPEN_MPI
from commands import run
from conftest import CHECKS, Reframe
from kernel_runs import wait_until
from sessions_made import case, database, session

from coffeecup.postprocess.benchmarks.scoring import read_log
from coffeecup.site_configs.common.frame import MODES

NODES, CORES = 5, 2
SHORT = ["--first-loop-length", "1", "--longest-loop", "2", "--matchings", "4", "--time-budget", "4"]


LYING = "#!/bin/sh\nfor node in 1 2 3 4 5; do echo n$node idle; done\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    if reason := slurm_made.missing():
        pytest.skip(reason)
    with slurm_made.slurm(tmp_path_factory.mktemp("slurm"), NODES, CORES) as slurm:
        yield slurm


@pytest.fixture
def occupied(cluster):
    """A function that occupies a node of the cluster until the test ends."""
    jobs = []

    def occupy(node):
        words = ["--parsable", f"--nodelist={node}", "--exclusive", "--output=/dev/null", "--wrap=sleep 600"]
        jobs.append(cluster("sbatch", *words).strip())
        wait_until(lambda: f"{node} alloc" in cluster.states(), f"{node} is busy")

    yield occupy
    cluster("scancel", *jobs)
    wait_until(lambda: not cluster("squeue", "--noheader").strip(), "the jobs end")


@pytest.fixture
def rolls(cluster, openmpi, tmp_path):
    """A function that runs the mode with the options of a plan."""
    config = slurm_made.settings(cluster, tmp_path)
    config.write_text(
        config.read_text().replace('"num_nodes"', f'"kernel_options": {{"b_eff": {SHORT!r}}}, "num_nodes"')
    )
    words = ["-r", "--system=toy:mpirun", "-S", "builder=prebuilt", "-S", f"prebuilt_directory={openmpi.bin}"]
    words += ["-S", "b_eff.memory_per_process=16MiB"]
    words += [word for option in MODES["rolling"] for word in option.split(" ")]

    def start(options, **env):
        done = Reframe(tmp_path, CHECKS / "b_eff.py")(
            *words, *shlex.split(options), config=config, env=cluster.environment | OPEN_MPI | env
        )
        assert done.returncode == 0, done.output
        return done

    return start


def test_the_mode_rolling_examines_idle_nodes_alone(cluster, occupied, rolls, tmp_path, monkeypatch):
    """One is busy when the plan is made, and one more when the job is submitted."""
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    database(tmp_path / "earlier.db", [session([case({"b_eff": (1.0, "MByte/s")}, system="toy")])])
    occupied("n2")
    done = run("nodes", "earlier.db", "--plan", "debug")
    assert done.exit_code == 0 and "b_eff.nodes=n1+n3+n4+n5\n" in done.stdout, done.output
    assert "Ran 0/0 test case(s)" in rolls("").output  # nothing without a plan
    occupied("n4")
    [examined] = rolls(done.stdout).cases
    assert (examined["result"], examined["num_processes"], examined["num_hosts"]) == ("pass", 3, 3)
    hosts = read_log(Path(examined["outputdir"], "b_eff.jsonl")).run.hosts
    assert [host.name for host in hosts] == ["n1", "n3", "n5"] and "rolling=yes" in examined["variant"]
    occupied("n5")
    done = run("nodes", "earlier.db", "--plan", "debug")
    assert done.exit_code == 3 and done.stderr == "coffeecup: nothing to examine: 2 nodes of debug idle\n"
    done = run("nodes", "earlier.db", "--plan", "debug2")
    assert done.exit_code == 2 and "Slurm does not answer, or has no partition 'debug2'" in done.stderr, done.output


@pytest.mark.parametrize("anticipated", [False, True])
def test_no_job_waits_for_a_node_that_became_busy(cluster, occupied, rolls, tmp_path, anticipated):
    """Before the job is submitted; or at the same moment, when sinfo did not yet show it."""
    occupied("n1")
    (tmp_path / "sinfo").write_text(LYING)
    (tmp_path / "sinfo").chmod(0o755)
    found = {"PATH": f"{tmp_path}:{os.environ['PATH']}"} if anticipated else {}
    ran = rolls("-S b_eff.num_nodes=3 -P b_eff.nodes=n1+n2+n3", **found)
    [case] = ran.cases
    assert case["result"] == "skip", ran.output
    words = "the nodes n1+n2+n3 were not idle any more" if anticipated else "of the nodes n1+n2+n3, 2 are idle now"
    assert words in ran.output
    assert len(cluster("squeue", "--noheader").strip().splitlines()) == 1
