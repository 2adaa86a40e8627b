# SPDX-License-Identifier: Apache-2.0
"""The noise in which a contract is judged, before its runs exist: recorded nights, or a scatter that is stated.

Values are relative to the true value, the median of all recorded runs of a metric. Nights are drawn as they are, with
their outliers, drifts and bad days. Clauses that the same runs decide get the values of the same run, all clauses those
of the same night, and the nights of one acceptance follow each other in blocks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from coffeecup.postprocess.acceptance.contract import Clause
from coffeecup.postprocess.logs import paths, trees
from coffeecup.postprocess.show.words import counted, printable

FEWEST_NIGHTS = 20  # that tell a noise: its standard deviation is then known to about 16 %
RESAMPLED = 100  # records that could have been
EVERY = "*"  # the column of a table that all clauses without a column of their own share
NIGHT = "night"


class NoiseError(ValueError):
    """The noise of a clause is unknown; the message is one printable line."""

    def __init__(self, problem: str):
        super().__init__(printable(problem))


@dataclass(frozen=True)
class Drawn:
    """Values relative to the true ones: for each test an array (draws, runs, clauses), and how often each night was
    drawn (draws, nights), empty if the noise is stated."""

    values: list[np.ndarray]
    nights: np.ndarray


def runs_of(test: Sequence[Clause]) -> int:
    """All runs that match a clause enter it, so the clause with the most repetitions decides."""
    return max(clause.repetitions for clause in test)


def session_of_runs(runs: int, sessions: int) -> np.ndarray:
    """The session of each run: as equally many as possible in each."""
    return np.arange(runs) * min(sessions, runs) // runs


@dataclass(frozen=True)
class Stated:
    """Normal noise: the standard deviations of runs of one session and of sessions, as fractions. Clauses are
    independent. No nights tell it, and a session has as many runs as are needed."""

    runs: float
    between: float = 0.0
    nights: int = 0
    remarks: tuple[str, ...] = ()
    repeated: bool = True

    @property
    def words(self) -> str:
        return (
            f"normal, {100 * self.runs:g} % between runs and {100 * self.between:g} % between sessions, clauses "
            "independent"
        )

    def draw(self, tests: Sequence[Sequence[Clause]], draws: int, sessions: int, seed: int) -> Drawn:
        """Acceptances of these tests, each a list of clauses that the same runs decide, over so many sessions."""
        drawn = []
        for number, test in enumerate(tests):
            rng, runs = np.random.default_rng([seed, number]), runs_of(test)
            nights = self.between * rng.standard_normal((draws, sessions, len(test)))
            inside = self.runs * rng.standard_normal((draws, runs, len(test)))
            drawn.append(1 + nights[:, session_of_runs(runs, sessions)] + inside)
        return Drawn(drawn, np.empty((draws, 0)))

    def resampled(self, _seed: int) -> "list[Stated]":
        """What is stated is known."""
        return [self]


@dataclass(frozen=True)
class Recorded:
    """Nights as they were: for each test, by the names of its clauses, an array (nights, runs, clauses) of relative
    values and the number of runs of each night (nights,), after which the array is NaN."""

    tests: Mapping[tuple[str, ...], tuple[np.ndarray, np.ndarray]]
    source: str
    nights: int
    remarks: tuple[str, ...] = field(default=())

    @property
    def repeated(self) -> bool:
        """Whether nights have several runs of every test, so that runs of one session can be drawn."""
        return all((count > 1).mean() > 0.5 for _, count in self.tests.values())

    @property
    def words(self) -> str:
        several = "" if self.repeated else ", one run of each, so that each run of an acceptance is of another night"
        return f"{counted(self.nights, 'night')} of {self.source}{several}"

    def draw(self, tests: Sequence[Sequence[Clause]], draws: int, sessions: int, seed: int) -> Drawn:
        """As of stated noise. The nights of an acceptance follow each other, because they depend on each other, but in
        blocks where there are so few that acceptances would hardly differ."""
        sessions = sessions if self.repeated else max(map(runs_of, tests))
        nights = self.in_blocks((draws, sessions), seed)
        times, drawn = np.zeros((draws, self.nights), dtype=np.int16), []
        for number, test in enumerate(tests):
            values, count = self.tests[names(test)]
            chosen = nights[:, session_of_runs(runs_of(test), sessions)]
            inside = np.random.default_rng([seed, number]).integers(count[chosen])
            drawn.append(values[chosen, inside])
        np.add.at(times, (np.arange(draws)[:, None], nights), 1)
        return Drawn(drawn, times)

    def in_blocks(self, shape: tuple[int, int], seed: int) -> np.ndarray:
        """Nights by number, drawn in blocks along the second axis."""
        (draws, length), block = shape, max(self.nights // FEWEST_NIGHTS, 2)
        first = np.random.default_rng([seed, self.nights]).integers(self.nights, size=(draws, -(-length // block)))
        return (first[:, np.arange(length) // block] + np.arange(length) % block) % self.nights

    def resampled(self, seed: int) -> "list[Recorded]":
        """Records of other nights, drawn from these, each relative to its own medians: what the noise may be, as far as
        these nights tell it (bootstrap). Those with a median that is not positive have no relative noise."""
        nights, found = self.in_blocks((RESAMPLED, self.nights), seed), []
        middles = {key: medians(values[nights]) for key, (values, _) in self.tests.items()}
        for number, chosen in enumerate(nights):
            if all((middle[number] > 0).all() for middle in middles.values()):
                tests = {
                    key: (values[chosen] / middles[key][number], count[chosen])
                    for key, (values, count) in self.tests.items()
                }
                found.append(replace(self, tests=tests))
        return found or [self]


Noise = Stated | Recorded


def names(test: Sequence[Clause]) -> tuple[str, ...]:
    return tuple(clause.name for clause in test)


def by_runs(clauses: Sequence[Clause]) -> list[list[Clause]]:
    """The clauses divided by the runs that decide them: those of one benchmark, place, size and parameters."""
    found: dict[tuple, list[Clause]] = {}
    for clause in clauses:
        key = clause.benchmark, clause.system, clause.partition, clause.processes, clause.hosts
        files = clause.directory, clause.filesystem, tuple(sorted(clause.parameters.items()))
        found.setdefault((*key, *files), []).append(clause)
    return list(found.values())


def recorded(table: pd.DataFrame, tests: Sequence[Sequence[Clause]], source: str, remarks: Sequence[str] = ()):
    """The noise of a table with the column NIGHT and one for each clause, a row per run; a row may have values for some
    clauses alone. Only nights with a run of every test count. Raises NoiseError."""
    order = list(dict.fromkeys(table[NIGHT]))
    kept = {names(test): table.dropna(subset=list(names(test)), how="any") for test in tests}
    complete = set.intersection(*(set(rows[NIGHT]) for rows in kept.values()))
    nights = [night for night in order if night in complete]
    if len(nights) < FEWEST_NIGHTS:
        raise NoiseError(
            f"{source}: {counted(len(nights), 'night')} with values of all clauses, at least {FEWEST_NIGHTS} are needed"
        )
    left_out = len(order) - len(nights)
    more = [f"{counted(left_out, 'night')} without a value of every clause left out"] if left_out else []
    by_test = {key: packed(rows[rows[NIGHT].isin(complete)], key, nights) for key, rows in kept.items()}
    return Recorded(by_test, source, len(nights), (*remarks, *more))


def packed(rows: pd.DataFrame, clauses: tuple[str, ...], nights: list) -> tuple[np.ndarray, np.ndarray]:
    """Relative values (nights, runs, clauses), and the number of runs of each night."""
    place = pd.Index(nights).get_indexer(pd.Index(rows[NIGHT]))
    count = np.bincount(place)
    values = np.full((len(nights), count.max(), len(clauses)), np.nan)
    values[place, rows.groupby(place).cumcount()] = rows[list(clauses)]
    middle = medians(values)
    if not (middle > 0).all():
        raise NoiseError(f"the median of {clauses[int(np.argmin(middle))]!r} is not positive: it has no relative noise")
    return values / middle, count


def medians(values: np.ndarray) -> np.ndarray:
    """Those of all runs (..., nights, runs, clauses) of each clause."""
    return np.nanmedian(values, axis=(-3, -2))


def read_noise(path: Path, tests: Sequence[Sequence[Clause]]) -> Recorded:
    """The noise of a CSV file: the column `night`, and one for each clause by its name, or `*` for all others; a row
    per run. `*` is as of a rate: clauses with a ceiling alone, such as on times, get its inverse. Raises NoiseError."""
    try:
        paths.content(path, trees.LARGEST_FILE)
        table = pd.read_csv(path, comment="#", dtype={NIGHT: str})
    except (OSError, ValueError) as error:
        raise NoiseError(f"{path}: cannot be read as CSV: {getattr(error, 'strerror', None) or error}") from None
    clauses = [clause for test in tests for clause in test]
    missing = [clause.name for clause in clauses if clause.name not in table and EVERY not in table]
    if NIGHT not in table or missing:
        raise NoiseError(f"{path}: no column {[*missing, NIGHT][0]!r}: name `{NIGHT}` and the clauses, or {EVERY!r}")
    try:
        columns = {clause.name: column_of(table, clause) for clause in clauses}
    except ValueError as error:
        raise NoiseError(f"{path}: {error}") from None
    if any(np.isinf(column).any() for column in columns.values()):
        raise NoiseError(f"{path}: a value is not finite")
    return recorded(pd.DataFrame({NIGHT: table[NIGHT], **columns}), tests, str(path))


def column_of(table: pd.DataFrame, clause: Clause) -> pd.Series:
    if clause.name in table:
        return table[clause.name].astype(float)
    shared = table[EVERY].astype(float)
    return 1 / shared if clause.floor is None else shared


def noise_of_history(history: pd.DataFrame, tests: Sequence[Sequence[Clause]]) -> Recorded:
    """The noise of a history_table: for each clause its metric at its size and place, or else at the only ones that the
    table has, which are named. Raises NoiseError."""
    parts, remarks = [], []
    for test in tests:
        rows, remark = of_test(history.dropna(subset="value"), test)
        remarks += remark
        wide = rows.pivot_table(index=["session", "case"], columns="metric", values="value", sort=False)
        values = pd.DataFrame({clause.name: wide[clause.metric] for clause in test})
        parts.append(values.assign(**{NIGHT: wide.index.get_level_values("session")}).reset_index(drop=True))
    table = pd.concat(parts, ignore_index=True)
    order = {session: place for place, session in enumerate(dict.fromkeys(history["session"]))}
    table = table.sort_values(NIGHT, key=lambda column: column.map(order), kind="stable")
    return recorded(table, tests, "the sessions", remarks)


def of_test(history: pd.DataFrame, test: Sequence[Clause]) -> tuple[pd.DataFrame, list[str]]:
    """The rows of the series that is most like a test, and a remark if it is of another size or place."""
    clause, metrics = test[0], {one.metric for one in test}
    rows = history[(history["benchmark"] == clause.benchmark) & history["metric"].isin(metrics)]
    if missing := sorted(metrics - set(rows["metric"])):
        raise NoiseError(f"clause {clause.name!r:.80}: no session has a value of {clause.benchmark} {missing[0]}")
    for key in ("processes", "system", "partition"):
        own = rows[rows[key] == getattr(clause, key)]
        rows = rows if own.empty else own
    place = ["system", "partition", "environ", "node", "file_system", "processes", "settings"]
    series = rows[place].drop_duplicates()
    if len(series) > 1:
        differing = [name for name in place if series[name].nunique() > 1]
        raise NoiseError(
            f"clause {clause.name!r:.80}: the sessions have {len(series)} series of it, which differ in "
            f"{' and '.join(differing)}: choose sessions of one"
        )
    return rows, list(other_place(clause, series.iloc[0]))


def other_place(clause: Clause, found: pd.Series) -> Iterator[str]:
    where = f"{found['system']}:{found['partition']}, {counted(int(found['processes']), 'process')}"
    if where != f"{clause.system}:{clause.partition}, {counted(clause.processes, 'process')}":
        yield f"the noise of {clause.name!r} is that of {where}"
