# SPDX-License-Identifier: Apache-2.0
"""`coffeecup history`: metrics over sessions."""

from typing import Annotated

import pandas as pd
import typer

from postprocess.cli.common import USAGE, AsJson, Figures, changes_of, exit_codes, print_json, write_figures
from postprocess.cli.selection import Selection, reads_sessions
from postprocess.reports.changes import as_object, gap, place, sentence
from postprocess.show.words import counted, digits, printable, unit_word


@exit_codes({0: "printed, whatever the values are (`coffeecup check-history` judges them)", 2: USAGE})
@reads_sessions()
def history(
    selection: Selection,
    as_json: AsJson = False,
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

    if as_csv and as_json:
        raise typer.BadParameter("choose one of --json and --csv")
    cases, table = selection.tables()
    if as_csv:
        typer.echo(table.to_csv(index=False), nl=False)
        return
    values = change_points.session_values(table)
    missing = without_value(selection.tests_in(completeness(cases)))
    found = [] if last else changes_of(values)
    if as_json:
        more = {"newest": compared(cases, values)} if last else of_series(cases, values, found)
        print_json({"missing": missing, **more})
    else:
        lines = comparison(compared(cases, values)) if last else overview(values, found)
        typer.echo("\n".join([*(f"NO VALUE: {gap(row)}" for row in missing.to_dict("records")), *lines]))
    if figures and not last:
        write_figures(figures, [("history", figure) for figure in trends(values, found)])


def compared(cases: pd.DataFrame, values: pd.DataFrame) -> pd.DataFrame:
    """The headlines of the newest session: value, the median of the `earlier` ones, their number `sessions`, and how
    many a reference `needs` besides."""
    from postprocess.history.standing import newest, standing
    from postprocess.history.table import SERIES
    from postprocess.references.proposals import Terms

    front = newest(values, standing(values, [], cases))
    front = front.assign(needs=(Terms().min_sessions - 1 - front["sessions"]).clip(lower=0))
    return front[[*SERIES, "session", "session_time", "value", "unit", "earlier", "sessions", "needs"]]


def comparison(front: pd.DataFrame) -> list[str]:
    """A line for each headline of the newest session."""
    lines = []
    for row in front.to_dict("records"):
        change = f"{row['value'] / row['earlier'] - 1:+.1%} against" if row["earlier"] else "and 0 was"
        before = f"{change} the median of {counted(row['sessions'], 'earlier session')}"
        earlier = before if row["sessions"] else "the first session"
        more = f"; a reference needs {counted(row['needs'], 'more session')}" if row["needs"] else ""
        value = f"{digits(row['value'])} {unit_word(row['unit'])}".strip()
        lines.append(f"{place(row)}: {value}, {earlier}{more}")
    return lines


def of_series(cases: pd.DataFrame, values: pd.DataFrame, found: list) -> dict:
    """The state of every series, their changes, and what else changed in the sessions."""
    from postprocess.history.standing import standing

    return {
        "series": standing(values, found, cases),
        "changes": list(map(as_object, found)),
        "circumstances": circumstances(values),
    }


def overview(values: pd.DataFrame, found: list) -> list[str]:
    """A line per series, the changes and the circumstances under them."""
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
    lines += [
        printable(
            f"{row.session_time:%Y-%m-%d %H:%M} UTC: {row.what}: {row.was or 'nothing'} -> {row.now or 'nothing'}"
        )
        for row in circumstances(values).itertuples()
    ]
    return [*lines, *map(sentence, found)]


def circumstances(values: pd.DataFrame) -> pd.DataFrame:
    """What changed from session to session, by time: session_time, what, was, now."""
    from postprocess.history.change_points import events
    from postprocess.history.table import SERIES

    if values.empty:
        return pd.DataFrame(columns=["session_time", "what", "was", "now"])
    happened = [
        events(series)
        for _, series in values.groupby([name for name in SERIES if name != "metric"], sort=False, observed=True)
        for series in [series.drop_duplicates("session")]
    ]
    return pd.concat(happened).drop_duplicates().sort_values("session_time")
