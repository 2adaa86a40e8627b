# SPDX-License-Identifier: Apache-2.0
"""Which nodes are slow, from times of pairs of nodes, or of single nodes.

The model: the logarithm of a pair's time is the usual one of its loop, plus the effect of the *slower* of the two
nodes, plus noise. A sum of both effects instead of the larger one would attribute a part of a slow node's effect to its
partners. All estimates are medians, and the noise is taken from the run itself. Where nodes are of several kinds, such
as two generations, a node is judged by how much slower it is than its kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, inf, log, nan

import numpy as np
import pandas as pd

from coffeecup.postprocess.statistics.medians import CONFIDENCE, interval

SLOWER = 0.95  # a node is slow if it certainly reaches less than this share of its peers' bandwidth
FALSE_SUSPICION = 0.01  # probability that chance makes any node of a healthy run a suspect
MOST = 1 / 3  # a larger share of slow nodes is a property of the machine: it is unknown which ones are the peers
MOST_FAST = 1 / 8  # of the units of a slow node: noise makes nothing faster, but disturbs what is compared with
BURSTS = 1 / 200  # of the units of a run: so many times are fast by a disturbance of what they are compared with
VARIED = -2 * log(0.9)  # the largest effect by half of which a unit is fast, where effects differ between units
UNSURE = 1 / 64  # probability that a suspect which is slow in half of its rounds is confirmed
FEWEST = 3  # nodes of a kind: fewer are no peers of each other
ROUNDS, PASSES = 4, 8  # at most: both settle earlier as a rule
TOO_MANY, SOME_PARTNERS = "too many", "some partners"
UNIT, CONDITION, FIRST, SECOND, SECONDS = COLUMNS = ["unit", "condition", "first", "second", "seconds"]


@dataclass(frozen=True)
class Effects:
    """`nodes` has a row per node: `ratio`, its bandwidth to that of the median node of its kind, with `low` and `high`,
    an interval of CONFIDENCE; `slow` of the `examined` units without a slower partner in which it reached less than
    SLOWER of that; `probability` that chance alone makes so many slow; `level`, the bandwidth of its kind to that of
    the median node; `alone`, whether fewer than FEWEST nodes are of its kind, so that it is compared with all and is no
    suspect; `met`, its units with or without a slower partner; `suspect`. NaN where nothing is known of the node.

    `exceeding` is the share of times that noise alone makes slow. `withheld` states why slow nodes are no suspects,
    empty if they are: TOO_MANY, so that it is unknown which ones are the peers, or SOME_PARTNERS, with which alone they
    are slow: that is a property of the network between them."""

    nodes: pd.DataFrame
    exceeding: float
    withheld: str

    @property
    def suspects(self) -> list[int]:
        """The slowest first."""
        return list(self.nodes[self.nodes["suspect"]].sort_values("ratio").index)


def effects(
    times: pd.DataFrame,
    nodes: int,
    false_suspicion: float = FALSE_SUSPICION,
    exceeding: float = 0.0,
    varied: bool = False,
    kinds: Sequence[str] | None = None,
) -> Effects:
    """The effect of each of `nodes` nodes. `false_suspicion` is the probability that chance makes any of them a
    suspect; `exceeding`, the least share of times that noise makes slow, where it is known; `varied`, whether a node's
    effect may differ between units, as between requests of different sizes. `kinds` has the kind of each node; without
    it, all are of the same.

    `times` has the columns COLUMNS: `seconds` that the nodes `first` and `second` (the same one twice for a node's own
    time) needed in a loop of `unit` (a matching: its loops follow each other, so one disturbance may affect them all)
    under `condition` (what makes times comparable: message length, direction, processes). Pairs of a loop communicate
    at the same time. Raises ValueError for times that are not positive and finite.
    """
    seconds = times[SECONDS].to_numpy(float)
    if not (np.isfinite(seconds) & (seconds > 0)).all():
        raise ValueError("a time is not positive and finite")
    pairs = times.assign(
        time=np.log(seconds),
        condition=times.groupby(CONDITION).ngroup(),
        loop=times.groupby([UNIT, CONDITION]).ngroup(),
        pair=times.groupby([UNIT, FIRST, SECOND], sort=False).ngroup(),
    )
    pairs["time"] -= medians(pairs["time"], pairs[CONDITION])
    effect, of_kind = np.zeros(nodes), np.array([""] * nodes if kinds is None else kinds)
    for _ in range(ROUNDS):
        before = effect
        effect = fitted(*by_node(of_units(pairs, before), nodes), of_kind)
        effect = effect - np.nanmedian(effect)
        if np.array_equal(effect, before, equal_nan=True):
            break
    return judged(effect, of_units(pairs, effect), of_kind, (false_suspicion, exceeding), VARIED if varied else inf)


def explained(pairs: pd.DataFrame, effect: np.ndarray) -> np.ndarray:
    """The effect of the slower node of each pair, 0 where neither is known."""
    return np.nan_to_num(np.fmax(effect[pairs[FIRST]], effect[pairs[SECOND]]))


def of_units(pairs: pd.DataFrame, effect: np.ndarray) -> pd.DataFrame:
    """A row per unit and pair: the median over conditions of its time relative to that of its loop. What slows down a
    whole loop, such as other traffic, is no pair's property. A single pair has only its condition to compare with."""
    rest = pairs["time"] - explained(pairs, effect)
    single = np.bincount(pairs["loop"])[pairs["loop"]] == 1
    usual = np.where(single, medians(rest, pairs[CONDITION]), medians(rest, pairs["loop"]))
    units = pairs.assign(time=medians(pairs["time"] - usual, pairs["pair"]))
    return units.drop_duplicates("pair")[[UNIT, FIRST, SECOND, "time"]]


