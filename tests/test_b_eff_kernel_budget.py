# SPDX-License-Identifier: Apache-2.0
"""b_eff's kernel keeps its time budget by leaving out methods, on networks that are formulas and by the real clock."""

import json
import re
from itertools import pairwise

import logs_made
import pytest
from b_eff_runs import AVERAGED, check_bytes, kernel, mpi, network, openmpi_kernel
from raw_log import read_log

from postprocess.benchmarks.scoring import score_log
from postprocess.logs.reader import LogError

__all__ = ["kernel", "mpi", "network", "openmpi_kernel"]  # fixtures


def test_a_run_by_the_real_clock_is_complete_and_keeps_its_budget_by_leaving_out_methods(kernel):
    done = kernel.run(2, "--memory-per-process", "4MiB", "--time-budget", "2", "--patterns", "ring,ping_pong")
    assert done.returncode == 0
    log = read_log(kernel.log)
    assert len(log.records["budget"]) > 0
    check_reductions(log)
    assert [check["wrong_bytes"] for check in log.records["data_check"]] == [0]
    assert "coffeecup score" in done.out
    print(f"budget 2 s, {kernel.mpi.name}: {log.end['elapsed_seconds']:.1f} s")


def check_reductions(log):
    """Each budget record says what then was measured, and each was needed."""
    kept = {"averaged_methods": AVERAGED, "nothing": []}
    measured = {}
    for m in log.records["measurement"]:
        measured.setdefault((m["repetition"], m["pattern"], m["message_bytes"]), {})[m["method"]] = m
    shorter = {b: a for a, b in pairwise(log.plan["message_bytes"])}
    for budget in log.records.get("budget", []):
        place = (budget["repetition"], budget["pattern"], budget["message_bytes"])
        assert log.plan["time_budget_seconds"] < budget["estimate_seconds"], budget
        if budget["loops"] == "latency":
            continue
        assert sorted(budget["methods"]) == sorted(measured.get(place, [])), budget
        assert budget["reduced_to"] != "nothing" or budget["repetition"] > 1, budget
        if budget["reduced_to"] in kept and budget["pattern"] != "ping-pong":
            assert budget["methods"] == kept[budget["reduced_to"]], budget
        before = measured.get((budget["repetition"], budget["pattern"], shorter[budget["message_bytes"]]), {})
        if budget["reduced_to"] == "best_method" and before:
            candidates = [m for name, m in before.items() if name in AVERAGED] or list(before.values())
            best = min(candidates, key=lambda m: m["elapsed_seconds"] / m["loop_length"])
            assert budget["methods"] == [best["method"]], budget


@pytest.mark.parametrize(
    "latency, bandwidth, memory, budget, reductions",
    [
        pytest.param(1e-3, 1e9, "4MiB", 240, set(), id="enough time", marks=pytest.mark.prove),
        pytest.param(
            1e-2, 1e9, "1MiB", 240, {"averaged_methods", "best_method"}, id="an exchange of thousands of processes"
        ),
        pytest.param(5e-4, 1e6, "4MiB", 60, {"nothing"}, id="long messages take long"),
        pytest.param(
            1e-4,
            2e7,
            "256MiB",
            240,
            {"best_method"},
            id="the longest messages take longest",
            marks=pytest.mark.prove,
        ),
        pytest.param(4e-2, 1e9, "1MiB", 240, {"nothing"}, id="everything takes long"),
    ],
)
def test_the_whole_run_keeps_its_budget_on_slow_networks(
    openmpi_kernel, latency, bandwidth, memory, budget, reductions
):
    openmpi_kernel.network(
        MODEL_LATENCY=latency, MODEL_BANDWIDTH=bandwidth, MODEL_FACTOR_Sendrecv=1.3, MODEL_FACTOR_Alltoallv=1.1
    )
    done = openmpi_kernel.run(2, "--memory-per-process", memory, "--time-budget", str(budget))
    assert done.returncode == 0
    log = read_log(openmpi_kernel.log)
    check_reductions(log)
    budget_records = [record for record in log.records.get("budget", []) if record["loops"] == "bandwidth"]
    assert {record["reduced_to"] for record in budget_records} >= reductions
    assert bool(budget_records) == bool(reductions)
    assert "stop" not in log.records
    took = float(re.search(r"network: ([\d.]+) s", done.err)[1])
    print(
        f"budget {budget} s, taken {took:.1f} s, {len(budget_records)} reductions, "
        f"in truth {log.end['elapsed_seconds']:.1f} s"
    )
    assert took <= budget


@pytest.mark.parametrize(("budget", "longest", "pattern"), [(80, 140, "ring-2"), (10, 60, "ring-1")])
def test_a_run_that_cannot_keep_its_budget_is_stopped_and_says_where(
    openmpi_kernel, tmp_path, budget, longest, pattern
):
    """An exchange takes a second. A run ends at 1.75 times its budget, and after a minute at least."""
    openmpi_kernel.network(MODEL_LATENCY=1, MODEL_BANDWIDTH=1e9)
    done = openmpi_kernel.run(2, "--memory-per-process", "1MiB", "--time-budget", str(budget))
    assert done.returncode == 0
    took = float(re.search(r"network: ([\d.]+) s", done.err)[1])
    one_length = 2 * 5  # an untimed and a timed exchange by five methods
    assert longest - one_length <= took <= longest + one_length
    log = read_log(openmpi_kernel.log)
    [stop] = log.records["stop"]
    last = log.records["measurement"][-1]
    assert (stop["pattern"], stop["repetition"]) == (last["pattern"], last["repetition"]) == (pattern, 1)
    measured = log.plan["message_bytes"].index(last["message_bytes"])
    assert stop["message_bytes"] == log.plan["message_bytes"][measured + 1]
    check_bytes(log)
    records = [json.loads(line) for line in openmpi_kernel.log.read_text().splitlines()]
    records[-1]["elapsed_seconds"] = took  # by the network's clock, as all other times
    with pytest.raises(LogError, match=r"the run was stopped .* choose a larger --time-budget"):
        score_log(logs_made.write(tmp_path / "one_clock.jsonl", records))
