# SPDX-License-Identifier: Apache-2.0
"""Four ways to find a loss in noise of real nights, at an equal rate of false alarms: the deviate of history.looks,
E-divisive of Apache Otava, a kernel change point of ruptures (which it requires: pip install ruptures), and the site's
own nights in permuted order.

    .venv/bin/python tests/evidence/bench_approaches.py [--draws 32] [--seed 20261125]

The limit of each is the one that EXPECTED of the stable sites drawn exceed within NIGHTS nights, of any of their tests.
All look after every week.
"""

from collections.abc import Callable

import numpy as np
import ruptures  # pyright: ignore[reportMissingImports]
from bench_real_year import BEFORE, LATER, LOSSES, SOON, SYSTEMS, drawn, residuals
from bench_tables import header, parsed, percent, row
from otava.analysis import compute_change_points

from coffeecup.postprocess.history.levels import NIGHTS
from coffeecup.postprocess.history.looks import LEVEL, SESSIONS_AFTER, SESSIONS_BEFORE, bounded, look

EVERY = 7  # nights between two looks
EXPECTED = 0.05
PERMUTED = 20


def coffeecup(site: np.ndarray, _rng: np.random.Generator) -> np.ndarray:
    """The deviate of a loss of each test (tests, nights)."""
    seen = look(site, 0.0)
    return np.maximum(np.where(np.abs(seen.step_size) >= 0.02, -seen.step, 0), -seen.drift)


def otava(site: np.ndarray, _rng: np.random.Generator) -> np.ndarray:
    """-log10 of the smallest p-value of a change point after which the mean is lower, with enough nights on both
    sides."""
    evidence = []
    for values in site.tolist():
        points, _ = compute_change_points(values, max_pvalue=0.5)
        points = [one for one in points if SESSIONS_BEFORE <= one.index <= len(values) - SESSIONS_AFTER]
        p_values = [one.stats.pvalue for one in points if one.stats.mean_2 < one.stats.mean_1]
        evidence.append(-np.log10(max(min(p_values, default=1.0), 1e-300)))
    return np.array(evidence)


def kernel(site: np.ndarray, _rng: np.random.Generator) -> np.ndarray:
    """By how much one change reduces the cost with a Gaussian kernel: the largest penalty with which it is found."""
    evidence = []
    for values in site:
        found = ruptures.KernelCPD(kernel="rbf", min_size=SESSIONS_AFTER).fit(values)
        place = found.predict(n_bkps=1)[0]
        gain = found.cost.sum_of_costs([len(values)]) - found.cost.sum_of_costs([place, len(values)])
        evidence.append(gain if np.median(values[place:]) < np.median(values[:place]) else 0.0)
    return np.array(evidence)


def permutation(site: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The largest standardised difference of means over that of the test most affected in the site's own nights in
    another order, the mean of PERMUTED of them."""
    kept = bounded(site)[LEVEL]
    others = [greatest_drop(kept[:, rng.permutation(kept.shape[1])]).max() for _ in range(PERMUTED)]
    return greatest_drop(kept) / np.mean(others)


def greatest_drop(kept: np.ndarray) -> np.ndarray:
    count = kept.shape[1]
    places = np.arange(SESSIONS_BEFORE, count - SESSIONS_AFTER + 1)
    sums = np.cumsum(kept, axis=1)
    drops = sums[:, places - 1] / places - (sums[:, -1:] - sums[:, places - 1]) / (count - places)
    return (drops * np.sqrt(places * (count - places) / count)).max(axis=1) / np.maximum(kept.std(axis=1), 1e-12)


APPROACHES: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "coffeecup": coffeecup,
    "Otava": otava,
    "kernel": kernel,
    "permutation": permutation,
}


def looks(name: str, site: np.ndarray, nights: range) -> np.ndarray:
    """The evidence of a loss in looks after these nights (looks, tests), of a site (tests, nights)."""
    rng = np.random.default_rng(0)
    return np.array([APPROACHES[name](site[:, :night], rng) for night in nights])


def main() -> None:
    options = parsed(__doc__, draws=32, seed=20261125)
    header(
        f"Losses after {BEFORE} nights found within {SOON} / {LATER} nights, of 100; {options.draws} stable sites",
        "system; loss; " + "; ".join(f"{name}, {what}" for name in APPROACHES for what in ("test", "files", "all")),
    )
    for system, of_files in sorted(SYSTEMS.items(), reverse=True):
        known, rng = residuals(system), np.random.default_rng([options.seed, 1])
        stable = [drawn(known, NIGHTS, 1, rng) for _ in range(options.draws)]
        limits = {
            name: np.quantile([looks(name, site, range(12, NIGHTS + 1, EVERY)).max() for site in stable], 1 - EXPECTED)
            for name in APPROACHES
        }
        for loss in LOSSES:
            sites = np.array([drawn(known, BEFORE + LATER, 1, rng) for _ in range(-(-options.draws // 4))])
            sites[..., BEFORE:] *= 1 - loss
            cells = []
            for name, limit in limits.items():
                every = np.array(
                    [looks(name, site, range(BEFORE + EVERY, BEFORE + LATER + 1, EVERY)) for site in sites]
                )
                within = [(every[:, : nights // EVERY] > limit).any(axis=1) for nights in (SOON, LATER)]
                shares = [(one.mean(), one[:, of_files].any(axis=1).mean(), one.any(axis=1).mean()) for one in within]
                cells += [" / ".join(map(percent, both)) for both in zip(*shares)]
            row(system, f"-{loss:.0%}", *cells)


if __name__ == "__main__":
    main()
