# SPDX-License-Identifier: Apache-2.0
"""A contract that keeps wanted risks: repetitions, statistic and guard band of each clause. The agreed bounds stay.

The supplier's risk of the whole contract is divided equally among its clauses, which suffices however they depend on
each other. The centre's risk is that of each clause, because a machine that is slow in one of them fails by it.

Recorded nights are resampled before acceptances are drawn from them: the risks of a proposal are means over the noises
that such a record may come from. Without this, and with a minimum, whose worst runs few records have, good machines
fail several times as often as wanted (tests/evidence/bench_risk.py). Nights that the record missed stay unknown: a
limit of runs that only quiet records keep selects those, and few weeks tell little of nights that depend on each other.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from coffeecup.postprocess.acceptance.contract import Clause, Contract
from coffeecup.postprocess.acceptance.evaluation import ROUNDING, too_wide
from coffeecup.postprocess.acceptance.noise import by_runs, session_of_runs
from coffeecup.postprocess.acceptance.risk import PERCENT, Assumed, Chance, simulation

STATISTICS = {"median": np.median, "mean": np.mean}
ANY_PRICE = 1000  # runs: more of one noise tell nothing else
WIDEST_GUARD = 50.0  # contract_schema.json


@dataclass(frozen=True)
class Wanted:
    """The risks that a contract may take, as fractions: the supplier's of the whole contract, and the centre's of each
    clause for a machine that is `below` percent worse than its bound. `most_runs` is the most of one clause."""

    supplier: float
    centre: float
    below: float
    most_runs: int


@dataclass(frozen=True)
class Proposal:
    """A clause with the proposed repetitions, statistic and guard band; None if no number of runs keeps the risks, and
    `smallest` is then how many percent below the bound a machine has to be to be told from a good one with `most_runs`
    and with ANY_PRICE runs, infinite if good machines fail too often by the scatter that the clause allows."""

    clause: Clause
    proposed: Clause | None
    smallest: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Plan:
    """The proposals for the clauses of a contract, in its order. `chances` are those of the contract as it is and of
    the proposed one, the latter none if a clause has no proposal. `node_hours` are
    the costs of one run of each clause, 0 if they are unknown."""

    contract: Contract
    wanted: Wanted
    proposals: tuple[Proposal, ...]
    agreed: list[Chance] = field(repr=False)
    proposed: list[Chance] = field(repr=False)
    node_hours: Mapping[str, float] = field(default_factory=dict)

    def cost(self, proposed: bool) -> float:
        """Node hours of all runs. Clauses on the same runs share them."""
        clauses = [one.proposed if proposed and one.proposed else one.clause for one in self.proposals]
        return sum(
            max(one.repetitions * self.node_hours.get(one.name, 0.0) for one in test) for test in by_runs(clauses)
        )


def plan(
    contract: Contract,
    assumed: Assumed,
    wanted: Wanted,
    node_hours: Mapping[str, float],
    percents: Sequence[float] = PERCENT,
) -> Plan:
    """Proposes the fewest runs of each clause that keep the wanted risks in a noise. The proposals are judged by other
    draws than those that chose them, for machines that are so many percent better than the bounds or as `wanted`."""
    found = {
        one.clause.name: one for test in by_runs(contract.clauses) for one in of_test(test, contract, assumed, wanted)
    }
    proposals = tuple(found[clause.name] for clause in contract.clauses)
    other, percents = replace(assumed, seed=assumed.seed + len(assumed.noises)), sorted({*percents, -wanted.below})
    clauses = tuple(one.proposed for one in proposals if one.proposed)
    complete = len(clauses) == len(proposals)
    changed = replace(contract, clauses=clauses)
    return Plan(
        contract,
        wanted,
        proposals,
        simulation(contract, other).chances(percents),
        simulation(changed, other).chances(percents) if complete else [],
        node_hours,
    )


def of_test(test: Sequence[Clause], contract: Contract, assumed: Assumed, wanted: Wanted) -> Iterator[Proposal]:
    """The proposals for clauses that the same runs decide: as many runs as the one that needs most."""
    supplier = sure(wanted.supplier / len(contract.clauses), assumed.draws)
    wanted = replace(wanted, centre=sure(wanted.centre, assumed.draws))
    values = drawn(test, assumed, wanted.most_runs)
    for runs in range(1, wanted.most_runs + 1):
        chosen = [clause_with(one, supplier, wanted) for one in first(runs, values, test)]
        if all(chosen):
            yield from (Proposal(clause, one) for clause, one in zip(test, chosen))
            return
    yield from beyond_price(test, assumed, supplier, wanted)


def sure(risk: float, draws: int) -> float:
    """The risk less two standard errors of so many draws, so that other draws keep it, too."""
    return max(risk - 2 * (risk * (1 - risk) / draws) ** 0.5, risk / 2)


def beyond_price(test: Sequence[Clause], assumed: Assumed, supplier: float, wanted: Wanted) -> Iterator[Proposal]:
    """The proposals for clauses of which one needs more than the most runs; the others get that number."""
    most, far_more = (first(runs, drawn(test, assumed, runs), test) for runs in (wanted.most_runs, ANY_PRICE))
    for clause, affordable, more in zip(test, most, far_more):
        chosen = clause_with(affordable, supplier, wanted)
        limits = (
            (0.0, 0.0) if chosen else (told_apart(affordable, supplier, wanted), told_apart(more, supplier, wanted))
        )
        yield Proposal(clause, chosen, limits)


@dataclass(frozen=True)
class Runs:
    """A clause with a number of repetitions, its values relative to the true one (draws, runs), and which acceptances
    (draws,) scatter more than it allows."""

    clause: Clause
    values: np.ndarray
    wide: np.ndarray

    def needed_guard(self, statistic: str, below: float = 0.0) -> np.ndarray:
        """The guard band, as a fraction of the bound, from which on each acceptance (draws,) passes, for a machine that
        is so many percent worse than the bound; infinite if its runs scatter too much."""
        needed = self.side * (1 - (1 - self.side * below / 100) * STATISTICS[statistic](self.values, axis=1))
        return np.where(self.wide, np.inf, needed)

    @property
    def side(self) -> int:
        return -1 if self.clause.floor is None else 1

    @property
    def statistics(self) -> list[str]:
        """The clause's own one is tried first, so that it stays if it serves."""
        possible = ["median"] if self.clause.sequential else [*STATISTICS]
        return sorted(possible, key=lambda statistic: statistic != self.clause.statistic)


