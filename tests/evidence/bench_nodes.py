# SPDX-License-Identifier: Apache-2.0
"""How well slow nodes are found: made-up machines of which the slow nodes are known, their times with noise, and the
suspects of postprocess/statistics/nodes.py. Prints a table, and exits with 1 if a goal is missed.

    .venv/bin/python tests/evidence/bench_nodes.py [--healthy 300] [--planted 20] [--again 1000] [--seed 20261122]

HEALTHY runs without a slow node and PLANTED runs of each kind with some, per network, in equal parts with each noise;
AGAIN second measurements of a suspect of each bandwidth with each noise.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

from bench_tables import Goals, header, parsed, row
from nodes_made import ACCESS_NOISE, NOISE, NOISE_ALONE, Machine, accesses, matchings, planted, times, within_leaves

from coffeecup.postprocess.benchmarks.nodes import COMPUTATIONS, READS, WRITES, examination
from coffeecup.postprocess.statistics.medians import upper_limit
from coffeecup.postprocess.statistics.nodes import SLOWER, UNSURE, effects

SPEEDS = ((1, 0.5), (1, 0.8), (5, 0.5), (5, 0.8), (1, 0.9), (5, 0.9))
OF_GOAL, OF_GOAL_FILES = 0.8, 0.5  # speeds up to this one have to be found
OLDER = 0.85  # bandwidth of nodes of an older kind to that of the others
FOUND, FALSE = 0.95, 0.05
ALONE, MOST_ROUNDS = (1.0, 0.9, 0.8, 0.5), 31  # of second measurements: bandwidths, and rounds of the kernel


@dataclass(frozen=True)
class Network:
    """`known`: the groups of the nodes are known, and each is examined within itself. `older` is the share of nodes of
    an older kind with OLDER of the bandwidth, which the log states."""

    name: str
    nodes: int
    leaf: int | None = None
    trunk: float = np.inf
    known: bool = False
    goal: float = OF_GOAL
    older: float = 0

    def examined(self, rng, slow: int, speed: float, noise: Callable) -> tuple[set[int], set[int]]:
        """The slow nodes of a machine, and the suspects."""
        speeds, truth = planted(rng, self.nodes, slow, speed)
        plan = within_leaves(rng, self.nodes, self.leaf) if self.known and self.leaf else matchings(rng, self.nodes)
        is_older = rng.permutation(self.nodes) < self.older * self.nodes
        speeds = np.where(is_older, OLDER, 1) * speeds
        drawn = times(Machine(speeds, self.leaf, self.trunk), rng, noise, plan)
        return truth, set(effects(drawn, self.nodes, kinds=[str(old) for old in is_older]).suspects)

    @property
    def noise(self) -> list:
        return list(NOISE.values())


@dataclass(frozen=True)
class Files:
    """Nodes that access files: `counts` of each kind, by b_eff_io, or by FTIO in three repetitions."""

    nodes: int
    name: str = "accesses to files"
    counts: tuple = ((WRITES, 28), (READS, 14))
    noise: tuple = ACCESS_NOISE
    goal: float = OF_GOAL_FILES

    def examined(self, rng, slow: int, speed: float, noise: str) -> tuple[set[int], set[int]]:
        speeds, truth = planted(rng, self.nodes, slow, speed)
        names = [str(node) for node in range(self.nodes)]
        found = examination(names, {kind: accesses(rng, speeds, count, noise) for kind, count in self.counts})
        return truth, {int(name) for name in found.named["node"]}


# The sites' groups are known for a network whose trunks are tapered. Without them most slow nodes are missed, and only
# false names in runs without a slow node count.
NETWORKS = (
    *(Network("crossbar", nodes) for nodes in (16, 64, 256, 1024)),
    Network("fat tree 1:1", 64, 16, 16),
    Network("fat tree 2:1, groups known", 64, 16, 8, known=True),
    Network("fat tree 2:1, groups known", 256, 16, 8, known=True),
    Network("fat tree 4:1, groups known", 64, 16, 4, known=True),
)
GENERATIONS = tuple(Network(f"crossbar, {older:.0%} of the nodes older", 64, older=older) for older in (0.1, 0.3, 0.5))
PHASES = ((WRITES, 15), (READS, 15), (COMPUTATIONS, 9))
FILES = (*(Files(nodes) for nodes in (16, 64, 256)), *(Files(nodes, "phases of FTIO", PHASES) for nodes in (16, 64)))
BLIND = (Network("fat tree 2:1, groups unknown", 64, 16, 8), Network("fat tree 4:1, groups unknown", 64, 16, 4))


def runs(network: Network | Files, slow: int, speed: float, count: int, seed: int) -> tuple[int, int, int]:
    """Slow nodes found, nodes named falsely, and runs with a false name."""
    found = false = wrong = 0
    for run in range(count):
        noise = network.noise[run % len(network.noise)]
        truth, suspects = network.examined(np.random.default_rng([seed, slow, run]), slow, speed, noise)
        found, false = found + len(truth & suspects), false + len(suspects - truth)
        wrong += bool(suspects - truth)
    return found, false, wrong


def cases_of(networks: Sequence, options: argparse.Namespace) -> list[tuple]:
    """Network, slow nodes, their speed and number of runs of each case."""
    kinds = [(0, 1.0, options.healthy), *((slow, speed, options.planted) for slow, speed in SPEEDS)]
    return [(network, *kind) for network in networks for kind in kinds]


def confirmed(rng, speed: float, noise: Callable) -> bool:
    """Whether a suspect is confirmed by rounds of a pair with each of two good nodes and these with each other, which
    the kernel ends as soon as they decide (confirmation.c)."""
    pairs = np.tile([[0, 1], [0, 2], [1, 2]], (MOST_ROUNDS, 1))
    factors = noise(rng, Machine(np.array([speed, 1.0, 1.0])), np.arange(len(pairs)), pairs)[:, 0]
    one, other, good = (factors / np.where(pairs == 0, speed, 1).min(axis=1)).reshape(-1, 3).T
    ratios = good / np.minimum(one, other)
    return any(upper_limit(ratios[:rounds], UNSURE) < SLOWER for rounds in range(1, 1 + MOST_ROUNDS))


def measure_again(draws: int, seed: int, goals: Goals) -> None:
    header("How often a suspect is confirmed that has such a bandwidth", f"noise; {'; '.join(map(str, ALONE))}; of")
    for name, noise in NOISE_ALONE.items():
        rng = np.random.default_rng(seed)
        count = {speed: sum(confirmed(rng, speed, noise) for _ in range(draws)) for speed in ALONE}
        row(name, *count.values(), draws)
        goals.check(f"{name}: share of healthy suspects that are confirmed", count[1.0] / draws, most=0.001)
        goals.check(f"{name}: share of suspects at 0.5 that are confirmed", count[0.5] / draws, least=FOUND)


def main() -> int:
    options = parsed(__doc__, healthy=300, planted=20, again=1000, seed=20261122)
    cases = cases_of((*NETWORKS, *GENERATIONS, *FILES, *BLIND), options)
    goals = Goals()
    measure_again(options.again, options.seed, goals)
    columns = "network; nodes; slow nodes; their bandwidth; runs; found; false names; runs with one"
    header(__doc__.split(":")[0], columns)
    with ProcessPoolExecutor() as pool:
        results = pool.map(partial(of_case, options.seed), cases)
        for (network, slow, speed, count), (found, false, wrong) in zip(cases, results):
            row(network.name, network.nodes, slow, speed, count, f"{found} of {slow * count}", false, wrong)
            what = f"{network.name}, {network.nodes} nodes, {slow} slow at {speed:g}"
            if not slow or network not in BLIND:
                goals.check(f"{what}: share of runs with a false name", wrong / count, most=FALSE)
            if slow and speed <= network.goal and network not in BLIND:
                goals.check(f"{what}: share that is found", found / slow / count, least=FOUND)
    return goals.report()


def of_case(seed: int, case: tuple[Network | Files, int, float, int]) -> tuple[int, int, int]:
    return runs(*case, seed)


if __name__ == "__main__":
    sys.exit(main())
