# SPDX-License-Identifier: Apache-2.0
"""The kernels log the times of each process in I/O, and a node on which I/O is slow is named: on made-up nodes, with a
file system that is a formula, and with real files whose calls are slowed down on one node."""

import kernel_runs
import pytest
from b_eff_io_runs import SMALL, where
from builds import faulty
from kernel_runs import good, on_nodes, records

from coffeecup.postprocess.benchmarks.b_eff_io.slow_nodes import examination
from coffeecup.postprocess.benchmarks.nodes import Verdict
from coffeecup.postprocess.benchmarks.scoring import read_log, score_log

NODES = [(f"n{number}", 1) for number in range(4)]


def run(mpi, kernel, folder, *options, env=None, slow=(), slowed=None):
    """A run on made-up nodes, with the variables `slowed` on the nodes `slow`; the path of its log."""
    command = on_nodes(mpi, NODES, kernel, *where(folder), *options, env=env)
    for name, variables in dict.fromkeys(slow, slowed).items():
        place = command.index(f"SLURMD_NODENAME={name}")
        command[place:place] = [f"{variable}={value}" for variable, value in variables.items()]
    good(kernel_runs.run(command, env=mpi.environment))
    return folder / "log.jsonl"


@pytest.mark.parametrize(("name", "shift"), [("openmpi", ("--read-shift",)), ("mpich", ())])
def test_a_process_that_takes_twice_as_long_halves_its_node(request, tmp_path, name, shift):
    """Rank 2 of 4 by the formula: in separate files it makes half of the calls in the same time, in segments the same
    calls in twice the time. Its times stand in its place, also where it reads what another process wrote."""
    mpi = request.getfixturevalue(name)
    settings = faulty(mpi, "b_eff_io", MODEL_BANDWIDTH=1e4, MODEL_SLOW_RANK=2)
    options = (*SMALL, "--partitions", "all", "--scheduled-time", 60, "--types", "separate,segmented", *shift)
    log = run(mpi, "b_eff_io", tmp_path, *options, env=settings)
    timed = {entry["pattern"] for entry in records(log)[1]["patterns"] if entry["units"]}
    found = [r for r in records(log) if r["record"] == "process_times"]
    assert {r["type"] for r in found} == {"separate", "segmented"} and len(found) == 3 * 17
    for r in (r for r in found if r["pattern"] in timed):
        each = [seconds / calls for seconds, calls in zip(r["access_seconds"], r["calls"])]
        assert [seconds / each[0] for seconds in each] == pytest.approx([1, 1, 2, 1], rel=1e-3), r
    named = examination(read_log(log)).named
    assert [(row.node, round(row.ratio, 3)) for row in named.itertuples()] == [("n2", 0.5)]


@pytest.mark.prove
@pytest.mark.parametrize("slow", [(), ("n2",)], ids=["healthy", "slow"])
def test_a_node_whose_calls_take_twice_as_long_is_named_and_no_other(openmpi, tmp_path, slow):
    """Real files; every call that reads or writes one, or syncs it, takes three times as long on the slow node."""
    slowed = faulty(openmpi, "slow_io", SLOW_IO=3)
    options = (*SMALL, "--partitions", "all", "--scheduled-time", 60, "--space-limit", "10GiB", "--evict")
    found = score_log(run(openmpi, "b_eff_io", tmp_path, *options, slow=slow, slowed=slowed)).nodes
    assert found.verdict != Verdict.NOT_EXAMINED
    assert list(found.named["node"]) == list(slow)
