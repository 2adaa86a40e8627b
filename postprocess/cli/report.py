# SPDX-License-Identifier: Apache-2.0
"""`coffeecup report`: one HTML page on logs, and their figures."""

from pathlib import Path
from typing import Annotated

import typer

from postprocess.cli.common import (
    USAGE,
    Figures,
    Logs,
    command_line,
    exit_codes,
    leave,
    logs_below,
    write_figures,
    write_text,
)
from postprocess.logs.reader import LogError


@exit_codes({0: "every log has a score", 1: "a log has no score; the others are shown all the same", 2: USAGE})
def report(
    logs: Logs,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    session: Annotated[
        Path | None,
        typer.Option(
            metavar="JSON", help="A ReFrame session report (--report-file): its references and verdicts are shown."
        ),
    ] = None,
    figures: Figures = None,
) -> None:
    """Write one self-contained HTML page on all logs, which opens offline and prints."""
    from postprocess.reports import page
    from postprocess.sessions.verdicts import read_session

    try:
        cases = read_session(session) if session else None
    except LogError as error:
        raise typer.BadParameter(str(error)) from None
    items = page.items(logs_below(logs))
    write_text(output, page.html(items, cases, command_line()))
    if figures:
        write_figures(figures, page.named_figures(items))
    leave([item.result for item in items])
