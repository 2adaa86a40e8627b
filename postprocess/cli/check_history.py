# SPDX-License-Identifier: Apache-2.0
"""`coffeecup check-history`: lasting changes of metrics.

Exit codes: 0 no regression, 1 a regression that has not recovered, 2 wrong usage or sessions that cannot be read.
"""

from typing import Annotated

import orjson
import pandas as pd
import typer

from postprocess.cli.common import Benchmark, MetricName, Since, Sources, changes_of, stored
from postprocess.reports.changes import place, sentence
from postprocess.show.words import counted, digits, printable, unit_word


def check_history(
    sources: Sources,
    since: Since = None,
    benchmark: Benchmark = None,
    metric: MetricName = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print every change as one JSON list.")] = False,
) -> None:
    """Find lasting changes. Exits with 1 if a metric got worse and has not recovered."""
    from postprocess.history import change_points

    values = change_points.session_values(stored(sources, since, benchmark, metric))
    found = changes_of(values)
    if as_json:
        typer.echo(orjson.dumps([record(finding) for finding in found], option=orjson.OPT_SERIALIZE_NUMPY).decode())
    else:
        typer.echo(
            "\n".join(
                [
                    *map(sentence, found),
                    *map(suspicion, change_points.suspicions(values, found).to_dict("records")),
                    summary(values, found),
                ]
            )
        )
    raise typer.Exit(1 if any(finding.alarms for finding in found) else 0)


def suspicion(row: dict) -> str:
    return (
        f"suspected: {place(row)}: {row['relative']:+.1%} in the last session alone "
        f"({row['session_time']:%Y-%m-%d %H:%M} UTC), "
        f"{digits(row['level'])} -> {digits(row['value'])} {unit_word(row['unit'])}. Confirm it: the session's command "
        "again, "
        f"with --repeat=3 -n {printable(repr(row['name'].partition(' %.repeat_no')[0].replace(' ', '')))}"
    )


def summary(values: pd.DataFrame, found: list) -> str:
    from postprocess.history.change_points import SESSIONS_AFTER, SESSIONS_BEFORE
    from postprocess.history.table import SERIES

    sessions = values.groupby(SERIES, observed=True).size()
    short = int((sessions < SESSIONS_BEFORE + SESSIONS_AFTER).sum())
    not_judged = (
        f"; {short} of them not judged, with fewer than {SESSIONS_BEFORE + SESSIONS_AFTER} sessions" if short else ""
    )
    alarms = sum(finding.alarms for finding in found)
    return (
        f"{counted(values['session'].nunique(), 'session')}, {len(sessions)} metrics over time{not_judged}: "
        f"{counted(alarms, 'regression')} that {'has' if alarms == 1 else 'have'} not recovered"
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
