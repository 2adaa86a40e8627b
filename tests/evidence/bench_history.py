# SPDX-License-Identifier: Apache-2.0
"""How well changes are found: generated histories with known truth, looked at after every session, as `coffeecup
check-history` does. Prints tables, and exits with 1 if a goal is missed.

    .venv/bin/python tests/evidence/bench_history.py [TABLE...] [--sites 40] [--series 50] [--otava 4] [--seed 20261121]

A site has SERIES series and NIGHTS sessions. A drop begins after one of BEGINS sessions. Values are relative to the
usual one; more is better. `--otava` is the number of series for Apache Otava, which looks at every third night only
because it is slow.
"""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

from bench_plan import plan
from bench_tables import SERIES, Goals, header, percent, row, session_table
from noise_made import NOISE, PROMISED, Drawn, normal

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.history.change_points import Rule, findings
from coffeecup.postprocess.history.comparable import without_hosts
from coffeecup.postprocess.history.events import events
from coffeecup.postprocess.history.levels import NIGHTS, detections, settled, threshold, usual_correlation
from coffeecup.postprocess.history.looks import look

BEGINS = (40, 55, 70, 85)  # sessions before a drop
WITHIN = 5
RULE = Rule(Better.HIGHER)
LIMIT = threshold(SERIES)
FIRST = 20  # sessions from which the other methods learn


# --- methods: the night of the first alarm of each series, 0 for none -------------------------------------------------


def coffeecup(drawn: Drawn, limit: float = LIMIT) -> np.ndarray:
    """Of the series of one site."""
    values = even(drawn)
    found = detected(values, limit, usual_correlation(list(values)))
    nights = [[shift.detected for shift in shifts if shift.deviate < 0] for shifts in found]
    return np.array([min(of_series, default=0) for of_series in nights])


def detected(values: np.ndarray, limit: float, usual: float) -> list:
    return detections(values, limit, np.full(len(values), RULE.smallest_change), np.ones(len(values)), usual)


def even(drawn: Drawn) -> np.ndarray:
    if drawn.hosts is None:
        return drawn.values
    return np.array([without_hosts(values, hosts) for values, hosts in zip(drawn.values, drawn.hosts)])


def fixed(drawn: Drawn) -> np.ndarray:
    """A reference of -5 % from the median of the first sessions."""
    low = drawn.values < 0.95 * np.median(drawn.values[:, :FIRST], axis=1, keepdims=True)
    low[:, :FIRST] = False
    return np.where(low.any(axis=1), low.argmax(axis=1) + 1, 0)


def cusum(drawn: Drawn, known: tuple[float, float] | None = None, slack: float = 0.5, limit: float = 5.0) -> np.ndarray:
    """Montgomery's tabular CUSUM, with mean and standard deviation of the first sessions, or the known ones."""
    base = drawn.values[:, :FIRST]
    mean, spread = known or (base.mean(axis=1, keepdims=True), base.std(axis=1, ddof=1, keepdims=True))
    deviates = (drawn.values - mean) / spread
    total, first = np.zeros(len(base)), np.zeros(len(base), dtype=int)
    for night in range(FIRST, deviates.shape[1]):
        total = np.maximum(total - deviates[:, night] - slack, 0)
        first[(total > limit) & (first == 0)] = night + 1
    return first


