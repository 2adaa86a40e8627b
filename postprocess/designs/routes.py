# SPDX-License-Identifier: Apache-2.0
"""Networks: which links messages between nodes pass, and which link is the busiest. All messages move at the same time.

Static routes are minimal and fixed, those of SimGrid's zones of the same name: dimension order on a torus, destination
modulo k in a fat tree, one cable for each destination in a dragonfly. Adaptive routing is a bound, not a model:
messages are spread over all minimal paths as evenly as can be, and no minimal routing is faster.

Nodes are numbered from 0. `source` and `target` are integer arrays of equal length, a message each, between different
nodes. Everything is counted for all messages at once, because a machine may have 100 000 processes.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np


class Load(NamedTuple):
    """How long the busiest link takes for a byte of each of its messages, in s/byte, and its name."""

    seconds_per_byte: float
    link: str


NO_LOAD = Load(0.0, "none")


class Network(Protocol):
    @property
    def link(self) -> float:
        """byte/s, each way."""
        ...

    @property
    def adaptive(self) -> bool: ...

    @property
    def links(self) -> int:
        """How many are counted at once at most."""
        ...

    def busiest(self, source: np.ndarray, target: np.ndarray) -> Load: ...

    def longest(self, source: np.ndarray, target: np.ndarray) -> int:
        """Links on the longest of the paths."""
        ...


def most(messages: np.ndarray, capacity: float, names: str, *shape: int) -> Load:
    """The load of the fullest link. `names` is a format for the link's place in an array of this shape."""
    if not messages.size or not messages.any():
        return NO_LOAD
    place = int(messages.argmax())
    return Load(float(messages[place]) / capacity, names.format(*np.unravel_index(place, shape or messages.shape)))


