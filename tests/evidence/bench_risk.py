# SPDX-License-Identifier: Apache-2.0
"""Whether the risks that `coffeecup accept risk` states are those that happen: for each contract in docs/contracts,
acceptances drawn and judged by the code of this file alone. Prints tables, and exits with 1 if a goal is missed.

    .venv/bin/python tests/evidence/bench_risk.py [--draws 40000] [--records 100] [--nights 90] [--most-runs 30]
        [--seed N] [TEMPLATE...]

Noise that is known: the stated probability to pass lies in the 99.9 % interval of the observed one, and within a point.
The interval is that of the difference, because both are drawn; a point needs 40,000 draws, with fewer it is not
demanded. Noise that is estimated: from so many records of 90 nights, one run each, the stated intervals cover the true
probability, which is that of acceptances drawn from the noise itself. Fewer nights (--nights) have no goal here.
Contracts that `accept plan` proposes from such records are judged in the same acceptances: the intervals of their risks
cover, from few nights as well. In the mean over proposals from 90 nights, both risks are at most the wanted ones where
nearly every record has a proposal. Where --most-runs lets only quiet records have one, they are at most the
wanted ones plus the uncertainty that is stated, from the risk to the upper end of its interval.
"""

import argparse
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from bench_real_year import residuals
from bench_tables import Goals, header, percent, row

from coffeecup.postprocess.acceptance.contract import Contract, read_contract
from coffeecup.postprocess.acceptance.noise import NIGHT, Noise, Stated, by_runs, recorded
from coffeecup.postprocess.acceptance.plan import Wanted, plan
from coffeecup.postprocess.acceptance.risk import Assumed, Chance, simulation
from coffeecup.postprocess.statistics.shares import share_interval

TEMPLATES = Path(__file__).parents[2] / "docs" / "contracts"
TRUE_VALUES = (-5.0, -2.0, 0.0, 5.0, 10.0)  # % better than the bounds
RUNS, BETWEEN = 0.03, 0.02  # standard deviations of the stated noise
KNOWN, NIGHTS = 1000, 90  # nights of a record that is the truth, and of one that estimates it
CHANGED = ("repetitions", "statistic", "guard_band")  # by a plan
RISK, BELOW = 0.05, 5.0  # of the supplier and of the centre, wanted of a plan
ENOUGH, POINT, CONFIDENCE, COVERED = 40_000, 0.01, 0.999, 0.9
STATED = 1000  # draws for each record
NEARLY_EVERY = 0.9  # record
BLOCK = 7  # neighbouring days of the real year that stay together


# --- noise: values (nights, clauses), higher is better ----------------------------------------------------------------


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return 1 + RUNS * rng.standard_normal(shape)


