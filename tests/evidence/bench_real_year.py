# SPDX-License-Identifier: Apache-2.0
"""False alarms and detections of losses in noise of real nights: days drawn from the residuals of two systems' years of
nightly I/O benchmarks (tests/history/real_year). Prints tables, and exits with 1 if a goal is missed.

    .venv/bin/python tests/evidence/bench_real_year.py [--draws 100] [--seed 20261125]

All tests of a system share the drawn days, in random order or in blocks. CUSUM's limit is the one that raises a false
alarm in 5 % of the sites drawn.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from bench_history import FIRST
from bench_tables import Goals, header, parsed, percent, row

from coffeecup.postprocess.history.levels import NIGHTS, detections, threshold, usual_correlation
from coffeecup.postprocess.statistics.shares import share_interval

FOLDER = Path(__file__).parents[1] / "history" / "real_year"
SYSTEMS = {"edison": slice(8, 16), "mira": slice(0, 8)}  # with the tests of one file system
MOST = {1: 0.05, 7: 0.3, 14: 0.45}  # share of stable sites that may alarm, for days in a block
# Episodes of the systems' years that docs/a-real-year.md calls clear: begin, end, words of the tests that they affect.
EPISODES = {
    "edison": (
        ("2017-08-23", "2017-09-06", "dbscan_read"),
        ("2017-04-05", "2017-04-14", "scratch2 write file_per_process"),
    ),
    "mira": (("2017-11-14", "2017-11-22", "file_per_process"),),
}
LOSSES = (0.05, 0.1, 0.2, 0.3, 0.5)
BEFORE, SOON, LATER = 40, 14, 30  # nights before a loss, and within which it is to be found
# What the earlier model (a bound of 4.5 robust deviations, a second look without excursions) found within SOON nights
# with a limit raised until 5 % of stable sites alarmed (40 and 80 draws): one test, a file system, everything.
EARLIER = {
    "edison": {0.1: (0.03, 0.05, 0.45), 0.2: (0.26, 0.45, 1), 0.3: (0.49, 0.95, 1), 0.5: (0.88, 1, 1)},
    "mira": {0.1: (0.11, 0.49, 0.6), 0.2: (0.35, 0.85, 0.91), 0.3: (0.61, 0.94, 0.99), 0.5: (0.95, 1, 1)},
}
DRAWN = 0.05  # by which a share may be lower because of drawing
SLACK = 0.5


def residuals(system: str, episodes: bool = True) -> np.ndarray:
    """(tests, days), NaN where a test had no value, or was in one of the EPISODES if these are left out."""
    table = pd.read_csv(FOLDER / f"{system}_residuals.csv", index_col="day")
    table = table[table.notna().mean(axis=1) >= 0.5]
    for begin, end, words in () if episodes else EPISODES[system]:
        table.loc[begin:end, [test for test in table if set(words.split()) <= set(test.split())]] = np.nan
    return table.to_numpy().T


def drawn(known: np.ndarray, nights: int, block: int, rng: np.random.Generator) -> np.ndarray:
    """Nights of all tests in blocks of neighbouring days; a value that is missing is replaced by another one."""
    days = known.shape[1]
    places = (rng.integers(days, size=(nights // block + 2, 1)) + np.arange(block)).ravel() % days
    values = known[:, places[rng.integers(block) :][:nights]].copy()
    for test, series in zip(known, values):
        missing = ~np.isfinite(series)
        series[missing] = rng.choice(test[np.isfinite(test)], missing.sum())
    return values


def coffeecup(sites: np.ndarray, known: int | None = None, year: np.ndarray | None = None) -> np.ndarray:
    """The night after which each test (sites, tests) first shows a loss, 0 for none; the usual autocorrelation is that
    of the first `known` nights of each site, or that of a `year` (tests, days)."""
    if year is None:
        usual = [usual_correlation(list(site[:, :known])) for site in sites]
    else:
        usual = [usual_correlation([test[np.isfinite(test)] for test in year])] * len(sites)
    nights, tests = np.zeros(sites.shape[:2], dtype=int), sites.shape[1]
    for value in set(usual):
        alike = [place for place, one in enumerate(usual) if one == value]
        rows = sites[alike].reshape(-1, sites.shape[2])
        found = detections(rows, threshold(tests), np.full(len(rows), 0.02), np.ones(len(rows)), value)
        first = [
            min((s.detected for s in of_row if s.deviate < 0 and s.detected > (known or 0)), default=0)
            for of_row in found
        ]
        nights[alike] = np.reshape(first, (-1, tests))
    return nights


def cusum(sites: np.ndarray) -> np.ndarray:
    """Montgomery's sum (sites, tests, nights) with robust mean and deviation of the first nights."""
    low, mean, high = np.quantile(sites[..., :FIRST], [0.25, 0.5, 0.75], axis=-1)
    deviates = (sites - mean[..., None]) / ((high - low) / 1.349)[..., None]
    sums = np.zeros(sites.shape)
    for night in range(FIRST, sites.shape[2]):
        sums[..., night] = np.maximum(sums[..., night - 1] - deviates[..., night] - SLACK, 0)
    return sums


