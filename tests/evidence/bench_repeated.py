# SPDX-License-Identifier: Apache-2.0
"""What sessions show of nodes and links that are bad now and then: how soon `coffeecup nodes` names the one that is,
and whom it names falsely in a year. Prints tables, and exits with 1 if a goal is missed.

    .venv/bin/python tests/evidence/bench_repeated.py [--sites 100] [--planted 100] [--runs 2000] [--seed 20261128]

Each night one run examines all NODES nodes of a site, and statistics.nodes judges its made-up times. Of PLANTED sites
one node has half of the bandwidth in SHARE of its matchings; SITES sites are healthy for a year. Each kind of noise has
an equal part of them. RUNS runs of each number of nodes and each kind of healthy retransmissions, and as many with a
link that loses a hundredth of its packets, are compared as in one run; then each night of sites for a year.
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import orjson
import pandas as pd

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

from bench_tables import Goals, header, parsed, row
from nodes_made import NOISE, Machine, heavy_tailed, matchings, times, two_states, usual

from coffeecup.postprocess.benchmarks.links import FALSE_NAME as FALSE_LINK
from coffeecup.postprocess.benchmarks.links import LOSSES, MOST_NAMED, standing_out
from coffeecup.postprocess.history.node_kinds import kinds as kinds_of
from coffeecup.postprocess.history.repeated import WINDOW, links, now_and_then
from coffeecup.postprocess.history.rolling import FALSE_NAME
from coffeecup.postprocess.statistics.nodes import effects

NODES, A_YEAR, SOON, SHARE, OLDER, RACK = 64, 365, 20, 0.3, 0.85, 16
BAD, MADE, FOUND = NODES - 1, 60, 0.95
PERSISTENT = "nodes differ by 1 %"
START = datetime(2026, 1, 1, 2, tzinfo=UTC)


class Site:
    """Nights of one site. `noise` is the name of one of NIGHTS; `bad`, whether the last node is slow now and then."""

    def __init__(self, rng, noise: str, bad: bool):
        self.rng, self.noise, self.bad = rng, noise, bad
        self.own = np.exp(0.01 * rng.standard_normal(NODES)) if noise == PERSISTENT else np.ones(NODES)
        self.older = rng.permutation(NODES) < (0.3 * NODES if "older" in noise else 0)
        self.known = "known" in noise
        rack = np.arange(NODES) < (RACK if noise == "congested rack" else 0)
        self.alike = self.older + 2 * rack + 4 * (np.arange(NODES) == BAD) * bad  # nodes that may stand for each other
        self.made = [self.run() for _ in range(A_YEAR if noise == PERSISTENT else MADE)]

    def disturbed(self, rng, machine, loops, pairs) -> np.ndarray:
        """Factors of the times of a run."""
        factors = NIGHTS[self.noise](rng, machine, loops, pairs)
        if self.noise == "congested rack" and rng.random() < 0.5:
            factors = factors * np.where((pairs < RACK).sum(axis=1) == 1, 1.5, 1)[:, None]
        if self.bad:
            slow = rng.random(loops.max() + 1) < SHARE
            factors = factors * np.where(slow[loops] & (pairs == BAD).any(axis=1), 2, 1)[:, None]
        return factors

    def run(self) -> pd.DataFrame:
        """Ratio and share of slow matchings of each node."""
        machine = Machine(np.where(self.older, OLDER, 1) / self.own)
        table = times(machine, self.rng, self.disturbed, matchings(self.rng, NODES))
        known = [str(old) for old in self.older] if self.known else None
        found = effects(table, NODES, kinds=known).nodes
        return found[["ratio"]].assign(share=found["slow"] / found["examined"].where(found["examined"] > 0))

    def night(self, number: int) -> pd.DataFrame:
        """The rows of a history.nodes.node_table: one of the runs that were made, with nodes that are alike in another
        order, so that it is a new one."""
        made = self.made[number if self.noise == PERSISTENT else self.rng.integers(MADE)]
        mixed = self.rng.permutation(NODES)
        place = np.empty(NODES, int)
        place[np.argsort(self.alike, kind="stable")] = mixed[np.argsort(self.alike[mixed], kind="stable")]
        made = made if self.noise == PERSISTENT else made.iloc[place].reset_index(drop=True)
        rows = {"session": str(number), "session_time": pd.Timestamp(START + timedelta(days=number))}
        return made.assign(node=range(NODES), **rows)


NIGHTS: dict[str, Callable] = NOISE | {
    PERSISTENT: usual,  # the same nodes every night
    "3 %, heavy tails": heavy_tailed,
    "3 %, a fifth doubled": two_states,
    "congested rack": usual,
    "30 % older, known": usual,
    "30 % older, found": usual,
}


def named_by(site: Site, nights: int) -> Iterator[set[int]]:
    """The nodes that are named after each night."""
    table = pd.DataFrame()
    kinds = pd.Series(0, range(NODES))
    for number in range(nights):
        table = pd.concat([table, site.night(number)], ignore_index=True)
        if number in (3, 6, 10):
            kinds = kinds_of(table).sort_index()
        found = now_and_then(table[table["session_time"] > START + timedelta(days=number - WINDOW)], kinds)
        yield set(found.index[found["intermittent"]])


def of_site(seed: int, bad: bool, case: tuple[int, str]) -> tuple[int | None, set[int]]:
    """The session by which the bad node is named, None if it never is, and all others that are."""
    number, noise = case
    first, false = None, set()
    site = Site(np.random.default_rng([seed, bad, number]), noise, bad)
    for night, named in enumerate(named_by(site, 2 * SOON if bad else A_YEAR), 1):
        false |= named - {BAD} if bad else named
        first = night if first is None and bad and BAD in named else first
    return first, false


def nodes_now_and_then(pool, options, goals: Goals) -> None:
    header(
        f"A node of {NODES} at half of its bandwidth in {SHARE:.0%} of the matchings",
        f"noise; sites; named within {SOON} sessions; median; latest; others named; healthy sites; names in a year",
    )
    names = list(NIGHTS)
    bad = [(number, names[number % len(names)]) for number in range(options.planted)]
    sound = [(number, names[number % len(names)]) for number in range(options.sites)]
    planted = dict(zip(bad, pool.map(partial(of_site, options.seed, True), bad)))
    healthy = dict(zip(sound, pool.map(partial(of_site, options.seed, False), sound)))
    soon = wanted = 0
    for name in names:
        found = [result for (_, noise), result in planted.items() if noise == name]
        first = [first for first, _ in found if first is not None]
        in_time = sum(place <= SOON for place in first)
        wanted += len(found) * (name != "congested rack")  # as many others of the rack stand out as much
        soon += in_time * (name != "congested rack")
        others = sum(len(false) for _, false in found)
        alone = [len(false) for (_, noise), (_, false) in healthy.items() if noise == name]
        row(
            name,
            len(found),
            in_time,
            np.median(first) if first else "-",
            max(first, default="-"),
            others,
            len(alone),
            sum(alone),
        )
    every = sum(len(false) for _, false in healthy.values())
    goals.check(f"share of nodes that are named within {SOON} sessions", soon / wanted, least=FOUND)
    goals.check("names of healthy nodes in a site and year", every / options.sites, most=FALSE_NAME)


# --- links ------------------------------------------------------------------------------------------------------------


TCP, PACKETS, LOST = LOSSES[0], 100_000, 0.01
RATES: dict[str, Callable] = {  # of retransmissions of healthy nodes
    "hardly any": lambda rng, nodes: np.full(nodes, 1e-5),
    "everywhere, 1 %": lambda rng, nodes: 1e-2 * np.exp(0.5 * rng.standard_normal(nodes)),
    "0.1 %, log-normal": lambda rng, nodes: 1e-3 * np.exp(rng.standard_normal(nodes)),
    "0.1 %, power law": lambda rng, nodes: 1e-3 * rng.random(nodes) ** -0.5,
    "a fifth ten times": lambda rng, nodes: 5e-4 * np.where(rng.random(nodes) < 0.2, 10, 1),
    "a rack ten times": lambda rng, nodes: 5e-4 * np.where(np.arange(nodes) < nodes // 4, 10, 1),
    "1 % of the nodes disturbed": lambda rng, nodes: 1e-5 + 1e-2 * rng.random(nodes) * (rng.random(nodes) < 0.01),
}


def compared(rng, rates: np.ndarray) -> dict[str, str]:
    """The links that a run names."""
    sent = rng.integers(PACKETS, 2 * PACKETS, len(rates))
    again = rng.poisson(sent * np.minimum(rates, 0.5))
    table = [(str(node), int(count), int(total)) for node, (count, total) in enumerate(zip(again, sent))]
    found = standing_out(TCP, table)
    return found if len(found) <= MOST_NAMED else {}


def of_runs(seed: int, count: int, case: tuple[str, int]) -> tuple[int, int, int]:
    """Healthy runs that name anybody; runs that name the node that loses packets, and those that name another."""
    (name, nodes), rng = case, np.random.default_rng([seed, *case[0].encode(), case[1]])
    false = found = others = 0
    for _ in range(count):
        rates = RATES[name](rng, nodes)
        false += bool(compared(rng, rates))
        named = compared(rng, rates + LOST * (np.arange(nodes) == 0))
        found, others = found + ("0" in named), others + bool(named.keys() - {"0"})
    return false, found, others


def links_of_site(seed: int, case: tuple[int, str, bool]) -> tuple[int | None, set[str]]:
    """The night by which the link of node 0 is a finding, and all others that are one within a year."""
    number, name, bad = case
    rng, first, false = np.random.default_rng([seed, bad, number]), None, set()
    kept: list[dict] = []
    for night in range(SOON if bad else A_YEAR):
        named = compared(rng, RATES[name](rng, NODES) + LOST * bad * (np.arange(NODES) == 0))
        effect = orjson.dumps({"links": {"compared": NODES, "named": named}}).decode()
        when = pd.Timestamp(START + timedelta(days=night))
        kept.append({"session": str(night), "session_time": when, "system": "site", "node_effects": effect})
        if named and night:
            found = links(pd.DataFrame(kept), 10)
            again = set(found["node"][found["again"]])
            first = night + 1 if bad and first is None and "0" in again else first
            false |= again - {"0"} if bad else again
    return first, false


def links_that_lose_packets(pool, options, goals: Goals) -> None:
    columns = "retransmissions; nodes; runs; healthy ones with a name; the link that loses 1 % named; another"
    header("Links in one run", columns)
    cases = [(name, nodes) for name in RATES for nodes in (4, 16, 64)]
    for (name, nodes), (false, found, others) in zip(
        cases, pool.map(partial(of_runs, options.seed, options.runs), cases)
    ):
        row(name, nodes, options.runs, false, found, others)
        if name != "1 % of the nodes disturbed":  # a loss that is real, in one run
            goals.check(
                f"{name}, {nodes} nodes: share of healthy runs with a name", false / options.runs, most=FALSE_LINK
            )
        if name == "hardly any":
            goals.check(f"{name}, {nodes} nodes: share that is named", found / options.runs, least=FOUND)
    header(
        f"Links of {NODES} nodes over sessions",
        f"retransmissions; sites; found within {SOON}; latest; others; healthy; names in a year",
    )
    every = 0
    for name in RATES:
        numbers = range(options.sites)
        of_bad = list(pool.map(partial(links_of_site, options.seed), [(number, name, True) for number in numbers]))
        sound = list(pool.map(partial(links_of_site, options.seed), [(number, name, False) for number in numbers]))
        first = [night for night, _ in of_bad if night]
        names = sum(len(false) for _, false in sound)
        every += names
        row(name, len(of_bad), len(first), max(first, default="-"), sum(len(f) for _, f in of_bad), len(sound), names)
    goals.check("names of healthy links in a site and year", every / options.sites / len(RATES), most=FALSE_NAME)


def main() -> int:
    options = parsed(__doc__, sites=100, planted=100, runs=2000, seed=20261128)
    goals = Goals()
    with ProcessPoolExecutor() as pool:
        links_that_lose_packets(pool, options, goals)
        nodes_now_and_then(pool, options, goals)
    return goals.report()


if __name__ == "__main__":
    sys.exit(main())
