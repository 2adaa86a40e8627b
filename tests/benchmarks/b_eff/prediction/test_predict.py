# SPDX-License-Identifier: Apache-2.0
"""Predictions: designs, and the command. test_b_eff_patterns.py compares their patterns with those of the kernel."""

import json
import subprocess

import msgspec
import numpy as np
import pytest
from commands import run, said
from conftest import COFFEECUP
from designs_made import PLAIN, made

from coffeecup.postprocess.benchmarks import random_orders
from coffeecup.postprocess.benchmarks.b_eff.prediction import model as prediction
from coffeecup.postprocess.benchmarks.b_eff.prediction import patterns
from coffeecup.postprocess.benchmarks.b_eff.prediction.model import PUBLISHED, predict
from coffeecup.postprocess.benchmarks.predicted import PredictionError
from coffeecup.postprocess.designs.design import DesignError, read_machines
from coffeecup.postprocess.designs.quantities import QuantityError, bandwidth, duration, memory

# --- the patterns ----------------------------------------------------------------------------------------------------


def test_numbers_that_the_kernel_would_reject_are_drawn_again(monkeypatch):
    """The first number of the order is below 2^64 mod 3 = 1, which an unbiased shuffle of 3 rejects."""
    drawn = {7: 0, 8: 4, 9: 2}  # the order's own seed is 7

    def numbers(seed, i):
        return np.uint64([7 if seed == 1 else drawn[seed + int(place)] for place in i])

    monkeypatch.setattr(random_orders, "random_numbers", numbers)
    patterns.random_order.cache_clear()
    assert patterns.random_order(3, 1, 0).tolist() == [2, 0, 1]  # 4 % 3 = 1: 0 2 1, then 2 % 2 = 0
    patterns.random_order.cache_clear()


# --- designs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (bandwidth, "25GB/s", 25e9),
        (bandwidth, "200Gbit/s", 25e9),
        (bandwidth, "1 GiB/s", 2**30),
        (bandwidth, "350MByte/s", 350e6),
        (duration, "1.5us", 1.5e-6),
        (duration, "0", 0),
        (memory, "2GiB", 2**31),
    ],
)
def test_quantities(parse, text, value):
    assert parse(text) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("parse", "text"),
    [(bandwidth, "25Gb/s"), (bandwidth, "25"), (bandwidth, "0GB/s"), (bandwidth, "-1GB/s"), (bandwidth, "1e999GB/s"),
     (duration, "5"), (duration, "1.5 µ"), (memory, "2GB/s"), (memory, "nan GiB")],
)  # fmt: skip
def test_ambiguous_quantities_are_refused(parse, text):
    with pytest.raises(QuantityError):
        parse(text)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"network": "mesh"}, "Invalid enum value"),
        ({"network": "fat_tree", "taper": 3, "leaf": 32}, "choose a leaf that is a multiple"),
        ({"network": "fat_tree", "taper": 0.5}, ">= 1"),
        ({"network": "torus", "taper": 2}, "taper is no property of a torus"),
        ({"network": "torus", "shape": "2x2"}, "has 4 nodes, not 8"),
        ({"network": "torus", "shape": "2xa"}, "is not one such as 8x8x8"),
        ({"network": "torus", "shape": "2x4", "order": "hilbert"}, "needs equal sides of a power of two"),
        ({"network": "torus", "shape": "3x3", "order": "hilbert"}, "needs equal sides of a power of two"),
        ({"network": "torus", "router": "1GB/s", "routing": "adaptive"}, "known for static routing only"),
        ({"network": "crossbar", "router": "1GB/s"}, "router is no property of a crossbar"),
        ({"network": "fat_tree", "levels": 6, "leaf": 10_000_000}, "describe one of at most 10000000"),
        ({"network": "torus", "shape": "1000x1000x11"}, "describe one of at most 10000000"),
        ({"network": "dragonfly", "groups": 3163, "routers": 2, "per_router": 1}, "describe one of at most 10000000"),
        ({"network": "dragonfly", "groups": 10, "routers": 1001}, "describe one of at most 10000000"),
        ({"network": "dragonfly", "groups": 1, "routers": 2, "per_router": 2}, "have 4 nodes, not 8"),
        ({"network": "crossbar", "nics": 2}, "1 processes cannot use 2 adapters"),
        ({"network": "crossbar", "overhead": "6us"}, "overhead is a part of each latency"),
        ({"network": "crossbar", "colour": "red"}, "colour"),
        ({"network": "crossbar", "nic": "25Gb/s"}, "nic: '25Gb/s' is not a bandwidth"),
        ({"network": "crossbar", "latency": ["1us"]}, "latency:"),
    ],
)
def test_designs_that_describe_no_machine_are_refused(fields, problem):
    with pytest.raises(DesignError, match=problem.replace("(", r"\(")):
        made(nodes=8, **fields)