def drawn(test: Sequence[Clause], assumed: Assumed, most: int) -> np.ndarray:
    """Values relative to the true ones (draws, sessions, runs of a session, clauses), enough for so many runs."""
    sessions = assumed.sessions if assumed.noise.repeated else 1
    each, inside = assumed.draws // len(assumed.noises), -(-most // sessions)
    enough = [replace(clause, repetitions=inside * sessions) for clause in test]
    found = [
        noise.draw([enough], each, sessions, seed).values[0] for seed, noise in enumerate(assumed.noises, assumed.seed)
    ]
    return np.concatenate(found).reshape(-1, sessions, inside, len(test))


def first(runs: int, values: np.ndarray, test: Sequence[Clause]) -> list[Runs]:
    """The first runs of what was drawn, so that numbers of runs are compared in the same acceptances."""
    session = session_of_runs(runs, values.shape[1])
    chosen = values[:, session, np.arange(runs) - np.searchsorted(session, session)]
    return [
        Runs(replace(clause, repetitions=runs), chosen[:, :, place], scattered(clause, chosen[:, :, place]))
        for place, clause in enumerate(test)
    ]


def scattered(clause: Clause, values: np.ndarray) -> np.ndarray:
    """Which acceptances (draws,) scatter more than a clause allows, which does not depend on the true value."""
    if (clause.variation, clause.least_of_median, clause.most_of_median) == (None, None, None):
        return np.zeros(len(values), dtype=bool)
    return np.array([any(too_wide(clause, runs.tolist())) for runs in values])


def clause_with(runs: Runs, supplier: float, wanted: Wanted) -> Clause | None:
    """The clause with the smallest guard band, in tenths of a percent, with which these runs keep the risks."""
    for statistic in runs.statistics:
        guard = float(np.quantile(runs.needed_guard(statistic), 1 - supplier, method="higher"))
        guard = max(math.ceil(1000 * guard - ROUNDING) / 10, 0.0) if guard < math.inf else math.inf
        passed = runs.needed_guard(statistic, wanted.below) <= guard / 100 + ROUNDING
        if guard <= WIDEST_GUARD and passed.mean() <= wanted.centre:
            return replace(runs.clause, statistic=statistic, guard_band=guard)
    return None


def told_apart(runs: Runs, supplier: float, wanted: Wanted) -> float:
    """How many percent worse than its bound a machine has to be, at least, that the best statistic keeps the risks;
    infinite if none does."""
    found, side = math.inf, runs.side
    for statistic in runs.statistics:
        needed = runs.needed_guard(statistic)
        guard = max(np.quantile(needed, 1 - supplier, method="higher"), 0.0)
        if guard < math.inf:
            best = np.quantile(needed, wanted.centre, method="lower")
            found = min(found, 100 * side * (1 - (1 - side * guard) / (1 - side * best)))
    return float(found)
