# SPDX-License-Identifier: Apache-2.0
"""The command line: the commands, each from its module, under one name."""

from typing import Annotated

import typer

from coffeecup import __version__
from coffeecup.postprocess.cli import (
    accept,
    accept_plan,
    accept_risk,
    acknowledge,
    check_history,
    compare,
    export,
    history,
    nodes,
    plan,
    predict,
    references,
    report,
    schema,
    score,
    site,
    site_report,
    watch,
    workload,
)
from coffeecup.postprocess.cli.common import WithoutEmptyArguments, add

app = typer.Typer(
    cls=WithoutEmptyArguments,
    help="Compute scores, draw figures and write reports from the logs of HPC benchmarks.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
of_acceptance = typer.Typer(
    cls=accept.WithDefault,
    no_args_is_help=True,
    help="Evaluate a contract against recorded runs (`coffeecup accept CONTRACT SESSIONS...`), and begin the sessions "
    "that these runs belong to.",
)
of_references = typer.Typer(help="Create and check reference values.", no_args_is_help=True)
of_workloads = typer.Typer(help="Make workloads to measure, and compare them.", no_args_is_help=True)
of_sites = typer.Typer(help="Create, check and report on a site.", no_args_is_help=True)

add(app, "score", score.score)
add(app, "report", report.report)
add(app, "predict", predict.predict)
add(app, "watch", watch.watch_command)
add(app, "compare", compare.compare)
add(app, "history", history.history)
add(app, "check-history", check_history.check_history)
add(app, "nodes", nodes.nodes)
add(app, "plan", plan.plan)
add(app, "acknowledge", acknowledge.acknowledge)
add(app, "export", export.export)
add(app, "schema", schema.schema)
add(of_references, "propose", references.propose)
add(of_references, "check", references.check)
add(of_sites, "new", site.new)
add(of_sites, "overlay", site.overlay)
add(of_sites, "check", site.check)
add(of_sites, "bundle", site.bundle)
add(of_sites, "report", site_report.site_report)
add(of_acceptance, "evaluate", accept.evaluate)
add(of_acceptance, "begin", accept.begin)
add(of_acceptance, "software", accept.software)
add(of_acceptance, "risk", accept_risk.risk)
add(of_acceptance, "plan", accept_plan.plan)
add(of_workloads, "from-darshan", workload.from_darshan)
add(of_workloads, "replay", workload.replay)
add(of_workloads, "compare", workload.compare)
app.add_typer(of_acceptance, name="accept")
app.add_typer(of_references, name="references")
app.add_typer(of_sites, name="site")
app.add_typer(of_workloads, name="workload")


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
