# SPDX-License-Identifier: Apache-2.0
"""`coffeecup check-history`: tests without a value, and lasting changes of metrics."""

import shlex
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coffeecup.postprocess.cli import confirm, options
from coffeecup.postprocess.cli.common import USAGE, exit_codes, judged, known_entries, print_json, site_rules, valued
from coffeecup.postprocess.cli.selection import Selection, expanded
from coffeecup.postprocess.show.words import counted, digits, printable, unit_word

if TYPE_CHECKING:
    import pandas as pd

    from coffeecup.postprocess.history.change_points import Site

SUSPECTED = ("unit", "session", "session_time", "value", "level", "relative", "name", "confirmation", "again")
Expected = Annotated[
    Path | None,
    typer.Option(metavar="REPORT", help="Every test of this session must have a value; for example of a dry run."),
]
MaxAge = Annotated[
    float | None, typer.Option(metavar="DAYS", help="The newest session of every system must not be older.")
]


Confirm = Annotated[
    bool,
    typer.Option(
        "--confirm",
        help="Run the tests that are suspected after their last session again, by its recorded command; they alarm if "
        "these runs confirm it, or have no value. For sessions of this machine only.",
    ),
]
ConfirmTests = Annotated[int, typer.Option(metavar="N", min=1, help="Run at most N tests again.")]
ConfirmMinutes = Annotated[
    float, typer.Option(metavar="MINUTES", min=0.0, help="End the tests that run again after MINUTES.")
]
Detectable = Annotated[
    bool,
    typer.Option(
        "--detectable", help="State the smallest lasting loss of each metric that would be found in 14 nights."
    ),
]
Notify = Annotated[
    bool,
    typer.Option(
        "--notify", help="Print one message for mail or chat instead: what is new, what to type, what is still open."
    ),
]
ComparedFiles = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="The result.json of `coffeecup compare`, which proves or refutes a cause of an event; may be repeated.",
    ),
]
OnlyNew = Annotated[bool, typer.Option("--new", help="Only events that the last session is the first to show alarm.")]


@exit_codes(
    {
        0: "every test has a value, and every event that is or may be for the worse has recovered or been "
        "acknowledged, accepted or expected",
        1: "a test has no value, a session is too old, or an event alarms",
        2: USAGE,
    }
)
@expanded()
def check_history(
    selection: Selection,
    expected: Expected = None,
    max_age: MaxAge = None,
    new: OnlyNew = False,
    confirm_suspected: Confirm = False,
    confirm_tests: ConfirmTests = 5,
    confirm_minutes: ConfirmMinutes = 60.0,
    tell_detectable: Detectable = False,
    thresholds: options.Thresholds = None,
    acknowledged: options.AcknowledgedFile = None,
    facts: options.FactsFile = None,
    compared: ComparedFiles = None,
    notify: Notify = False,
    as_json: options.AsJson = False,
) -> None:
    """Find tests without a value and events: lasting changes of metrics that belong together."""
    from coffeecup.postprocess.history.acknowledgements import unexpected
    from coffeecup.postprocess.history.completeness import completeness, without_value
    from coffeecup.postprocess.history.events import NEW
    from coffeecup.postprocess.history.power import detectable
    from coffeecup.postprocess.history.suspicions import suspicions

    of_now = ("--confirm", confirm_suspected, "--until", selection.until)
    refuse(max_age, ("--notify", notify, "--json", as_json), of_now)
    entries = known_entries(acknowledged)
    cases, table = selection.tables(systems=True, entries=entries)
    planned = replace(selection, sources=[expected], since=None, until=None, metric=None) if expected else None
    tests = selection.tests_in(completeness(cases, planned and planned.tables()[0], entries))
    if tests.empty:
        raise typer.BadParameter("no selected session ran a test: dry runs and skipped tests do not count")
    missing, old, values = without_value(tests), too_old(cases, max_age), valued(table, facts)
    found, site, remarks = judged(values, cases, thresholds, entries, compared, selection.is_part)
    changes, newest = [one for event in found for one in event.findings], cases["session_time"].max()
    suspected = unexpected(suspicions(values, changes, site_rules(thresholds)), entries)
    if confirm_suspected:
        suspected = confirm.confirm(suspected, selection.sources, newest, confirm_tests, confirm_minutes)
    confirmed = sum(map(alarming, suspected.to_dict("records")))
    losses = detectable(site) if tell_detectable else {}
    if as_json:
        first = {"tests": len(tests), "missing": missing, "old": old}
        print_json(first | objects(found, suspected, losses, remarks))
    else:
        told = (missing[:0], old, []) if notify else (missing, old, found)
        text = notification(selection, acknowledged, cases, missing, found) if notify else []
        text += [*findings(*told, suspected, losses), *remarks]
        typer.echo("\n".join([*text, summary(cases, values, site, found, len(tests), len(missing), confirmed)]))
    alarms = any(one.alarms and (one.state == NEW or not new) for one in found)
    raise typer.Exit(1 if len(missing) or len(old) or alarms or confirmed else 0)


def refuse(max_age: float | None, *pairs: tuple[str, object, str, object]) -> None:
    """Raises BadParameter if an age is no number of days, or if both options of a pair are used."""
    if max_age is not None and not 0 <= max_age < float("inf"):
        raise typer.BadParameter(f"--max-age must be a number of days, not {max_age:g}")
    for first, one, second, other in pairs:
        if one and other:
            raise typer.BadParameter(f"{first}: do not use it with {second}")


