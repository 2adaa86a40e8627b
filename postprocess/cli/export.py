# SPDX-License-Identifier: Apache-2.0
"""`coffeecup export`: sessions for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from coffeecup.postprocess.cli import options
from coffeecup.postprocess.cli.common import USAGE, exit_codes, judged, known_entries, write_text
from coffeecup.postprocess.cli.selection import Selection, expanded


@exit_codes({0: "written", 2: USAGE})
@expanded()
def export(
    selection: Selection,
    junit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=options.can_be_written,
            help="Write JUnit XML with the values of every test, for CI systems.",
        ),
    ] = None,
    openmetrics: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=options.can_be_written,
            help="OpenMetrics text of the last sessions, for monitoring; for a text file collector.",
        ),
    ] = None,
    thresholds: options.Thresholds = None,
    acknowledged: options.AcknowledgedFile = None,
) -> None:
    """Export sessions as JUnit XML or OpenMetrics text."""
    from coffeecup.postprocess.history.change_points import session_values
    from coffeecup.postprocess.history.completeness import completeness
    from coffeecup.postprocess.history.nodes import hangs
    from coffeecup.postprocess.history.standing import standing
    from coffeecup.postprocess.reports import exports

    if not junit and not openmetrics:
        raise typer.BadParameter("use --junit or --openmetrics")
    if junit and openmetrics and junit.resolve() == openmetrics.resolve():
        raise typer.BadParameter("--junit and --openmetrics name the same file")
    entries = known_entries(acknowledged)
    cases, table = selection.tables(systems=True, entries=entries)
    values, tests = session_values(table), selection.tests_in(completeness(cases, entries=entries))
    found, _, _ = judged(values, cases, thresholds, entries)
    if openmetrics:
        findings = [finding for event in found for finding in event.findings]
        last = standing(values, findings, cases, entries)
        write_text(openmetrics, exports.openmetrics(last, tests, found, hangs(selection.tests_in(cases))))
    if junit:
        write_text(junit, exports.junit(selection.tests_in(cases), table, tests, found))
