# SPDX-License-Identifier: Apache-2.0
"""The current state of every metric: level with interval, verdict on the last session, trend; also over sizes.

Pure functions from tables of change_points.session_values to tables.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd

from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.history.change_points import Finding, relative
from coffeecup.postprocess.history.comparable import same_unit, same_units, without_hosts
from coffeecup.postprocess.history.completeness import TEST, missed, of_each_test, places_of, with_names
from coffeecup.postprocess.history.looks import CANDIDATE, SESSIONS_AFTER, SESSIONS_BEFORE, look
from coffeecup.postprocess.history.site_files import Entry
from coffeecup.postprocess.history.table import SERIES, WITHOUT_METRIC, WITHOUT_PROCESSES
from coffeecup.postprocess.statistics.medians import interval

TOO_FEW = "too few sessions"  # to judge a series
VISIBLE = 0.1  # smallest change, a fraction, that is undecided and not steady
FROM_LAST = [*SERIES, "unit", "reference", "lower", "upper", "log_sha256", "breaches"]
COLUMNS = [*FROM_LAST, *"time last verdict median low high confidence sessions trend detectable".split()]


def standing(
    values: pd.DataFrame,
    found: list[Finding],
    cases: pd.DataFrame,
    entries: Iterable[Entry] = (),
    detectable: Mapping[tuple, float] = MappingProxyType({}),
) -> pd.DataFrame:
    """A row per series of a table of session_values: the columns of SERIES; `last` with its `time` and `verdict`
    against `reference`, `lower`, `upper`; `median` of the sessions since the last change of level, or of the unit,
    without episodes, with the interval `low`, `high` and its `confidence`; `sessions` of these; `trend` in words; the
    loss that is `detectable` (power.detectable), NaN if unknown. The case_table of the same sessions tells
    which of them have no value: a series that stopped, but not in maintenance, has no verdict and no trend."""
    changed = {}
    for finding in found:
        changed.setdefault(tuple(finding.series.values()), []).append(finding)
    tests = {key: (one[1], *outcomes(*one)) for key, one in of_each_test(cases, entries).items()}
    named, rows = with_names(values), []
    ends = named.drop_duplicates(SERIES, keep="last").to_dict("records")
    last_of = {tuple(last[name] for name in SERIES): last for last in ends}
    for key, series in named.groupby(SERIES, sort=False, observed=True):
        last = last_of[key]
        row = of_series(same_unit(series), last, changed.get(key, [])) | {"detectable": detectable.get(key, np.nan)}
        rows.append(row | stopped(series, *tests[tuple(last[name] for name in TEST)]))
    table = pd.DataFrame(rows, columns=COLUMNS)
    return (
        table.assign(rank=ranks(table)).sort_values([*WITHOUT_METRIC, "rank"], ignore_index=True).drop(columns="rank")
    )


def ranks(table: pd.DataFrame) -> list[int]:
    """The place of the metric of each row among those that its benchmark states, in its order; after them if the
    benchmark does not, or is not installed here."""
    known = {name: list(benchmarks()[name].units) for name in set(table["benchmark"]) & set(benchmarks())}
    pairs = ((known.get(name, []), metric) for name, metric in zip(table["benchmark"], table["metric"]))
    return [metrics.index(metric) if metric in metrics else len(metrics) for metrics, metric in pairs]


def of_series(series: pd.DataFrame, last: dict, found: list[Finding]) -> dict:
    of_level = np.ones(len(series), dtype=bool)
    for change in (one.change for one in found):
        of_level[slice(change.index, change.until) if change.until else slice(change.index)] = False
    level = series["value"].to_numpy()[of_level]
    low, high, confidence = interval(level)
    return {name: last[name] for name in FROM_LAST} | {
        "time": last["session_time"],
        "last": last["value"],
        "verdict": verdict(last),
        "median": float(np.median(level)),
        "low": low,
        "high": high,
        "confidence": confidence,
        "sessions": len(level),
        "trend": trend(series, [one for one in found if not one.episode]),
    }


def outcomes(runs: pd.DataFrame, sessions: pd.DataFrame) -> tuple[dict, int, set[int]]:
    """The place of each session of a system, the last one in which a test, with these runs, measured, and those in
    which it failed."""
    having, failed = (places_of(runs["session"][kind], sessions) for kind in (runs["measured"], ~runs["measured"]))
    return {session: place for place, session in enumerate(sessions.index)}, max(having, default=-1), failed


def stopped(series: pd.DataFrame, sessions: pd.DataFrame, places: dict, measured: int, failed: set[int]) -> dict:
    """Verdict and trend of a series that should have had a value in a later one of its system's sessions: because it
    usually has one then, or because its test, with these runs, failed. A series that other options of the test replaced
    is not one of them."""
    own = {places[session] for session in series["session"] if session in places}
    last = max(own, default=-1)
    absent = set(missed(own, sessions)) | (failed if last == measured else set())
    later = [place for place in absent if place > last]
    if not later:
        return {}
    since = sessions["session_time"].iloc[min(later)]
    return {"verdict": "no value", "trend": f"no value since {since:%Y-%m-%d}"}


def verdict(last: dict) -> str:
    """The verdict on a session's value; an expected failure stays expected."""
    if pd.isna(last["lower"]) and pd.isna(last["upper"]):
        return "no reference"
    if last["outcome"] in ("expected failure", "unexpected pass"):
        return last["outcome"]
    return "fail" if last["value"] < last["lower"] or last["value"] > last["upper"] else "pass"


