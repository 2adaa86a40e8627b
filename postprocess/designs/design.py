# SPDX-License-Identifier: Apache-2.0
"""The design of a machine: the numbers of an offer, and what is assumed where the offer states none.

`design(name, fields)` and `read_designs(path)` take numbers with units as text and return checked designs in byte/s,
seconds and byte. docs/predict.md explains the fields.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import msgspec

from coffeecup.postprocess.designs import quantities
from coffeecup.postprocess.designs.routes import Dragonfly, FatTree, Network, Torus
from coffeecup.postprocess.logs import trees
from coffeecup.postprocess.show.words import printable

Whole = Annotated[int, msgspec.Meta(ge=1, le=10_000_000)]
Taper = Annotated[float, msgspec.Meta(ge=1, le=1000)]

# What is assumed where an offer does not state it.
ASSUMED = {"shared_memory": "100GB/s", "memory_per_process": "2GiB"}
QUANTITIES = {
    "nic": quantities.bandwidth,
    "link": quantities.bandwidth,
    "shared_memory": quantities.bandwidth,
    "process": quantities.bandwidth,
    "process_total": quantities.bandwidth,
    "router": quantities.bandwidth,
    "latency": quantities.duration,
    "memory_latency": quantities.duration,
    "overhead": quantities.duration,
    "hop_latency": quantities.duration,
    "memory_per_process": quantities.memory,
}
OF_NETWORKS = {
    "fat_tree": {"levels", "leaf", "taper"},
    "torus": {"shape", "dimensions", "router", "order"},
    "dragonfly": {"groups", "routers", "per_router", "cables"},
    "crossbar": set(),
}


MOST_LINKS = 10_000_000  # of a network: so many fit into memory


class DesignError(ValueError):
    """A design that describes no machine; the message is one printable line with the remedy."""


class Design(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A machine of equal nodes. Bandwidths in byte/s, each way; times in seconds; None where nothing was stated."""

    network: Literal["crossbar", "torus", "dragonfly", "fat_tree"]
    nodes: Whole
    nic: float
    latency: float
    per_node: Whole = 1
    nics: Whole = 1
    placement: Literal["block", "round_robin"] = "block"
    routing: Literal["static", "adaptive"] = "static"
    link: float | None = None
    shared_memory: float | None = None
    process: float | None = None
    process_total: float | None = None
    memory_latency: float | None = None
    overhead: float | None = None
    hop_latency: float = 0.0
    memory_per_process: int | None = None
    levels: Annotated[int, msgspec.Meta(ge=1, le=6)] | None = None
    leaf: Whole | None = None
    taper: Taper | list[Taper] | None = None
    shape: str | None = None
    dimensions: Annotated[int, msgspec.Meta(ge=1, le=6)] | None = None
    router: float | None = None
    order: Literal["rows", "hilbert"] | None = None
    groups: Whole | None = None
    routers: Whole | None = None
    per_router: Whole | None = None
    cables: Whole | None = None

    @property
    def processes(self) -> int:
        return self.nodes * self.per_node


@dataclass(frozen=True)
class Machine:
    """A design with everything decided: no value is missing. `assumed` names what the design did not state."""

    name: str
    design: Design
    network: Network
    nic: float
    nics: int
    per_node: int
    shared_memory: float
    process: float
    process_total: float
    overhead: float
    latency: float  # beyond the overhead, between nodes, without hops
    memory_latency: float  # beyond the overhead, inside a node
    hop_latency: float
    memory_per_process: int
    assumed: tuple[str, ...]


def machine(name: str, fields: Mapping[str, Any]) -> Machine:
    """The machine that the fields describe; quantities as text. Raises DesignError."""
    numbers = {}
    for key, value in fields.items():
        try:
            numbers[key] = QUANTITIES[key](str(value)) if key in QUANTITIES else value
        except quantities.QuantityError as error:
            raise DesignError(printable(f"{name}: {key}: {error}")) from None
    try:
        design = msgspec.convert(numbers, Design)
    except msgspec.ValidationError as error:
        raise DesignError(
            printable(f"{name}: {error}{_valid(error)}; docs/predict.md lists the fields of a design")
        ) from None
    try:
        return _decided(name, design)
    except ValueError as error:
        raise DesignError(printable(f"{name}: {error}")) from None


def read_machines(path: Path) -> list[Machine]:
    """The designs of a YAML file, a mapping from names to their fields. Raises DesignError."""
    try:
        content, _ = trees.read(path)
    except trees.TreeError as error:
        raise DesignError(printable(f"{path}: {error}")) from None
    if not isinstance(content, dict) or not content or not all(isinstance(each, dict) for each in content.values()):
        raise DesignError(printable(f"{path}: not a mapping from names to designs; docs/predict.md shows one"))
    try:
        return [machine(str(name), {str(key): value for key, value in each.items()}) for name, each in content.items()]
    except DesignError as error:
        raise DesignError(f"{printable(str(path))}: {error}") from None


def _valid(error: msgspec.ValidationError) -> str:
    """The words that the field of an error may have; empty if it is no field with words."""
    for field in msgspec.structs.fields(Design):
        words = re.findall(r"'(\w+)'", str(field.type))
        if words and str(error).endswith(f"`$.{field.name}`"):
            return f"; valid are {', '.join(words)}"
    return ""


