# SPDX-License-Identifier: Apache-2.0
"""The tests that a plan can choose from: what they cost, and the noise of their metrics, from the sessions of a
system."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.history.change_points import RULED, RuleOf, Site, counted_runs, session_values, site_of
from coffeecup.postprocess.history.completeness import with_names
from coffeecup.postprocess.history.noise import Noise, noises
from coffeecup.postprocess.history.plan import OfferedTest
from coffeecup.postprocess.history.power import FEWEST_SESSIONS
from coffeecup.postprocess.history.standing import ranks
from coffeecup.postprocess.history.table import SERIES, WITHOUT_METRIC

ONE_NODE, SEVERAL_NODES = "one node", "several nodes"
PLACE = ["benchmark", "partition", "environ", "node", "file_system"]
TARGET = ["check", *PLACE, "nodes", "parameters", "metric"]
NO_QUEUE = "local"  # ReFrame's scheduler without one


@dataclass(frozen=True)
class Candidates:
    """Tests, the noise of their series, the target of each series (the columns of TARGET), what has to be exceeded, and
    what cannot be planned with the reason: (target, sentence)."""

    tests: list[OfferedTest]
    series: list[Noise]
    targets: list[tuple]
    site: Site
    unknown: list[tuple[tuple, str]]


def candidates(table: pd.DataFrame, rules: RuleOf, wanted: pd.Series, metrics: list[str] | None = None) -> Candidates:
    """What a plan for one system can choose from. `table` is the history_table of all its sessions, by which the site
    is judged; `wanted` (rows of the table,) says which belong to tests that may be chosen. Without `metrics`, the first
    one of each test counts that has a better direction or an unknown one. Raises ValueError if no noise is known."""
    values = with_names(session_values(table))
    site, runs = site_of(values, rules), counted_runs(table)
    known = {tuple(noise.series.values()): noise for noise in noises(site.levels, runs)}
    offered = offers(values, runs[wanted[runs.index]], rules, metrics)
    costs = with_names(runs).groupby("test")
    tests, series, targets, unknown = [], [], [], []
    for name, rows in offered.groupby("test", sort=False):
        seconds, nodes = cost(costs.get_group(name), rows)
        reasons = [reason(known.get(key), row, seconds) for key, row in zip(keys(rows), rows.to_dict("records"))]
        unknown += [(target(row), why) for row, why in zip(rows.to_dict("records"), reasons) if why]
        plannable = rows[[not why for why in reasons]]
        if len(plannable):
            numbers = tuple(range(len(series), len(series) + len(plannable)))
            series += [known[key] for key in keys(plannable)]
            targets += [target(row) for row in plannable.to_dict("records")]
            last = rows["session"].iloc[rows["session_time"].argmax()]
            tests.append(OfferedTest(str(name), sum(seconds), float(np.dot(seconds, nodes)), max(nodes), last, numbers))
    if not tests:
        checks: dict[str, list[str]] = {}
        for (check, *_), why in unknown:
            checks.setdefault(why, []).append(check)
        reasons = [f"{', '.join(dict.fromkeys(names))}: {why}" for why, names in checks.items()]
        raise ValueError("; ".join(reasons) or "no metric has a better direction")
    unknown = [(missing, why) for missing, why in unknown if missing not in targets]
    return Candidates(tests, series, targets, site, unknown)


def keys(rows: pd.DataFrame) -> list[tuple]:
    return list(rows[SERIES].itertuples(index=False, name=None))


def offers(values: pd.DataFrame, runs: pd.DataFrame, rules: RuleOf, metrics: list[str] | None) -> pd.DataFrame:
    """A row per series that may be planned: its last row of session_values with the number of `sessions`, the `check`,
    and whether it ran on one node (`nodes`). Of several sets of options of a test, the one with the most sessions."""
    wanted = values.merge(runs[SERIES].drop_duplicates(), on=SERIES)
    last = wanted.drop_duplicates(SERIES, keep="last")
    last = last.merge(wanted.groupby(SERIES, observed=True).size().rename("sessions").reset_index(), on=SERIES)
    usual = last.sort_values("sessions", kind="stable").drop_duplicates("test", keep="last")
    last = last.merge(usual[["test", "settings"]], on=["test", "settings"])
    judged = [rules(row).better != Better.NEITHER for row in last[RULED].to_dict("records")]
    chosen = last[judged]
    if metrics:
        chosen = chosen[chosen["metric"].isin(metrics)]
    else:
        ranked = chosen.assign(rank=ranks(chosen)).sort_values("rank", kind="stable")
        chosen = ranked.drop_duplicates(["test", *WITHOUT_METRIC])
    several = chosen["hosts"].str.contains(",")
    return chosen.sort_values("test", kind="stable").assign(
        check=chosen["test"].str.split(" %").str[0], nodes=np.where(several, SEVERAL_NODES, ONE_NODE)
    )


def target(row: dict) -> tuple:
    """Of coffeecup's tests, the parameters are sizes and places; of others they may be anything."""
    of_others = row["parameters"] if row["benchmark"] not in benchmarks() else ""
    return tuple(str(row[name]) if name != "parameters" else of_others for name in TARGET)


def cost(runs: pd.DataFrame, offered: pd.DataFrame) -> tuple[list[float], list[int]]:
    """Seconds and nodes of one run of a test, on each partition and environment. Without a queue the median of all
    runs; with one, the shortest, which waited least: ReFrame does not tell how long a job waited."""
    seconds, nodes = [], []
    alike = runs[runs["settings"] == offered["settings"].iloc[0]].drop_duplicates("case")
    for _, part in alike.groupby(["partition", "environ", "node"]):
        local = part["scheduler"].iloc[-1] == NO_QUEUE
        seconds.append(float(part["seconds"].median() if local else part["seconds"].min()))
        nodes.append(int(part["hosts"].str.count(",").max()) + 1)
    return seconds, nodes


def reason(noise: Noise | None, row: dict, seconds: list[float]) -> str:
    """Why a series, a row of offers, cannot be planned; empty if it can."""
    if row["node"]:
        return "it ran on each node (--distribute), which no mode can select"
    known = noise.known if noise else row["sessions"]
    if known < FEWEST_SESSIONS:
        return (
            f"the noise is known from {FEWEST_SESSIONS} sessions with a value above 0 and beside no change: there are "
            f"{known}, {FEWEST_SESSIONS - known} are missing"
        )
    return "" if np.isfinite(seconds).all() else "its sessions do not record how long it ran (time_run)"


def words_of(parameters: str) -> str:
    """Parameters of another test in a line."""
    named = json.loads(parameters) if parameters else {}
    return " ".join(f"{name}={value}" for name, value in named.items())
