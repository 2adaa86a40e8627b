# SPDX-License-Identifier: Apache-2.0
"""One tidy table over sessions: a row per test case and metric, with the circumstances of its measurement.

ReFrame's session reports and its results database are the only store; here they become a table.
"""

from collections.abc import Iterator

import orjson
import pandas as pd
import pandera.pandas as pa

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.benchmarks.directions import by_bounds, by_unit
from coffeecup.postprocess.benchmarks.registry import metric_kind
from coffeecup.postprocess.history.cases import (
    EVENTS,
    NODE,
    is_own,
    is_without_value,
    measured,
    of_kernel,
    of_other_test,
    selection,
    why,
    without_metrics,
)
from coffeecup.postprocess.sessions.files import SessionReport
from coffeecup.postprocess.sessions.verdicts import verdicts_of

# A time series: rows that differ only in the session. Other options of the kernel are another series.
SERIES = ["benchmark", "system", "partition", "environ", "node", "file_system", "processes", "settings", "metric"]
NO_VALUE = "ReFrame counted this test as passed, but none of its performance variables has a value"
# What ReFrame itself records of a session; everything else was given with --session-extras.
RESERVED = {
    "data_version",
    "hostname",
    "uuid",
    "cmdline",
    "config_files",
    "log_files",
    "prefix_output",
    "prefix_stage",
    "user",
    "version",
    "workdir",
    "session_uuid",
}

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
DIRECTION = {"better": pa.Column(str, pa.Check.isin(list(Better)))}
CASE_TABLE = pa.DataFrameSchema(CASES, strict=True)
HISTORY = pa.DataFrameSchema(CASES | {"case": TEXT} | METRICS | DIRECTION, strict=True, unique=["case", "metric"])


def case_table(reports: list[SessionReport]) -> pd.DataFrame:
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
    else that was recorded, with the session's extras as "session NAME".
    """
    return CASE_TABLE.validate(typed([row for row, _ in cases_of(reports)], CASES))


def history_table(reports: list[SessionReport]) -> pd.DataFrame:
    """A row per test case and metric, by time: the columns of case_table, and the metric against its reference.

    `value`, `reference`, `lower` and `upper` are in `unit`, NaN if there is none; the bounds are absolute. `outcome` is
    "no reference" if nothing was compared, and "not measured" if the value is NaN. `better` is the metric's direction
    without a site's file (site_files.Threshold).
    """
    table = typed([row | metric for row, metrics in cases_of(reports) for metric in metrics], CASES | METRICS)
    return HISTORY.validate(table.assign(better=directions(table)))


def directions(table: pd.DataFrame) -> pd.Series:
    """The direction of the metric in each row of a table with METRICS: as its benchmark states it, or else as the
    references have a bound on one side only, or else as its unit tells."""
    found = {}
    for (benchmark, metric), rows in table.groupby(["benchmark", "metric"], sort=False):
        key = str(benchmark), str(metric)
        bounds = {by_bounds(*side) for side in zip(rows["lower"].notna(), rows["upper"].notna())} - {Better.UNKNOWN}
        other = bounds.pop() if len(bounds) == 1 else by_unit(rows["unit"].iloc[-1])
        found[key] = metric_kind(*key, other).better
    return pd.Series([str(found[key]) for key in zip(table["benchmark"], table["metric"])], table.index, dtype=str)


def cases_of(reports: list[SessionReport]) -> Iterator[tuple[dict, list[dict]]]:
    """Pairs of a row of case_table and its rows of metrics."""
    ignored = without_metrics(reports)
    for report in reports:
        extras = {
            f"session {name}": str(value)
            for name, value in report.info.items()
            if name not in RESERVED and not name.startswith(("num_", "time_"))
        }
        for again, run in enumerate(report.content["runs"]):
            for place, case in enumerate(run["testcases"]):
                if not case.get("fixture") and case["name"] not in ignored:
                    row = case_row(report, case, again, extras) | {"reason": why(case, run["testcases"])}
                    if is_without_value(case) and not is_own(case):
                        row |= {"result": "fail", "reason": NO_VALUE}
                    row["case"] = case_id(report, again, place)
                    yield row, [{name: getattr(found, name) for name in METRICS} for found in verdicts_of(case)]


def case_id(report: SessionReport, run: int, place: int) -> str:
    """What identifies a test case: its session, and its places there."""
    return f"{report.info['uuid']}:{run}:{place}"


def case_row(report: SessionReport, case: dict, run: int, extras: dict[str, str]) -> dict:
    begun, ended = report.info["time_start_unix"], report.info["time_end_unix"]
    nodes = case.get("job_nodelist") or []
    of_test = of_kernel(case) if is_own(case) else of_other_test(case, report.info)
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
        "measured": bool(measured(case)),
        "metrics": orjson.dumps([] if is_own(case) else measured(case)).decode(),
        "hosts": nodes if isinstance(nodes, str) else ",".join(map(str, nodes)),
        "facts": orjson.dumps(of_test["facts"] | extras, option=orjson.OPT_SORT_KEYS).decode(),
        "source": str(report.source),
    }


def typed(rows: list[dict], columns: dict) -> pd.DataFrame:
    """A table of these columns by time; an empty one has the right types as well."""
    table = pd.DataFrame(rows, columns=list(columns))
    table = table.assign(
        **{name: pd.to_datetime(table[name], unit="s", utc=True).dt.as_unit("us") for name in ("session_time", "time")}
    )
    return table.astype({name: str(column.dtype) for name, column in columns.items()}).sort_values(
        "time", kind="stable", ignore_index=True
    )
