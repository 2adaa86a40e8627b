# SPDX-License-Identifier: Apache-2.0
"""Predictions against arithmetic on paper, and the patterns against those of the kernel."""

import json
import subprocess
from collections import defaultdict

import msgspec
import numpy as np
import pytest
from builds import linked_with_b_eff
from conftest import COFFEECUP
from designs_made import L_MAX, PLAIN, made
from typer.testing import CliRunner

from postprocess.benchmarks.b_eff import patterns, prediction
from postprocess.benchmarks.b_eff.calibration import Calibration
from postprocess.benchmarks.b_eff.exchange import exchange
from postprocess.benchmarks.b_eff.patterns import Messages
from postprocess.benchmarks.b_eff.prediction import PUBLISHED, Model, predict
from postprocess.benchmarks.predicted import PredictionError
from postprocess.cli.app import app
from postprocess.designs.design import DesignError, read_machines
from postprocess.designs.quantities import QuantityError, bandwidth, duration, memory
from postprocess.designs.routes import Dragonfly, FatTree, Torus, along_curve


def model(processes=None, **fields):
    described = made(**fields)
    return Model(described, processes or described.design.processes, Calibration())


# --- the patterns ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def of_the_kernel(openmpi, tmp_path_factory):
    """A function of processes and seed: the messages of the kernel's own patterns.c."""
    program = linked_with_b_eff(openmpi, "printed_patterns.c", tmp_path_factory.mktemp("patterns"))

    def printed(processes, seed):
        words = [program, str(processes), str(seed)]
        lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
        found = defaultdict(list)
        for name, source, target in map(str.split, lines):
            found[name].append((int(source), int(target)))
        return {name: sorted(pairs) for name, pairs in found.items()}

    return printed


@pytest.mark.parametrize(("processes", "seed"), [(2, 1), (3, 1), (7, 5), (33, 1), (64, 2**63 - 1), (128, 1)])
def test_patterns_are_those_of_the_kernel(of_the_kernel, processes, seed):
    expected = of_the_kernel(processes, seed)
    pair = expected.pop("ping-pong")
    assert pair == [(0, 1), (1, 0)]
    ours = [*patterns.messages(processes, seed), patterns.worst_cycle(processes)]
    assert {m.pattern: sorted(zip(m.source.tolist(), m.target.tolist())) for m in ours} == expected
    assert {m.pattern: m.each for m in ours} == {
        name: max(np.bincount([source for source, _ in pairs])) for name, pairs in expected.items()
    }


def test_numbers_that_the_kernel_would_reject_are_drawn_again(monkeypatch):
    """The first number of the order is below 2^64 mod 3 = 1, which an unbiased shuffle of 3 rejects."""
    drawn = {7: 0, 8: 4, 9: 2}  # the order's own seed is 7

    def numbers(seed, i):
        return np.uint64([7 if seed == 1 else drawn[seed + int(place)] for place in i])

    monkeypatch.setattr(patterns, "random_numbers", numbers)
    patterns.random_order.cache_clear()
    assert patterns.random_order(3, 1, 0).tolist() == [2, 0, 1]  # 4 % 3 = 1: 0 2 1, then 2 % 2 = 0
    patterns.random_order.cache_clear()


# --- networks --------------------------------------------------------------------------------------------------------


def load(network, pairs):
    source, target = np.array(pairs).T
    return network.busiest(source, target).seconds_per_byte * network.link


