# SPDX-License-Identifier: Apache-2.0
"""Calibration by logs of one and two nodes of a machine that is worse than its description: a protocol switch and
slower adapters, which only the logs tell. Skipped where SimGrid is not."""

import json

import pytest
from commands import run, said
from designs_made import SHORT, made, simulated
from test_predict_simulated import compared

from coffeecup.postprocess.benchmarks.b_eff.prediction.calibration import calibrate
from coffeecup.postprocess.benchmarks.b_eff.prediction.exchange import KINDS
from coffeecup.postprocess.benchmarks.b_eff.prediction.model import bands
from coffeecup.postprocess.benchmarks.scoring import read_log

NODE = {"network": "fat_tree", "leaf": 4, "per_node": 4, "shared_memory": "3GB/s", "memory_latency": "2us"}
WITH_CYCLE = [*SHORT[:-3], "ring,random,worst_cycle,ping_pong", *SHORT[-2:]]


def worse(text):
    """From 16 KiB on a message takes 40 us instead of 2 us of software time; adapters have 0.7 of what was stated."""
    assert '"0:1e-06:0"' in text and "NIC = 1000000000.0" in text
    return text.replace('"0:1e-06:0"', '"0:1e-6:0;16384:20e-6:0"').replace("NIC = 1000000000.0", "NIC = 0.7e9")


def joined(log, path):
    """In the platform, each process is a host. Here, as on a machine, a host is a node with its four processes."""
    records = [json.loads(line) for line in log.read_text().splitlines()]
    for record in records:
        if "hosts" in record:
            record["hosts"] = record["hosts"][::4]
    for number, host in enumerate(records[0]["hosts"]):
        host |= {
            "ranks": list(range(4 * number, 4 * number + 4)),
            "memory_bytes": 4 * host["memory_bytes"],
            "core_sets": ["0"] * 4,
        }
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture(scope="module")
def logs(simulate, tmp_path_factory):
    """By number of nodes, of the machine that is worse."""

    def log(nodes):
        folder = tmp_path_factory.mktemp("calibrated")
        log = simulated(simulate, folder, made(nodes=nodes, **NODE), options=WITH_CYCLE, change=worse)
        return joined(log, folder / "joined.jsonl")

    return {nodes: log(nodes) for nodes in (1, 2, 8)}


def test_calibration_finds_what_the_description_does_not_tell(logs):
    """Eight nodes from one and two: without the logs b_eff is 15 % too high at least, with them within 5 %."""
    described = made(nodes=8, **NODE)
    calibration = calibrate(described, [read_log(logs[nodes]) for nodes in (1, 2)])
    _, without, _ = compared(described, logs[8])
    _, calibrated, _ = compared(described, logs[8], calibration)
    print({name: (round(without[name], 3), round(calibrated[name], 3)) for name in without})
    assert without["b_eff"] > 1.15 and without["b_eff_at_l_max"] > 1.1
    for name in ("b_eff", "b_eff_at_l_max", "b_eff_at_l_max_rings_per_process"):
        assert calibrated[name] == pytest.approx(1, abs=0.05)
    band = bands(calibration, {*KINDS})["b_eff"]
    assert band.low < 1 / calibrated["b_eff"] < band.high and "left out" in band.origin


def test_command_calibrates(logs):
    stated = {**NODE, "nic": "1GB/s", "latency": "5us", "nodes": 8}
    words = [word for key, value in stated.items() for word in ("--set", f"{key}={value}")]
    done = run("predict", *words, "--calibrate", logs[1], "--json")
    assert done.exit_code == 0, done.output
    [shown] = json.loads(done.stdout)
    assert shown["calibration"] == [
        "joined.jsonl: 4 processes on 1 node, simulated",
        "no log with messages between nodes",
    ]
    refused = run("predict", *words, "--calibrate", logs[8], "--json")
    assert refused.exit_code == 2
    assert "has 8 nodes; calibrate with logs of one or two nodes" in said(refused)