def _decided(name: str, design: Design) -> Machine:
    foreign = [
        key
        for network, keys in OF_NETWORKS.items()
        for key in sorted(keys)
        if network != design.network and key not in OF_NETWORKS[design.network] and getattr(design, key) is not None
    ]
    if foreign:
        raise ValueError(f"{foreign[0]} is no property of a {design.network}; remove it")
    if design.per_node < design.nics:
        raise ValueError(f"{design.per_node} processes cannot use {design.nics} adapters of a node; state fewer nics")
    assumed = []

    def stated(key: str) -> float:
        if (value := getattr(design, key)) is not None:
            return value
        assumed.append(f"{key} {ASSUMED[key]}")
        return QUANTITIES[key](ASSUMED[key])

    shared = stated("shared_memory") if design.per_node > 1 else math.inf
    inside = design.latency if design.memory_latency is None else design.memory_latency
    overhead = min(design.latency, inside) if design.overhead is None else design.overhead
    if overhead > min(design.latency, inside):
        raise ValueError("overhead is a part of each latency and cannot exceed it")
    network = _network(design, design.link or design.nics * design.nic, assumed)
    if network.links > MOST_LINKS:
        raise ValueError(f"the network has {network.links} links; describe one of at most {MOST_LINKS}")
    return Machine(
        name=name,
        design=design,
        network=network,
        nic=design.nic,
        nics=design.nics,
        per_node=design.per_node,
        shared_memory=shared,
        process=design.process or math.inf,
        process_total=design.process_total or math.inf,
        overhead=overhead,
        latency=design.latency - overhead,
        memory_latency=inside - overhead,
        hop_latency=design.hop_latency,
        memory_per_process=cast(int, stated("memory_per_process")),
        assumed=tuple(assumed),
    )


def _network(design: Design, link: float, assumed: list[str]) -> Network:
    adaptive = design.routing == "adaptive"
    if design.network == "crossbar":
        return FatTree(link, adaptive, (design.nodes,), (1,))
    if design.network == "torus":
        return _torus(design, link, adaptive, assumed)
    if design.network == "dragonfly":
        return _dragonfly(design, link, adaptive, assumed)
    return _fat_tree(design, link, adaptive, assumed)


def _torus(design: Design, link: float, adaptive: bool, assumed: list[str]) -> Torus:
    shape, curve = _shape(design, assumed), design.order == "hilbert"
    if curve and (len(set(shape)) > 1 or shape[0].bit_count() != 1):
        raise ValueError(f"Hilbert's curve needs equal sides of a power of two, not {'x'.join(map(str, shape))}")
    if design.router and adaptive:
        raise ValueError("a limit of routers is known for static routing only; remove router or adaptive routing")
    return Torus(link, adaptive, shape, design.router or math.inf, curve)


def _shape(design: Design, assumed: list[str]) -> tuple[int, ...]:
    if design.shape is not None:
        sides = design.shape.split("x")
        if not all(side.isdecimal() and 0 < int(side) < 10**6 for side in sides) or len(sides) > 6:
            raise ValueError(f"shape {design.shape!r} is not one such as 8x8x8")
        shape = tuple(map(int, sides))
        if design.dimensions not in (None, len(shape)):
            raise ValueError(f"shape {design.shape} has {len(shape)} dimensions, not {design.dimensions}")
        if math.prod(shape) < design.nodes:
            raise ValueError(f"a torus of {design.shape} has {math.prod(shape)} nodes, not {design.nodes}")
        return shape
    count, rest, shape = design.dimensions or 3, design.nodes, ()
    for left in range(count, 0, -1):
        side = math.ceil(round(rest ** (1 / left), 9))
        shape, rest = (*shape, side), math.ceil(rest / side)
    assumed.append(f"shape {'x'.join(map(str, shape))}")
    return shape


def _fat_tree(design: Design, link: float, adaptive: bool, assumed: list[str]) -> FatTree:
    levels, leaf = design.levels or 2, design.leaf or min(32, design.nodes)
    assumed += [f"levels {levels}"] * (design.levels is None) + [f"leaf {leaf}"] * (design.leaf is None)
    tapers = design.taper if isinstance(design.taper, list) else [design.taper or 1.0]
    tapers = [*tapers, *[1.0] * (levels - 1 - len(tapers))]
    if len(tapers) > levels - 1 and (levels > 1 or set(tapers) != {1.0}):
        raise ValueError(f"a fat tree with {levels} levels has a taper at {levels - 1} of them, not {len(tapers)}")
    children = [leaf] * (levels - 1)
    children.append(max(1, math.ceil(design.nodes / math.prod(children))))
    parents = [1]
    for down, taper in zip(children, tapers[: levels - 1]):
        up = down / taper
        if up != int(up) or up < 1:
            raise ValueError(
                f"{down} links down and a taper of {taper:g} give {up:g} links up: choose a leaf that is a multiple"
            )
        parents.append(int(up))
    return FatTree(link, adaptive, tuple(children), tuple(parents))


def _dragonfly(design: Design, link: float, adaptive: bool, assumed: list[str]) -> Dragonfly:
    """Where nothing is stated, the balanced one: routers with as many nodes as global cables, and half as many as other
    routers in the group (Kim and others, Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA 2008)."""
    balanced = next(p for p in range(1, 1000) if p * 2 * p * (2 * p * p + 1) >= design.nodes)
    per_router = design.per_router or balanced
    routers = design.routers or 2 * per_router
    groups = design.groups or math.ceil(design.nodes / (per_router * routers))
    cables = design.cables or max(1, routers * per_router // max(1, groups - 1))
    for key, value in (("per_router", per_router), ("routers", routers), ("groups", groups), ("cables", cables)):
        assumed += [f"{key} {value}"] * (getattr(design, key) is None)
    if groups * routers * per_router < design.nodes:
        raise ValueError(
            f"{groups} groups of {routers} routers with {per_router} nodes have "
            f"{groups * routers * per_router} nodes, not {design.nodes}"
        )
    return Dragonfly(link, adaptive, groups, routers, per_router, cables)
