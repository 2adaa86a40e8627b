# SPDX-License-Identifier: Apache-2.0
"""Times of pairs of nodes on made-up machines, of which the slow nodes are known: for tests/nodes/test_nodes.py and
tests/evidence/bench_nodes.py. The arithmetic is its own; nothing of postprocess is used."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
MATCHINGS = 16
CONDITIONS = [f"{processes}, {direction}" for processes, direction in product((1, 8), ("both", "up", "down"))]
BYTES, BYTES_PER_SECOND = 1e6, 1e10


@dataclass(frozen=True)
class Machine:
    """`speeds` are the nodes' shares of the usual bandwidth. Nodes hang at leaf switches of `leaf` nodes each, whose
    trunks carry `trunk` times the bandwidth of a node; None: a crossbar."""

    speeds: np.ndarray
    leaf: int | None = None
    trunk: float = np.inf

    @property
    def nodes(self) -> int:
        return len(self.speeds)


def matchings(rng, nodes: int, count: int = MATCHINGS) -> list[list[tuple[int, int]]]:
    """Random perfect matchings; of an odd number of nodes one rests."""
    return [
        [tuple(sorted(pair)) for pair in rng.permutation(nodes)[: nodes - nodes % 2].reshape(-1, 2).tolist()]
        for _ in range(count)
    ]


def within_leaves(rng, nodes: int, leaf: int, count: int = MATCHINGS) -> list[list[tuple[int, int]]]:
    """Random perfect matchings of the nodes of each leaf switch, all at the same time."""
    return [
        [
            tuple(start + place for place in pair)
            for start in range(0, nodes, leaf)
            for [pairs] in [matchings(rng, min(leaf, nodes - start), 1)]
            for pair in pairs
        ]
        for _ in range(count)
    ]


def rates(machine: Machine, pairs: np.ndarray) -> np.ndarray:
    """Bandwidth of each pair as a share of the usual one, all at the same time: max-min fair shares of the nodes' links
    and of the trunks, by progressive filling."""
    alone = machine.speeds[pairs].min(axis=1)
    if machine.leaf is None:
        return alone
    ends = pairs // machine.leaf
    crossing = ends[:, 0] != ends[:, 1]
    rate, free = alone.copy(), crossing.copy()
    room = np.full(ends.max() + 1, float(machine.trunk))
    while free.any():
        users = np.bincount(ends[free].ravel(), minlength=len(room))
        share = np.full(len(room), np.inf)
        share[users > 0] = room[users > 0] / users[users > 0]
        offered = np.minimum(share[ends].min(axis=1), alone)
        least = offered[free].min()
        settled = free & (offered <= least * (1 + 1e-12))
        rate[settled] = offered[settled]
        np.subtract.at(room, ends[settled].ravel(), np.repeat(rate[settled], 2))
        free &= ~settled
    return rate


def times(machine: Machine, rng, noise: Callable, plan: list[list[tuple[int, int]]], scope: str = "") -> pd.DataFrame:
    """The table for statistics.nodes.effects: a row per matching, condition and pair."""
    pairs = np.array([pair for matching in plan for pair in matching]).reshape(-1, 2)
    loops = np.repeat(np.arange(len(plan)), [len(matching) for matching in plan])
    usual = np.concatenate([1 / rates(machine, np.array(matching).reshape(-1, 2)) for matching in plan])
    disturbed = noise(rng, machine, loops, pairs)
    loops_of = [f"{scope}{loop}" for loop in loops]
    tables = []
    for place, condition in enumerate(CONDITIONS):
        seconds = BYTES / BYTES_PER_SECOND * (1 + place) * usual * disturbed[:, place]
        nodes = {"first": pairs[:, 0], "second": pairs[:, 1]}
        tables.append(pd.DataFrame({"unit": loops_of, "condition": scope + condition, **nodes, "seconds": seconds}))
    return pd.concat(tables, ignore_index=True)


# --- noise: factors of the times, (pairs of all matchings, conditions) -----------------------------------------------


def usual(rng, machine, loops, pairs):
    """3 %, and 1 % of the times doubled."""
    shape = len(pairs), len(CONDITIONS)
    return np.exp(0.03 * rng.standard_normal(shape)) * np.where(rng.random(shape) < 0.01, 2, 1)


@cache
def recorded_factors() -> np.ndarray:
    """Of the sessions in session_noise.csv: the median time of the undisturbed ones is 1. About a fifth of the
    sessions took 1.5 times as long."""
    values = pd.read_csv(HERE / "session_noise.csv", comment="#")["b_eff"].to_numpy()
    return np.median(values[values > np.median(values) * 0.9]) / values


def recorded(rng, machine, loops, pairs):
    """Every time by a recorded session, independently."""
    return rng.choice(recorded_factors(), (len(pairs), len(CONDITIONS)))


def of_loops(rng, machine, loops, pairs):
    """Every loop as a whole by a recorded session, and 3 % of each time."""
    common = rng.choice(recorded_factors(), (loops.max() + 1, len(CONDITIONS)))
    return common[loops] * np.exp(0.03 * rng.standard_normal((len(pairs), len(CONDITIONS))))


def bursts(rng, machine, loops, pairs):
    """3 %, and each node is disturbed for a few matchings after each other once in a hundred times: 1.5 times as
    long."""
    begins = rng.random((loops.max() + 1, machine.nodes)) < 0.01
    disturbed = begins.copy()
    for later in (1, 2):
        disturbed[later:] |= begins[:-later]
    of_pair = disturbed[loops[:, None], pairs].any(axis=1)
    return np.where(of_pair, 1.5, 1)[:, None] * np.exp(0.03 * rng.standard_normal((len(pairs), len(CONDITIONS))))


def uneven(rng, machine, loops, pairs):
    """3 %, and the nodes themselves differ by 1 %."""
    own = np.exp(0.01 * rng.standard_normal(machine.nodes))
    return own[pairs].max(axis=1)[:, None] * np.exp(0.03 * rng.standard_normal((len(pairs), len(CONDITIONS))))


def heavy_tailed(rng, machine, loops, pairs):
    return np.exp(0.03 * rng.standard_t(3, (len(pairs), len(CONDITIONS))))


def two_states(rng, machine, loops, pairs):
    """Every fifth time doubled, and 3 %."""
    shape = len(pairs), len(CONDITIONS)
    return np.exp(0.03 * rng.standard_normal(shape)) * np.where(rng.random(shape) < 0.2, 2, 1)


NOISE = {
    "3 %, 1 % doubled": usual,
    "recorded, each time": recorded,
    "recorded, whole loops": of_loops,
    "bursts of single nodes": bursts,
    "nodes differ by 1 %": uneven,
}
NOISE_ALONE = NOISE | {"3 %, heavy tails": heavy_tailed, "3 %, a fifth doubled": two_states}  # of a pair, others rest


# --- accesses to files ----------------------------------------------------------------------------------------------


@cache
def recorded_accesses() -> list[np.ndarray]:
    """Relative times of the nodes in each access of the healthy runs in tests/support/io_noise.csv."""
    lines = (HERE / "io_noise.csv").read_text().splitlines()
    return [np.array(line.split(","), float) for line in lines if not line.startswith("#")]


def accesses(rng, speeds: np.ndarray, count: int, noise: str) -> pd.DataFrame:
    """The table for statistics.nodes.effects: a node's own time in each access, disturbed as in a recorded one. Of
    ACCESS_NOISE; where files are on slow servers, a twentieth of the nodes has them there, in half of the accesses."""
    found = recorded_accesses()
    units = np.repeat(np.arange(count), len(speeds))
    factors = np.concatenate([rng.choice(found[rng.integers(len(found))], len(speeds)) for _ in range(count)])
    if noise == "slow servers":
        slow = rng.random(len(speeds)) < 0.05
        factors = factors * np.where((units < count / 2) & np.tile(slow, count), 2, 1)
    node = np.tile(np.arange(len(speeds)), count)
    return pd.DataFrame(
        {"unit": units, "condition": units, "first": node, "second": node, "seconds": factors / speeds[node]}
    )


ACCESS_NOISE = ("recorded accesses", "slow servers")


def planted(rng, nodes: int, slow: int, speed: float) -> tuple[np.ndarray, set[int]]:
    """The speeds of nodes of which some are slow, and which ones."""
    chosen = rng.choice(nodes, slow, replace=False)
    speeds = np.ones(nodes)
    speeds[chosen] = speed
    return speeds, set(chosen.tolist())