def otava(drawn: Drawn, every: int = 3) -> np.ndarray:
    """Apache Otava with its defaults."""
    from otava.analysis import compute_change_points

    first = np.zeros(len(drawn.values), dtype=int)
    for number, values in enumerate(drawn.values):
        last = len(values)
        for night in range(last - (last - 12) // every * every, last + 1, every):
            found, _ = compute_change_points([float(value) for value in values[:night]])
            if any(point.stats.mean_2 < point.stats.mean_1 for point in found):
                first[number] = night
                break
    return first


# --- tables -----------------------------------------------------------------------------------------------------------


def stable(options, goals: Goals) -> None:
    """False alarms."""
    header(
        f"False alarms within {NIGHTS} nights: of {options.sites} stable sites of {SERIES} series, and of 100 series",
        f"noise; sites with an alarm; of 100 series; fixed -5 %; CUSUM; Otava, of {options.otava}",
    )
    promised = []
    for number, (name, draw) in enumerate(NOISE.items()):
        rng = np.random.default_rng(options.seed + number)
        drawn = [draw(rng, (SERIES, NIGHTS)) for _ in range(options.sites)]
        alarms = np.array([coffeecup(site) > 0 for site in drawn])
        sites = int(alarms.any(axis=1).sum())
        others = [np.mean([(method(site) > 0).mean() for site in drawn]) for method in (fixed, cusum)]
        few = Drawn(drawn[0].values[: options.otava])
        row(name, f"{sites} of {options.sites}", *map(percent, [alarms.mean(), *others, (otava(few) > 0).mean()]))
        promised += [sites] if name in PROMISED else []
    share = sum(promised) / len(promised) / options.sites
    print(f"\nNormal noise and two speeds: {sum(promised)} of {len(promised) * options.sites} sites, {share:.1%}")
    goals.check("share of sites with a false alarm, normal noise and two speeds", share, most=0.05)


def dropped(draw: Callable, drop: float, begin: int, after: int, series: int, seed: int) -> Drawn:
    drawn = draw(np.random.default_rng(seed), (series, begin + after))
    values = drawn.values.copy()
    values[:, begin:] *= 1 - drop
    return Drawn(values, drawn.hosts)


def found_and_dated(drawn: Drawn, begin: int) -> tuple[float, float]:
    """Shares of the series whose drop is found at the end, and found and dated within one session, in a site of SERIES
    series."""
    values = even(drawn)
    usual = usual_correlation(list(values))
    found = detected(values, LIMIT, usual)
    dates = [
        [shift.index for shift in settled(values[place], shifts, LIMIT, usual) if shift.deviate < 0]
        for place, shifts in enumerate(found)
    ]
    near = [
        min((abs(date - begin) for date in of_series if abs(date - begin) < WITHIN), default=99) for of_series in dates
    ]
    return float(np.mean([error < WITHIN for error in near])), float(np.mean([error <= 1 for error in near]))


def drops(options, goals: Goals) -> None:
    header(
        f"Lasting drops after {', '.join(map(str, BEGINS))} sessions, {options.series} series each, in a site of "
        f"{SERIES} series: of 100",
        f"noise; drop; found within {WITHIN} sessions; and dated to ±1; within 8; within 10; within 20; "
        f"fixed -5 %, {WITHIN}; CUSUM, {WITHIN}; Otava, {WITHIN}",
    )
    cases = [("normal, 3 %", drop) for drop in (0.03, 0.05, 0.07, 0.1, 0.2)]
    cases += [(name, 0.1) for name in NOISE if name != "normal, 3 %"]
    for name, drop in cases:

        def drawn_for(begin, after, name=name, drop=drop):
            return dropped(NOISE[name], drop, begin, after, options.series, options.seed)

        made = [drawn_for(begin, WITHIN) for begin in BEGINS]
        soon = np.mean([found_and_dated(drawn, begin) for drawn, begin in zip(made, BEGINS)], axis=0)
        later = [
            np.mean([found_and_dated(drawn_for(begin, after), begin)[0] for begin in BEGINS]) for after in (8, 10, 20)
        ]
        others = [
            np.mean([(method(drawn) > begin).mean() for drawn, begin in zip(made, BEGINS)]) for method in (fixed, cusum)
        ]
        few = [Drawn(drawn.values[: options.otava // len(BEGINS)]) for drawn in made]
        others.append(np.mean([(otava(drawn, 1000) > begin).mean() for drawn, begin in zip(few, BEGINS)]))
        row(name, f"-{drop:.0%}", *map(percent, [*soon, *later, *others]))
        if drop == 0.1 and name == "normal, 3 %":
            goals.check("drops of 10 % found within 8 sessions at 3 % noise", later[0], least=0.9)
        if drop == 0.1 and name == "normal, 5 %":
            goals.check("drops of 10 % found within 20 sessions at 5 % noise", later[2], least=0.9)


def drifts(options, goals: Goals) -> None:
    header("A drift of -10 % over 100 sessions: of 100 series", "noise; found; CUSUM; fixed -5 %")
    for spread in (0.02, 0.03, 0.05):
        drawn = normal(spread, np.random.default_rng(options.seed), (options.series, 100))
        drawn = Drawn(drawn.values * (1 - 0.1 * np.arange(100) / 99))
        found = detected(drawn.values, LIMIT, 0.0)
        share = np.mean([any(shift.deviate < 0 for shift in shifts) for shifts in found])
        row(f"normal, {spread:.0%}", *map(percent, [share, (cusum(drawn) > 0).mean(), (fixed(drawn) > 0).mean()]))
        goals.check(f"drifts found at {spread:.0%} noise", share, least=0.9 if spread < 0.05 else 0.0)


# Noise, and slack and limit of a CUSUM that knows it and the drop of 10 %: half of the drop in standard deviations, and
# a limit with about as many false alarms as this detector has (Siegmund's formula).
CHOICES = ((0.03, 1.67, 3.0), (0.05, 1.0, 5.3))


def choice(options, goals: Goals) -> None:
    """False alarms against detection where goals are not reached."""
    for spread, slack, limit in CHOICES:
        choice_at(spread, partial(cusum, known=(1.0, spread), slack=slack, limit=limit), options)


def choice_at(spread: float, ideal: Callable, options) -> None:
    header(
        f"The choice at {spread:.0%} noise: false alarms of sites within {NIGHTS} nights, and drops of 10 % that are "
        "found",
        "limit of the deviate; of 100 stable sites alarm; found within 5; found within 8; found within 12",
    )
    rng = np.random.default_rng(options.seed)
    quiet = worst(1 + spread * rng.standard_normal((SERIES * options.sites, NIGHTS)), 12).min(axis=1)
    made = {begin: dropped(partial(normal, spread), 0.1, begin, 12, options.series, options.seed) for begin in BEGINS}
    seen = {begin: worst(drawn.values, begin + 1) for begin, drawn in made.items()}
    for limit in sorted((3.0, 3.5, 4.0, 4.4, LIMIT, 5.0)):
        sites = (quiet < -limit).reshape(options.sites, SERIES).any(axis=1).mean()
        found = [
            np.mean([(part[:, :after] < -limit).any(axis=1).mean() for part in seen.values()]) for after in (5, 8, 12)
        ]
        row(f"{limit:.2f}" + (" (chosen)" if limit == LIMIT else ""), *map(percent, [sites, *found]))
    sites = np.mean([(ideal(normal(spread, rng, (SERIES, NIGHTS))) > 0).any() for _ in range(options.sites)])
    nights = {begin: ideal(drawn) for begin, drawn in made.items()}
    found = [
        np.mean([((first > begin) & (first <= begin + after)).mean() for begin, first in nights.items()])
        for after in (5, 8, 12)
    ]
    row("CUSUM that knows level, noise and size of the drop", *map(percent, [sites, *found]))


def worst(values: np.ndarray, first: int) -> np.ndarray:
    """The deviate of the worst change that each look, from `first` sessions on, shows: (series, looks)."""
    looks = []
    for night in range(first, values.shape[1] + 1):
        seen = look(values[:, :night], 0.0)
        step = np.where(seen.step_size <= -RULE.smallest_change, seen.step, 0)
        looks.append(np.minimum(step, np.where(seen.drift_size <= -RULE.smallest_change, seen.drift, 0)))
    return np.array(looks).T


def file_system(options, goals: Goals) -> None:
    """One change of a file system on which 22 of the 118 metrics are measured."""
    header(
        "A file system loses 10 %: its 22 metrics of 118, after 40 sessions, seen 8 sessions later; 20 sites",
        "noise; one event on the file system; metrics in it, mean; other alarms",
    )
    for spread in (0.03, 0.05):
        rng = np.random.default_rng(options.seed)
        found = []
        for _ in range(20):
            values = 1000 * (1 + spread * rng.standard_normal((SERIES, 48)))
            values[:22, 40:] *= 0.9
            table = session_table(values)
            found.append([event for event in events(table, findings(table)) if event.alarms])
        right = [[one for one in of_site if one.where == {"file_system": "scratch"}] for of_site in found]
        share = np.mean([len(of_site) == 1 for of_site in right])
        size = np.mean([len(one.findings) for of_site in right for one in of_site])
        row(f"normal, {spread:.0%}", percent(share), f"{size:.1f}", sum(map(len, found)) - sum(map(len, right)))
        goals.check(f"one event of a file system at {spread:.0%} noise", share, least=0.95 if spread < 0.05 else 0.0)


def gaps(options, goals: Goals) -> None:
    """Sessions that lack some values, and nights without a session; every series of a session has its own date."""
    header(
        "Normal noise of 3 %, seen in 20 sites: nothing changes; 22 metrics change after 40 nights",
        "what is missing; nights since the change; stable sites with an alarm; drops of 10 % found, of 100; "
        "improvements of 10 % found, of 100; alarms for improvements",
    )
    # A value that is missing tells nothing: 12 nights with 80 % of them have 8 values or more in 93 of 100 metrics.
    rows = ("nothing", 0.0, False, 8), ("a fifth of the values", 0.2, False, 8)
    for name, share, week, nights in (*rows, ("a fifth of the values", 0.2, False, 12), ("a week", 0.0, True, 8)):
        rng = np.random.default_rng(options.seed)
        stable, drops, rises, wrong = 0, [], [], 0
        for _ in range(20):
            quiet = with_gaps(1000 * (1 + 0.03 * rng.standard_normal((SERIES, NIGHTS))), share, week, rng)
            stable += any(finding.alarms for finding in quiet)
            for factor, found in ((0.9, drops), (1.1, rises)):
                values = 1000 * (1 + 0.03 * rng.standard_normal((SERIES, 40 + nights)))
                values[:22, 40:] *= factor
                seen = [one for one in with_gaps(values, share, week, rng) if one.series["file_system"] == "scratch"]
                right = [one for one in seen if (one.improvement if factor > 1 else one.regression)]
                found.append(len({one.series["processes"] for one in right}) / 22)
                wrong += sum(one.alarms for one in seen) if factor > 1 else 0
        row(name, nights, f"{stable} of 20", percent(np.mean(drops)), percent(np.mean(rises)), wrong)
        goals.check(f"stable sites with an alarm, missing: {name}", stable, most=1)
        goals.check(f"alarms for improvements, missing: {name}", wrong, most=0)
        if not share or nights == 12:
            goals.check(f"drops found, missing: {name}", np.mean(drops), least=0.85)


def with_gaps(values: np.ndarray, share: float, week: bool, rng) -> list:
    """The findings in a site whose values are missing: a share of them at random, and those of the nights 20 to 26."""
    table = session_table(values)
    kept = rng.random(len(table)) >= share
    if week:
        night = (table["session_time"] - table["session_time"].min()).dt.days
        kept &= ~night.between(20, 26)
    return findings(table[kept])


TABLES = {"stable": stable, "drops": drops, "drifts": drifts, "file-system": file_system}
TABLES |= {"gaps": gaps, "choice": choice, "plan": plan}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"default: all of {', '.join(TABLES)}")
    parser.add_argument("--sites", type=int, default=40)
    parser.add_argument("--series", type=int, default=50)
    parser.add_argument("--otava", type=int, default=4, choices=range(4, SERIES + 1), metavar="SERIES")
    parser.add_argument("--seed", type=int, default=20261121)
    options = parser.parse_args()
    goals = Goals()
    print(f"seed {options.seed}; limit of the deviate for {SERIES} series: {LIMIT:.2f}")
    for name in options.tables or TABLES:
        TABLES[name](options, goals)
    return goals.report()


if __name__ == "__main__":
    sys.exit(main())