def stable(system: str, options, goals: Goals) -> float:
    """Prints false alarms; the limit of CUSUM that has as many as are promised."""
    known, quiet, limit = residuals(system), residuals(system, episodes=False), 0.0
    for block, most in MOST.items():
        both = []
        for year in (known, quiet):
            rng = np.random.default_rng([options.seed, block])
            both.append(np.array([drawn(year, NIGHTS, block, rng) for _ in range(options.draws)]))
        sites, without = both
        alarms, experienced, left = (
            int((found > 0).any(axis=1).sum())
            for found in (coffeecup(sites), coffeecup(sites, year=known), coffeecup(without))
        )
        sums = cusum(sites).max(axis=(1, 2))
        limit = limit or float(np.quantile(sums, 0.95))
        low, high = share_interval(alarms, options.draws)
        interval, shares = f"{percent(low)} to {percent(high)}", [(sums > 5).mean(), (sums > limit).mean()]
        row(
            system,
            len(known),
            block,
            f"{alarms} of {options.draws}",
            interval,
            experienced,
            left,
            *map(percent, shares),
        )
        goals.check(f"{system}: stable sites with a false alarm, blocks of {block}", alarms / options.draws, most=most)
    return limit


def power(system: str, limit: float, options, goals: Goals) -> None:
    known = residuals(system)
    for loss in LOSSES:
        rng = np.random.default_rng([options.seed, 99])
        sites = np.array([drawn(known, BEFORE + LATER, 1, rng) for _ in range(-(-options.draws // 2))])
        sites[..., BEFORE:] *= 1 - loss
        found, sums = coffeecup(sites, BEFORE), cusum(sites)
        cells = []
        for nights in (SOON, LATER):
            ours = (found > 0) & (found <= BEFORE + nights)
            theirs = (sums[..., BEFORE : BEFORE + nights] > limit).any(axis=2)
            for seen in (ours, theirs):
                shares = seen.mean(), seen[:, SYSTEMS[system]].any(axis=1).mean(), seen.any(axis=1).mean()
                cells.append(" / ".join(map(percent, shares)))
                if seen is ours and nights == SOON:
                    earlier = EARLIER[system].get(loss, (0, 0, 0))
                    for what, share, least in zip(("one test", "a file system", "everything"), shares, earlier):
                        text = f"{system}: loss of {loss:.0%} of {what} found within {SOON} nights"
                        goals.check(text, share, least=least - DRAWN)
        row(system, f"-{loss:.0%}", *cells)


def main() -> int:
    options = parsed(__doc__, draws=100, seed=20261125)
    goals = Goals()
    columns = (
        "system; tests; days in a block; sites with an alarm; 95 % interval, %; with the year's autocorrelation; "
        "without its clear episodes; CUSUM, h = 5, %; CUSUM, its limit, %"
    )
    header(f"Stable sites that alarm within {NIGHTS} nights, {options.draws} draws, seed {options.seed}", columns)
    limits = {system: stable(system, options, goals) for system in SYSTEMS}
    names = [f"{name}, {nights} nights" for nights in (SOON, LATER) for name in ("coffeecup", "CUSUM")]
    title = f"Losses after {BEFORE} nights that are found, % of one test / a file system / everything"
    header(title, "; ".join(["system", "loss", *names]))
    for system, limit in limits.items():
        power(system, limit, options, goals)
    return goals.report()


if __name__ == "__main__":
    sys.exit(main())