@pytest.mark.parametrize("text", ["", "- a", "a: b", "a: {network: [", "\0", "{}"])
def test_files_without_designs_are_refused(tmp_path, text):
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(DesignError, match=r"x\.yaml(: line \d+)?: not"):
        read_machines(tmp_path / "x.yaml")


def test_a_key_that_occurs_twice_is_refused_with_its_line(tmp_path):
    """YAML itself would take the last one."""
    (tmp_path / "x.yaml").write_text("a:\n  network: torus\n  nodes: 8\n  nodes: 9\n")
    with pytest.raises(DesignError, match=r"x\.yaml: line 4: the key 'nodes' occurs twice"):
        read_machines(tmp_path / "x.yaml")


def test_default_shapes_have_room():
    assert made(network="torus", nodes=1000).network.shape == (10, 10, 10)
    for nodes in (1, 2, 7, 1009, 100_000):
        assert np.prod(made(network="torus", nodes=nodes).network.shape) >= nodes
        dragonfly = made(network="dragonfly", nodes=nodes).network
        assert dragonfly.groups * dragonfly.routers * dragonfly.per_router >= nodes
        assert dragonfly.cables * (dragonfly.groups - 1) <= max(1, dragonfly.routers * dragonfly.per_router)


# --- the command -----------------------------------------------------------------------------------------------------


FAT_TREE = ["--network", "fat_tree", "--nodes", "64", "--per-node", "4", "--nic", "25GB/s", "--latency", "1.5us"]


@pytest.mark.slow
def test_command_compares_designs(tmp_path):
    done = run("predict", *FAT_TREE, "--taper", 1, "--taper", 2, "--figures", tmp_path, "--r-max", 1e5)
    assert done.exit_code == 0, done.output
    assert "Predicted, not measured" in done.stdout
    assert "fat_tree 1:1" in done.stdout and "fat_tree 2:1" in done.stdout and "balance_factor" in done.stdout
    assert "Assumed, because the design does not state it: shared_memory 100GB/s" in done.stdout
    rows = (tmp_path / "designs-predicted.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 7  # 1, 2, 4, ... 64 nodes
    stated = ("--set", "shared_memory=100GB/s", "--taper", 1, "--taper", 2)
    shown = json.loads(run("predict", *FAT_TREE, *stated, "--json").stdout)
    designs = [(name, "predicted", 64) for name in ("fat_tree 1:1", "fat_tree 2:1")]
    assert [(p["design"], p["kind"], p["nodes"]) for p in shown] == designs
    assert len(shown[0]["limits"]) == 37
    values = [p["metrics"]["b_eff"]["value"] for p in shown]
    assert values[0] > values[1]
    [low, high] = [shown[0]["metrics"]["b_eff"][end] / values[0] for end in ("low", "high")]
    assert (low, high) == pytest.approx((PUBLISHED["b_eff"].low, PUBLISHED["b_eff"].high))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--network", "torus"], "state --nodes"),
        ([*FAT_TREE, "--processes", "257"], "257 processes do not fit"),
        ([*FAT_TREE, "--processes", "1"], "at least two processes"),
        ([*FAT_TREE, "--set", "leaf"], "FIELD=VALUE"),
        ([*FAT_TREE, "--set", "nodes=128"], "nodes is stated twice, as 64 and 128"),
        ([*FAT_TREE, "--set", "leaf=16", "--set", "leaf=8"], "leaf is stated twice, as 16 and 8"),
        ([*FAT_TREE, "--taper", "2", "--set", "taper=4"], "taper is stated twice, by --taper and as 4"),
        ([*FAT_TREE, "--r-max", "0"], "0 is not a positive number"),
        ([*FAT_TREE, "--calibrate", "nothing.jsonl"], "nothing.jsonl"),
        ([*FAT_TREE, "--write-platform", "x.xml"], "ends in .cpp"),
        (["nothing.yaml"], "cannot be read"),
        (["nothing.yaml", *FAT_TREE], "not both"),
    ],
)
def test_wrong_usage_is_one_sentence(tmp_path, monkeypatch, words, problem):
    monkeypatch.chdir(tmp_path)
    done = run("predict", *words)
    assert done.exit_code == 2
    assert problem in said(done) and "Traceback" not in done.output
    assert list(tmp_path.iterdir()) == []


