# SPDX-License-Identifier: Apache-2.0
"""The value of a system in the history, where a benchmark defines it as the largest value of all sizes."""

import orjson
import pandas as pd

from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.history.change_points import counted_runs
from coffeecup.postprocess.history.table import HISTORY, WITHOUT_PROCESSES

EXPECTED = ["reference", "lower", "upper"]


def with_systems(table: pd.DataFrame) -> pd.DataFrame:
    """A history_table with a row more for each session in which a benchmark with a `system_metric` has official values
    at several sizes that differ in nothing else: the row of the largest size, with the largest value. The sizes are
    among its settings, so that a session without one of them is in another series. If each size was compared with a
    reference, the largest of these is that of the system. Runs that --repeat repeats have a row for each repetition;
    of a run that failed and was run again, the last retry counts."""
    metrics = {name: one.system_metric.name for name, one in benchmarks().items() if one.system_metric}
    headlines = {name: benchmarks()[name].metrics[0].name for name in metrics}
    wanted = table["metric"] == table["benchmark"].map(headlines)
    runs = counted_runs(table[wanted & table["official"]])
    alike = ["session", *WITHOUT_PROCESSES]
    each = runs.assign(repetition=runs.groupby([*alike, "processes"]).cumcount())
    made = [
        of_system(sizes.sort_values("processes"), metrics[sizes["benchmark"].iloc[0]])
        for _, sizes in each.groupby([*alike, "repetition"], sort=False)
        if len(sizes) > 1
    ]
    if not made:
        return table
    rows = pd.concat([table, pd.DataFrame(made, columns=table.columns).astype(table.dtypes)], ignore_index=True)
    return HISTORY.validate(rows.sort_values("time", kind="stable", ignore_index=True))


def expecting_systems(cases: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """A case_table that states the metric of each system, of a table of with_systems, so that completeness tells when
    it has no value any more: a size is not official, or did not run."""
    names = [one.system_metric.name for one in benchmarks().values() if one.system_metric]
    rows = table[table["metric"].isin(names)]
    metrics = {case: orjson.dumps([metric]).decode() for case, metric in zip(rows["case"], rows["metric"])}
    return cases.assign(metrics=cases["case"].map(metrics).fillna(cases["metrics"])) if metrics else cases


def of_system(sizes: pd.DataFrame, metric: str) -> dict:
    """The row of a system, from those of its sizes in ascending order."""
    value, row = sizes["value"].max(), sizes.iloc[-1].to_dict()
    row |= {"metric": metric, "value": value}
    row["settings"] = f"{row['settings']} largest of {', '.join(map(str, sizes['processes']))} processes".strip()
    if sizes[["reference", "lower"]].isna().any(axis=None):
        return row | dict.fromkeys(EXPECTED, float("nan")) | {"outcome": "no reference"}
    best = sizes.sort_values("reference").iloc[-1]
    expected = best[EXPECTED].to_dict()
    if expected["lower"] <= value and not value > expected["upper"]:
        return row | expected | {"outcome": "pass"}
    return row | expected | {"outcome": "expected failure" if best["outcome"] == "expected failure" else "fail"}
