# SPDX-License-Identifier: Apache-2.0
"""The command line: the commands, each from its module, under one name."""

from typing import Annotated

import typer

from postprocess import __version__
from postprocess.cli import (
    accept,
    check_history,
    export,
    history,
    references,
    report,
    schema,
    score,
    site,
    site_report,
    watch,
)

app = typer.Typer(
    help="Compute scores, draw figures and write reports from the logs of HPC benchmarks.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command("score")(score.score)
app.command("report")(report.report)
app.command("watch")(watch.watch_command)
app.command("history")(history.history)
app.command("check-history")(check_history.check_history)
app.command("export")(export.export)
app.command("accept")(accept.accept)
app.command("schema")(schema.schema)
app.add_typer(references.app, name="references")
app.add_typer(site.app, name="site")
site.app.command("report")(site_report.site_report)


def show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"coffeecup {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass
