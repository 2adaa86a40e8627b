# SPDX-License-Identifier: Apache-2.0
"""How often `coffeecup compare` is wrong, and what it finds: runs in the order of its blocks, one after the other, in
noise of real nights (tests/history/real_year), each run a night; and sessions of such nights. Prints tables, and exits
with 1 if a goal is missed.

    .venv/bin/python tests/evidence/bench_compare.py [--draws 2000] [--seed 20261125] [--write]

A comparison is drawn with a test of a system, a first night and an order; the noise has the stated deviation. It ends
at the first look that decides, as the command does. With --write, the tables of docs/evidence/compare.md are replaced.
"""

import argparse
import sys
from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd
from bench_real_year import SYSTEMS, residuals
from bench_tables import Goals, header, part_of_page, percent, row
from proofs import ROOT

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.comparison.plan import CONTROL, Arm, Plan
from coffeecup.postprocess.comparison.search import DEFAULT, ROUND_BLOCKS, Search, plan_among
from coffeecup.postprocess.comparison.sessions import differences_of_history, half_width
from coffeecup.postprocess.comparison.verdicts import Verdict, verdict
from coffeecup.postprocess.statistics.pairs import RISK, looks
from coffeecup.postprocess.statistics.shares import share_interval

DEVIATIONS = (0.005, 0.02, 0.1)
DIFFERENCES = (0.0, 0.01, 0.03, 0.1)
GAINS = (0.03, 0.05, 0.1, 0.2)  # of the best of many values over the others
VALUES = 16
FOUND_GAIN, FOUND_DEVIATION, FOUND = 0.1, 0.02, 0.95  # the best value is found so often in noise of this deviation
SESSIONS = (1, 3, 7)  # nights before and after a change
MOST_WRONG_SESSIONS = 0.08  # the same of nights, which depend on each other
PAGE = ROOT / "docs" / "evidence" / "compare.md"
MOST_WRONG = 0.06  # the upper end of the interval of the share of equal arms that are called different


def compared(noise: np.ndarray, difference: float, seed: int) -> Verdict:
    """The verdict on an arm that differs by a fraction, where consecutive runs have consecutive values of `noise`, the
    deviations of logarithms."""
    plan = Plan(command=["kernel"], arms={"usual": Arm(), "other": Arm(options=["--other"])}, seed=seed)
    found, values = [], iter(noise)
    planned, last = looks(plan.pairs, plan.hypotheses), None
    for block in range(plan.pairs):
        run = {arm: next(values) for arm in plan.order(block)}
        found.append(run["other"] + np.log1p(difference) - run["usual"])
        if risk := planned.get(block + 1):
            last = verdict("other", "value", np.array(found), Better.HIGHER, plan.minimum, risk)
            if last.decided:
                break
    assert last
    return last


def noises(draws: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """So many series of one test each, from a night on: logarithms of its values over its level, divided by their
    median deviation times 1.4826, which is the deviation of a normal distribution. Nights without a value are left
    out."""
    tests = [np.log(series[series > 0]) for name in SYSTEMS for series in residuals(name)]
    tests = [series / np.median(np.abs(series)) / 1.4826 for series in tests]
    for _ in range(draws):
        series = tests[rng.integers(len(tests))]
        yield np.roll(series, rng.integers(len(series)))


def table(draws: int, rng: np.random.Generator, goals: Goals) -> None:
    header(
        f"{draws} comparisons each, at most 20 pairs, a minimum of 3 %: per cent of them",
        "noise of a run; true difference; called different; with the wrong sign; called no difference; "
        "interval misses; median of pairs",
    )
    for deviation, difference in product(DEVIATIONS, DIFFERENCES):
        found = [compared(deviation * noise, difference, seed) for seed, noise in enumerate(noises(draws, rng))]
        differs = sum(each.differs for each in found)
        wrong = sum(each.differs and (each.middle > 1) != (difference > 0) for each in found)
        same = sum(not each.differs and each.decided for each in found)
        missed = sum(not each.low <= 1 + difference <= each.high for each in found)
        pairs = np.median([each.pairs for each in found])
        shares = [percent(count / draws) for count in (differs, wrong, same, missed)]
        shares[1] = shares[1] if difference else "-"
        row(percent(deviation), percent(difference), *shares, f"{pairs:g}")
        what = f"noise {percent(deviation)} %, difference {percent(difference)} %"
        goals.check(f"{what}: interval misses", share_interval(missed, draws)[1], most=MOST_WRONG)
        if not difference:
            goals.check(f"{what}: called different", share_interval(differs, draws)[1], most=MOST_WRONG)


def searched(noise: np.ndarray, gain: float, best: str, seed: int) -> tuple[bool, bool, int]:
    """Whether the best of many values was found, whether it was confirmed, and the number of runs."""
    stated = {"command": ["kernel"], "pairs": 100, "seed": seed}
    search = Search({name: f"X={name}" for name in map(str, range(VALUES))})
    values, runs = iter(np.concatenate([noise, noise])), 0
    while len(search.left) > 1:
        plan = plan_among({name: search.settings[name] for name in search.left}, **stated)
        rows = [
            (block, arm, np.exp(next(values) + np.log1p(gain) * (arm == best)))
            for block in range(ROUND_BLOCKS)
            for arm in plan.order(block)
        ]
        runs += len(rows)
        search.add(pd.DataFrame(rows, columns=["block", "arm", "value"]), "value")
    [chosen] = search.left
    found = compared(np.array([*values]), gain if chosen == best else 0, seed)
    return chosen == best, found.differs and found.middle > 1, runs + found.pairs * len((DEFAULT, chosen, CONTROL))


def table_of_searches(draws: int, rng: np.random.Generator, goals: Goals) -> None:
    header(
        f"{draws} searches of the best of {VALUES} values each: per cent of them",
        "noise of a run; the best is better by; it was found; and confirmed; a wrong one confirmed; "
        "most runs, of a full grid",
    )
    grid = (VALUES + 2) * 20
    for deviation, gain in product(DEVIATIONS, GAINS):
        bests = map(str, rng.integers(VALUES, size=draws))
        drawn = zip(noises(draws, rng), bests)
        every = [searched(deviation * noise, gain, best, seed) for seed, (noise, best) in enumerate(drawn)]
        found = sum(right for right, _, _ in every)
        confirmed = sum(right and better for right, better, _ in every)
        wrong = sum(better and not right for right, better, _ in every)
        most = max(runs for _, _, runs in every)
        shares = [count / draws for count in (found, confirmed, wrong)]
        row(*map(percent, (deviation, gain, *shares, most / grid)))
        what = f"noise {percent(deviation)} %, the best of {VALUES} better by {percent(gain)} %"
        goals.check(f"{what}: runs of a full grid", most / grid, most=0.5)
        if (deviation, gain) == (FOUND_DEVIATION, FOUND_GAIN):
            goals.check(f"{what}: found", found / draws, least=FOUND)


def table_of_sessions(draws: int, rng: np.random.Generator, goals: Goals) -> None:
    """Consecutive nights before and after a change, judged by the other nights of the test, in their own order and
    noise."""
    header(
        f"{draws} comparisons of sessions each, of nights one after the other: per cent of them",
        "system; nights on each side; true difference; called different; interval misses",
    )
    for system, nights, difference in product(SYSTEMS, SESSIONS, (0.0, 0.1)):
        differs, missed = 0, 0
        tests = [np.log(series[series > 0]) for series in residuals(system)]
        for _ in range(draws):
            series = tests[rng.integers(len(tests))].copy()
            middle = rng.integers(nights, len(series) - nights + 1)
            before, after = np.arange(middle - nights, middle), np.arange(middle, middle + nights)
            found = series[after].mean() - series[before].mean()
            series[[*before, *after]] = np.nan
            noise = differences_of_history(series, np.full(len(series), "same"), before, after)
            half = half_width(noise, RISK)
            differs += abs(found + np.log1p(difference)) > half
            missed += abs(found) > half
        row(system, nights, *map(percent, (difference, differs / draws, missed / draws)))
        if not difference:
            what = f"{system}, {nights} nights: called different"
            goals.check(what, share_interval(differs, draws)[1], most=MOST_WRONG_SESSIONS)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=20261125)
    parser.add_argument("--write", action="store_true", help="replace the tables of the page")
    options = parser.parse_args()
    goals = Goals()
    rng = np.random.default_rng(options.seed)
    with part_of_page(PAGE if options.write else None, "compare", "bench_compare.py --write"):
        table(options.draws, rng, goals)
        table_of_searches(options.draws // 10, rng, goals)
        table_of_sessions(options.draws, rng, goals)
    return goals.report()


if __name__ == "__main__":
    sys.exit(main())
