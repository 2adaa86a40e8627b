# SPDX-License-Identifier: Apache-2.0
"""Change points in the history: since when a metric is worse, by how much, and what else changed at that time.

The statistics are those of Apache Otava (E-divisive means with a t-test, Fleming et al., "Hunter", 2023). In addition:
a session has one value; a short excursion is not a level; and a level is judged once it has lasted SESSIONS_AFTER
sessions.
"""

import itertools
from collections import Counter
from dataclasses import dataclass

import numpy as np
import orjson
import pandas as pd

from postprocess.benchmarks.benchmark import Better
from postprocess.benchmarks.registry import metric_kind
from postprocess.history.table import EVENTS, SERIES

# docs/history.md says how these two were chosen.
SMALLEST_CHANGE = (
    0.06  # smallest lasting change that is reported, as a fraction, for metrics that do not state their own
)
P_VALUE = 0.0003  # level of significance of Otava's test
SESSIONS_BEFORE = 8  # sessions that establish a level before it can change
SESSIONS_AFTER = 4  # shorter than this it may be an excursion
WINDOW = 50  # sessions in a window of Otava
EXCURSION_WINDOW = 7
EXCURSION_SPREADS = 3.0
MAD_TO_SIGMA = 1.4826  # of a normal distribution


@dataclass(frozen=True)
class Rule:
    """What counts as a change of a metric."""

    better: Better
    smallest_change: float
    p_value: float


@dataclass(frozen=True)
class Change:
    """A change of level at index `index` of the values, `relative` to the size of the old one."""

    index: int
    before: float
    after: float
    relative: float
    p_value: float


@dataclass(frozen=True)
class Finding:
    """A change of a series: when its first session began, for how many sessions it has lasted, and what else
    changed."""

    series: dict
    unit: str
    change: Change
    time: pd.Timestamp
    lasted: int
    regression: bool
    recovered: bool
    causes: tuple[str, ...]

    @property
    def alarms(self) -> bool:
        return self.regression and not self.recovered


def rule_of(benchmark: str, metric: str) -> Rule:
    """The definition of a change for a metric, as its benchmark states it."""
    kind = metric_kind(benchmark, metric)
    return Rule(kind.better, kind.smallest_change or SMALLEST_CHANGE, P_VALUE)


def session_values(table: pd.DataFrame) -> pd.DataFrame:
    """One row per series and session, by time: the median of the session's runs, and the circumstances of the last run.

    A run that failed and was run again (ReFrame's --max-retries) counts by its last retry: so a suspected regression is
    confirmed before it enters the history. Repeats (--repeat, --reruns) all count.
    """
    test = ["session", "name", "system", "partition", "environ", "metric"]
    retried = (table["result"] == "fail") & (table["run"] < table.groupby(test)["run"].transform("max"))
    kept = table[~retried].dropna(subset="value").sort_values("time", kind="stable")
    last = {
        name: (name, "last")
        for name in (
            "unit",
            "time",
            "reference",
            "lower",
            "upper",
            "outcome",
            "facts",
            "hosts",
            "source",
            "name",
            "qualifications",
            "selection",
            "log_sha256",
            *EVENTS,
        )
    }
    return (
        kept.groupby([*SERIES, "session_time", "session"], sort=False, observed=True)
        .agg(value=("value", "median"), runs=("value", "size"), **last)
        .reset_index()
        .sort_values([*SERIES, "session_time"], kind="stable", ignore_index=True)
    )


def without_excursions(values: np.ndarray) -> np.ndarray:
    """Values (sessions,) in which each value that differs from its neighbours by more than EXCURSION_SPREADS robust
    standard deviations is replaced by their median: Hampel's filter. The spread is that of successive differences,
    which a new level does not widen."""
    if len(values) < 3:
        return values
    spread = MAD_TO_SIGMA * np.median(np.abs(np.diff(values))) / np.sqrt(2)
    middle = pd.Series(values).rolling(EXCURSION_WINDOW, center=True, min_periods=1).median().to_numpy()
    return np.where(np.abs(values - middle) > EXCURSION_SPREADS * spread, middle, values)


def changes(values: np.ndarray, rule: Rule) -> list[Change]:
    """Changes of level in values (sessions,), in the order of time; none if there are too few sessions."""
    from otava.analysis import compute_change_points

    if len(values) < SESSIONS_BEFORE + SESSIONS_AFTER:
        return []
    cleaned = [float(value) for value in without_excursions(values)]  # Otava 0.8 takes no windows of an array
    found, _ = compute_change_points(
        cleaned, window_len=WINDOW, max_pvalue=rule.p_value, min_magnitude=rule.smallest_change
    )
    places = [point.index for point in found if SESSIONS_BEFORE <= point.index <= len(values) - SESSIONS_AFTER]
    significance = {point.index: float(point.stats.pvalue) for point in found}
    ends = [0, *places, len(values)]
    levels = [level(values[begin:end], rule) for begin, end in itertools.pairwise(ends)]
    made = [
        Change(place, before, after, relative(before, after), significance[place])
        for place, before, after in zip(places, levels, levels[1:])
    ]
    return [change for change in made if abs(change.relative) >= rule.smallest_change]


