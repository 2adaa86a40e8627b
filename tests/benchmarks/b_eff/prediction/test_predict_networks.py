# SPDX-License-Identifier: Apache-2.0
"""Loads of links and times of predictions against arithmetic on paper."""

from collections import defaultdict

import numpy as np
import pytest
from designs_made import L_MAX, made

from coffeecup.postprocess.benchmarks.b_eff.prediction import patterns
from coffeecup.postprocess.benchmarks.b_eff.prediction.calibration import Calibration
from coffeecup.postprocess.benchmarks.b_eff.prediction.exchange import exchange
from coffeecup.postprocess.benchmarks.b_eff.prediction.model import Model
from coffeecup.postprocess.benchmarks.b_eff.prediction.patterns import Messages
from coffeecup.postprocess.designs.routes import Dragonfly, FatTree, Torus, along_curve


def model(processes=None, **fields):
    described = made(**fields)
    return Model(described, processes or described.design.processes, Calibration())


def limits_of(**fields):
    return {limit.pattern: limit for limit in model(**fields).limits}


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
    expected = {
        "b_eff_at_l_max": ((pairs * rings**5) ** (1 / 6) * rings) ** 0.5 / 1e6,
        "b_eff_at_l_max_rings_per_process": (pairs * rings**5) ** (1 / 6) / 8e6,
        "b_eff_at_l_max_random_per_process": rings / 8e6,
        "ping_pong_bandwidth": L_MAX / (SOFTWARE + x) / 1e6,
        "ping_pong_latency": (SOFTWARE + 17 / NIC) * 1e6,
        # short: the second message's software time hides the transfer of the first
        "ring_latency": ((SOFTWARE + 17 / NIC) * (2 * SOFTWARE) ** 5) ** (1 / 6) * 1e6,
        "l_max": 1,
        "time_to_communicate_total_memory": 8 * 2**27 / (found["b_eff"] * 1e6),
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_torus_on_paper():
    """4 x 2 nodes in a ring of all: each link carries one message, at 0.4 GByte/s, each adapter two."""
    limits = limits_of(network="torus", nodes=8, shape="4x2", link="0.4GB/s")
    assert limits["ring-6"].mbyte_per_second == pytest.approx(16 * L_MAX / (SOFTWARE + (L_MAX + 16) / 0.4e9) / 1e6)
    assert limits["ring-6"].link.startswith("link ")
    fast = limits_of(network="torus", nodes=8, shape="4x2")
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
    limits = limits_of(**stated)
    for name, count, sent in (("ring-1", 4, 8), ("ring-2", 8, 16), ("ring-6", 6, 16)):
        seconds = 1e-6 + count * (L_MAX + 16) / 2e9  # overhead is the smaller latency
        assert limits[name].mbyte_per_second == pytest.approx(sent * L_MAX / seconds / 1e6)
        assert limits[name].link == "memory of node 0"
    limits = limits_of(**stated | {"shared_memory": "20GB/s"})
    assert limits["ring-6"].mbyte_per_second == pytest.approx(16 * L_MAX / (SOFTWARE + 2 * (L_MAX + 16) / NIC) / 1e6)


def test_placement_adapters_and_processes_on_paper():
    """Round robin: neighbours are on different nodes, so four processes with two messages each use the adapter."""
    stated = {"network": "crossbar", "nodes": 2, "per_node": 4, "placement": "round_robin"}
    x = (L_MAX + 16) / NIC
    for more, times_x in (({}, 8), ({"nics": 2}, 4), ({"nics": 2, "process": "0.1GB/s"}, 2 * 10)):
        expected = 16 * L_MAX / (SOFTWARE + times_x * x) / 1e6
        assert limits_of(**stated, **more)["ring-6"].mbyte_per_second == pytest.approx(expected)


def test_hops_add_their_latency():
    """On a line of five nodes, ring 0-1-2-3-4 closes over one link; the pair of the ping-pong is one hop apart."""
    found = model(network="torus", nodes=5, shape="5", hop_latency="1us").metrics()
    assert found["ping_pong_latency"] == pytest.approx((SOFTWARE + 1e-6 + 17 / NIC) * 1e6)


def test_scores_use_half_the_machine():
    """A job on the first half of the nodes: the same as a machine of half the size on a crossbar."""
    half = model(processes=8, network="crossbar", nodes=16).metrics()
    assert half == pytest.approx(model(network="crossbar", nodes=8).metrics())
