# SPDX-License-Identifier: Apache-2.0
"""A table of tests/evidence/bench_history.py: what `coffeecup plan` predicts against what the history finds.

The prediction sees the sessions of healthy sites, for a part of the series of each: a site seems to have a little
correlation by chance, for which prediction and history allow. The history sees other sites, in which a loss is
planted: in all series, or, if the noise is correlated, in one part of them after the other. A loss in all of them at
once would be taken for correlation that is usual at the site, and would be found less often.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from bench_tables import SERIES, Goals, header, percent, row, session_table
from noise_made import NOISE, Drawn

from coffeecup.postprocess.history.change_points import findings, site_of
from coffeecup.postprocess.history.noise import noises
from coffeecup.postprocess.history.plan import Simulation, Terms

HEALTHY, BEFORE, WITHIN = 90, 40, 7  # sessions: those that a prediction sees, before a loss, and after its begin
SITES = 12  # healthy ones, and as many with a loss: the share found differs by 5 points from site to site
PARTS = 5  # of the series of a site with correlated noise, each planted alone
CORRELATED = ("weekly cycle", "autocorrelation 0.6")
POWER = 0.8  # wanted probability: 100 histories of each series
AGREEMENT = 0.05
CASES = (
    *(("normal, 2 %", 0.05), ("normal, 3 %", 0.05), ("normal, 3 %", 0.07), ("normal, 3 %", 0.1)),
    *(("normal, 5 %", 0.1), ("normal, 5 %", 0.15), ("Student t, 3 degrees of freedom, 3 %", 0.07)),
    *(("two speeds 10 % apart, hosts known", 0.05), ("spikes on 5 % of nights", 0.1)),
    *(("weekly cycle", 0.1), ("autocorrelation 0.6", 0.1)),
)
BETWEEN, INSIDE, OF_THE_HEALTHY = 0.02, 0.04, 3  # noise between sessions and in a session, and the healthy site's runs
REPEATS = (1, 3, 8)
LOSS_WITH_REPEATS = 0.07


def site_table(values: np.ndarray, hosts: np.ndarray | None) -> pd.DataFrame:
    """A table of session_values, of values (series, sessions, repeats)."""
    table = session_table(np.median(values, axis=2)).assign(runs=values.shape[2])
    return table if hosts is None else table.assign(hosts=np.where(hosts, "slow", "fast").ravel())


def predicted(values: np.ndarray, hosts: np.ndarray | None, loss: float, repeats: int, part: int) -> list[float]:
    """The predicted probability of each series of one of SITES parts of a healthy site (series, sessions, repeats)."""
    runs = pd.concat([session_table(values[:, :, run]) for run in range(values.shape[2])])
    site = site_of(site_table(values, hosts))
    by = Simulation(
        list(noises(site.levels, runs)),
        site,
        Terms(minutes=1, nights=WITHIN, loss=loss, power=POWER, seed=part),
    )
    assert by.before == BEFORE
    return [float(by.detected(number, repeats).mean()) for number in range(part, len(by.series), SITES)]


def found(values: np.ndarray, hosts: np.ndarray | None, loss: float, parts: int = 1) -> float:
    """The share of series (series, sessions, repeats) in which the history finds a loss, planted in one of so many
    parts of them after the other."""
    count = 0
    for part in range(parts):
        planted = values.copy()
        planted[part::parts, BEFORE:] *= 1 - loss
        seen = findings(site_table(planted, hosts))
        alarmed = {one.series["processes"] for one in seen if one.alarms and one.change.detected > BEFORE}
        count += sum((number - 1) % parts == part for number in alarmed)  # numbered from 1: bench_tables
    return count / len(values)


def repeated(rng: np.random.Generator, sessions: int, repeats: int) -> np.ndarray:
    between = BETWEEN * rng.standard_normal((SERIES, sessions, 1))
    return 1 + between + INSIDE * rng.standard_normal((SERIES, sessions, repeats))


def plan(options, goals: Goals) -> None:
    header(
        f"`coffeecup plan` from {HEALTHY} sessions of {SITES} healthy sites of {SERIES} series, and planted losses "
        f"after {BEFORE} sessions that are found within {WITHIN}, in {SITES} other sites: of 100",
        "noise; loss; predicted, mean; predicted for a series, 5 % to 95 %; found",
    )
    for name, loss in CASES:
        drawn: Callable[..., Drawn] = NOISE[name]
        rng = np.random.default_rng(options.seed)
        healthy, others = (
            [drawn(rng, (SERIES, nights)) for _ in range(SITES)] for nights in (HEALTHY, BEFORE + WITHIN)
        )
        parts = PARTS if name in CORRELATED else 1
        shares = [found(other.values[:, :, None], other.hosts, loss, parts) for other in others]
        of_parts = [predicted(one.values[:, :, None], one.hosts, loss, 1, part) for part, one in enumerate(healthy)]
        compare(f"{name}", loss, of_parts, shares, goals)
    for repeats in REPEATS:
        rng = np.random.default_rng(options.seed)
        healthy = [repeated(rng, HEALTHY, OF_THE_HEALTHY) for _ in range(SITES)]
        shares = [found(repeated(rng, BEFORE + WITHIN, repeats), None, LOSS_WITH_REPEATS) for _ in range(SITES)]
        name = f"{BETWEEN:.0%} between and {INSIDE:.0%} in sessions: {repeats} runs a night, predicted from 3"
        of_parts = [predicted(one, None, LOSS_WITH_REPEATS, repeats, part) for part, one in enumerate(healthy)]
        compare(name, LOSS_WITH_REPEATS, of_parts, shares, goals)


def compare(name: str, loss: float, of_parts: list[list[float]], shares: list[float], goals: Goals) -> None:
    of_series = np.concatenate(of_parts)
    low, high = np.quantile(of_series, [0.05, 0.95])
    reached, mean = float(np.mean(shares)), float(of_series.mean())
    row(name, f"-{loss:.0%}", percent(mean), f"{percent(low)} to {percent(high)}", percent(reached))
    goals.check(f"plan: difference of predicted and found, {name}, -{loss:.0%}", abs(mean - reached), most=AGREEMENT)