def notification(
    selection: Selection, acknowledged: Path | None, cases: "pd.DataFrame", missing: "pd.DataFrame", found: list
) -> list[str]:
    """The first lines of --notify."""
    from coffeecup.postprocess.reports import morning

    every = morning.lines(found, missing, datetime.now(UTC).date(), selection.sources, acknowledged)
    return morning.message(every, sorted(cases["system"].unique()))


def findings(
    missing: "pd.DataFrame", old: "pd.DataFrame", found: list, suspected: "pd.DataFrame", losses: dict
) -> list[str]:
    """Lines on tests without a value, old sessions, events, suspected values, and the losses that would be found."""
    from coffeecup.postprocess.history.table import SERIES
    from coffeecup.postprocess.reports.changes import gap, lines, loss, place

    text = [f"NO VALUE: {gap(row)}" for row in missing.to_dict("records")]
    text += [f"OLD: {age(row)}" for row in old.to_dict("records")]
    text += [line for event in found for line in lines(event)]
    text += map(suspicion, suspected.to_dict("records"))
    return text + [f"{place(dict(zip(SERIES, key)))}{loss(losses, key)}" for key in losses]


def objects(found: list, suspected: "pd.DataFrame", losses: dict, remarks: list[str]) -> dict:
    """Events, their changes, what is suspected, the losses that would be found, and remarks as plain values."""
    from coffeecup.postprocess.history.table import SERIES
    from coffeecup.postprocess.reports import changes

    return {
        **changes.objects(found),
        "suspected": suspected.reindex(columns=[*SERIES, *SUSPECTED]),
        "detectable": [dict(zip(SERIES, key)) | {"detectable": size} for key, size in losses.items()],
        "remarks": remarks,
    }


def too_old(cases: "pd.DataFrame", max_age: float | None) -> "pd.DataFrame":
    """The systems whose newest session is older than `max_age` days: system, session_time, days."""
    newest = cases.groupby("system", as_index=False)["session_time"].max()
    days = (datetime.now(UTC) - newest["session_time"]).dt.total_seconds() / 86400
    return newest.assign(days=days)[days > (float("inf") if max_age is None else max_age)]


def age(row: dict) -> str:
    return (
        f"{printable(row['system'])}: the newest session is {row['days']:.1f} days old "
        f"({row['session_time']:%Y-%m-%d %H:%M} UTC)"
    )


def suspicion(row: dict) -> str:
    """A line on a value that is suspected, and on the runs that confirm or refute it."""
    from coffeecup.postprocess.reports.changes import place

    state, unit, reason = row.get("confirmation"), printable(unit_word(row["unit"])), printable(row.get("reason", ""))
    if state in (confirm.CONFIRMED, confirm.REFUTED):
        measured = f"{digits(row['again'])} {unit}; {reason}"
        rest = f"{state.capitalize()} by {confirm.REPEATS} more runs: {measured}"
    elif state == confirm.NO_VALUE:
        rest = f"Not confirmed: the rerun has no value; {reason}"
    else:
        many = "Not rerun: of an older session, or beyond --confirm-tests. " if state else ""
        expression = printable(shlex.quote(confirm.selecting(row["name"])))
        rest = f"{many}Confirm it: the session's command again, with {confirm.REPEATED} -n {expression}"
    return (
        f"{'REGRESSION' if alarming(row) else 'suspected'}: {place(row)}: {row['relative']:+.1%} in its last value "
        f"({row['session_time']:%Y-%m-%d %H:%M} UTC), {digits(row['level'])} -> {digits(row['value'])} "
        f"{unit}. {rest}"
    )


def alarming(row: dict) -> bool:
    return row.get("confirmation") in (confirm.CONFIRMED, confirm.NO_VALUE)


def summary(
    cases: "pd.DataFrame", values: "pd.DataFrame", site: "Site", found: list, tests: int, missing: int, confirmed: int
) -> str:
    """The last line of the output: what was read and how many regressions were found."""
    from coffeecup.postprocess.history.events import UNKNOWN
    from coffeecup.postprocess.history.levels import SESSIONS_AFTER, SESSIONS_BEFORE
    from coffeecup.postprocess.history.table import SERIES

    series = len(values[SERIES].drop_duplicates())
    short = series - len(site.levels)
    not_judged = (
        f"; {short} of them not judged, with fewer than {SESSIONS_BEFORE + SESSIONS_AFTER} sessions" if short else ""
    )
    unknown = sum(event.alarms and event.direction == UNKNOWN for event in found)
    alarms, known = sum(event.alarms for event in found) - unknown, sum(bool(event.acknowledged) for event in found)
    return (
        f"{counted(cases['session'].nunique(), 'session')}, {counted(tests, 'test')}, {missing} of them without a "
        f"value; {counted(series, 'metric')} over time{not_judged}: {counted(alarms, 'regression')} that "
        f"{'has' if alarms == 1 else 'have'} not recovered"
        + (f", {counted(unknown, 'change')} of unknown direction" if unknown else "")
        + (f", {confirmed} confirmed by reruns or without a value in them" if confirmed else "")
        + (f", {known} acknowledged" if known else "")
    )