def relative(before: float, after: float) -> float:
    """The change as a fraction of the size of the old level; infinite if this is 0."""
    if before == after:
        return 0.0
    return (after - before) / abs(before) if before else float(np.copysign(np.inf, after - before))


def level(values: np.ndarray, rule: Rule) -> float:
    """The median; of an even number of values the better one of the two in the middle, so that half of the values are
    not enough for a new level."""
    ordered = np.sort(values)
    return (
        float(ordered[(len(ordered) - (rule.better == Better.LOWER)) // 2])
        if rule.better != Better.NEITHER
        else float(np.median(values))
    )


def findings(values: pd.DataFrame) -> list[Finding]:
    """Every change of every series in a table of session_values."""
    return [finding for _, series in values.groupby(SERIES, sort=False, observed=True) for finding in of_series(series)]


def of_series(series: pd.DataFrame) -> list[Finding]:
    first = series.iloc[0]
    rule = rule_of(first["benchmark"], first["metric"])
    measured = series["value"].to_numpy()
    found = changes(measured, rule)
    if not found:
        return []
    today = level(measured[found[-1].index :], rule)
    sign = {Better.HIGHER: 1, Better.LOWER: -1, Better.NEITHER: 0}[rule.better]
    return [
        Finding(
            series=dict(first[SERIES]),
            unit=first["unit"],
            change=change,
            time=series["session_time"].iloc[change.index],
            lasted=len(series) - change.index,
            regression=sign * change.relative < 0,
            recovered=sign * relative(change.before, today) > -rule.smallest_change,
            causes=tuple(causes(series, change.index)),
        )
        for change in found
    ]


def surroundings(series: pd.DataFrame) -> pd.DataFrame:
    """The recorded circumstances of each session, a column each: versions, hosts, facts; empty text if not recorded."""
    facts = pd.DataFrame([orjson.loads(text) for text in series["facts"]], index=series.index)
    return series[[*EVENTS, "hosts"]].rename(columns=EVENTS).join(facts).fillna("").astype(str)


def causes(series: pd.DataFrame, index: int) -> list[str]:
    """Circumstances that differ between most sessions before and most after the change at `index`, and that changed
    within one session of it."""
    changed = []
    for name, values in surroundings(series).items():
        was, now = (Counter(part).most_common(1)[0][0] for part in (values.iloc[:index], values.iloc[index:]))
        near = values.iloc[max(index - 2, 0) : index + 2]
        if was != now and near.nunique() > 1:
            changed.append(f"{name}: {was or 'nothing'} -> {now or 'nothing'}")
    return changed


def events(series: pd.DataFrame) -> pd.DataFrame:
    """Changes of the circumstances from session to session: session_time, what, was, now."""
    recorded = surroundings(series)
    rows = [
        (series["session_time"].iloc[place], name, values.iloc[place - 1], values.iloc[place])
        for name, values in recorded.items()
        for place in np.flatnonzero(values.to_numpy()[1:] != values.to_numpy()[:-1]) + 1
    ]
    return pd.DataFrame(rows, columns=["session_time", "what", "was", "now"]).sort_values(
        "session_time", kind="stable", ignore_index=True
    )


def suspicions(values: pd.DataFrame, found: list[Finding]) -> pd.DataFrame:
    """The last sessions of series that are worse than the current level by more than the smallest change and the
    spread, but are too few to be a new level: the rows of session_values, with `level` and `relative`. A rerun confirms
    or refutes them. Series with an alarm are left out."""
    alarming = {tuple(finding.series.values()) for finding in found if finding.alarms}
    rows = []
    for key, series in values.groupby(SERIES, sort=False, observed=True):
        last = series.iloc[-1]
        rule = rule_of(last["benchmark"], last["metric"])
        before = series["value"].to_numpy()[:-1][-WINDOW:]
        if len(before) < SESSIONS_BEFORE or rule.better == Better.NEITHER or key in alarming:
            continue
        usual, spread = np.median(before), MAD_TO_SIGMA * np.median(np.abs(before - np.median(before)))
        worse = (usual - last["value"]) * (1 if rule.better == Better.HIGHER else -1)
        if usual and worse > max(rule.smallest_change * abs(usual), EXCURSION_SPREADS * spread):
            rows.append(last.to_dict() | {"level": usual, "relative": last["value"] / usual - 1})
    return pd.DataFrame(rows, columns=[*values.columns, "level", "relative"])
