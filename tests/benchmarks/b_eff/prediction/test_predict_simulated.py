# SPDX-License-Identifier: Apache-2.0
"""Predictions against simulations of the same described machines: SimGrid shares links by its own solver and takes its
own routes. Skipped where SimGrid is not.

    .venv/bin/pytest -m "" -s tests/benchmarks/b_eff/prediction/test_predict_simulated.py

prints the table of docs/evidence/predict.md."""

import json
import statistics

import pytest
from builds import ROOT
from commands import run
from designs_made import PLAIN, SHORT, made, simulated

from coffeecup.postprocess.benchmarks.b_eff.prediction.calibration import Calibration
from coffeecup.postprocess.benchmarks.b_eff.prediction.model import Model
from coffeecup.postprocess.benchmarks.b_eff.records import Measurement
from coffeecup.postprocess.benchmarks.scoring import read_log, score_log
from coffeecup.postprocess.designs.design import read_machines

SMALL = {
    "torus 3 x 5, 15, latency of hops": {"network": "torus", "nodes": 15, "shape": "3x5", "hop_latency": "1us"},
    "fat tree, 16, nodes of 4 with two adapters, 2:1, round robin": {
        "network": "fat_tree", "nodes": 4, "leaf": 2, "taper": 2, "per_node": 4, "nics": 2, "shared_memory": "3GB/s",
        "memory_latency": "1us", "placement": "round_robin", "process": "1.5GB/s", "process_total": "0.9GB/s",
    },
    "dragonfly, 8, latency of hops": {
        "network": "dragonfly", "nodes": 8, "groups": 2, "routers": 2, "per_router": 2, "cables": 1,
        "hop_latency": "0.5us",
    },
}  # fmt: skip
LARGE = {
    "crossbar, 8": {"network": "crossbar", "nodes": 8},
    "torus, 512": {"network": "torus", "nodes": 512, "shape": "8x8x8"},
    "torus, 64, latency of hops": {"network": "torus", "nodes": 64, "shape": "4x4x4", "hop_latency": "0.3us"},
    "fat tree, 128, 4:1": {"network": "fat_tree", "nodes": 128, "leaf": 16, "taper": 4},
    "fat tree, 96, three levels, 2:1, latency of hops": {
        "network": "fat_tree", "nodes": 96, "leaf": 4, "levels": 3, "taper": [2, 1], "hop_latency": "0.5us",
    },
    "fat tree, 256, nodes of 8, 2:1": {
        "network": "fat_tree", "nodes": 32, "leaf": 8, "taper": 2, "per_node": 8, "shared_memory": "3GB/s",
        "memory_latency": "1us",
    },
    "fat tree, 64, nodes of 4, round robin": {
        "network": "fat_tree", "nodes": 16, "leaf": 4, "per_node": 4, "shared_memory": "3GB/s",
        "placement": "round_robin",
    },
    "dragonfly, 128, latency of hops": {
        "network": "dragonfly", "nodes": 128, "groups": 8, "routers": 8, "per_router": 2, "cables": 1,
        "hop_latency": "0.35us",
    },
    "fat tree, 512, nodes of 8, 2:1, latency of hops": {
        "network": "fat_tree", "nodes": 64, "leaf": 8, "taper": 2, "per_node": 8, "shared_memory": "6GB/s",
        "memory_latency": "1us", "hop_latency": "0.2us",
    },
    "dragonfly, 512, latency of hops": {
        "network": "dragonfly", "nodes": 512, "groups": 8, "routers": 8, "per_router": 8, "cables": 1,
        "hop_latency": "0.35us",
    },
}  # fmt: skip