def medians(values: pd.Series, groups: pd.Series) -> np.ndarray:
    """For each value the median of its group, of which `groups` has the numbers 0, 1, ... One sort finds them
    all; pandas searches in each of thousands of small groups."""
    order = np.lexsort((values, groups))
    size = np.bincount(groups)
    first = np.cumsum(size) - size
    ascending = values.to_numpy()[order]
    of_group = (ascending[first + (size - 1) // 2] + ascending[first + size // 2]) / 2
    return of_group[groups]


def by_node(units: pd.DataFrame, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays of shape (nodes, largest number of units of a node): the times of the units of each node, NaN after
    its last one, and its partner in each unit, which is the node itself if it had none."""
    first, second, time = (units[name].to_numpy() for name in (FIRST, SECOND, "time"))
    alone = first == second
    node = np.concatenate([first, second[~alone]])
    partner = np.concatenate([second, first[~alone]])
    time = np.concatenate([time, time[~alone]])
    place = pd.Series(node).groupby(node).cumcount().to_numpy()
    shape = (nodes, int(place.max(initial=-1)) + 1)
    values, partners = np.full(shape, nan), np.tile(np.arange(nodes)[:, None], shape[1])
    values[node, place], partners[node, place] = time, partner
    return values, partners


def own_units(effect: np.ndarray, values: np.ndarray, partners: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """In which of its units a node's partner is not clearly slower, so that the time is the node's own. Where nodes are
    of several kinds, a partner must not be clearly slower than the kind of the node, or than the node in its fastest
    unit with such partners: with slower ones, nodes of a fast kind seem slow."""
    least = effect
    if len(set(kinds)) > 1:
        level, _ = levels(effect, kinds)
        of_kind = ~(effect[partners] > level[:, None] - log(SLOWER)) & np.isfinite(values)
        fastest = np.where(of_kind, values, inf).min(axis=1, initial=inf)
        least = np.where(np.isfinite(fastest), np.fmax(level, fastest), level)
    alone = partners == np.arange(len(partners))[:, None]
    return alone | ~(effect[partners] > least[:, None] - log(SLOWER))


def fitted(values: np.ndarray, partners: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """Each node's median over its own units, which depend on the other nodes' effects. It begins with the fast
    units: a fast node has some fast partners, a slow one has no fast unit."""
    known = np.isfinite(values).any(axis=1)
    effect = np.full(len(values), nan)
    effect[known] = np.nanquantile(values[known], MOST_FAST, axis=1)
    for _ in range(PASSES):
        before = effect.copy()
        own = np.where(own_units(effect, values, partners, kinds), values, nan)
        there = np.isfinite(own).any(axis=1)
        effect[there] = np.nanmedian(own[there], axis=1)
        if np.array_equal(effect, before, equal_nan=True):
            break
    return effect


def levels(effect: np.ndarray, kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each node the median effect of its kind, and whether it has too few peers: then the median is that of all."""
    table = pd.DataFrame({"effect": effect, "kind": kinds}).groupby("kind")["effect"]
    alone = (table.transform("size") < FEWEST).to_numpy()
    level = table.transform("median").to_numpy()
    return np.nan_to_num(np.where(alone, 0.0, level)), alone & (len(effect) >= FEWEST)


def judged(
    effect: np.ndarray, units: pd.DataFrame, kinds: np.ndarray, chance: tuple[float, float], most: float
) -> Effects:
    """Suspects are slower by the interval of their effect, slow more often than the run's noise explains, and slow with
    every partner: a shared link is slow with those beyond it only. Of times of single nodes, each node's contradict
    itself alone. A unit is fast by half of the effect, of which at most `most` counts. `chance` are false_suspicion and
    exceeding of effects()."""
    level, alone = levels(effect, kinds)
    rest = units["time"].to_numpy() - explained(units, effect)
    false_suspicion, known = chance
    exceeding = max(known, float(((rest > -log(SLOWER)).sum() + 1) / (len(rest) + 2)))
    values, partners = by_node(units, len(effect))
    met = np.isfinite(values).sum(axis=1)
    values[~own_units(effect, values, partners, kinds)] = nan
    values -= level[:, None]
    table = pd.DataFrame([of_node(row[np.isfinite(row)], exceeding, most) for row in values])
    table = table.assign(level=np.exp(-level), alone=alone, met=met)
    by_chance = table["probability"] * len(effect) > false_suspicion
    unlikely = (table["high"] < SLOWER) & ~by_chance
    table["slower"] = unlikely & (table["fast"] <= MOST_FAST * table["examined"])
    healthy = explained(units, level)
    slow = np.where(by_chance, nan, effect)
    of_slow = np.fmax(np.fmax(slow[units[FIRST]], slow[units[SECOND]]), healthy) - healthy
    called = of_slow > -2 * log(SLOWER)
    fast = called & (units["time"].to_numpy() - healthy < np.minimum(of_slow, most) / 2)
    if (units[FIRST] == units[SECOND]).all():
        contradicted = unlikely.any() and not table["slower"].any()
    else:
        disturbed = max(MOST_FAST * called.sum(), BURSTS * len(units))
        contradicted = unlikely.any() and fast.sum() > disturbed
    too_many = table.groupby(np.where(alone, "", kinds))["slower"].transform("mean") > MOST
    withheld = TOO_MANY if (too_many & ~alone).any() else SOME_PARTNERS if contradicted else ""
    table["suspect"] = table["slower"] & ~alone & ~too_many & (not contradicted)
    return Effects(table, exceeding, withheld)


def of_node(own: np.ndarray, exceeding: float, most: float) -> dict:
    """The row of a node with these times."""
    if not len(own):
        return {"ratio": nan, "low": nan, "high": nan, "slow": 0, "fast": 0, "examined": 0, "probability": 1.0}
    low, high, confidence = interval(own)
    if not confidence >= CONFIDENCE:  # also NaN, of a single time
        low, high = -inf, inf
    slow = int((own > -log(SLOWER)).sum())
    return {
        "ratio": float(np.exp(-np.median(own))),
        "low": float(np.exp(-high)),
        "high": float(np.exp(-low)),
        "slow": slow,
        "fast": int((own < min(float(np.median(own)), most) / 2).sum()),
        "examined": len(own),
        "probability": at_least(slow, len(own), exceeding),
    }


def at_least(successes: int, trials: int, probability: float) -> float:
    """P(at least so many successes) of the binomial distribution."""
    return sum(
        comb(trials, count) * probability**count * (1 - probability) ** (trials - count)
        for count in range(successes, trials + 1)
    )
