# SPDX-License-Identifier: Apache-2.0
"""Which rank ran where and on which cores: what the kernels record, and what is said of a run that is not where it was
to be."""

import os
import re

import logs_made
import pytest
from builds import OPEN_MPI, compiler_and_launcher, words
from kernel_runs import good, run
from logs_made import GIB
from logs_made_b_eff import b_eff_log
from raw_log import read_log

from coffeecup.postprocess.benchmarks import scoring
from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.logs.facts import facts
from coffeecup.postprocess.logs.placement import of_placement
from coffeecup.postprocess.logs.reader import LogError

CORES = sorted(os.sched_getaffinity(0))


def made(tmp_path, groups, asked, cores=10, **of_host):
    """A log of these ranks on each host, as many of its cores; what is asked for is in its environment."""
    records = b_eff_log(ranks=sum(map(len, groups)), nodes=len(groups))
    offered = {"offered_cores": cores, "online_cores": cores}
    records[0]["hosts"] = [
        {**host, "ranks": ranks, "core_sets": [str(core) for core in range(len(ranks))], **offered}
        | {"memory_bytes": len(ranks) * GIB, **of_host}
        for host, ranks in zip(records[0]["hosts"], groups)
    ]
    sets = [[numbers(text) for text in host["core_sets"]] for host in records[0]["hosts"]]
    for host, of_ranks in zip(records[0]["hosts"], sets):
        host["cores"] = len(set().union(*of_ranks))
    sizes = [len(of_rank) for of_ranks in sets for of_rank in of_ranks]
    records[0]["mpi"].update(binding_cores_min=min(sizes), binding_cores_max=max(sizes))
    records[0]["environment"]["COFFEECUP_ASKED"] = asked
    return logs_made.write(tmp_path / "b_eff.jsonl", records)


def numbers(core_set):
    """4-7 are four cores."""
    first, _, last = core_set.partition("-")
    return set(range(int(first), int(last or first) + 1))


BLOCKS = [list(range(8)), list(range(8, 16))]
IN_TURN = [list(range(0, 16, 2)), list(range(1, 16, 2))]
STACKED = ["0", "0", "2", "4-7", "4-7", "4-7", "4-7", "4-7"]


UNEVEN = [list(range(10)), list(range(10, 16))]
EIGHT, MANY_CORES = "processes_per_node=8", {"online_cores": 64}
USED = "requested, but the run used 2 with"
NOT_ASKED, SHARED, TOGETHER = "not_as_requested", "not_exclusive", "bound_together"


@pytest.mark.parametrize(
    ("groups", "asked", "of_host", "key", "said"),
    [
        (BLOCKS, f"{EIGHT},exclusive=yes,placement=block", {}, None, ""),
        (IN_TURN, f"{EIGHT},exclusive=yes,placement=round_robin", {}, None, ""),
        (IN_TURN, "", {}, None, ""),
        (IN_TURN, f"{EIGHT},placement=block", {}, NOT_ASKED, "node00 had the ranks 0, 2, 4, 6, 8, 10, 12, 14"),
        (BLOCKS, f"{EIGHT},placement=round_robin", {}, NOT_ASKED, "node00 had the ranks 0–7"),
        (BLOCKS, "processes_per_node=16", {}, NOT_ASKED, f"1 host with up to 16 processes was {USED} 8"),
        (UNEVEN, EIGHT, {}, NOT_ASKED, f"2 hosts with up to 8 processes were {USED} 6 to 10"),
        (BLOCKS, f"{EIGHT},exclusive=yes", MANY_CORES, SHARED, "10 of 64 cores of node00 and of 1 more host"),
        (BLOCKS, f"{EIGHT},exclusive=no", MANY_CORES, None, ""),
        (BLOCKS, "processes_per_node=many,exclusive=yes", MANY_CORES, None, ""),  # nothing that a check requests
        # Round-robin placement is not defined where hosts have different numbers of ranks.
        ([[0, 1, 2], [3, 4]], "processes_per_node=3,placement=round_robin", {}, None, ""),
        (BLOCKS, "", {"core_sets": STACKED}, TOGETHER, "Ranks 0–1 were all bound to core 0 of node00"),
        (BLOCKS, "", {"core_sets": STACKED, "offered_cores": 8}, TOGETHER, "and of 1 more host"),
        (BLOCKS, "", {"core_sets": STACKED, "offered_cores": 7}, None, ""),  # too few for eight ranks
    ],
)
def test_run_that_is_not_as_requested_is_qualified(tmp_path, groups, asked, of_host, key, said):
    found = dict(of_placement(score_log(made(tmp_path, groups, asked, **of_host)).log))
    assert [*found] == [key] * bool(key) and said in found.get(key, "")


def test_qualification_stands_beside_the_score(tmp_path):
    score = score_log(made(tmp_path, IN_TURN, "processes_per_node=8,placement=block"))
    assert "not_as_requested" in [qualification.key for qualification in score.qualifications]


def test_log_with_cores_of_some_ranks_only_yields_no_score(tmp_path):
    with pytest.raises(LogError, match="do not state the cores of each rank"):
        read_log(made(tmp_path, BLOCKS, "", core_sets=["0", "1"]))


@pytest.mark.skipif(len(CORES) < 2, reason="one core: there is nothing to choose between")
@pytest.mark.parametrize("offered", [CORES[:1], CORES[:2]], ids=["one_core", "two_cores"])
def test_kernel_records_the_cores_of_each_rank(openmpi, tmp_path, offered):
    """Against taskset, which says what the job may use, and Open MPI's own report of its bindings."""
    log = tmp_path / "b_eff.jsonl"
    listed = ",".join(map(str, offered))
    bound = ["--bind-to", "core", "--report-bindings"] if len(offered) == 2 else ["--bind-to", "none"]
    taskset = ["taskset", "--cpu-list", listed, compiler_and_launcher("openmpi")[1], "-np", "2", *bound]
    options = words(["--memory-per-process 1MiB --time-budget 1 --longest-loop 1"])
    asked = {"COFFEECUP_ASKED": "processes_per_node=2,exclusive=yes", "OMPI_MCA_mpi_yield_when_idle": "1"}
    patient = ["env", f"LD_PRELOAD={openmpi.patience}"]
    command = [*taskset, *patient, openmpi.bin / "b_eff", "--log", log, *options]
    done = good(run(command, env=os.environ | OPEN_MPI | asked))
    found = read_log(log)
    [host] = found.run["hosts"]
    assert (host["offered_cores"], host["online_cores"]) == (len(offered), os.sysconf("SC_NPROCESSORS_ONLN"))
    assert host.get("processor", "-") == re.search("Model name: *(.*)", run(["lscpu"]).stdout)[1]
    assert host["system"] == run(["uname", "-sr"]).stdout.strip() == facts(scoring.read_log(log))["operating system"]
    if len(offered) == 2:
        assert sorted(host["core_sets"]) == sorted(map(str, offered)), done.stderr
        assert done.stderr.count("bound to socket") == 2, done.stderr
    else:
        assert host["core_sets"] == [listed, listed]
    assert ("not_exclusive" in dict(of_placement(scoring.read_log(log)))) == (len(offered) < host["online_cores"])
