# SPDX-License-Identifier: Apache-2.0
"""`coffeecup check-history`: tests without a value, and lasting changes of metrics.

Exit codes: 0 every test has a value and there is no regression, 1 a test without a value or a regression that has not
recovered, 2 wrong usage or sessions that cannot be read.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import orjson
import pandas as pd
import typer

from postprocess.cli.common import Benchmark, MetricName, Since, Sources, cases_and_history, changes_of
from postprocess.reports.changes import gap, place, sentence
from postprocess.show.words import counted, digits, printable, unit_word


def check_history(
    sources: Sources,
    since: Since = None,
    benchmark: Benchmark = None,
    metric: MetricName = None,
    expected: Annotated[
        Path | None,
        typer.Option(metavar="REPORT", help="Every test of this session must have a value; for example of a dry run."),
    ] = None,
    max_age: Annotated[
        float | None, typer.Option(metavar="DAYS", help="The newest session of every system must not be older.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print missing tests and changes as one JSON object.")
    ] = False,
) -> None:
    """Find tests without a value and lasting changes. Exits with 1 if a test has no value, or if a metric got worse and
    has not recovered."""
    from postprocess.history import change_points
    from postprocess.history.completeness import completeness, without_value

    cases, table = cases_and_history(sources, since, benchmark, metric)
    wanted = cases_and_history([expected], None, benchmark, None)[0] if expected else None
    tests = completeness(cases, wanted, benchmark)
    missing, old = without_value(tests).to_dict("records"), too_old(cases, max_age)
    values = change_points.session_values(table)
    found = changes_of(values)
    if as_json:
        content = {
            "missing": [{name: None if pd.isna(value) else value for name, value in row.items()} for row in missing],
            "old": old,
            "changes": [record(finding) for finding in found],
        }
        typer.echo(orjson.dumps(content, default=pd.Timestamp.isoformat, option=orjson.OPT_SERIALIZE_NUMPY).decode())
    else:
        lines = [f"NO VALUE: {gap(row)}" for row in missing]
        lines += [f"OLD: {text}" for text in old]
        lines += map(sentence, found)
        lines += map(suspicion, change_points.suspicions(values, found).to_dict("records"))
        typer.echo("\n".join([*lines, summary(cases, values, found, len(tests), len(missing))]))
    raise typer.Exit(1 if missing or old or any(finding.alarms for finding in found) else 0)


def too_old(cases: pd.DataFrame, max_age: float | None) -> list[str]:
    """The systems whose newest session is older than `max_age` days."""
    newest = cases.groupby("system")["session_time"].max()
    days = (datetime.now(UTC) - newest).dt.total_seconds() / 86400
    return [
        f"{printable(system)}: the newest session is {days[system]:.1f} days old ({newest[system]:%Y-%m-%d %H:%M} UTC)"
        for system in (days.index[days > max_age] if max_age is not None else ())
    ]


def suspicion(row: dict) -> str:
    return (
        f"suspected: {place(row)}: {row['relative']:+.1%} in the last session alone "
        f"({row['session_time']:%Y-%m-%d %H:%M} UTC), {digits(row['level'])} -> {digits(row['value'])} "
        f"{unit_word(row['unit'])}. Confirm it: the session's command again, with --repeat=3 -n "
        f"{printable(repr(row['name'].partition(' %.repeat_no')[0].replace(' ', '')))}"
    )


def summary(cases: pd.DataFrame, values: pd.DataFrame, found: list, tests: int, missing: int) -> str:
    from postprocess.history.change_points import SESSIONS_AFTER, SESSIONS_BEFORE
    from postprocess.history.table import SERIES

    sessions = values.groupby(SERIES, observed=True).size()
    short = int((sessions < SESSIONS_BEFORE + SESSIONS_AFTER).sum())
    not_judged = (
        f"; {short} of them not judged, with fewer than {SESSIONS_BEFORE + SESSIONS_AFTER} sessions" if short else ""
    )
    alarms = sum(finding.alarms for finding in found)
    return (
        f"{counted(cases['session'].nunique(), 'session')}, {counted(tests, 'test')}, {missing} of them without a "
        f"value; {counted(len(sessions), 'metric')} over time{not_judged}: {counted(alarms, 'regression')} that "
        f"{'has' if alarms == 1 else 'have'} not recovered"
    )


def record(finding) -> dict:
    return finding.series | {
        "unit": finding.unit,
        "since": finding.time.isoformat(),
        "sessions": finding.lasted,
        "before": finding.change.before,
        "after": finding.change.after,
        "relative": finding.change.relative,
        "p_value": finding.change.p_value,
        "regression": finding.regression,
        "recovered": finding.recovered,
        "alarm": finding.alarms,
        "changed": list(finding.causes),
    }
