# SPDX-License-Identifier: Apache-2.0
"""`coffeecup acknowledge`: record what is known about events and sessions, so that they do not alarm."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from coffeecup.postprocess.cli import options
from coffeecup.postprocess.cli.common import USAGE, as_usage, exit_codes, judged, known_entries, writing
from coffeecup.postprocess.cli.selection import Selection, begin_of, end_of, expanded
from coffeecup.postprocess.show.words import printable

if TYPE_CHECKING:
    import pandas as pd

    from coffeecup.postprocess.history.events import Event

GROWTH, LEAST_GROWTH = 0.25, 0.02  # by which an accepted change may be larger: a fraction of its size, or of the level
OF_PLANNED = ("--direction", "--at-most", "--begin", "--end", "--where")
UNUSED = {"acknowledged": OF_PLANNED, "accepted": OF_PLANNED, "expected": ("--event",), "maintenance": ("--event",)}

Kind = Annotated[
    Literal["acknowledged", "accepted", "expected", "maintenance"],
    typer.Option(
        help="acknowledged: --event does not alarm --until a day. accepted: its new level is the usual one from now "
        "on. expected: a lasting change of the --direction is announced, from --begin to --end. maintenance: runs from "
        "--begin to --end enter no level and need no value."
    ),
]
EventName = Annotated[str | None, typer.Option(metavar="NAME", help="The event, as check-history names it.")]
Until = Annotated[
    datetime | None, typer.Option(metavar="DATE", formats=["%Y-%m-%d"], help="The last day without alarm.")
]
Direction = Annotated[str | None, typer.Option(metavar="WORD", help="worse, better, changed or unknown.")]
LargestChange = Annotated[
    float | None, typer.Option(metavar="FRACTION", help="The largest change that is expected, such as 0.1 for 10 %.")
]
Begin = Annotated[datetime | None, typer.Option(metavar="DATE", parser=begin_of, help="When it begins (UTC).")]
End = Annotated[
    datetime | None, typer.Option(metavar="DATE", parser=end_of, help="When it ends (UTC); a day is included.")
]
Where = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=VALUE", help="Only there, such as file_system=scratch; may be repeated."),
]
System = Annotated[str | None, typer.Option(metavar="NAME", help="The system, if the sessions are of several.")]
File = Annotated[
    Path, typer.Option(metavar="FILE", callback=options.can_be_written, help="The site's file; created or extended.")
]


@exit_codes({0: "recorded", 2: USAGE})
@expanded("until", "system", "partition", "benchmark", "metric")
def acknowledge(
    selection: Selection,
    who: Annotated[str, typer.Option(help="Who states it.")],
    why: Annotated[str, typer.Option(help="Why it need not alarm.")],
    file: File,
    kind: Kind = "acknowledged",
    event: EventName = None,
    until: Until = None,
    direction: Direction = None,
    at_most: LargestChange = None,
    begin: Begin = None,
    end: End = None,
    where: Where = None,
    system: System = None,
    thresholds: options.Thresholds = None,
) -> None:
    """Record an event as known or accepted, an expected change, or maintenance. Commands with --acknowledged read FILE.
    Keep FILE under version control."""
    from coffeecup.postprocess.history.site_files import SiteFileError, add, entry_of
    from coffeecup.postprocess.reports.changes import entry_name, sentence

    stating = {"--direction": direction, "--at-most": at_most, "--begin": begin, "--end": end, "--where": where}
    refuse_unused(kind, stating | {"--event": event})
    stated = {"kind": kind, "who": who, "why": why, "direction": direction, "at_most": at_most, "system": system}
    stated |= {"until": until and until.date(), "where": place(where or []) or None}
    stated |= {"begin": begin and begin.date(), "end": end and end.date()} if kind == "expected" else {}
    stated |= {"begin": begin, "end": end} if kind == "maintenance" else {}
    known = known_entries(file if file.exists() else None)
    cases, table = selection.tables(systems=True, entries=known)
    chosen = None
    if kind in ("acknowledged", "accepted"):
        chosen = alarming(cases, table, thresholds, known, event)
        stated |= of_event(chosen, kind)
    elif system is None:
        stated["system"] = the_system(cases)
    with as_usage(ValueError):
        entry = entry_of({name: value for name, value in stated.items() if value is not None})
    if until and until.date() < datetime.now(UTC).date():
        raise typer.BadParameter(f"--until: {until:%Y-%m-%d} has passed")
    if not entry.is_at(cases if kind == "maintenance" else table).any():
        raise typer.BadParameter(f"nothing measures this place: {entry_name(entry)}")
    with writing(file), as_usage(SiteFileError):
        add(file, entry)
    typer.echo(
        f"{kind}{f' until {until:%Y-%m-%d}' if until else ''}: {sentence(chosen) if chosen else entry_name(entry)}"
    )


def refuse_unused(kind: str, given: dict) -> None:
    """Raises BadParameter for an option that this kind of entry does not use: an event states its own place."""
    for name in UNUSED[kind]:
        if given[name]:
            raise typer.BadParameter(f"{name} has no effect on an entry of the kind {kind}")


def alarming(
    cases: "pd.DataFrame", table: "pd.DataFrame", thresholds: Path | None, known: list, name: str | None
) -> "Event":
    """The event of this name that alarms. Raises BadParameter if there is none."""
    from coffeecup.postprocess.history.change_points import session_values

    found, _, _ = judged(session_values(table), cases, thresholds, known)
    named = {one.name: one for one in found if one.alarms}
    if name not in named:
        valid = "; ".join(map(printable, named)) or "none alarms"
        wrong = f"no event that alarms has the name {printable(name)!r}" if name else "which one is missing"
        raise typer.BadParameter(f"--event: {wrong}; valid: {valid}")
    return named[name]


def of_event(event: "Event", kind: str) -> dict:
    """The fields of an entry that an event states."""
    stated = {"system": event.system, "since": event.since.date(), "direction": event.direction, "where": event.where}
    size = max(abs(finding.change.relative) for finding in event.findings if finding.alarms)
    return stated | ({"at_most": round(size + max(GROWTH * size, LEAST_GROWTH), 3)} if kind == "accepted" else {})


def the_system(cases: "pd.DataFrame") -> str:
    """The only system. Raises BadParameter if there are several."""
    systems = sorted(cases["system"].unique())
    if len(systems) > 1:
        raise typer.BadParameter(f"--system is missing: one of {', '.join(map(printable, systems))}")
    return systems[0]


def place(conditions: list[str]) -> dict[str, str]:
    """Columns and values of --where. Raises BadParameter."""
    where = {}
    for text in conditions:
        column, equal, value = text.partition("=")
        if not equal:
            raise typer.BadParameter(f"--where: expected COLUMN=VALUE, got {printable(text)!r}")
        if column in where:
            raise typer.BadParameter(f"--where: {printable(column)} has two values: record an entry for each")
        where[column] = value
    return where
