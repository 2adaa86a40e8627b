# SPDX-License-Identifier: Apache-2.0
"""How well b_eff names slow nodes: its kernel on simulated networks in which some nodes have slow cables, its times
disturbed by the noise of tests/support/nodes_made.py, and the verdict of its analysis. Prints a table, and exits with
1 if a goal of tests/evidence/bench_nodes.py is missed.

    .venv/bin/python tests/evidence/bench_simulated_nodes.py [--healthy 300] [--planted 20]

Every network is simulated twice without slow nodes, with different matchings, and once for each kind of them.
"""

import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

from bench_nodes import FALSE, FOUND, OF_GOAL, cases_of
from bench_tables import Goals, header, parsed, row
from builds import ROOT, simulated_kernel
from networks_made import Network, crossbar, dragonfly, fat_tree, torus, write
from nodes_made import CONDITIONS, NOISE, Machine

from coffeecup.postprocess.benchmarks.b_eff.nodes.examination import examination
from coffeecup.postprocess.benchmarks.b_eff.nodes.records import Matching
from coffeecup.postprocess.benchmarks.b_eff.records import Plan
from coffeecup.postprocess.benchmarks.nodes import Verdict
from coffeecup.postprocess.benchmarks.scoring import read_log
from coffeecup.postprocess.logs.reader import Log

NETWORKS = (
    crossbar(16),
    crossbar(64),
    fat_tree(64, 16, 1, known=True),
    fat_tree(64, 16, 2, known=True),
    fat_tree(256, 16, 2, known=True),
    torus(4, known=True),
    dragonfly(4, 4, 4),
)
# Only false names count. With fixed routes messages meet in the trunks of a fat tree that is not tapered, too.
BLIND = (fat_tree(64, 16, 1, known=False), fat_tree(64, 16, 2, known=False), torus(4, known=False))
HEALTHY_SEEDS = (1, 2)
SHORT = ["--longest-loop", "1", "--repetitions", "1", "--patterns", "ring", "--methods", "nonblocking"]


def simulated(kernel: Path, network: Network, slow: dict[int, float], seed: int) -> Log[Plan]:
    """Raises subprocess.CalledProcessError and LogError."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        platform, options = write(folder, network, slow)
        run = [ROOT / "site_configs" / "simulated" / "run", "-np", str(network.nodes), "--platform", platform]
        asked = ["--log", folder / "b_eff.jsonl", "--matchings", "16", "--seed", str(seed), *SHORT, *options]
        subprocess.run([*run, kernel, *asked], check=True, capture_output=True, text=True)
        return read_log(folder / "b_eff.jsonl")


def disturbed(log: Log[Plan], rng, noise) -> Log[Plan]:
    """The log with noise in the times of its matchings at the longest messages, which are all that is examined. Its
    second measurements remain as they are: pairs that communicate alone are the least disturbed."""
    nodes = len(log.run.hosts)
    records = [record for record in log.all(Matching) if record.message_bytes == log.plan.l_max_bytes]
    units = sorted({(record.scope, record.matching) for record in records})
    partners = {(record.scope, record.matching): record.partners for record in records}
    pairs = [(unit, a, b) for unit in units for a, b in enumerate(partners[unit]) if a < b]
    loops = np.array([units.index(unit) for unit, _, _ in pairs])
    factors = noise(rng, Machine(np.ones(nodes)), loops, np.array([[a, b] for _, a, b in pairs]))
    of = {(unit, node): factors[place] for place, (unit, a, b) in enumerate(pairs) for node in (a, b)}
    changed = []
    for record in records:
        column = CONDITIONS.index(f"{1 if record.processes == 'one_per_node' else 8}, {record.direction}")
        seconds = [
            None if time is None else time * of[(record.scope, record.matching), node][column]
            for node, time in enumerate(record.seconds)
        ]
        changed.append(msgspec.structs.replace(record, seconds=seconds))
    return replace(log, by_class={**log.by_class, Matching: changed})


def of_case(kernel: Path, case: tuple[Network, int, float, int]) -> tuple[int, int, int, int, int]:
    """Slow nodes named and confirmed, nodes named falsely, and runs with a false name and with a false confirmed
    one."""
    network, slow, speed, count = case
    chosen = np.random.default_rng([slow, int(10 * speed)]).choice(network.nodes, slow, replace=False)
    truth = {f"n{node}" for node in chosen}
    seeds = (1,) if slow else HEALTHY_SEEDS
    logs = [simulated(kernel, network, dict.fromkeys(chosen.tolist(), speed), seed) for seed in seeds]
    found = confirmed = false = wrong = accused = 0
    for run in range(count):
        noise = list(NOISE.values())[run // len(logs) % len(NOISE)]
        seen = examination(disturbed(logs[run % len(logs)], np.random.default_rng([slow, run]), noise))
        suspects = set(seen.named["node"])
        certain = set(seen.named["node"][seen.named["confirmed"]]) if seen.verdict == Verdict.CONFIRMED else set()
        found, confirmed = found + len(truth & suspects), confirmed + len(truth & certain)
        false, wrong = false + len(suspects - truth), wrong + bool(suspects - truth)
        accused += bool(certain - truth)
    return found, confirmed, false, wrong, accused


def main() -> int:
    cases = cases_of(range(len(NETWORKS + BLIND)), parsed(__doc__, healthy=300, planted=20))
    kernel = simulated_kernel()
    goals = Goals()
    columns = "network; nodes; groups; slow; bandwidth; runs; found; confirmed; false; runs with a false name"
    header("How well b_eff names slow nodes of simulated networks", columns)
    with ProcessPoolExecutor() as pool:
        results = pool.map(partial(of_number, kernel), cases)
        for (number, slow, speed, count), (found, confirmed, false, wrong, accused) in zip(cases, results):
            network = (NETWORKS + BLIND)[number]
            groups = "known" if network.groups else "unknown"
            of = f"of {slow * count}"
            cells = network.name, network.nodes, groups, slow, speed, count
            row(*cells, f"{found} {of}", f"{confirmed} {of}", false, wrong)
            what = f"{network.name}, {network.nodes} nodes, groups {groups}, {slow} slow at {speed:g}"
            goals.check(f"{what}: share of runs with a false name", wrong / count, most=FALSE)
            goals.check(f"{what}: share of runs with a false confirmed name", accused / count, most=0.01)
            if slow and speed <= OF_GOAL and number < len(NETWORKS):
                goals.check(f"{what}: share that is found", found / slow / count, least=FOUND)
    return goals.report()


def of_number(kernel: Path, case: tuple[int, int, float, int]) -> tuple[int, int, int, int, int]:
    """Routes cannot be sent to another process, the number of a network can."""
    return of_case(kernel, ((NETWORKS + BLIND)[case[0]], *case[1:]))


if __name__ == "__main__":
    sys.exit(main())
