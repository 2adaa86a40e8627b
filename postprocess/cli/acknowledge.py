# SPDX-License-Identifier: Apache-2.0
"""`coffeecup acknowledge`: record that an event is known, so that it does not alarm until a date."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from coffeecup.postprocess.cli.common import USAGE, Thresholds, can_be_written, exit_codes, judged, writing
from coffeecup.postprocess.cli.selection import Selection, reads_sessions
from coffeecup.postprocess.show.words import printable


@exit_codes({0: "recorded", 2: USAGE})
@reads_sessions("until", "system", "partition", "benchmark", "metric")
def acknowledge(
    selection: Selection,
    event: Annotated[str, typer.Option(metavar="NAME", help="The event, as check-history names it.")],
    who: Annotated[str, typer.Option(help="Who acknowledges it.")],
    why: Annotated[str, typer.Option(help="Why it need not alarm.")],
    until: Annotated[datetime, typer.Option(metavar="DATE", formats=["%Y-%m-%d"], help="The last day without alarm.")],
    file: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            callback=can_be_written,
            help="The site's file of acknowledged events; created or extended.",
        ),
    ],
    thresholds: Thresholds = None,
) -> None:
    """Record that an event is known: check-history shows it with this note and does not alarm until DATE has passed, or
    the event spreads. Keep FILE under version control."""
    from coffeecup.postprocess.history.change_points import session_values
    from coffeecup.postprocess.history.site_files import Acknowledgement, add
    from coffeecup.postprocess.reports.changes import sentence

    cases, table = selection.tables(systems=True)
    recorded = file if file.exists() else None
    found, _, _ = judged(session_values(table), selection.examined(cases), thresholds, recorded)
    open_events = {one.name: one for one in found if one.alarms}
    if event not in open_events:
        named = "; ".join(map(printable, open_events)) or "none alarms"
        raise typer.BadParameter(f"--event: no event that alarms has the name {printable(event)!r}; valid: {named}")
    if until.date() < datetime.now(UTC).date():
        raise typer.BadParameter(f"--until: {until:%Y-%m-%d} has passed")
    chosen = open_events[event]
    try:
        entry = Acknowledgement(
            chosen.system, chosen.since.date(), chosen.direction, who, why, until.date(), chosen.where
        )
    except ValueError as error:
        raise typer.BadParameter(printable(str(error))) from None
    with writing(file):
        add(file, entry)
    typer.echo(f"acknowledged until {until:%Y-%m-%d}: {sentence(chosen)}")