def t3(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return 1 + 0.02 * rng.standard_t(3, shape)


def two_states(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """On a fifth of the nights, everything is 8 % slower."""
    slow = rng.random((shape[0], 1)) < 0.2
    return (1 + 0.02 * rng.standard_normal(shape)) * np.where(slow, 0.92, 1)


@cache
def year(clauses: int) -> np.ndarray:
    """Days of Edison's year (days, clauses), each clause another test: the days on which all have values. A robust
    standard deviation is made 3 %, because I/O scatters too much for these contracts; outliers and their order stay."""
    tests = sorted(residuals("edison"), key=lambda series: np.isnan(series).sum())[:clauses]
    days = np.log(np.array(tests).T)
    days = days[np.isfinite(days).all(axis=1)]
    days -= np.median(days, axis=0)
    return np.exp(RUNS * days / np.median(np.abs(days), axis=0) / 1.4826)


def real_year(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Blocks of neighbouring days; the first one begins anywhere in its block."""
    nights, known = shape[0], year(shape[1])
    first = rng.integers(len(known), size=(nights // BLOCK + 2, 1))
    return known[((first + np.arange(BLOCK)) % len(known)).ravel()[rng.integers(BLOCK) :][:nights]]


NOISE: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "normal": normal,
    "t3": t3,
    "two states": two_states,
    "real year": real_year,
}


# --- acceptances, drawn and judged without coffeecup ------------------------------------------------------------------


def measured(clauses: list[dict], values: np.ndarray) -> np.ndarray:
    """Of noise (..., clauses), the values over the true ones: a time or latency is longer where a rate is lower."""
    over = np.where(["floor" in clause for clause in clauses], values, 1 / values)
    return over / np.median(over.reshape(-1, len(clauses)), axis=0)


def passed(clauses: list[dict], drawn: np.ndarray, better: float) -> np.ndarray:
    """Which acceptances (draws, runs, clauses) pass all clauses; the true values are `better` percent better than the
    bounds."""
    found = np.ones(len(drawn), dtype=bool)
    for place, clause in enumerate(clauses):
        true = clause["floor"] * (1 + better / 100) if "floor" in clause else clause["ceiling"] * (1 - better / 100)
        runs, guard = true * drawn[:, : clause["repetitions"], place], clause.get("guard_band", 0) / 100
        middle, mean = np.median(runs, axis=1), runs.mean(axis=1)
        statistics = {"median": middle, "mean": mean, "minimum": runs.min(axis=1), "maximum": runs.max(axis=1)}
        value, every = statistics[clause["statistic"]], clause.get("every_run", {})
        found &= (value >= clause.get("floor", -np.inf) * (1 - guard)) & (
            value <= clause.get("ceiling", np.inf) * (1 + guard)
        )
        found &= runs.std(axis=1, ddof=1) / mean <= clause.get("variation", np.inf) / 100
        found &= runs.min(axis=1) >= middle * every.get("least", -np.inf) / 100
        found &= runs.max(axis=1) <= middle * every.get("most", np.inf) / 100
    return found


def stated_draws(rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    """Acceptances (draws, runs, clauses) of one session each, in the noise that `--scatter --night-scatter` states."""
    draws, _, clauses = shape
    return rng.normal(1, RUNS, shape) + rng.normal(0, BETWEEN, (draws, 1, clauses))


# --- what coffeecup states --------------------------------------------------------------------------------------------


def whole(contract: Contract, noise: Noise, draws: int, seed: int) -> dict[float, Chance]:
    """The stated probabilities that a machine passes the whole contract, by how much better it is than the bounds."""
    found = simulation(contract, Assumed(noise, draws=draws, seed=seed)).chances(TRUE_VALUES)
    return {chance.percent_better: chance for chance in found if chance.clause is None}


def record(contract: Contract, values: np.ndarray) -> Noise:
    """The noise that coffeecup knows from a run of each night (nights, clauses)."""
    columns = {clause.name: values[:, place] for place, clause in enumerate(contract.clauses)}
    return recorded(pd.DataFrame({NIGHT: np.arange(len(values)), **columns}), by_runs(contract.clauses), "a record")


# --- tables -----------------------------------------------------------------------------------------------------------


def known(template: Path, options, goals: Goals) -> None:
    contract, clauses = read_contract(template), yaml.safe_load(template.read_text(encoding="utf-8"))["clauses"]
    most, count, draws = max(clause["repetitions"] for clause in clauses), len(clauses), options.draws
    for name, noise in NOISE.items():
        rng = np.random.default_rng([options.seed, 1])
        if name == "normal":
            drawn, source = stated_draws(rng, (draws, most, count)), Stated(RUNS, BETWEEN)
        else:
            truth = year(count) if name == "real year" else noise(rng, (KNOWN, count))
            truth = measured(clauses, truth)
            first = rng.integers(len(truth), size=(draws, 1))
            drawn, source = truth[(first + np.arange(most)) % len(truth)], record(contract, truth)
        stated, cells = whole(contract, source, draws, options.seed), []
        for better in TRUE_VALUES:
            observed, said = float(passed(clauses, drawn, better).mean()), stated[better].passes
            low, high = share_interval(observed * draws / 2, draws / 2, CONFIDENCE)
            cells.append(f"{percent(said)} / {percent(observed)}")
            what = f"{template.stem}, {name}, {better:+g} %: stated probability"
            goals.check(f"{what}, observed {observed:g}", said, least=low)
            goals.check(f"{what}, observed {observed:g}", said, most=high)
            if draws >= ENOUGH:
                goals.check(f"{what}, difference", abs(said - observed), most=POINT)
        row(template.stem, name, *cells)


def estimated(template: Path, options, goals: Goals) -> None:
    contract, clauses = read_contract(template), yaml.safe_load(template.read_text(encoding="utf-8"))["clauses"]
    most, count = max(clause["repetitions"] for clause in clauses), len(clauses)
    for name, noise in NOISE.items():
        rng = np.random.default_rng([options.seed, 2])
        nights = measured(clauses, noise(rng, (options.draws * most, count)))
        drawn = nights.reshape(options.draws, most, count)
        true = {better: float(passed(clauses, drawn, better).mean()) for better in TRUE_VALUES}
        covered = dict.fromkeys(TRUE_VALUES, 0)
        for number in range(options.records):
            seen = measured(clauses, noise(rng, (options.nights, count)))
            for better, chance in whole(contract, record(contract, seen), STATED, number).items():
                covered[better] += chance.passes_low <= true[better] <= chance.passes_high
        shares = {better: hits / options.records for better, hits in covered.items()}
        mean = float(np.mean(list(shares.values())))
        row(template.stem, name, *(f"{percent(shares[b])} of {percent(true[b])}" for b in TRUE_VALUES), percent(mean))
        if options.nights >= NIGHTS:
            goals.check(f"{template.stem}, {name}: stated intervals that cover", mean, least=COVERED)


def most_in_mean(share: float, uncertainty: float) -> float:
    """What proposals may risk in the mean, if such a share of records has one, with such an uncertainty stated."""
    return RISK + (0.0 if share >= NEARLY_EVERY else uncertainty)


def proposed(template: Path, options, goals: Goals) -> None:
    """What the contracts that `accept plan` proposes risk, each from another record, in the noise itself."""
    contract, clauses = read_contract(template), yaml.safe_load(template.read_text(encoding="utf-8"))["clauses"]
    count, draws = len(clauses), options.draws // 10
    wanted = Wanted(RISK, RISK, BELOW, options.most_runs)
    for name, noise in NOISE.items():
        rng = np.random.default_rng([options.seed, 3])
        drawn = measured(clauses, noise(rng, (draws * options.most_runs, count))).reshape(draws, -1, count)
        good, slow, inside, runs, unsure = [], [], [], [], []  # of each proposal
        for number in range(options.records):
            seen = record(contract, measured(clauses, noise(rng, (options.nights, count))))
            found = plan(contract, Assumed(seen, draws=STATED, seed=number), wanted, {}, (0.0,))
            if not found.proposed:
                continue
            made = [
                old | {key: getattr(one.proposed, key) for key in CHANGED} for old, one in zip(clauses, found.proposals)
            ]
            good.append(float(passed(made, drawn, 0.0).mean()))
            slow.append([passed([one], drawn[:, :, [at]], -BELOW).mean() for at, one in enumerate(made)])
            true = {(None, 0.0): good[-1]}
            true |= {(one["clause"], -BELOW): risk for one, risk in zip(made, slow[-1])}
            stated = {(chance.clause, chance.percent_better): chance for chance in found.proposed}
            covers = [stated[at].passes_low <= risk <= stated[at].passes_high for at, risk in true.items()]
            inside.append((covers[0], np.mean(covers[1:])))
            fails, passes = stated[None, 0.0], [stated[one["clause"], -BELOW] for one in made]
            unsure.append((fails.passes - fails.passes_low, max(one.passes_high - one.passes for one in passes)))
            runs.append(max(one["repetitions"] for one in made))
        fail, most = 1 - np.array(good), np.array([max(risks) for risks in slow])
        kept = fail <= RISK, most <= RISK
        cells = (*map(np.mean, (fail, most, *kept)), *np.mean(inside, axis=0)) if runs else ()
        row(template.stem, name, len(runs), np.median(runs) if runs else "", *map(percent, cells))
        share, uncertainty = len(runs) / options.records, np.mean(unsure, axis=0) if runs else ()
        for side, risk, covered, more in zip(("fail at bound", "pass below"), cells, cells[4:], uncertainty):
            goals.check(f"{template.stem}, {name}: intervals of proposals that cover, {side}", covered, least=COVERED)
            if options.nights >= NIGHTS:
                what = f"{template.stem}, {name}: mean risk of proposals, {side}"
                goals.check(what, risk, most=most_in_mean(share, more))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("templates", metavar="TEMPLATE", nargs="*", help="their names; default: all")
    parser.add_argument("--draws", type=int, default=ENOUGH, help="acceptances for each noise")
    parser.add_argument("--records", type=int, default=100, help="for each noise")
    parser.add_argument("--nights", type=int, default=NIGHTS, help="of a record")
    parser.add_argument("--most-runs", type=int, default=30, help="of a proposal")
    parser.add_argument("--seed", type=int, default=20261126)
    options = parser.parse_args()
    templates = {path.stem: path for path in sorted(TEMPLATES.glob("*.yaml"))}
    if unknown := [name for name in options.templates if name not in templates]:
        parser.error(f"unknown template {unknown[0]!r}; valid are {', '.join(templates)}")
    goals, values = Goals(), "; ".join(f"{better:+g} %" for better in TRUE_VALUES)
    records = f"{options.records} records of {options.nights} nights"
    planned = "proposals; runs; fail at bound, %; pass 5 % below, %; of proposals keep the one, %; keep the other, %; "
    planned += "intervals cover the one, %; the other, %"
    for table, title, columns in (
        (known, f"Noise that is known, {options.draws} acceptances: passes, %, stated / observed", values),
        (estimated, f"{records}: intervals that cover, %", f"{values}; mean"),
        (proposed, f"{records}: proposals for 5 % and 5 %, judged in the noise itself", planned),
    ):
        header(title, f"contract; noise; {columns}")
        for name in options.templates or templates:
            table(templates[name], options, goals)
    return goals.report()


if __name__ == "__main__":
    sys.exit(main())
