# SPDX-License-Identifier: Apache-2.0
"""`coffeecup history`: metrics over sessions."""

from typing import TYPE_CHECKING, Annotated

import typer

from coffeecup.postprocess.cli import options
from coffeecup.postprocess.cli.common import USAGE, exit_codes, judged, known_entries, print_json, valued, write_figures
from coffeecup.postprocess.cli.selection import Selection, expanded
from coffeecup.postprocess.show.words import counted, digits, printable, unit_word

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd


@exit_codes({0: "printed, whatever the values are (`coffeecup check-history` judges them)", 2: USAGE})
@expanded()
def history(
    selection: Selection,
    as_json: options.AsJson = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print the whole table as CSV: a row per session, test case and metric.")
    ] = False,
    last: Annotated[
        bool, typer.Option("--last", help="Print only how the newest session differs from the earlier ones.")
    ] = False,
    thresholds: options.Thresholds = None,
    acknowledged: options.AcknowledgedFile = None,
    facts: options.FactsFile = None,
    figures: options.Figures = None,
) -> None:
    """Print every metric over the sessions, with its reference and what changed at the same time."""
    from coffeecup.postprocess.history.completeness import completeness, without_value
    from coffeecup.postprocess.history.figures import trends
    from coffeecup.postprocess.history.power import detectable
    from coffeecup.postprocess.reports.changes import gap
    from coffeecup.postprocess.show.tables import csv_text

    if as_csv and (as_json or last or figures or facts):
        raise typer.BadParameter("--csv: do not use it with --json, --last, --figures or --facts")
    if last and figures:
        raise typer.BadParameter("--last: do not use it with --figures")
    entries = known_entries(acknowledged)
    cases, table = selection.tables(systems=True, entries=entries)
    if as_csv:
        typer.echo(csv_text(table.drop(columns="node_effects")), nl=False)
        return
    values = valued(table, facts)
    missing = without_value(selection.tests_in(completeness(cases, entries=entries)))
    found, losses, remarks = [], {}, []
    if not last:
        found, site, remarks = judged(values, cases, thresholds, entries, is_part=selection.is_part)
        losses = detectable(site)
    if as_json:
        more = {"newest": compared(cases, values)} if last else of_series(cases, values, found, entries, losses)
        print_json({"missing": missing, **more})
    else:
        text = comparison(compared(cases, values)) if last else overview(values, found, losses)
        typer.echo("\n".join([*(f"NO VALUE: {gap(row)}" for row in missing.to_dict("records")), *text, *remarks]))
    if figures and not last:
        findings = [finding for event in found for finding in event.findings]
        write_figures(figures, [("history", figure) for figure in trends(values, findings)])


def compared(cases: "pd.DataFrame", values: "pd.DataFrame") -> "pd.DataFrame":
    """The headlines of the newest session: value, the median of the `earlier` ones, their number `sessions`, and how
    many a reference `needs` besides."""
    from coffeecup.postprocess.history.standing import newest, standing
    from coffeecup.postprocess.history.table import SERIES
    from coffeecup.postprocess.references.proposals import Terms

    front = newest(values, standing(values, [], cases))
    front = front.assign(needs=(Terms().min_sessions - 1 - front["sessions"]).clip(lower=0))
    return front[[*SERIES, "session", "session_time", "value", "unit", "earlier", "sessions", "needs"]]


def against_earlier(logs: "set[str]", sources: "list[Path]") -> tuple[dict[str, str], list[str]]:
    """How the results of the session that wrote the logs, which their SHA-256 name, differ from those of the sessions
    before it: by SHA-256, as "+1.2% (9)" with the number of these sessions; and a line for each test without a value.
    """
    from coffeecup.postprocess.history.change_points import session_values
    from coffeecup.postprocess.history.completeness import completeness, without_value
    from coffeecup.postprocess.history.table import SERIES
    from coffeecup.postprocess.reports.changes import gap

    cases, table = Selection(sources).tables()
    own = cases[cases["log_sha256"].isin(logs)]
    if own.empty:
        raise typer.BadParameter("--history: none of these logs was written by a session that is in it")
    cases, table = (part[part["session_time"] <= own["session_time"].max()] for part in (cases, table))
    front = compared(cases, session_values(table))
    of_logs = table[["log_sha256", *SERIES, "session"]].merge(front, on=[*SERIES, "session"])
    changes = {
        row["log_sha256"]: f"{change(row)} ({row['sessions']})" if row["sessions"] else "first run"
        for row in of_logs.to_dict("records")
    }
    return changes, [f"NO VALUE: {gap(row)}" for row in without_value(completeness(cases)).to_dict("records")]


def change(row: dict) -> str:
    """The change of a row of compared() against the earlier sessions, of which there are some."""
    return f"{row['value'] / row['earlier'] - 1:+.1%}" if row["earlier"] else "was 0"


def comparison(front: "pd.DataFrame") -> list[str]:
    """A line for each headline of the newest session."""
    from coffeecup.postprocess.reports.changes import place

    text = []
    for row in front.to_dict("records"):
        against = f"{change(row)} against" if row["earlier"] else "and 0 was"
        before = f"{against} the median of {counted(row['sessions'], 'earlier session')}"
        earlier = before if row["sessions"] else "the first session"
        more = f"; a reference needs {counted(row['needs'], 'more session')}" if row["needs"] else ""
        value = f"{digits(row['value'])} {unit_word(row['unit'])}".strip()
        text.append(f"{place(row)}: {value}, {earlier}{more}")
    return text


def of_series(cases: "pd.DataFrame", values: "pd.DataFrame", found: list, entries: list, losses: dict) -> dict:
    """The state of every series, the events, their changes, and what else changed in the sessions."""
    from coffeecup.postprocess.history.circumstances import circumstances_of_all
    from coffeecup.postprocess.history.standing import standing
    from coffeecup.postprocess.reports import changes

    return {
        "series": standing(values, [finding for event in found for finding in event.findings], cases, entries, losses),
        **changes.objects(found),
        "circumstances": circumstances_of_all(values),
    }


def overview(values: "pd.DataFrame", found: list, losses: dict) -> list[str]:
    """A line per series, the circumstances and the events under them."""
    import pandas as pd

    from coffeecup.postprocess.history.circumstances import circumstances_of_all
    from coffeecup.postprocess.history.comparable import same_units
    from coffeecup.postprocess.history.table import SERIES
    from coffeecup.postprocess.reports.changes import lines, loss, place

    text = []
    for key, series in same_units(values).groupby(SERIES, sort=False, observed=True):
        last, unit = series.iloc[-1], unit_word(series["unit"].iloc[-1])
        reference = "no reference" if pd.isna(last["reference"]) else f"reference {digits(last['reference'])}"
        text.append(
            f"{place(last[SERIES].to_dict())}: {counted(len(series), 'session')}, last {digits(last['value'])} "
            f"{unit}, median {digits(series['value'].median())}, {digits(series['value'].min())} to "
            f"{digits(series['value'].max())}, {reference}{loss(losses, key)}"
        )
    text += [
        printable(
            f"{row.session_time:%Y-%m-%d %H:%M} UTC: {row.what}: {row.was or 'nothing'} -> {row.now or 'nothing'}"
        )
        for row in circumstances_of_all(values).itertuples()
    ]
    return [*text, *(line for event in found for line in lines(event))]
