# SPDX-License-Identifier: Apache-2.0
"""`coffeecup export`: sessions for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from postprocess.cli.common import Since, Sources, cases_and_history, changes_of, write_text


def export(
    sources: Sources,
    junit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write JUnit XML with every metric as a property, for CI systems."),
    ] = None,
    openmetrics: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="OpenMetrics text of the last sessions, for monitoring; for a text file collector."
        ),
    ] = None,
    since: Since = None,
) -> None:
    """Export sessions as JUnit XML or OpenMetrics text."""
    from postprocess.history.change_points import session_values
    from postprocess.history.completeness import completeness
    from postprocess.history.standing import standing
    from postprocess.reports import exports

    if not junit and not openmetrics:
        raise typer.BadParameter("use --junit or --openmetrics")
    cases, table = cases_and_history(sources, since, None, None)
    values, tests = session_values(table), completeness(cases)
    found = changes_of(values)
    if openmetrics:
        write_text(openmetrics, exports.openmetrics(standing(values, found, cases), tests))
    if junit:
        write_text(junit, exports.junit(cases, table, tests, found))