def test_set_takes_fractions():
    """A taper that is no whole number, as --taper takes it."""
    leaf = ("--set", "leaf=30", "--json")
    [set_], [option] = (json.loads(run("predict", *FAT_TREE, *words, *leaf).stdout) for words in (
        ("--set", "taper=1.5"), ("--taper", "1.5")
    ))  # fmt: skip
    assert set_["metrics"] == option["metrics"]


def test_largest_networks_are_accepted():
    """One side of the limit; the other side is above."""
    assert made(network="torus", nodes=8, shape="1000x1000x10").network.links == 10_000_000
    assert made(network="dragonfly", nodes=8, groups=3162, routers=2, per_router=1).network.links == 3162**2
    assert made(network="fat_tree", nodes=8, levels=3, leaf=100).network.links == 100**2  # each node has a link


def test_largest_run_is_predicted_and_a_larger_one_refused(monkeypatch):
    assert prediction.MOST_PROCESSES == 1_000_000
    monkeypatch.setattr(prediction, "MOST_PROCESSES", 8)
    assert len(predict(made(network="crossbar", nodes=9), [8], [])) == 1
    with pytest.raises(PredictionError, match="at most 8 processes"):
        predict(made(network="crossbar", nodes=9), [9], [])


def test_file_with_designs(tmp_path):
    lines = [f"  {key}: {value}" for key, value in PLAIN.items()]
    text = ["small:", "  network: crossbar", "  nodes: 4", *lines, "tree:", "  network: fat_tree", "  nodes: 8", *lines]
    (tmp_path / "designs.yaml").write_text("\n".join([*text, "  leaf: 4", "  levels: 3", "  taper: [2, 1]"]))
    shown = json.loads(run("predict", tmp_path / "designs.yaml", "--json").stdout)
    assert [(p["design"], p["processes"]) for p in shown] == [("small", 4), ("tree", 8)]


@pytest.mark.prove
def test_hundred_thousand_processes_need_little_memory(tmp_path):
    """Without a figure, with the network that has the most links; the address space is limited to 2 GB."""
    limited = ["bash", "-c", 'ulimit -v 2000000; OPENBLAS_NUM_THREADS=1 exec "$@"', "bash"]
    words = ["--network", "torus", "--nodes", "100000", "--nic", "25GB/s", "--latency", "1.5us", "--json"]
    done = subprocess.run([*limited, COFFEECUP, "predict", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [shown] = json.loads(done.stdout)
    assert shown["processes"] == 100_000


def test_predictions_are_marked():
    """In the file as well, so that nobody takes one for a score."""
    [only] = predict(made(network="crossbar", nodes=2), [2], [])
    assert only.kind == "predicted" and msgspec.json.decode(msgspec.json.encode(only))["kind"] == "predicted"


def test_no_number_of_the_table_is_cut(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    words = ["--network", "crossbar", "--nodes", 1000, "--nic", "90TB/s", "--latency", "1.5us"]
    shown = json.loads(run("predict", *words, "--json").stdout)[0]["metrics"]["b_eff_at_l_max"]
    table = run("predict", *words).stdout
    assert f"({shown['low']:.0f} to {shown['high']:.0f})" in table and shown["value"] > 1e10
