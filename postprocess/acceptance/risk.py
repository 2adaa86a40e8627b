# SPDX-License-Identifier: Apache-2.0
"""The risks of a contract: how likely a machine of a known true value passes. Acceptances are drawn from noise and
judged by the functions that judge real ones (evaluation).

The supplier's risk is that of a good machine, at the bound or better, to fail; the centre's is that of a machine below
the bound to pass. All clauses are at the same distance from their bounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from coffeecup.postprocess.acceptance.contract import Clause, Contract
from coffeecup.postprocess.acceptance.evaluation import (
    NOT_PROVEN,
    PASS,
    Verdict,
    deciding,
    evaluate_relation,
    judged,
    overall,
)
from coffeecup.postprocess.acceptance.noise import Drawn, Noise, by_runs, runs_of
from coffeecup.postprocess.statistics.shares import share_interval

PERCENT = (-10.0, -5.0, -2.0, -1.0, 0.0, 1.0, 2.0, 5.0, 10.0)  # better than the bound; below 0 worse
DRAWS = 4000


@dataclass(frozen=True)
class Assumed:
    """What is assumed: the noise, how many sessions the runs of an acceptance are divided into, and the fraction of
    runs that are refused and repeated."""

    noise: Noise
    sessions: int = 1
    refused: float = 0.0
    draws: int = DRAWS
    seed: int = 0


@dataclass(frozen=True)
class Chance:
    """The probability to pass of a clause, by name, or of the whole contract (None), for a machine whose true values
    are `percent` better than the bounds. The interval is that of the draws, and of the nights that tell the noise.
    `runs` is the mean number of runs that decide a clause, None for the whole contract."""

    name: str | None
    percent: float
    value: float
    interval: tuple[float, float]
    runs: float | None = None


@dataclass(frozen=True)
class Simulation:
    """Acceptances of a contract, drawn once: the same ones are judged at each true value."""

    contract: Contract
    drawn: Drawn = field(repr=False)
    refused: np.ndarray = field(repr=False)  # runs that were refused before enough counted (draws,)

    def passed(self, percent: float) -> dict[str | None, np.ndarray]:
        """Which acceptances (draws,) each clause passes, and the whole contract (None)."""
        found: dict[str | None, np.ndarray] = {}
        verdicts: list[list[Verdict]] = [[] for _ in self.refused]
        for test, values in zip(by_runs(self.contract.clauses), self.drawn.values):
            for place, clause in enumerate(test):
                measured = true_value(clause, percent) * values[:, :, place]
                for one, runs in zip(verdicts, measured):
                    outcome, value, _ = judged(clause, runs.tolist())
                    one.append(Verdict(clause, outcome, value, "", ()))
                found[clause.name] = np.array([one[-1].outcome == PASS for one in verdicts])
        found[None] = np.array([self.accepted(one, int(refused)) for one, refused in zip(verdicts, self.refused)])
        return found

    def accepted(self, verdicts: list[Verdict], refused: int) -> bool:
        relations = [evaluate_relation(relation, verdicts) for relation in self.contract.relations]
        return overall([*verdicts, *relations], [] if self.contract.allows(refused) else [NOT_PROVEN]) == PASS

    def chances(self, percents: Sequence[float] = PERCENT) -> list[Chance]:
        return [
            Chance(name, percent, float(passed.mean()), interval(passed, self.drawn.nights), runs.get(name))
            for percent in percents
            for runs in [self.runs(percent)]
            for name, passed in self.passed(percent).items()
        ]

    def runs(self, percent: float) -> dict[str | None, float]:
        """The mean number of runs that decide each clause, by name."""
        found: dict[str | None, float] = {}
        for test, values in zip(by_runs(self.contract.clauses), self.drawn.values):
            for place, clause in enumerate(test):
                measured = true_value(clause, percent) * values[:, :, place]
                used = [deciding(clause, list(runs)) or [] for runs in measured] if clause.sequential else []
                found[clause.name] = float(np.mean([len(runs) for runs in used])) if used else clause.repetitions
        return found


def simulation(contract: Contract, assumed: Assumed) -> Simulation:
    """Draws acceptances of a contract."""
    tests = by_runs(contract.clauses)
    drawn = assumed.noise.draw(tests, assumed.draws, assumed.sessions, assumed.seed)
    rng = np.random.default_rng([assumed.seed, len(tests), 1])
    needed = sum(map(runs_of, tests))
    refused = rng.negative_binomial(needed, 1 - assumed.refused, assumed.draws) if assumed.refused else None
    return Simulation(contract, drawn, np.zeros(assumed.draws, dtype=int) if refused is None else refused)


def true_value(clause: Clause, percent: float) -> float:
    """So many percent better than the bound: above the floor, or below the ceiling if there is no floor."""
    bound, sign = (clause.ceiling, -1) if clause.floor is None else (clause.floor, 1)
    assert bound is not None  # contract_schema.json
    return bound + sign * abs(bound) * percent / 100


def interval(passed: np.ndarray, nights: np.ndarray) -> tuple[float, float]:
    """The interval of a probability, from acceptances (draws,) and how often each was drawn from each night (draws,
    nights): that of as many independent trials as give the variance of the estimate (Korn and Graubard, Survey
    Methodology 24 (1998) 193). The variance that the nights add is that of the infinitesimal jackknife on the same
    draws, less what their finite number adds (Wager, Hastie and Efron, J. Mach. Learn. Res. 15 (2014) 1625). The nights
    count as no more trials than they have disjoint sets for an acceptance."""
    draws, share = len(passed), float(passed.mean())
    trials, spread = float(draws), share * (1 - share)
    if nights.size:
        centred = nights - nights.mean(axis=0)
        influence = centred.T @ (passed - share) / draws
        noise = centred.var(axis=0).sum() * spread / draws
        variance = max(float((influence**2).sum() - noise), 0.0) + spread / draws
        disjoint = nights.shape[1] / float((nights > 0).sum(axis=1).mean())
        trials = min(disjoint, spread / variance if spread else disjoint)
    return share_interval(share * trials, trials)