@dataclass(frozen=True)
class FatTree:
    """Switches of level i have `children[i]` switches or nodes below; each of these has `parents[i]` links up, to
    different switches. A crossbar is a fat tree with one switch."""

    link: float
    adaptive: bool
    children: tuple[int, ...]
    parents: tuple[int, ...]

    @property
    def links(self) -> int:
        return math.prod(self.children)  # no level has more: a taper is at least 1

    def busiest(self, source: np.ndarray, target: np.ndarray) -> Load:
        found = NO_LOAD
        for level in range(len(self.children)):
            below, links = math.prod(self.children[:level]), math.prod(self.parents[: level + 1])
            subtrees = math.prod(self.children[level:])
            crossing = (source // below) != (target // below)
            for way, ends in (("up from", source), ("down to", target)):
                subtree = ends[crossing] // below
                if self.adaptive:
                    name = f"links {way} subtree {{}} of level-{level}" if level else "the cable of node {}"
                    load = most(np.bincount(subtree, minlength=subtrees) / links, self.link, name)
                else:
                    cable = subtree * links + target[crossing] % links
                    name = f"link {{1}} {way} subtree {{0}} of level-{level}" if level else "the cable of node {}"
                    load = most(np.bincount(cable, minlength=subtrees * links), self.link, name, subtrees, links)
                found = max(found, load, key=_time)
        return found

    def longest(self, source: np.ndarray, target: np.ndarray) -> int:
        below = (math.prod(self.children[:level]) for level in range(len(self.children)))
        return 2 * sum(bool((source // each != target // each).any()) for each in below)


@dataclass(frozen=True)
class Torus:
    """`shape[0]` nodes follow each other along the first dimension, which is also the first on each route. `router` is
    the byte/s of all messages that start at a node, end there or pass it; `curve` numbers the nodes along Hilbert's
    curve, so that a range of them fills a block."""

    link: float
    adaptive: bool
    shape: tuple[int, ...]
    router: float = math.inf
    curve: bool = False

    @property
    def links(self) -> int:
        return math.prod(self.shape)

    def busiest(self, source: np.ndarray, target: np.ndarray) -> Load:
        starts, ends = self._places(source), self._places(target)
        steps = [self._steps(*each) for each in zip(starts, ends, self.shape)]
        if self.adaptive:
            return self._spread(starts, steps)
        # on each line along a dimension, earlier dimensions are done and later ones are not
        lines = [[*ends[:done], *starts[done + 1 :]] for done in range(len(self.shape))]
        ways = list(zip(range(len(self.shape)), lines, starts, steps))
        loads = [self._along(*way) for way in ways]
        if self.router < math.inf:
            passing = sum((self._arriving(*way) for way in ways), start=self._starting(starts))
            loads.append(most(passing.ravel(), self.router, "router of node {}"))
        return max(loads, key=_time)

    def longest(self, source: np.ndarray, target: np.ndarray) -> int:
        steps = [self._steps(*each) for each in zip(self._places(source), self._places(target), self.shape)]
        return int(sum(np.abs(each) for each in steps).max())  # pyright: ignore[reportAttributeAccessIssue]

    def _places(self, node: np.ndarray) -> list[np.ndarray]:
        node, places = along_curve(self.shape)[node] if self.curve else node, []
        for side in self.shape:
            places.append(node % side)
            node = node // side
        return places

    @staticmethod
    def _steps(start: np.ndarray, end: np.ndarray, side: int) -> np.ndarray:
        """Signed number of links along one dimension. Both ways are equally long at half of an even side: SimGrid then
        goes forward, except from the middle to 0."""
        ahead, half = (end - start) % side, side // 2
        forward = (ahead <= half) & ((2 * ahead != side) | (end > start) | (start > half))
        return np.where(forward, ahead, ahead - side)

    def _along(self, dimension: int, line: Sequence[np.ndarray], start: np.ndarray, steps: np.ndarray) -> Load:
        """The busiest link of one dimension."""
        found = NO_LOAD
        for way, messages in self._messages(dimension, line, start, steps):
            name = f"link {{1}} of line {{0}} in dimension-{dimension + 1}, direction {way}"
            found = max(found, most(messages.ravel(), self.link, name, *messages.shape), key=_time)
        return found

    def _starting(self, starts: list[np.ndarray]) -> np.ndarray:
        """How many messages start at each node; the last dimension is the first axis."""
        count = np.zeros(self.shape[::-1])
        np.add.at(count, tuple(starts[::-1]), 1)
        return count

    def _arriving(self, dimension: int, line: Sequence[np.ndarray], start: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """How many messages reach each node by a link of one dimension; the last dimension is the first axis."""
        reached = sum(
            np.roll(messages, 1, axis=1) if way == "+" else messages
            for way, messages in self._messages(dimension, line, start, steps)
        )
        others = [length for number, length in enumerate(self.shape) if number != dimension]
        of_lines = np.reshape(reached, (*others[::-1], self.shape[dimension]))
        return np.moveaxis(of_lines, -1, len(others) - dimension)

    def _messages(
        self, dimension: int, line: Sequence[np.ndarray], start: np.ndarray, steps: np.ndarray
    ) -> Iterator[tuple[str, np.ndarray]]:
        """For each way along one dimension, the messages on each link, by line and link; link k joins the nodes k and
        k + 1. Messages are intervals of links on their line: their ends are counted."""
        side, lines = self.shape[dimension], math.prod(self.shape) // self.shape[dimension]
        others = [length for number, length in enumerate(self.shape) if number != dimension]
        number = np.zeros_like(start)
        for place, length in zip(reversed(line), reversed(others)):
            number = number * length + place
        for way, moves, first in (("+", steps > 0, start), ("-", steps < 0, start + steps + side)):
            count, begin = np.abs(steps[moves]), number[moves] * (2 * side + 1) + first[moves]
            size = lines * (2 * side + 1)
            ends = np.bincount(begin, minlength=size) - np.bincount(begin + count, minlength=size)
            passing = ends.reshape(lines, -1).cumsum(axis=1)
            yield way, passing[:, :side] + passing[:, side : 2 * side]

    def _spread(self, starts: list[np.ndarray], steps: list[np.ndarray]) -> Load:
        """No minimal routing has a busiest link below the mean over the links of a dimension that minimal paths may
        use, nor below what the messages with a single minimal path alone put on it."""
        either = [2 * np.abs(each) == side for each, side in zip(steps, self.shape)]
        found = NO_LOAD
        for dimension, side in enumerate(self.shape):
            hops, tie = np.abs(steps[dimension]), either[dimension]
            rows = math.prod(
                self._reached(starts[other], steps[other], either[other], length)
                for other, length in enumerate(self.shape)
                if other != dimension
            )
            if tie.any():
                load = hops.sum() / (2 * side * rows)
            else:
                load = max(hops[steps[dimension] * way > 0].sum() / (side * rows) for way in (1, -1))
            found = max(found, Load(load / self.link, f"all links of dimension-{dimension + 1} alike"), key=_time)
            single = ~tie & (hops > 0) & (sum(each != 0 for each in steps) == 1)
            line = [start[single] for other, start in enumerate(starts) if other != dimension]
            found = max(
                found, self._along(dimension, line, starts[dimension][single], steps[dimension][single]), key=_time
            )
        return found

    @staticmethod
    def _reached(start: np.ndarray, steps: np.ndarray, either: np.ndarray, side: int) -> int:
        """How many places along a dimension lie on a minimal path."""
        if either.any():
            return side
        first = np.where(steps < 0, start + steps, start) % side
        size = 2 * side + 1
        ends = np.bincount(first, minlength=size) - np.bincount(first + np.abs(steps) + 1, minlength=size)
        passing = ends.cumsum()
        return int(((passing[:side] + passing[side : 2 * side]) > 0).sum())


@cache
def along_curve(shape: tuple[int, ...]) -> np.ndarray:
    """Nodes along Hilbert's curve: element k is the number, counted along the dimensions, of the k-th. All sides are
    the same power of two. The transformation of J. Skilling, Programming the Hilbert curve, AIP Conference Proceedings
    707, 2004."""
    bits = shape[0].bit_length() - 1
    at = np.indices(shape).reshape(len(shape), -1)  # at[0] is the place along the last dimension
    for bit in (1 << power for power in range(bits - 1, 0, -1)):
        for axis in range(len(shape)):
            inverts = at[axis] & bit > 0
            swapped = np.where(inverts, 0, (at[0] ^ at[axis]) & (bit - 1))
            at[0] ^= np.where(inverts, bit - 1, swapped)
            at[axis] ^= swapped
    for axis in range(1, len(shape)):
        at[axis] ^= at[axis - 1]
    mirrored = np.zeros_like(at[0])
    for bit in (1 << power for power in range(bits - 1, 0, -1)):
        mirrored ^= np.where(at[-1] & bit > 0, bit - 1, 0)
    index = np.zeros_like(at[0])
    for power in range(bits - 1, -1, -1):
        for axis in at:
            index = index << 1 | ((axis ^ mirrored) >> power & 1)
    return index.argsort()


@dataclass(frozen=True)
class Dragonfly:
    """Groups of routers that are all connected with each other; `cables` cables between each pair of groups. Cable k
    from group i to group j starts at router (j * cables + k) mod routers of group i."""

    link: float
    adaptive: bool
    groups: int
    routers: int
    per_router: int
    cables: int

    @property
    def links(self) -> int:
        return max(self.groups * self.routers**2, self.groups**2 * self.cables)

    def busiest(self, source: np.ndarray, target: np.ndarray) -> Load:
        local = np.zeros(self.groups * self.routers**2)
        between = np.zeros(self.groups**2 * self.cables)
        cables = range(self.cables) if self.adaptive else [target % self.cables]
        for cable in cables:
            for used, inside in self._links(source, target, cable):
                place = between if not inside else local
                place += np.bincount(used, minlength=place.size) / len(cables)
        nodes = self.groups * self.routers * self.per_router
        loads = [
            *(most(np.bincount(ends, minlength=nodes), self.link, "the cable of node {}") for ends in (source, target)),
            most(local, self.link, "group {}, from router {} to {}", self.groups, self.routers, self.routers),
            most(between, self.link, "from group {} to {}, cable {}", self.groups, self.groups, self.cables),
        ]
        return max(loads, key=_time)

    def longest(self, source: np.ndarray, target: np.ndarray) -> int:
        cables = range(self.cables) if self.adaptive else [target % self.cables]
        longest = 0
        for cable in cables:
            (first, here), (home, there) = self._ends(source), self._ends(target)
            leave, arrive = self._gateways(first, home, cable)
            away = first != home
            links = 2 + np.where(away, 1 + (here != leave) + (arrive != there), here != there)
            longest = max(longest, int(links.max()))
        return longest

    def _ends(self, node: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Group, and router in the group."""
        return node // (self.routers * self.per_router), node // self.per_router % self.routers

    def _gateways(self, first: np.ndarray, home: np.ndarray, cable) -> tuple[np.ndarray, np.ndarray]:
        return (home * self.cables + cable) % self.routers, (first * self.cables + cable) % self.routers

    def _links(self, source: np.ndarray, target: np.ndarray, cable):
        """Numbers of the links that messages pass, and whether these are links inside groups."""
        (first, here), (home, there) = self._ends(source), self._ends(target)
        leave, arrive = self._gateways(first, home, cable)
        away = first != home
        number = np.broadcast_to(cable, source.shape)
        yield ((first * self.groups + home) * self.cables + number)[away], False
        for moves, group, begin, end in (
            (away, first, here, leave),
            (away, home, arrive, there),
            (~away, first, here, there),
        ):
            hop = moves & (begin != end)
            yield ((group * self.routers + begin) * self.routers + end)[hop], True


def _time(load: Load) -> float:
    return load.seconds_per_byte
