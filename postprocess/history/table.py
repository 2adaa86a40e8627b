# SPDX-License-Identifier: Apache-2.0
"""One tidy table over sessions: a row per test case and metric, with the circumstances of its measurement.

ReFrame's session reports and its results database are the only store; here they become a table.
"""

from collections.abc import Iterable
from itertools import chain

import numpy as np
import orjson
import pandas as pd
import pandera.pandas as pa

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.benchmarks.directions import by_bounds, by_unit
from coffeecup.postprocess.benchmarks.registry import metric_kind
from coffeecup.postprocess.history.cases import (
    EVENTS,
    FAILURES,
    NODE,
    is_own,
    is_without_value,
    of_kernel,
    of_other_test,
    selection,
    why,
)
from coffeecup.postprocess.sessions.files import SessionReport, hosts_of
from coffeecup.postprocess.sessions.verdicts import Verdict, verdicts_of

# A time series: rows that differ only in the session. Other options of the kernel are another series.
SERIES = ["benchmark", "system", "partition", "environ", "node", "file_system", "processes", "settings", "metric"]
WITHOUT_METRIC, WITHOUT_PROCESSES = ([name for name in SERIES if name != one] for one in ("metric", "processes"))
NO_VALUE = "ReFrame counted this test as passed, but none of its performance variables has a value"
# What ReFrame itself records of a session; everything else was given with --session-extras.
RESERVED = frozenset(
    (
        "data_version hostname uuid cmdline config_files log_files prefix_output prefix_stage user version workdir "
        "session_uuid"
    ).split()
)

TEXT, NUMBER, TIME = pa.Column(str), pa.Column(float, nullable=True), pa.Column("datetime64[us, UTC]")
CASES = {
    "session": TEXT,
    "session_time": TIME,
    "time": TIME,
    "selection": TEXT,
    "run": pa.Column(int, pa.Check.ge(0)),
    "case": pa.Column(str, unique=True),
    "name": TEXT,
    "benchmark": TEXT,
    "system": TEXT,
    "partition": TEXT,
    "environ": TEXT,
    "node": TEXT,
    "file_system": TEXT,
    "processes": pa.Column(int, pa.Check.ge(0)),
    "settings": TEXT,
    "parameters": TEXT,
    "result": TEXT,
    "reason": TEXT,
    "measured": pa.Column(bool),
    "metrics": TEXT,
    "official": pa.Column(bool),
    "qualifications": TEXT,
    "breaches": TEXT,
    "reference_status": TEXT,
    "log": TEXT,
    "log_sha256": TEXT,
    **dict.fromkeys(EVENTS, TEXT),
    "scheduler": TEXT,
    "seconds": NUMBER,
    "hosts": TEXT,
    "facts": TEXT,
    "node_effects": TEXT,
    "source": TEXT,
}
METRICS = {
    "metric": TEXT,
    "value": NUMBER,
    "unit": TEXT,
    "reference": NUMBER,
    "lower": NUMBER,
    "upper": NUMBER,
    "outcome": TEXT,
}
# The number of metrics of a case, and whether it passed without any. Tests of others that do so in every session
# measure nothing; those that failed in every one may have some.
HIDDEN = ("values", "silent")
DIRECTION = {"better": pa.Column(str, pa.Check.isin(list(Better)))}
CASE_TABLE = pa.DataFrameSchema(CASES, strict=True)
HISTORY = pa.DataFrameSchema(CASES | {"case": TEXT} | METRICS | DIRECTION, strict=True, unique=["case", "metric"])


def case_table(reports: Iterable[SessionReport]) -> pd.DataFrame:
    """A row per test case that measures something, by time, including those that failed without a metric: those of
    coffeecup's kernels, and of every other test with performance variables.

    `session_time` and `time` are when the session began and the job ended (UTC). `selection` is the same for sessions
    that run the same tests. `benchmark` is the class of another test. `node` is the one that ReFrame's --distribute
    chose, otherwise empty. `file_system` is the site's name for it, empty if none is tested. `processes` is 0 if it is
    unknown. `settings` are the kernel's options without paths of the session, after the variant of the check if it is
    not the standard one, or the parameters of another test; `parameters` are the variant or the parameters as a JSON
    object. `measured` is whether any metric has a value, `metrics` is a JSON list
    of those that have one; empty for coffeecup's checks, which fail if one is missing. `seconds` are those of ReFrame's
    run stage, with those in the queue of the `scheduler`; NaN if not recorded. `facts` is a JSON object of everything
    else that was recorded, with the session's extras as "session NAME". `node_effects` is a JSON object, empty if the
    test examined no nodes.
    """
    return tables(map(columns_of, reports))[0]


def history_table(reports: Iterable[SessionReport]) -> pd.DataFrame:
    """A row per test case and metric, by time: the columns of case_table, and the metric against its reference.

    `value`, `reference`, `lower` and `upper` are in `unit`, NaN if there is none; the bounds are absolute. `outcome` is
    "no reference" if nothing was compared, and "not measured" if the value is NaN. `better` is the metric's direction
    without a site's file (site_files.Threshold).
    """
    return tables(map(columns_of, reports))[1]


