# SPDX-License-Identifier: Apache-2.0
"""The risks of a contract: how likely a machine of a known true value passes. Acceptances are drawn from noise and
judged by the functions that judge real ones (evaluation).

The supplier's risk is that of a good machine, at the bound or better, to fail; the centre's is that of a machine below
the bound to pass. All clauses are at the same distance from their bounds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

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


@dataclass(frozen=True)
class Assumed:
    """What is assumed: the noise, how many sessions the runs of an acceptance are divided into, and the fraction of
    runs that are refused and repeated."""

    noise: Noise
    sessions: int = 1
    refused: float = 0.0
    draws: int = 4000
    seed: int = 0

    @cached_property
    def noises(self) -> Sequence[Noise]:
        """What the noise may be, as far as it is known."""
        return self.noise.resampled(self.seed)


@dataclass(frozen=True)
class Chance:
    """The probability that a clause, by name, or the whole contract (None) passes, for a machine whose true values are
    so many percent better than the bounds. The interval is that of the draws, and of the nights that tell the noise.
    `runs` is the mean number of runs that decide a clause, None for the whole contract."""

    clause: str | None
    percent_better: float
    passes: float
    passes_low: float
    passes_high: float
    runs: float | None


@dataclass(frozen=True)
class Simulation:
    """Acceptances of a contract, drawn once: the same ones are judged at each true value."""

    contract: Contract
    drawn: Drawn = field(repr=False)
    refused: np.ndarray = field(repr=False)  # runs that were refused before enough counted (draws,)

    def outcomes(self, percent: float) -> Iterator[tuple[str | None, np.ndarray, float | None]]:
        """For each clause by name, and for the whole contract (None): which acceptances (draws,) pass, and the mean
        number of runs that decide them."""
        verdicts: list[list[Verdict]] = [[] for _ in self.refused]
        for test, values in zip(by_runs(self.contract.clauses), self.drawn.values):
            for place, clause in enumerate(test):
                measured, used = true_value(clause, percent) * values[:, :, place], []
                for one, drawn in zip(verdicts, measured):
                    runs = drawn.tolist()
                    outcome, value, _ = judged(clause, runs)
                    one.append(Verdict(clause, outcome, value, "", ()))
                    used.append(len(deciding(clause, runs) or runs))
                passed = np.array([one[-1].outcome == PASS for one in verdicts])
                yield clause.name, passed, float(np.mean(used))
        yield None, np.array([self.accepted(one, int(count)) for one, count in zip(verdicts, self.refused)]), None

    def accepted(self, verdicts: list[Verdict], refused: int) -> bool:
        relations = [evaluate_relation(relation, verdicts) for relation in self.contract.relations]
        gaps = [NOT_PROVEN] if refused > self.contract.refused_runs else []
        return overall([*verdicts, *relations], gaps) == PASS

    def chances(self, percents: Sequence[float] = PERCENT) -> list[Chance]:
        return [
            Chance(name, percent, float(passed.mean()), *interval(passed, self.drawn.nights), runs)
            for percent in percents
            for name, passed, runs in self.outcomes(percent)
        ]


def simulation(contract: Contract, assumed: Assumed) -> Simulation:
    """Draws acceptances of a contract."""
    tests = by_runs(contract.clauses)
    drawn = assumed.noise.draw(tests, assumed.draws, assumed.sessions, assumed.seed)
    rng = np.random.default_rng([assumed.seed, len(tests), 1])
    return Simulation(
        contract, drawn, rng.negative_binomial(sum(map(runs_of, tests)), 1 - assumed.refused, assumed.draws)
    )


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