def compared(described, log, calibration=None, processes=None):
    """Predicted over simulated: of the time of each pattern and length, and of each metric."""
    wanted = processes or described.design.processes
    model = Model(described, wanted, calibration or Calibration(), random_patterns=3)
    predicted = model.table.set_index(["pattern", "message_bytes"])["seconds"]
    times = {}
    for loop in read_log(log).all(Measurement):
        if loop.pattern not in ("ping-pong", "worst-cycle"):
            times.setdefault((loop.pattern, loop.message_bytes), []).append(loop.elapsed_seconds / loop.loop_length)
    assert len(times) == len(predicted) == 9 * 21
    metrics = score_log(log).metrics
    ratios = {name: value / metrics[name].value for name, value in model.metrics().items() if name in metrics}
    assert len(ratios) == 10
    return {key: predicted[key] / min(seconds) for key, seconds in times.items()}, ratios, model.l_max_bytes


def agrees(name, described, log, processes=None):
    """Prints a row: the largest deviation of a pattern's time at L_max and at any length, the mean deviation over all
    patterns and lengths, and that of b_eff."""
    times, metrics, l_max = compared(described, log, processes=processes)
    at_l_max = max(abs(ratio - 1) for (_, length), ratio in times.items() if length == l_max)
    every = [abs(ratio - 1) for ratio in times.values()]
    columns = f"{at_l_max:.2%} | {max(every):.1%} | {statistics.mean(every):.1%} | {metrics['b_eff'] - 1:+.1%}"
    print(f"\n| {name} | {columns.replace('%', ' %')} |")
    assert at_l_max < 0.005 and max(every) < 0.17
    assert metrics == pytest.approx(dict.fromkeys(metrics, 1), abs=0.02)


@pytest.mark.parametrize("name", SMALL)
def test_prediction_agrees_with_simulation(simulate, tmp_path, name):
    described = made(**SMALL[name])
    agrees(name, described, simulated(simulate, tmp_path, described))


@pytest.mark.prove
@pytest.mark.parametrize("name", LARGE)
def test_prediction_agrees_with_simulation_of_larger_machines(simulate, tmp_path, name):
    described = made(**LARGE[name])
    agrees(name, described, simulated(simulate, tmp_path, described))


@pytest.mark.prove
@pytest.mark.parametrize("processes", [24, 512])
def test_prediction_agrees_with_simulation_of_the_t3e(simulate, processes):
    """Its platform was written without the design: routers and Hilbert's curve in C++."""
    designs = read_machines(ROOT / "reference_values" / "published" / "b_eff_designs.yaml")
    [described] = [machine for machine in designs if machine.name == "Cray T3E/900-512, fitted"]
    log = simulate("t3e", processes, *SHORT)
    agrees(f"T3E, {processes}: a torus with a limit of routers", described, log, processes)


def test_gap_between_run_and_design_shows_a_planted_fault(simulate, tmp_path):
    """The machine has a quarter of the links up that its design states: rings keep up with the prediction, random
    patterns do not. Beside the true design, nothing is missing."""
    stated = {"network": "fat_tree", "nodes": 16, "leaf": 4, "taper": 1}
    log = simulated(simulate, tmp_path, made(**stated | {"taper": 4}))
    designs = tmp_path / "designs.yaml"
    designs.write_text(json.dumps({f"taper {taper}": PLAIN | stated | {"taper": taper} for taper in (1, 4)}))
    done = run("score", log, "--design", designs, "--json")
    assert done.exit_code == 0, done.output
    [shown] = json.loads(done.stdout)
    as_stated, true = (each["run_over_predicted"] for each in shown["predictions"])
    rings, random = "b_eff_at_l_max_rings_per_process", "b_eff_at_l_max_random_per_process"
    assert as_stated[rings] == pytest.approx(1, abs=0.01) and as_stated[random] < 0.7
    assert true[rings] == pytest.approx(1, abs=0.01) and true[random] == pytest.approx(1, abs=0.01)
    [of_rings, of_random] = [shown["predictions"][1]["metrics"][name]["limit"] for name in (rings, random)]
    assert "subtree" not in of_rings and of_random.endswith("subtree of level-1")
