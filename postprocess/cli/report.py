# SPDX-License-Identifier: Apache-2.0
"""`coffeecup report`: one HTML page on logs, and their figures."""

from pathlib import Path
from typing import Annotated

import typer

from coffeecup.postprocess.cli import options
from coffeecup.postprocess.cli.common import (
    UNSCORED,
    USAGE,
    as_usage,
    command_line,
    compared_with,
    exit_codes,
    logs_below,
    need_comparison,
    write_figures,
    write_text,
)
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.show.words import counted, printable


@exit_codes({0: "every log has a score", 1: UNSCORED, 2: USAGE})
def report(
    logs: options.Logs,
    output: options.OutputPage = Path("report.html"),
    session: Annotated[
        Path | None,
        typer.Option(
            metavar="JSON", help="A ReFrame session report (--report-file): its references and verdicts are shown."
        ),
    ] = None,
    design: options.DesignFile = None,
    calibrate: options.Calibrate = None,
    figures: options.Figures = None,
) -> None:
    """Write one self-contained HTML page on all logs, which opens offline and prints."""
    from coffeecup.postprocess.reports import page
    from coffeecup.postprocess.sessions.verdicts import read_session

    with as_usage(LogError):
        cases = read_session(session) if session else None
    items = page.items(logs_below(logs), compared_with(design, calibrate))
    need_comparison(design, [item.result for item in items], [item.comparisons for item in items])
    write_text(output, page.html(items, cases, command_line()))
    if figures:
        write_figures(figures, page.named_figures(items))
    without = [item for item in items if any(isinstance(each, LogError) for each in (item.result, *item.comparisons))]
    if without:
        what = f"{counted(len(without), 'log')} without a score{' or a comparison' if design else ''}"
        typer.echo(f"coffeecup: {what}: {printable(str(output))} states why", err=True)
    raise typer.Exit(1 if without else 0)
