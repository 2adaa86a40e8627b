# SPDX-License-Identifier: Apache-2.0
"""b_eff's kernel keeps its time budget by leaving out methods, on networks that are formulas and by the real clock."""

import json
import math
import re
from itertools import pairwise

import logs_made
import pytest
from b_eff_runs import AVERAGED, check_bytes
from raw_log import read_log

from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.logs.reader import LogError


def test_a_run_by_the_real_clock_is_complete_and_keeps_its_budget_by_leaving_out_methods(kernel):
    done = kernel.run(2, "--memory-per-process 4MiB --time-budget 2 --patterns ring,ping_pong")
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
            1e-4, 2e7, "256MiB", 240, {"best_method"}, id="the longest messages take longest", marks=pytest.mark.prove
        ),
        pytest.param(4e-2, 1e9, "1MiB", 240, {"nothing"}, id="everything takes long"),
    ],
)
def test_the_whole_run_keeps_its_budget_on_slow_networks(
    openmpi_kernel, latency, bandwidth, memory, budget, reductions
):
    factors = {"MODEL_FACTOR_Sendrecv": 1.3, "MODEL_FACTOR_Alltoallv": 1.1}
    openmpi_kernel.network(MODEL_LATENCY=latency, MODEL_BANDWIDTH=bandwidth, **factors)
    done = openmpi_kernel.run(2, f"--memory-per-process {memory} --time-budget", str(budget))
    assert done.returncode == 0
    log = read_log(openmpi_kernel.log)
    check_reductions(log)
    budget_records = [record for record in log.records.get("budget", []) if record["loops"] == "bandwidth"]
    assert {record["reduced_to"] for record in budget_records} >= reductions
    assert bool(budget_records) == bool(reductions)
    assert "stop" not in log.records
    took = float(re.search(r"network: ([\d.]+) s", done.err)[1])
    print(f"budget {budget} s, taken {took:.1f} s, {len(budget_records)} reductions")
    assert took <= budget


# An exchange takes the same time at every length. A pattern of two processes that is reduced to its best method has 81
# exchanges: one when it is set up, three trials and the shortest length by five methods, then 20 lengths by one, each
# with an untimed exchange. 36 patterns are averaged.
EXCHANGES, PATTERNS = 1 + 2 * (5 * (3 + 1) + 20), 36
NEEDED = "a time budget of about {:.0f} s is needed here"


@pytest.mark.parametrize(
    ("budget", "exchange_seconds", "earliest"),
    [(80, 1, 80), (80, 0.5, 80), (4, 0.023, 12), (4, 1, 12)],  # 36 patterns at 23 ms take 66 s
)
def test_a_run_without_hope_is_stopped_when_its_budget_is_spent_and_says_which_one_it_needs(
    openmpi_kernel, tmp_path, budget, exchange_seconds, earliest
):
    """A run may take 1.75 times its budget, and a minute at least: these could not yield a score by then."""
    log, took, said, table = run_at(openmpi_kernel, budget, exchange_seconds)
    [stop] = log.records["stop"]
    first_length = EXCHANGES // 2 * exchange_seconds  # with its trials; in between no decision is possible
    assert earliest < took <= earliest + first_length
    needed = PATTERNS * EXCHANGES * exchange_seconds
    assert stop["needed_budget_seconds"] == pytest.approx(needed, rel=1e-3)
    assert NEEDED.format(math.ceil(stop["needed_budget_seconds"])) in said and "without a score" in said
    measured = {m["pattern"] for m in log.records["measurement"] if m["message_bytes"] == log.plan["l_max_bytes"]}
    at_l_max = dict(re.findall(r"^(\S+) +\d+ +[\d.-]+ +([\d.-]+)$", table, re.MULTILINE))
    assert list(at_l_max) == [pattern["name"] for pattern in log.plan["patterns"]]
    assert {name for name, shown in at_l_max.items() if shown != "-"} == measured
    check_bytes(log)
    with pytest.raises(LogError, match=NEEDED.format(math.ceil(stop["needed_budget_seconds"]))):
        score_log(by_one_clock(openmpi_kernel, tmp_path, took))


@pytest.mark.parametrize(
    ("exchange_seconds", "stops"),
    [(0.0195, True), (0.01, False)],  # 36 patterns take 56 and 29 s
)
def test_a_run_that_yields_a_score_within_a_minute_is_not_stopped_before(
    openmpi_kernel, tmp_path, exchange_seconds, stops
):
    """The budget is 4 s. At 60 s the first run has measured all averaged patterns."""
    log, took, said, _ = run_at(openmpi_kernel, 4, exchange_seconds)
    assert [stop.get("needed_budget_seconds") for stop in log.records.get("stop", [])] == [None] * stops
    assert took <= 61 and "without a score" not in said
    [told] = re.findall(r"a time budget of about (\d+) s is needed here", said)
    assert int(told) == math.ceil(PATTERNS * EXCHANGES * exchange_seconds)
    assert score_log(by_one_clock(openmpi_kernel, tmp_path, took)).metrics["b_eff"].value > 0


def run_at(kernel, budget, exchange_seconds):
    """The log, the seconds on the network's clock, and what the terminal shows: messages, and the results."""
    kernel.network(MODEL_LATENCY=exchange_seconds, MODEL_BANDWIDTH=1e12)
    done = kernel.run(2, "--memory-per-process 1MiB --time-budget", str(budget))
    assert done.returncode == 0
    return read_log(kernel.log), float(re.search(r"network: ([\d.]+) s", done.err)[1]), done.err, done.out


def by_one_clock(kernel, tmp_path, seconds):
    """The log with the network's time of the whole run, as all its other times."""
    records = [json.loads(line) for line in kernel.log.read_text().splitlines()]
    records[-1]["elapsed_seconds"] = seconds
    return logs_made.write(tmp_path / "one_clock.jsonl", records)
