# SPDX-License-Identifier: Apache-2.0
"""`coffeecup site report`: the state of all metrics over the sessions, as one HTML page."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from coffeecup.postprocess.cli import options
from coffeecup.postprocess.cli.common import (
    USAGE,
    command_line,
    exit_codes,
    judged,
    known_entries,
    print_json,
    valued,
    write_figures,
    write_text,
)
from coffeecup.postprocess.cli.selection import Selection, expanded
from coffeecup.postprocess.show.words import printable


@exit_codes({0: "written, whatever the values are (`coffeecup check-history` judges them)", 2: USAGE})
@expanded()
def site_report(
    selection: Selection,
    output: options.OutputPage = Path("site.html"),
    reports: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder with reports (`coffeecup report`): the last run of each metric is linked to the report that "
            "shows its log (default: the folder of the page).",
        ),
    ] = None,
    figures: options.Figures = None,
    thresholds: options.Thresholds = None,
    acknowledged: options.AcknowledgedFile = None,
    facts: options.FactsFile = None,
    as_json: options.AsJson = False,
) -> None:
    """Write a self-contained HTML report on all benchmarks: what is new, levels, verdicts, trends and scaling."""
    from coffeecup.postprocess.history.completeness import completeness
    from coffeecup.postprocess.history.nodes import node_table, server_table
    from coffeecup.postprocess.history.power import detectable
    from coffeecup.postprocess.reports import morning
    from coffeecup.postprocess.reports.drill_down import report_links
    from coffeecup.postprocess.reports.site_page import as_object, html, site_page, tables
    from coffeecup.postprocess.show.tables import csv_text

    entries = known_entries(acknowledged)
    cases, table = selection.tables(systems=True, entries=entries)
    values = valued(table, facts)
    if values.empty:
        raise typer.BadParameter("no selected session has a value: `coffeecup check-history` states the reasons")
    found, site, remarks = judged(values, cases, thresholds, entries, is_part=selection.is_part)
    tests = selection.tests_in(completeness(cases, entries=entries))
    nodes, servers = node_table(table, entries), server_table(table)
    of_nodes = nodes, servers, selection.tests_in(cases)
    page = site_page(values, found, cases, tests, of_nodes, entries, detectable(site))
    links = report_links(folder_of(reports, output), output)
    lines = morning.lines(found, page.missing, datetime.now(UTC).date(), selection.sources, acknowledged)
    write_text(output, html(page, command_line(), remarks, links, lines))
    if figures:
        write_figures(figures, [("site", figure) for figure in page.figures])
        for name, table in tables(page).items():
            write_text(figures / f"{name}.csv", csv_text(table))
    if as_json:
        print_json(as_object(page, lines))


def folder_of(reports: Path | None, output: Path) -> Path:
    """The folder with reports. Raises BadParameter."""
    if reports is not None and not reports.is_dir():
        raise typer.BadParameter(f"--reports: {printable(str(reports))} is not a folder")
    return reports or output.parent
