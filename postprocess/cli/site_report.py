# SPDX-License-Identifier: Apache-2.0
"""`coffeecup site report`: the state of all metrics over the sessions, as one HTML page."""

from pathlib import Path
from typing import Annotated

import typer

from postprocess.cli.common import (
    Benchmark,
    Figures,
    Since,
    Sources,
    cases_and_history,
    changes_of,
    command_line,
    write_figures,
    write_text,
)
from postprocess.show.words import printable

Compare = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KIND=A,B",
        help="Compare B with A; may be repeated. KIND is system, partition "
        "(as SYSTEM:PARTITION), file_system, environ, session (A and B begin their identifiers), or time (before date "
        "A, since date B).",
    ),
]


def site_report(
    sources: Sources,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The HTML file to write.")] = Path(
        "site.html"
    ),
    figures: Figures = None,
    compare: Compare = None,
    since: Since = None,
    benchmark: Benchmark = None,
) -> None:
    """Write a self-contained HTML report on all benchmarks: levels, verdicts, trends, scaling and comparisons."""
    from postprocess.history.change_points import session_values
    from postprocess.history.completeness import completeness
    from postprocess.reports.site_page import html, site_page, tables

    cases, table = cases_and_history(sources, since, benchmark, None)
    values = session_values(table)
    if values.empty:
        raise typer.BadParameter("no session has a value: `coffeecup check-history` states the reasons")
    try:
        tests = completeness(cases, benchmark=benchmark)
        page = site_page(values, changes_of(values), cases, tests, [pair(text) for text in compare or []])
    except ValueError as error:
        raise typer.BadParameter(f"--compare: {printable(str(error))}") from None
    write_text(output, html(page, command_line()))
    if figures:
        write_figures(figures, [("site", figure) for figure in page.figures])
        for name, table in tables(page).items():
            write_text(figures / f"{name}.csv", table.to_csv(index=False))


def pair(text: str) -> tuple[str, tuple[str, str]]:
    kind, _, names = text.partition("=")
    first, _, second = names.partition(",")
    if not first or not second:
        raise typer.BadParameter(f"--compare: expected KIND=A,B, got {printable(text)!r}")
    return kind, (first, second)
