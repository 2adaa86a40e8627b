"""`coffeecup site report` and `coffeecup export`: how everything stands over the sessions, for people and for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from postprocess.cli.history import Benchmark, Since, Sources, changes_of, reports, stored
from postprocess.show.words import printable

Compare = Annotated[list[str] | None, typer.Option(metavar="KIND=A,B", help="Sets B beside A; may be repeated. KIND is system, partition "
                    "(as SYSTEM:PARTITION), file_system, environ, session (A and B begin their identifiers), or time (before date A, since date B).")]


def site_report(
    sources: Sources,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The HTML file to write.")] = Path("site.html"),
    figures: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for every figure as PNG and SVG, and every table as CSV.")] = None,
    compare: Compare = None,
    since: Since = None,
    benchmark: Benchmark = None,
) -> None:
    """Write one HTML page: every benchmark's level, interval, verdict and trend, its scaling, and what is compared."""
    from postprocess.cli.app import command_line, writing
    from postprocess.history.change_points import session_values
    from postprocess.reports.site_page import html, save, site_page

    values = session_values(stored(sources, since, benchmark, None))
    try:
        page = site_page(values, changes_of(values), [pair(text) for text in compare or []])
    except ValueError as error:
        raise typer.BadParameter(f"--compare: {printable(str(error))}") from None
    with writing(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(html(page, command_line()), encoding="utf-8")
    typer.echo(f"wrote {printable(str(output))}", err=True)
    if figures:
        with writing(figures):
            typer.echo("\n".join(printable(str(path)) for path in save(page, figures)))


def pair(text: str) -> tuple[str, tuple[str, str]]:
    kind, _, names = text.partition("=")
    first, _, second = names.partition(",")
    if not first or not second:
        raise typer.BadParameter(f"--compare: KIND=A,B is expected, not {printable(text)!r}")
    return kind, (first, second)


def export(
    sources: Sources,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="JUnit XML with every metric as a property, for CI systems.")] = None,
    openmetrics: Annotated[Path | None, typer.Option(metavar="FILE", help="OpenMetrics text of the last sessions, for monitoring; for a text "
                                                                        "file collector.")] = None,
    since: Since = None,
) -> None:
    """Write sessions for other programs."""
    from postprocess.cli.app import writing
    from postprocess.history.change_points import session_values
    from postprocess.history.standing import standing
    from postprocess.history.table import case_table, history_table
    from postprocess.reports import exports

    if not junit and not openmetrics:
        raise typer.BadParameter("name a file to write: --junit or --openmetrics")
    if openmetrics:
        values = session_values(stored(sources, since, None, None))
        write(openmetrics, exports.openmetrics(standing(values, changes_of(values))), writing)
    if junit:
        found = reports(sources, since)
        write(junit, exports.junit(case_table(found), history_table(found)), writing)


def write(path: Path, text: str, writing) -> None:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    typer.echo(f"wrote {printable(str(path))}", err=True)
