# SPDX-License-Identifier: Apache-2.0
"""How far a prediction may be off: for a node that nobody measured, and by a log that does not suit the design."""

import json

import logs_made
import numpy as np
import pytest
from commands import run, said
from designs_made import made
from logs_made_b_eff import averaged_log

from coffeecup.postprocess.benchmarks.b_eff.definition import message_lengths
from coffeecup.postprocess.benchmarks.b_eff.prediction.calibration import Calibration, Curve, _disagreement
from coffeecup.postprocess.benchmarks.b_eff.prediction.exchange import MEMORY, NETWORK
from coffeecup.postprocess.benchmarks.b_eff.prediction.model import PUBLISHED, bands, predict
from coffeecup.postprocess.benchmarks.predicted import Band, PredictionError

NODE = ("--network", "crossbar", "--nodes", "2", "--nic", "25GB/s", "--latency", "1us", "--per-node", "16")
CURVE = Curve(np.array([1]), np.array([1e-6]), np.array([1.0]))
# Table 1, rings at L_max: 16 processes of the SX-4 with 3242 MByte/s each, 7 of the HP-V with 162
FACTOR = 16 * 3242 / (7 * 162)


def shown(*options):
    done = run("predict", *NODE, *options, "--json")
    assert done.exit_code == 0, done.output
    [predicted] = json.loads(done.stdout)
    return predicted


def written(folder, *, slow=1.0, ranks=16):
    """A log of one node whose random patterns are slower by this factor."""

    def bandwidth(pattern, *_):
        return 1e9 / (slow if pattern.startswith("random") else 1)

    return logs_made.write(folder / "b_eff.jsonl", averaged_log(ranks=ranks, nodes=1, bandwidth=bandwidth))


def test_a_node_that_nobody_measured_has_a_wide_range(tmp_path):
    """It contains what a design would have whose memory is slower or faster by the spread of the paper's machines."""
    unknown = shown()["metrics"]
    for rate in (100e9 / FACTOR, 10e9, 100e9 * FACTOR):
        stated = shown("--set", f"shared_memory={rate / 1e9}GB/s")["metrics"]
        for name, each in stated.items():
            if each["low"] is not None:
                wide = unknown[name]
                assert wide["low"] <= each["low"] * 1.0001 and each["high"] <= wide["high"] * 1.0001, name
                assert "nobody measured" in wide["origin"] and "nobody measured" not in each["origin"]
    assert f"differs by a factor of {FACTOR:.0f}" in unknown["b_eff"]["origin"]
    assert unknown["ping_pong_latency"]["low"] is None
    calibrated = shown("--calibrate", written(tmp_path))["metrics"]
    assert "nobody measured" not in calibrated["b_eff"]["origin"]


def test_one_process_on_a_node_needs_no_shared_memory():
    done = run("predict", *NODE[:-1], "1", "--json")
    assert "nobody measured" not in done.stdout


@pytest.mark.parametrize(("low", "high"), [(1.57, 9.0), (0.1, 0.5), (0.9, 1.1)])
def test_no_value_is_outside_its_own_range(low, high):
    """Whatever the patterns that were left out reached of their predictions."""
    for band in bands(Calibration({MEMORY: CURVE}, left_out=Band(low, high, "made up")), {MEMORY}).values():
        assert band.low <= 1 <= band.high
        assert band.low <= low * 0.83 and band.high >= high


@pytest.mark.parametrize(
    ("kinds", "low", "high"), [({MEMORY}, 0.82, 1.11), ({NETWORK}, 0.37, 1.01), ({MEMORY, NETWORK}, 0.37, 1.11)]
)
def test_the_range_of_messages_that_no_log_has_is_not_narrower(kinds, low, high):
    """A perfect log of one node calibrates messages inside nodes only."""
    known = bands(Calibration({MEMORY: CURVE}, left_out=Band(1.0, 1.0, "made up")), kinds)["b_eff"]
    assert (known.low, known.high) == (low, high)
    assert ("no log has messages between nodes" in known.origin) is (len(kinds) == 2)


def test_a_log_of_one_node_leaves_the_range_of_a_network_as_it_is(tmp_path):
    """With a process on each node, no message is inside a node."""
    log = written(tmp_path)
    done = run("predict", *NODE[:-1], "1", "--calibrate", log)
    assert done.exit_code == 0 and "Calibrated by no log with messages between nodes." in said(done), done.output
    alone, calibrated = (
        json.loads(run("predict", *NODE[:-1], "1", *words, "--json").stdout)[0]["metrics"]
        for words in ((), ("--calibrate", log))
    )
    assert calibrated == alone
    assert calibrated["b_eff"]["low"] == pytest.approx(PUBLISHED["b_eff"].low * calibrated["b_eff"]["value"])


@pytest.mark.parametrize(("slow", "warned"), [(1.0, False), (30.0, True)])
def test_a_log_that_disagrees_with_its_own_calibration_is_named(tmp_path, slow, warned):
    """On one node all patterns load the memory alike, so no curve can have both speeds."""
    origin = shown("--calibrate", written(tmp_path, slow=slow))["calibration"][0]
    assert origin.startswith("b_eff.jsonl: 16 processes on 1 node")
    assert ("WARNING: this run reached" in origin) is warned, origin


@pytest.mark.parametrize(("ratio", "warned"), [(0.79, True), (0.81, False), (1.24, False), (1.26, True)])
def test_a_log_may_differ_from_its_calibration_by_a_quarter(ratio, warned):
    assert bool(_disagreement(ratio)) is warned


@pytest.mark.parametrize(("l_max", "distinct"), [(4103, False), (4104, True)])
def test_the_message_lengths_of_a_small_memory_are_distinct(l_max, distinct):
    machine = made(network="crossbar", nodes=2, memory_per_process=f"{128 * l_max}B")
    assert (len(set(message_lengths(l_max))) == 21) is distinct
    if distinct:
        assert predict(machine, [2], [])
    else:
        with pytest.raises(PredictionError, match=r"L_max of 4103 byte, a 128th, .* at least 4104: state 1MiB"):
            predict(machine, [2], [])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--set", "memory_per_process=512KiB"), "memory_per_process gives an L_max of 4096 byte"),
        (("--processes", "0"), "needs at least two processes"),
        (("--network", "hyperx"), "valid are crossbar, torus, dragonfly, fat_tree"),
        (("--set", "placement=x"), "valid are block, round_robin"),
        (("--set", "order=x"), "valid are rows, hilbert"),
    ],
)
def test_wrong_values_are_refused_in_one_sentence(options, words):
    done = run("predict", *NODE, *options)
    assert done.exit_code == 2 and words in said(done), done.output
