# SPDX-License-Identifier: Apache-2.0
"""`coffeecup history`: metrics over sessions."""

from typing import Annotated

import pandas as pd
import typer

from postprocess.cli.common import (
    Benchmark,
    Figures,
    MetricName,
    Since,
    Sources,
    cases_and_history,
    changes_of,
    write_figures,
)
from postprocess.reports.changes import gap, place, sentence
from postprocess.show.words import counted, digits, printable, unit_word


def history(
    sources: Sources,
    since: Since = None,
    benchmark: Benchmark = None,
    metric: MetricName = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print the whole table as CSV: a row per session, test case and metric.")
    ] = False,
    last: Annotated[
        bool, typer.Option("--last", help="Print only how the newest session differs from the earlier ones.")
    ] = False,
    figures: Figures = None,
) -> None:
    """Print every metric over the sessions, with its reference and what changed at the same time."""
    from postprocess.history import change_points
    from postprocess.history.completeness import completeness, without_value
    from postprocess.history.figures import trends

    cases, table = cases_and_history(sources, since, benchmark, metric)
    if as_csv:
        typer.echo(table.to_csv(index=False), nl=False)
        return
    values = change_points.session_values(table)
    lines = [
        f"NO VALUE: {gap(row)}" for row in without_value(completeness(cases, benchmark=benchmark)).to_dict("records")
    ]
    if last or values.empty:
        typer.echo("\n".join([*lines, *comparison(cases, values)]))
        return
    found = changes_of(values)
    typer.echo("\n".join([*lines, *overview(values, found)]))
    if figures:
        write_figures(figures, [("history", figure) for figure in trends(values, found)])


def comparison(cases: pd.DataFrame, values: pd.DataFrame) -> list[str]:
    """A line for each headline of the newest session."""
    from postprocess.history.standing import newest, standing
    from postprocess.references.proposals import Terms

    lines = []
    for row in newest(values, standing(values, [], cases)).to_dict("records"):
        needed = Terms().min_sessions - row["sessions"] - 1
        before = counted(row["sessions"], "earlier session")
        change = f"{row['value'] / row['earlier'] - 1:+.1%} against the median of {before}"
        earlier = change if row["sessions"] else "the first session"
        more = f"; a reference needs {counted(needed, 'more session')}" if needed > 0 else ""
        value = f"{digits(row['value'])} {unit_word(row['unit'])}".strip()
        lines.append(f"{place(row)}: {value}, {earlier}{more}")
    return lines


def overview(values: pd.DataFrame, found: list) -> list[str]:
    """A line per series, the changes and events under them."""
    from postprocess.history.change_points import events
    from postprocess.history.table import SERIES

    lines = []
    for _, series in values.groupby(SERIES, sort=False, observed=True):
        last, unit = series.iloc[-1], unit_word(series["unit"].iloc[0])
        reference = "no reference" if pd.isna(last["reference"]) else f"reference {digits(last['reference'])}"
        lines.append(
            f"{place(last[SERIES].to_dict())}: {counted(len(series), 'session')}, last {digits(last['value'])} "
            f"{unit}, median {digits(series['value'].median())}, {digits(series['value'].min())} to "
            f"{digits(series['value'].max())}, {reference}"
        )
    happened = [
        events(series)
        for _, series in values.groupby([name for name in SERIES if name != "metric"], sort=False, observed=True)
        for series in [series.drop_duplicates("session")]
    ]
    lines += [
        printable(
            f"{row.session_time:%Y-%m-%d %H:%M} UTC: {row.what}: {row.was or 'nothing'} -> {row.now or 'nothing'}"
        )
        for row in pd.concat(happened).drop_duplicates().sort_values("session_time").itertuples()
    ]
    return [*lines, *map(sentence, found)]