def tables(sessions: Iterable[dict]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The case_table and the history_table of what columns_of returned."""
    parts = list(sessions)

    def joined(name: str) -> list:
        return list(chain.from_iterable(part[name] for part in parts))

    names, silent = np.array(joined("name"), dtype=object), np.array(joined("silent"), dtype=bool)
    count, times = np.array(joined("values"), dtype=int), np.array(joined("time"), dtype=float)
    without = set(names[silent]) - set(names[count > 0])
    kept = np.array([name not in without for name in names], dtype=bool)
    cases, metrics = (
        pd.DataFrame({name: typed(joined(name), column) for name, column in wanted.items()})
        for wanted in (CASES, METRICS)
    )
    of_case = np.repeat(np.arange(len(cases)), count)

    def ordered(places: np.ndarray) -> np.ndarray:
        """Indices of cases at these places that are kept, by time."""
        by_time = np.argsort(times[places], kind="stable")
        return by_time[kept[places[by_time]]]

    first, every = ordered(np.arange(len(cases))), ordered(of_case)
    taken = ((cases, of_case[every]), (metrics, every))
    history = pd.concat([table.take(places).reset_index(drop=True) for table, places in taken], axis=1)
    return (
        CASE_TABLE.validate(cases.take(first).reset_index(drop=True)),
        HISTORY.validate(history.assign(better=directions(history))),
    )


def directions(table: pd.DataFrame) -> pd.Series:
    """The direction of the metric in each row of a table with METRICS: as its benchmark states it, or else as the
    references have a bound on one side only, or else as its unit tells."""
    found = {}
    for (benchmark, metric), rows in table.groupby(["benchmark", "metric"], sort=False):
        key = str(benchmark), str(metric)
        sides = set(zip(rows["lower"].notna(), rows["upper"].notna()))
        bounds = {by_bounds(*side) for side in sides} - {Better.UNKNOWN}
        other = bounds.pop() if len(bounds) == 1 else by_unit(rows["unit"].iloc[-1])
        found[key] = metric_kind(*key, other).better
    keys = zip(table["benchmark"].tolist(), table["metric"].tolist())
    return pd.Series([str(found[key]) for key in keys], table.index, dtype=str)


def columns_of(report: SessionReport) -> dict[str, list]:
    """The test cases of one session as columns: those of case_table, with HIDDEN; those of METRICS have a value for
    each metric of each case."""
    extras = {
        f"session {name}": str(value)
        for name, value in report.info.items()
        if name not in RESERVED and not name.startswith(("num_", "time_"))
    }
    rows, metrics = [], []
    for again, run in enumerate(report.content["runs"]):
        for place, case in enumerate(run["testcases"]):
            if not case.get("fixture"):
                found = verdicts_of(case)
                rows.append(case_row(report, case, again, extras, found))
                rows[-1] |= {"case": case_id(report, again, place), "reason": why(case, run["testcases"])}
                if is_without_value(case, found) and not is_own(case):
                    rows[-1] |= {"result": "fail", "reason": NO_VALUE}
                metrics += found
    columns = {name: [row[name] for row in rows] for name in (*CASES, *HIDDEN)}
    return columns | {name: [getattr(one, name) for one in metrics] for name in METRICS}


def case_id(report: SessionReport, run: int, place: int) -> str:
    """What identifies a test case: its session, and its places there."""
    return f"{report.info['uuid']}:{run}:{place}"


def case_row(report: SessionReport, case: dict, run: int, extras: dict[str, str], found: list[Verdict]) -> dict:
    begun, ended = report.info["time_start_unix"], report.info["time_end_unix"]
    having = [one.metric for one in found if one.value is not None]
    own = is_own(case)
    of_test = of_kernel(case) if own else of_other_test(case, report.info)
    node = NODE.search(case.get("display_name") or "")
    texts = ("name", "system", "partition", "environ", "result", "scheduler")
    return {name: case.get(name) or "" for name in texts} | {
        **of_test,
        "session": report.info["uuid"],
        "session_time": begun,
        "selection": selection(report.info.get("cmdline") or ""),
        "time": case.get("job_completion_time_unix") or ended,
        "run": case.get("run_index", run),
        "seconds": case.get("time_run"),
        "node": node[1] if node else "",
        "measured": bool(having),
        "metrics": orjson.dumps([] if own else having).decode(),
        "hosts": ",".join(hosts_of(case)),
        "facts": orjson.dumps(of_test["facts"] | extras, option=orjson.OPT_SORT_KEYS).decode(),
        "node_effects": orjson.dumps(case.get("node_effects")).decode() if own and case.get("node_effects") else "",
        "source": str(report.source),
        "values": len(found),
        "silent": not (own or found) and case["result"] not in (*FAILURES, "skip"),
    }


def typed(values: list, column: pa.Column) -> pd.Series:
    """Values as a column of this type; times are seconds since 1970."""
    if column is TIME:
        return pd.to_datetime(pd.Series(values, dtype=float), unit="s", utc=True).dt.as_unit("us")
    return pd.Series(values, dtype=str(column.dtype))