def trend(series: pd.DataFrame, found: list[Finding]) -> str:
    if len(series) < SESSIONS_BEFORE + SESSIONS_AFTER:
        return TOO_FEW
    if not found:
        return undecided(series) or "steady"
    last = found[-1]
    alarm = "worse" if last.regression else "worse or better"  # of unknown direction
    word = alarm if last.alarms and not last.accepted else "changed"
    end = ", accepted" if last.accepted else ", recovered" if last.suspect and last.recovered else ""
    return f"{word} since {last.time:%Y-%m-%d}: {last.change.relative:+.1%}{end}"


def undecided(series: pd.DataFrame) -> str:
    """What a reader sees in a series in which nothing was found: a step by VISIBLE or more, with a deviate above
    looks.CANDIDATE, that more sessions may confirm; empty if there is none."""
    values = without_hosts(series["value"].to_numpy(), series["hosts"].to_numpy())
    first, last = np.median(values[:SESSIONS_BEFORE]), np.median(values[-SESSIONS_AFTER:])
    if len(values) < SESSIONS_BEFORE + SESSIONS_AFTER or abs(last - first) < VISIBLE * abs(first):
        return ""
    place = int(look(values[None], limit=CANDIDATE).place[0])
    size = relative(float(np.median(values[:place])), float(np.median(values[place:]))) if place else 0.0
    return f"undecided since {series['session_time'].iloc[place]:%Y-%m-%d}: {size:+.1%}" if abs(size) >= VISIBLE else ""


def headlines(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of `table`, a standing, with the first metric of each benchmark, place and set of options, at each
    size."""
    return table.groupby(WITHOUT_METRIC, sort=False, observed=True).head(1)


def newest(values: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """The headlines of the newest session: their rows of session_values, with the median of the `earlier` sessions,
    NaN without any, and their number `sessions`. `table` is the standing of the values."""
    of_headlines = same_units(values).merge(headlines(table)[SERIES], on=SERIES)
    is_newest = of_headlines["session"].isin(values.nlargest(1, "session_time")["session"])
    before = of_headlines[~is_newest].groupby(SERIES)["value"].agg(earlier="median", sessions="size").reset_index()
    joined = of_headlines[is_newest].merge(before, on=SERIES, how="left")
    return joined.assign(sessions=joined["sessions"].fillna(0).astype(int))


def scaling(table: pd.DataFrame) -> pd.DataFrame:
    """The headlines that are bandwidths and have several sizes, with `per_process` and `efficiency`: the bandwidth per
    process over that at the smallest size."""
    rates = headlines(table).query("unit == 'MByte/s' and processes > 0")
    rates = rates.assign(per_process=rates["median"] / rates["processes"])
    alike = rates.groupby(WITHOUT_PROCESSES, sort=False, observed=True)
    return rates[alike["processes"].transform("size") > 1].assign(
        efficiency=rates["per_process"] / alike["per_process"].transform("first")
    )
