# SPDX-License-Identifier: Apache-2.0
"""Numeric facts beside an event, such as how full a file system was: their distribution during the event, and before.

Pure functions on rows of a table of session_values.
"""

from collections.abc import Iterator
from math import isfinite

import numpy as np
import orjson
import pandas as pd

from coffeecup.postprocess.show.words import digits
from coffeecup.postprocess.statistics.ranks import rank_sum

MOST = 40  # sessions before an event, and since it began, that are compared
FEWEST_BEFORE, FEWEST = 8, 3
NAMES = 4  # numbers without a fraction that have at most so many values are names, such as a version
SIGNIFICANCE = 0.05  # for all facts of an event together
OFTEN = 0.2  # of earlier times at which a fact differed as much: such a fact wanders or grows anyway
SHOWN = 0.1, 0.9  # quantiles


def numeric(facts: pd.DataFrame) -> list[str]:
    """The columns of a table of recorded facts that are numbers, not names: those with fractions, and whole numbers, or
    texts of numbers, with more than NAMES values."""
    return [str(name) for name, column in facts.items() if is_numeric(column.dropna())]


def is_numeric(recorded: pd.Series) -> bool:
    if all(isinstance(value, float) for value in recorded):
        return len(recorded) > 0
    values = pd.to_numeric(recorded, errors="coerce")
    return bool(recorded.nunique() > NAMES and values.map(isfinite).all())


def compared(rows: pd.DataFrame, order: dict[pd.Timestamp, int], since: pd.Timestamp, lasted: int) -> tuple[str, ...]:
    """The facts that differ between the sessions of an event, from `since` on for so many sessions, and those before,
    as "NAME: LOW to HIGH -> LOW to HIGH". `rows` are those of its series, `order` numbers the sessions of the system.

    The p-value of the rank-sum test, times the number of facts, is at most SIGNIFICANCE; and at most OFTEN of the
    earlier times show as large a difference of medians between as many sessions and the FEWEST_BEFORE before them."""
    first, found = order[since], []
    last = first + min(lasted, MOST)
    recent = rows[rows["session_time"].map(order).between(first - 3 * MOST, last - 1)]
    for name, values in by_session(recent.drop_duplicates(["session_time", "file_system", "facts"])):
        places = np.array([order[time] for time in values.index])
        measured, begin, end = values.to_numpy(), *np.searchsorted(places, [first, last])
        if begin >= FEWEST_BEFORE and end - begin >= FEWEST:
            found.append((name, measured, int(begin), int(end)))
    return tuple(
        f"{name}: {in_words(before)} -> {in_words(during)}"
        for name, measured, begin, end in found
        for before, during in [(measured[max(begin - MOST, 0) : begin], measured[begin:end])]
        if rank_sum(before, during) * len(found) <= SIGNIFICANCE and is_unusual(measured, begin, end)
    )


def by_session(rows: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """Name and values (sessions,) of every numeric fact, by time: medians of each session. Where file systems differ in
    a fact, it is one of each."""
    facts = pd.DataFrame([orjson.loads(text) for text in rows["facts"]], index=rows.index)
    for name in numeric(facts):
        values = pd.to_numeric(facts[name]).dropna()
        of = rows.loc[values.index]
        systems = of["file_system"].unique()
        if len(systems) > 1 and (values.groupby(of["session_time"]).nunique() > 1).any():
            for system in systems:
                inside = of["file_system"] == system
                yield f"{name} of {system}", values[inside].groupby(of.loc[inside, "session_time"]).median()
        else:
            yield name, values.groupby(of["session_time"]).median()


def is_unusual(measured: np.ndarray, begin: int, end: int) -> bool:
    """Whether the sessions from `begin` to `end` differ more from those before them than most earlier ones do."""
    length = end - begin
    earlier = [difference(measured, place, place + length) for place in range(FEWEST_BEFORE, begin - length + 1)]
    as_large = sum(size >= difference(measured, begin, end) for size in earlier)
    return as_large <= OFTEN * len(earlier)


def difference(measured: np.ndarray, begin: int, end: int) -> float:
    return float(abs(np.median(measured[begin:end]) - np.median(measured[begin - FEWEST_BEFORE : begin])))


def in_words(values: np.ndarray) -> str:
    """Where most of the values are."""
    low, high = (digits(float(value)) for value in np.quantile(values, SHOWN, method="nearest"))
    return low if low == high else f"{low} to {high}"
