# SPDX-License-Identifier: Apache-2.0
"""A centre that guards its machine: partitions for others, a reservation, a topology, and a rule of its own for jobs. A
user makes a site, checks it, and runs the checks on it, with nothing edited."""

import json
import re

import pytest
import slurm_made
from conftest import REFRAME
from site_clusters import cluster_of, partitions

from coffeecup.postprocess.benchmarks.registry import benchmarks

GUARDED = """\
NodeName=n[1-5] {here} Port=[{ports[0]}-{ports[4]}] CPUs=2 CoresPerSocket=2
PartitionName=open Nodes=n[1-4] Default=YES MaxTime=01:00:00
PartitionName=members Nodes=n[1-4] MaxTime=01:00:00 AllowGroups=daemon
PartitionName=drained Nodes=n[1-4] MaxTime=01:00:00 State=DRAIN
PartitionName=hidden Nodes=n[1-4] MaxTime=01:00:00 Hidden=YES
TopologyPlugin=topology/tree
JobSubmitPlugins=lua
"""
TOPOLOGY = """\
SwitchName=leaf1 Nodes=n[1-2]
SwitchName=leaf2 Nodes=n[3-5]
SwitchName=top Switches=leaf[1-2]
"""
ACCOUNT_DEMANDED = "say which project pays: --account"
RULE = f"""\
function slurm_job_submit(job, partitions, user)
    if job.account == nil then
        slurm.log_user("{ACCOUNT_DEMANDED}")
        return slurm.ERROR
    end
    return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, user)
    return slurm.SUCCESS
end
"""
ACCOUNTS = (
    "sacctmgr -i add account physics",
    f"sacctmgr -i add user {slurm_made.USER} account=physics defaultaccount=physics",
)
# Node n4 is kept for root until long after this test.
RESERVED = "scontrol create reservation ReservationName=upgrade StartTime=now Duration=600 Users=root Nodes=n4"


@pytest.fixture(scope="module")
def cluster():
    files = {"topology.conf": TOPOLOGY, "job_submit.lua": RULE}
    with cluster_of(GUARDED, (*ACCOUNTS, RESERVED), files) as made:
        yield made
        made.slurm("scontrol", "delete", "ReservationName=upgrade")


@pytest.fixture(scope="module")
def made(cluster):
    created = cluster.site("new", "guarded")
    assert created.code == 0, created.text
    return created.out


PAID = {"COFFEECUP_ACCOUNT": "physics"}


def test_new_site_says_what_is_left_out_and_which_account_to_name(cluster, made):
    """Of four nodes, a job gets three; against GUARDED, RULE and RESERVED."""
    for said in (
        "partition members is left out: it accepts the groups daemon only, you are in nogroup",
        "partition drained is left out: it is DRAIN",
        "partition hidden is left out: its administrators hide it",
        "partition open needs an account: export COFFEECUP_ACCOUNT=physics",
        "max_nodes of partition open leaves out n4: reservation upgrade keeps it until ",
    ):
        assert f"look: {said}" in made
    _, parts, _ = partitions(cluster, "guarded")
    assert parts.keys() == {"open"}
    assert (parts["open"]["extras"]["num_nodes"], parts["open"]["extras"]["max_nodes"]) == (4, 3)


def test_check_of_the_site_demands_the_account_and_then_passes(cluster, made):
    refused = cluster.site("check", "guarded")
    assert refused.code == 1
    assert f"{ACCOUNT_DEMANDED}; allocation failure" in refused.err
    assert "set COFFEECUP_ACCOUNT to an account of yours: physics" in refused.err
    checked = cluster.site("check", "guarded", **PAID)
    assert checked.code == 0, checked.text
    assert re.search(r"partition guarded:open: sbatch --test-only accepts \d+ job scripts", checked.out)


@pytest.mark.prove
def test_a_node_that_is_reserved_since_is_named_as_a_reason(cluster, made):
    with cluster.updated("ReservationName=upgrade", Nodes=("n[3-4]", "n4")):
        checked = cluster.site("check", "guarded", **PAID)
    assert checked.code == 1
    assert "`scontrol show reservation` for nodes that are kept for others" in checked.err


@pytest.mark.prove  # Open MPI crashes beside other tests: see test_slurm.py
def test_jobs_prove_the_site_and_every_benchmark_passes_in_smoke_mode(cluster, made):
    """As printed by `site new`, with nothing edited."""
    checked = cluster.site("check", "guarded", "--submit", **PAID)
    assert checked.code == 0, checked.text
    assert re.search(r"^ok +job on guarded:open, .*: job \d+ on n\d, n\d: 4 processes", checked.out, re.MULTILINE)
    report = cluster.tree / "smoke.json"
    words = ["-C", cluster.settings("guarded"), "--system=guarded", "-c", "reframe_checks", "-r", "--mode=smoke"]
    words += [word for name in benchmarks() if name.endswith("_load") for word in ("-x", name)]
    words += ["-S", "b_eff.memory_per_process=1MiB", "-S", "b_eff.time_budget=300"]  # all nodes share two cores
    session = cluster.run(*REFRAME, *words, f"--report-file={report}", timeout=3600, **PAID)
    assert session.code == 0, session.text
    [run] = json.loads(report.read_text())["runs"]
    cases = [case for case in run["testcases"] if not case["fixture"]]
    assert {case["result"] for case in cases} == {"pass"}
    ran = {(case["name"].split()[0], len(case["job_nodelist"])) for case in cases}
    assert ran == {(name, nodes) for name in benchmarks() if not name.endswith("_load") for nodes in (1, 2)}
    assert not any("n4" in case["job_nodelist"] for case in cases)
