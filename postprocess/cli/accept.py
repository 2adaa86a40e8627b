# SPDX-License-Identifier: Apache-2.0
"""`coffeecup accept`: evaluates a contract against recorded runs. It has no filters: the contract states which runs
count, and leaving out some would change the verdict."""

from pathlib import Path
from typing import Annotated

import typer

from postprocess.cli.common import USAGE, AsJson, command_line, exit_codes, print_json, writing
from postprocess.cli.selection import Sources
from postprocess.logs.reader import LogError
from postprocess.show.words import printable


@exit_codes({0: "all clauses passed", 1: "a clause failed or is not proven", 2: USAGE + ", or an invalid contract"})
def accept(
    contract: Annotated[
        Path, typer.Argument(metavar="CONTRACT", help="Contract in YAML; docs/acceptance.md describes it.")
    ],
    sessions: Sources,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The HTML page to sign; the result for machines goes beside it, as JSON.",
        ),
    ] = Path("acceptance.html"),
    pdf: Annotated[bool, typer.Option("--pdf", help="Write the page as PDF as well; requires Chromium.")] = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate a contract against recorded runs and write a report to sign."""
    from postprocess.acceptance.contract import ContractError, read_contract
    from postprocess.acceptance.evaluation import PASS, evaluate
    from postprocess.acceptance.evidence import gather
    from postprocess.history.table import case_table, history_table
    from postprocess.reports import acceptance_page
    from postprocess.sessions.files import read_reports
    from postprocess.show.pdf import PdfError, browser

    if output.suffix != ".html":
        raise typer.BadParameter(f"--output must end in .html, not {printable(output.name)}")
    try:
        if pdf:
            browser()
        agreed, reports = read_contract(contract), read_reports(sessions)
        runs = gather(case_table(reports), history_table(reports))
        reached = acceptance_page.Acceptance(agreed, evaluate(agreed, runs), reports, command_line())
        with writing(output):
            files = acceptance_page.write(reached, output, pdf)
    except (ContractError, LogError, PdfError) as error:
        raise typer.BadParameter(str(error)) from None
    if as_json:
        print_json(acceptance_page.as_object(reached))
    else:
        typer.echo(acceptance_page.terminal_text(reached), nl=False)
    typer.echo(f"wrote {', '.join(printable(str(path)) for path in files)}", err=True)
    raise typer.Exit(0 if reached.outcome == PASS else 1)
