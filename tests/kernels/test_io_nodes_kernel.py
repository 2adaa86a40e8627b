# SPDX-License-Identifier: Apache-2.0
"""The kernels log the times of each process in I/O, and a node on which I/O is slow is named: on made-up nodes, with a
file system that is a formula, and with real files whose calls are slowed down on one node."""

import pytest
from b_eff_io_runs import SMALL, where
from builds import faulty
from kernel_runs import good, on_nodes, records, run

from coffeecup.postprocess.benchmarks.b_eff_io.slow_nodes import examination
from coffeecup.postprocess.benchmarks.nodes import Verdict
from coffeecup.postprocess.benchmarks.scoring import read_log, score_log

OPTIONS = (*SMALL, "--partitions", "all", "--scheduled-time", 60)


def logged(mpi, folder, *options, env=None, slow=(), slowed=None):
    """The path of the log of a run on four made-up nodes, with the variables `slowed` on the nodes `slow`."""
    nodes = [(name, 1, slowed if name in slow else {}) for name in ("n0", "n1", "n2", "n3")]
    words = on_nodes(mpi, nodes, "b_eff_io", *where(folder), *OPTIONS, *options, env=env)
    good(run(words, env=mpi.environment))
    return folder / "log.jsonl"


@pytest.mark.parametrize(("name", "shift"), [("openmpi", ("--read-shift",)), ("mpich", ())])
def test_a_process_that_takes_twice_as_long_halves_its_node(request, tmp_path, name, shift):
    """Rank 2 of 4 by the formula: in separate files it makes half of the calls in the same time, in segments the same
    calls in twice the time. Its times stand in its place, also where it reads what another process wrote."""
    mpi = request.getfixturevalue(name)
    settings = faulty(mpi, "b_eff_io", MODEL_BANDWIDTH=1e4, MODEL_SLOW_RANK=2)
    log = logged(mpi, tmp_path, "--types separate,segmented", *shift, env=settings)
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
    log = logged(openmpi, tmp_path, "--space-limit 10GiB --evict", slow=slow, slowed=slowed)
    found = score_log(log).nodes
    assert found.verdict != Verdict.NOT_EXAMINED
    assert list(found.named["node"]) == list(slow)
