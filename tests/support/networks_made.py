# SPDX-License-Identifier: Apache-2.0
"""Descriptions for SimGrid of networks whose every link is known, some nodes' cables being slower than the others: for
bench_simulated_nodes.py. Routes are fixed and stated one by one, so that nothing depends on SimGrid's own."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

CABLE = 10_000  # MByte/s in each direction, from a node to its switch
MEMORY = 128 * 2**20

Route = Callable[[int, int], list[str]]


@dataclass(frozen=True)
class Network:
    """`trunks` has the links between switches with their MByte/s, each for one direction; `route` gives those on the
    way from one node to another. `groups` has the group of each node where the analysis is told."""

    name: str
    nodes: int
    trunks: dict[str, float]
    route: Route
    groups: list[str] | None = None


def crossbar(nodes: int) -> Network:
    return Network("crossbar", nodes, {}, lambda source, target: [])


def fat_tree(nodes: int, leaf: int, taper: int, known: bool) -> Network:
    """Leaf switches of `leaf` nodes, with leaf / taper cables up; the target selects the cable."""
    cables = leaf // taper
    trunks = {
        f"{way}-{switch}-{cable}": CABLE
        for way, switch, cable in product(("up", "down"), range(nodes // leaf), range(cables))
    }

    def route(source, target):
        if source // leaf == target // leaf:
            return []
        return [f"up-{source // leaf}-{target % cables}", f"down-{target // leaf}-{target % cables}"]

    groups = [f"leaf{node // leaf}" for node in range(nodes)] if known else None
    return Network(f"fat tree {taper}:1", nodes, trunks, route, groups)


def torus(width: int, known: bool) -> Network:
    """Of three dimensions; a message goes the shorter way in one dimension after the other. The groups are blocks of
    two by two by two nodes."""

    def place(node):
        return [node // width**axis % width for axis in range(3)]

    def route(source, target):
        here, links = place(source), []
        for axis, there in enumerate(place(target)):
            step = 1 if (there - here[axis]) % width <= width / 2 else -1
            while here[axis] != there:
                links.append("-".join(map(str, (*here, axis, step))))
                here[axis] = (here[axis] + step) % width
        return links

    places = product(range(width), repeat=3)
    trunks = {"-".join(map(str, (*at, axis, step))): CABLE for at in places for axis in range(3) for step in (1, -1)}
    blocks = ["block" + "".join(str(at // 2) for at in place(node)) for node in range(width**3)]
    return Network("torus", width**3, trunks, route, blocks if known else None)


def dragonfly(groups: int, routers: int, nodes: int) -> Network:
    """All routers of a group, and all groups, are connected with each other; the cable to group g is at router
    g % routers."""

    def local(group, a, b):
        return [f"{group}: {a} to {b}"] if a != b else []

    pairs = product(range(groups), range(routers), range(routers))
    inside = {name: 2 * CABLE for pair in pairs for name in local(*pair)}
    between = {f"{a} to {b}": 4 * CABLE for a, b in product(range(groups), repeat=2) if a != b}

    def route(source, target):
        (from_group, a), (to_group, b) = (divmod(node // nodes, routers) for node in (source, target))
        if from_group == to_group:
            return local(from_group, a, b)
        out, back = to_group % routers, from_group % routers
        return [*local(from_group, a, out), f"{from_group} to {to_group}", *local(to_group, back, b)]

    of_node = [f"group{node // (routers * nodes)}" for node in range(groups * routers * nodes)]
    return Network("dragonfly", len(of_node), inside | between, route, of_node)


def description(network: Network, slow: dict[int, float]) -> Iterator[str]:
    """SimGrid's XML. `slow` maps nodes to the share of the usual bandwidth that their cables have."""
    yield '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
    yield '<zone id="w" routing="Full">'
    for node in range(network.nodes):
        yield f'<host id="n{node}" speed="1Gf"><prop id="memory_bytes" value="{MEMORY}"/></host>'
    cables = {f"{way}{node}": CABLE * slow.get(node, 1) for node in range(network.nodes) for way in ("out", "in")}
    for name, bandwidth in (cables | network.trunks).items():
        yield f'<link id="{name}" bandwidth="{bandwidth}MBps" latency="0us"/>'
    for source, target in product(range(network.nodes), repeat=2):
        if source != target:
            links = [f"out{source}", *network.route(source, target), f"in{target}"]
            crossed = "".join(f'<link_ctn id="{link}"/>' for link in links)
            yield f'<route src="n{source}" dst="n{target}" symmetrical="NO">{crossed}</route>'
    yield "</zone></platform>"


def write(folder: Path, network: Network, slow: dict[int, float]) -> tuple[Path, list[str]]:
    """The description, and the kernel's options that name the groups, where they are known."""
    platform = folder / "platform.xml"
    platform.write_text("\n".join(description(network, slow)), encoding="utf-8")
    if network.groups is None:
        return platform, []
    groups = folder / "groups"
    groups.write_text("".join(f"n{node} {group}\n" for node, group in enumerate(network.groups)), encoding="utf-8")
    return platform, ["--node-groups", str(groups)]
