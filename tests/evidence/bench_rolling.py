# SPDX-License-Identifier: Apache-2.0
"""What a rolling examination finds in a fleet of which few nodes are idle each night, and whom it names falsely.
Prints tables, and exits with 1 if a goal is missed.

    .venv/bin/python tests/evidence/bench_rolling.py [--fleets 100] [--sites 100] [--seed 20261127]

FLEETS fleets in which one node has 0.8 of the bandwidth are examined until it is named, but for at most 60 nights after
its first examination. SITES healthy fleets are examined for a year. Each night 200 random nodes of 1000 are idle, of
which 32 may be examined. The groups' times are those of bench_nodes.py, with all its noises, judged by
statistics.nodes. In a night, a node differs by 2 %, one in a hundred is disturbed and has 0.7 of the bandwidth, and in
every second night so do the 40 nodes of a rack.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

from bench_tables import Goals, header, parsed, row
from nodes_made import NOISE, Machine, matchings, times

from coffeecup.postprocess.history.nodes import COLUMNS, over_sessions
from coffeecup.postprocess.history.rolling import FALSE_NAME, GROUP, MINUTES, plan
from coffeecup.postprocess.statistics.nodes import SLOWER, effects

NODES, IDLE, EXAMINED, NIGHTS, A_YEAR = 1000, 200, 32, 60, 365
SLOW, RACK, DISTURBED, DIFFER = 0.8, 40, 0.7, 0.02
RUNS = 40  # of groups, with each noise, of which nights draw
START = datetime(2026, 1, 1, 2, tzinfo=UTC)
NAMES = [f"x{node:04}" for node in range(NODES)]
FOUND = 0.95


@cache
def runs(speed: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """Ratios of the nodes of a group, and which are suspects; the first node has this speed."""
    found = []
    for number in range(RUNS * len(NOISE)):
        rng = np.random.default_rng([number, int(100 * speed)])
        machine = Machine(np.array([speed, *[1.0] * (GROUP - 1)]))
        noise = list(NOISE.values())[number % len(NOISE)]
        nodes = effects(times(machine, rng, noise, matchings(rng, GROUP)), GROUP).nodes
        found.append((nodes["ratio"].to_numpy(), nodes["suspect"].to_numpy()))
    return found


def examined(rng, group: list[str], slow: str | None, congested: int) -> Iterator[tuple]:
    """Node, ratio, high and suspected of each node of a group in a night."""
    ordered = sorted(group, key=lambda name: name != slow)
    pool = runs(SLOW if slow in group else 1.0)
    ratio, suspect = pool[rng.integers(len(pool))]
    racks = np.array([NAMES.index(name) // RACK for name in ordered])
    disturbed = (rng.random(len(ordered)) < 0.01) | (racks == congested)
    ratio = ratio * np.exp(DIFFER * rng.standard_normal(len(ordered))) * np.where(disturbed, DISTURBED, 1)
    suspect = (suspect & (ratio < SLOWER)) | disturbed
    yield from zip(ordered, ratio, np.where(suspect, ratio * 1.01, np.maximum(ratio, SLOWER)), suspect)


def nights(rng, slow: str | None = None) -> Iterator[tuple[pd.DataFrame, set[str]]]:
    """The history after each night, and the nodes that are named by then. Looks that cannot name a node are left out:
    the interval of a node's median needs six sessions, of which most are slow; 1 % remains for what the other nodes of
    its groups change."""
    table = pd.DataFrame(columns=COLUMNS).astype({"group": str, "suspected": bool})
    table["session_time"] = pd.to_datetime(table["session_time"], utc=True)
    named, ratios, number = set(), {name: [] for name in NAMES}, 0
    while True:
        now = START + timedelta(days=number)
        idle = [NAMES[node] for node in rng.choice(NODES, IDLE, replace=False)]
        congested = rng.integers(2 * NODES // RACK)  # half of the numbers are of no rack
        rows = []
        for place, group in enumerate(plan(table, named, idle, EXAMINED * MINUTES / 60, now)):
            for name, ratio, high, suspect in examined(rng, group, slow, congested):
                where = str(number), pd.Timestamp(now), "fleet", "rolling", name
                rows.append((*where, ratio, high, suspect, False, f"{number}:{place}", np.nan))
                ratios[name] = [*ratios[name][-9:], ratio < SLOWER + 0.01]
        new = pd.DataFrame(rows, columns=COLUMNS)
        table = pd.concat([table, new], ignore_index=True) if number else new
        if any(sum(ratios[name]) >= 6 for name in new["node"]):
            found = over_sessions(table)
            named = set(found["node"][found["slow"].astype(bool)])
        yield table, named
        number += 1


def of_fleet(seed: int, number: int) -> tuple[int, int | None, set[str]]:
    """Nodes that were never examined in the first nights, the nights from the slow node's first examination until it
    is named, None if it is not named in time, and who else is named."""
    slow, first, never, found, false = NAMES[number], None, 0, None, set()
    for night, (table, named) in enumerate(nights(np.random.default_rng([seed, 1, number]), slow), 1):
        if first is None and slow in set(table["node"]):
            first = night
        false |= named - {slow}
        if slow in named and first is not None and found is None:
            found = night - first
        if night == NIGHTS:
            never = NODES - table["node"].nunique()
        if night >= NIGHTS and first is not None and (found is not None or night - first >= NIGHTS):
            return never, found, false
    raise AssertionError("nights do not end")


def of_site(seed: int, number: int) -> set[str]:
    """Nodes that are named within a year."""
    false: set[str] = set()
    for night, (_, named) in enumerate(nights(np.random.default_rng([seed, 2, number])), 1):
        false |= named
        if night == A_YEAR:
            return false
    raise AssertionError("nights do not end")


def reachable(seed: int, count: int = 20000) -> float:
    """The share of fleets of which a plan without any other duty could examine all nodes."""
    rng, left = np.random.default_rng([seed, 3]), np.full(count, NODES)
    for _ in range(NIGHTS):
        left = left - np.minimum(rng.hypergeometric(left, NODES - left, IDLE), EXAMINED)
    return float((left == 0).mean())


def main() -> int:
    options = parsed(__doc__, fleets=100, sites=100, seed=20261127)
    goals = Goals()
    with ProcessPoolExecutor() as pool:
        fleets = list(pool.map(partial(of_fleet, options.seed), range(options.fleets)))
        sites = list(pool.map(partial(of_site, options.seed), range(options.sites)))
    never, best = np.array([never for never, _, _ in fleets]), reachable(options.seed)
    waited = [found for _, found, _ in fleets if found is not None]
    header(f"Fleets of {NODES} nodes, {NIGHTS} nights", "what; result")
    row("nodes that were examined", f"{1 - never.mean() / NODES:.5f}")
    row("fleets of which all nodes were examined", f"{(never == 0).sum()} of {len(fleets)}")
    row("the same, of a plan without any other duty", f"{best:.3f}")
    row(f"nodes at {SLOW} that were named in time", f"{len(waited)} of {len(fleets)}")
    row("nights until then: median, longest", f"{np.median(waited):g}, {max(waited)}")
    row("fleets with a false name", sum(bool(false) for _, _, false in fleets))
    header("Healthy fleets, a year each", "what; result")
    row("false names", f"{sum(map(len, sites))} of {len(sites)} fleets")
    by_chance = 3 * (best * (1 - best) / len(fleets)) ** 0.5
    goals.check("share of fleets of which all nodes are examined", (never == 0).mean(), least=best - by_chance)
    goals.check("share of slow nodes that are named in time", len(waited) / len(fleets), least=FOUND)
    goals.check("false names in a site and year", sum(map(len, sites)) / len(sites), most=FALSE_NAME)
    return goals.report()


if __name__ == "__main__":
    sys.exit(main())