def test_taper_of_a_fat_tree_doubles_the_load():
    """Four messages from one switch to the other, over four links up or over two."""
    across = [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert load(FatTree(1e9, False, (4, 2), (1, 4)), across) == 1
    assert load(FatTree(1e9, False, (4, 2), (1, 2)), across) == 2
    collide = [(0, 4), (1, 6)]  # both targets are even: static routes take the same link, adaptive ones do not
    assert load(FatTree(1e9, False, (4, 2), (1, 2)), collide) == 2
    assert load(FatTree(1e9, True, (4, 2), (1, 2)), collide) == 1


def test_three_levels_are_crossed_where_the_subtrees_differ():
    tree = FatTree(1e9, False, (2, 2, 2), (1, 1, 1))
    assert [tree.longest(np.array([0]), np.array([target])) for target in (1, 2, 4)] == [2, 4, 6]
    assert load(tree, [(0, 4), (1, 5), (2, 6), (3, 7)]) == 4  # all over the only link of the half


def walked(shape, source, target):
    """The links of a route, node by node: dimension order, the shorter way."""
    at, links = source, []
    for dimension, side in enumerate(shape):
        stride = int(np.prod(shape[:dimension], dtype=int))
        while (here := at // stride % side) != (there := target // stride % side):
            step = 1 if (there - here) % side <= side / 2 else -1
            after = at + ((here + step) % side - here) * stride
            links.append((at, after))
            at = after
    return links


@pytest.mark.parametrize("shape", [(7,), (3, 5), (5, 3, 3)])
def test_torus_counts_links_as_one_who_walks(shape):
    """Odd sides: all shortest ways in a dimension are unique. A router has the messages that start there, and those
    that arrive by a link."""
    generator = np.random.default_rng(1)
    nodes = int(np.prod(shape))
    for _ in range(20):
        pairs = [(a, b) for a, b in generator.integers(0, nodes, (2 * nodes, 2)).tolist() if a != b]
        counted, routed, hops = defaultdict(int), defaultdict(int), 0
        for pair in pairs:
            route = walked(shape, *pair)
            hops = max(hops, len(route))
            routed[pair[0]] += 1
            for link in route:
                counted[link] += 1
                routed[link[1]] += 1
        torus = Torus(1e9, False, shape)
        assert load(torus, pairs) == pytest.approx(max(counted.values()))
        slow = Torus(1e9, False, shape, router=1e8)
        assert load(slow, pairs) / 10 == pytest.approx(max(routed.values()))
        fullest = {f"router of node {node}" for node, count in routed.items() if count == max(routed.values())}
        assert slow.busiest(*np.array(pairs).T).link in fullest
        assert torus.longest(*np.array(pairs).T) == hops
        bound = load(Torus(1e9, True, shape), pairs)
        assert 0 < bound <= load(torus, pairs) + 1e-9


@pytest.mark.parametrize("shape", [(2, 2), (8, 8), (2, 2, 2), (8, 8, 8), (4, 4, 4, 4)])
def test_hilbert_curve_passes_neighbours_and_fills_blocks(shape):
    """Nodes that follow each other are one link apart, and so many as a block has are a block: first half of each
    side."""
    side, dimensions = shape[0], len(shape)
    curve = along_curve(shape)
    places = np.array([curve // side**dimension % side for dimension in range(dimensions)]).T
    assert sorted(curve) == list(range(side**dimensions))
    assert set(np.abs(np.diff(places, axis=0)).sum(axis=1)) == {1}
    block = places[: (side // 2) ** dimensions]
    assert (block.max(axis=0) - block.min(axis=0) == side // 2 - 1).all()


def test_order_of_nodes_changes_the_routes():
    """The second node of the curve is a neighbour of the first, and so is the fourth; in rows the fourth is three links
    away."""
    first = np.zeros(1, dtype=int)
    rows, curve = (Torus(1e9, False, (8, 8), curve=curve) for curve in (False, True))
    assert [rows.longest(first, first + n) for n in (1, 3)] == [1, 3]
    assert [curve.longest(first, first + n) for n in (1, 3)] == [1, 1]


def test_adaptive_bound_of_a_torus():
    """From one corner to the other of a square of 3 x 3 in a torus of 9 x 9: six links in x share two hops, ..."""
    assert load(Torus(1e9, True, (9, 9)), [(0, 20)] * 6) == pytest.approx(12 / (9 * 3))
    assert load(Torus(1e9, True, (9, 9)), [(0, 2)] * 6) == 6  # only one minimal path: nothing to choose
    assert load(Torus(1e9, True, (4,)), [(0, 2)] * 6) == pytest.approx(6 * 2 / 8)  # two ways around


def test_dragonfly_passes_the_gateways():
    """Two groups of two routers with two nodes. From group 0, router 1 leads to group 1 and arrives at its router 0."""
    network = Dragonfly(1e9, False, 2, 2, 2, 1)
    path = [network.longest(np.array([0]), np.array([target])) for target in (1, 2, 4, 6)]
    assert path == [2, 3, 4, 5]
    assert load(network, [(0, 4), (1, 5), (2, 6), (3, 7)]) == 4  # one cable between the groups
    assert load(Dragonfly(1e9, True, 2, 2, 2, 2), [(0, 4), (1, 5), (2, 6), (3, 7)]) == 2  # two cables, all equally


# --- times on paper --------------------------------------------------------------------------------------------------

SOFTWARE, NIC = 5e-6, 1e9  # seconds, byte/s


def test_crossbar_of_eight_on_paper():
    """The first ring pattern is pairs with one message for each process, all others have two at each adapter."""
    x = (L_MAX + 16) / NIC
    pairs, rings = 8 * L_MAX / (SOFTWARE + x), 16 * L_MAX / (SOFTWARE + 2 * x)
    found = model(network="crossbar", nodes=8).metrics()
    assert found["b_eff_at_l_max"] == pytest.approx(((pairs * rings**5) ** (1 / 6) * rings) ** 0.5 / 1e6)
    assert found["b_eff_at_l_max_rings_per_process"] == pytest.approx((pairs * rings**5) ** (1 / 6) / 8e6)
    assert found["b_eff_at_l_max_random_per_process"] == pytest.approx(rings / 8e6)
    assert found["ping_pong_bandwidth"] == pytest.approx(L_MAX / (SOFTWARE + x) / 1e6)
    assert found["ping_pong_latency"] == pytest.approx((SOFTWARE + 17 / NIC) * 1e6)
    # short: the second message's software time hides the transfer of the first
    assert found["ring_latency"] == pytest.approx(((SOFTWARE + 17 / NIC) * (2 * SOFTWARE) ** 5) ** (1 / 6) * 1e6)
    assert found["l_max"] == 1
    assert found["time_to_communicate_total_memory"] == pytest.approx(8 * 2**27 / (found["b_eff"] * 1e6))


def test_torus_on_paper():
    """4 x 2 nodes in a ring of all: each link carries one message, at 0.4 GByte/s, each adapter two."""
    shown = model(network="torus", nodes=8, shape="4x2", link="0.4GB/s")
    limits = {limit.pattern: limit for limit in shown.limits}
    assert limits["ring-6"].mbyte_per_second == pytest.approx(16 * L_MAX / (SOFTWARE + (L_MAX + 16) / 0.4e9) / 1e6)
    assert limits["ring-6"].link.startswith("link ")
    fast = {limit.pattern: limit for limit in model(network="torus", nodes=8, shape="4x2").limits}
    assert fast["ring-6"].mbyte_per_second == pytest.approx(16 * L_MAX / (SOFTWARE + 2 * (L_MAX + 16) / NIC) / 1e6)
    assert fast["ring-6"].link.startswith("out of the adapter")


def times(processes, messages, **fields):
    """Seconds of an exchange at L_max."""
    described = model(processes, **fields)
    return float(described.seconds(exchange(described.machine, processes, messages), np.array([L_MAX]))[0])


def test_tapered_fat_tree_on_paper():
    """Eight nodes on two switches. The worst cycle is 0 7 1 6 2 5 3 4: each process has both neighbours on the other
    switch, so that eight messages go up from each switch. Static routes go by the target modulo the links up.

    1:1, four links up: the targets of switch 0 are 7 4 7 6 6 5 5 4, two for each link; each adapter has two as well.
    2:1, two links up: four odd and four even targets, four messages for each link.
    A ring of all 0 1 2 ... 7 has one message up to each of 4 and 7, which are on different links: two at each adapter
    remain the most in both trees."""
    x = (L_MAX + 16) / NIC
    ring = list(patterns.messages(8))[5]
    for taper, messages in ((1, 2), (2, 4), (4, 8)):
        tree = {"network": "fat_tree", "nodes": 8, "leaf": 4, "taper": taper}
        assert times(8, patterns.worst_cycle(8), **tree) == pytest.approx(SOFTWARE + messages * x)
        assert times(8, ring, **tree) == pytest.approx(SOFTWARE + 2 * x)


def test_dragonfly_on_paper():
    """Two groups of two routers with two nodes: the worst cycle sends eight messages from group to group, over one
    cable, or over two. From node 0 at router 0, over the gateway router 1, the cable, the gateway router 0 of the other
    group and its router 1 to node 7 there are five links: five hops of latency."""
    x, hop = (L_MAX + 16) / NIC, 1e-6
    for cables, messages in ((1, 8), (2, 4)):
        fly = {"network": "dragonfly", "nodes": 8, "groups": 2, "routers": 2, "per_router": 2, "cables": cables}
        assert times(8, patterns.worst_cycle(8), **fly) == pytest.approx(SOFTWARE + messages * x)
        assert times(8, patterns.worst_cycle(8), hop_latency="1us", **fly) == pytest.approx(
            SOFTWARE + 5 * hop + messages * x
        )


def test_limits_of_both_ways_together_on_paper():
    """In rings of two a process sends one message and receives one, in other rings two of each. A router of a ring of
    neighbours has the four messages of its own process."""
    x = (L_MAX + 16) / NIC
    pairs, ring = (list(patterns.messages(8))[number] for number in (0, 5))
    limited = {"network": "torus", "nodes": 8, "shape": "8", "process_total": "0.5GB/s"}
    assert times(8, pairs, **limited) == pytest.approx(SOFTWARE + 2 * 2 * x)
    assert times(8, ring, **limited) == pytest.approx(SOFTWARE + 4 * 2 * x)
    assert times(8, ring, **limited | {"process_total": "4GB/s"}) == pytest.approx(SOFTWARE + 2 * x)  # the adapter
    routers = {"network": "torus", "nodes": 8, "shape": "8", "router": "0.25GB/s"}
    assert times(8, pairs, **routers) == pytest.approx(SOFTWARE + 2 * 4 * x)
    assert times(8, ring, **routers) == pytest.approx(SOFTWARE + 4 * 4 * x)
    one_way = Messages("made", "made", np.array([0, 1, 2]), np.array([3, 3, 3]), 1)  # three arrive at one process
    crossbar = {"network": "crossbar", "nodes": 8, "nic": "9GB/s", "process": "1GB/s"}
    assert times(8, one_way, **crossbar) == pytest.approx(SOFTWARE + 3 * x)


def test_nodes_with_shared_memory_on_paper():
    """Two nodes of four: pairs put 4 messages into the memory of a node, rings of four 8, one ring of all 6, and two
    on each adapter."""
    stated = {"network": "crossbar", "nodes": 2, "per_node": 4, "shared_memory": "2GB/s", "memory_latency": "1us"}
    limits = {limit.pattern: limit for limit in model(**stated).limits}
    software = {"ring-1": 1e-6, "ring-2": 1e-6, "ring-6": 1e-6}  # overhead is the smaller latency
    memory_messages = {"ring-1": 4, "ring-2": 8, "ring-6": 6}
    sent = {"ring-1": 8, "ring-2": 16, "ring-6": 16}
    for name, count in memory_messages.items():
        seconds = software[name] + count * (L_MAX + 16) / 2e9
        assert limits[name].mbyte_per_second == pytest.approx(sent[name] * L_MAX / seconds / 1e6)
        assert limits[name].link == "memory of node 0"
    limits = {limit.pattern: limit for limit in model(**stated | {"shared_memory": "20GB/s"}).limits}
    assert limits["ring-6"].mbyte_per_second == pytest.approx(16 * L_MAX / (SOFTWARE + 2 * (L_MAX + 16) / NIC) / 1e6)


def test_placement_adapters_and_processes_on_paper():
    """Round robin: neighbours are on different nodes, so four processes with two messages each use the adapter."""
    stated = {"network": "crossbar", "nodes": 2, "per_node": 4, "placement": "round_robin"}

    def at_l_max(**more):
        return {limit.pattern: limit.mbyte_per_second for limit in model(**stated, **more).limits}["ring-6"]

    x = (L_MAX + 16) / NIC
    assert at_l_max() == pytest.approx(16 * L_MAX / (SOFTWARE + 8 * x) / 1e6)
    assert at_l_max(nics=2) == pytest.approx(16 * L_MAX / (SOFTWARE + 4 * x) / 1e6)
    assert at_l_max(nics=2, process="0.1GB/s") == pytest.approx(16 * L_MAX / (SOFTWARE + 2 * 10 * x) / 1e6)


def test_hops_add_their_latency():
    """On a line of five nodes, ring 0-1-2-3-4 closes over one link; the pair of the ping-pong is one hop apart."""
    found = model(network="torus", nodes=5, shape="5", hop_latency="1us").metrics()
    assert found["ping_pong_latency"] == pytest.approx((SOFTWARE + 1e-6 + 17 / NIC) * 1e6)


def test_scores_use_half_the_machine():
    """A job on the first half of the nodes: the same as a machine of half the size on a crossbar."""
    half = model(processes=8, network="crossbar", nodes=16).metrics()
    assert half == pytest.approx(model(network="crossbar", nodes=8).metrics())


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
    with pytest.raises(DesignError, match=r"x\.yaml: not"):
        read_machines(tmp_path / "x.yaml")


def test_default_shapes_have_room():
    assert made(network="torus", nodes=1000).network.shape == (10, 10, 10)
    for nodes in (1, 2, 7, 1009, 100_000):
        assert np.prod(made(network="torus", nodes=nodes).network.shape) >= nodes
        dragonfly = made(network="dragonfly", nodes=nodes).network
        assert dragonfly.groups * dragonfly.routers * dragonfly.per_router >= nodes
        assert dragonfly.cables * (dragonfly.groups - 1) <= max(1, dragonfly.routers * dragonfly.per_router)


# --- the command -----------------------------------------------------------------------------------------------------


def coffeecup(*words):
    return CliRunner().invoke(app, list(map(str, words)))


FAT_TREE = ["--network", "fat_tree", "--nodes", "64", "--per-node", "4", "--nic", "25GB/s", "--latency", "1.5us"]


def test_command_compares_designs(tmp_path):
    done = coffeecup("predict", *FAT_TREE, "--taper", 1, "--taper", 2, "--figures", tmp_path, "--r-max", 1e5)
    assert done.exit_code == 0, done.output
    assert "Predicted, not measured" in done.stdout
    assert "fat_tree 1:1" in done.stdout and "fat_tree 2:1" in done.stdout and "balance_factor" in done.stdout
    assert "Assumed, because the design does not state it: shared_memory 100GB/s" in done.stdout
    rows = (tmp_path / "designs-predicted.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 7  # 1, 2, 4, ... 64 nodes
    shown = json.loads(coffeecup("predict", *FAT_TREE, "--taper", 1, "--taper", 2, "--json").stdout)
    assert [(p["design"], p["kind"], p["nodes"]) for p in shown] == [
        ("fat_tree 1:1", "predicted", 64),
        ("fat_tree 2:1", "predicted", 64),
    ]
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
        ([*FAT_TREE, "--r-max", "0"], "--r-max must be a positive number"),
        ([*FAT_TREE, "--calibrate", "nothing.jsonl"], "nothing.jsonl"),
        ([*FAT_TREE, "--write-platform", "x.xml"], "ends in .cpp"),
        (["nothing.yaml"], "cannot be read"),
        (["nothing.yaml", *FAT_TREE], "not both"),
    ],
)
def test_wrong_usage_is_one_sentence(tmp_path, monkeypatch, words, problem):
    monkeypatch.chdir(tmp_path)
    done = coffeecup("predict", *words)
    assert done.exit_code == 2
    assert problem in " ".join(done.stderr.replace("│", " ").split()) and "Traceback" not in done.output
    assert list(tmp_path.iterdir()) == []


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
    shown = json.loads(coffeecup("predict", tmp_path / "designs.yaml", "--json").stdout)
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
