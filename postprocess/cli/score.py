# SPDX-License-Identifier: Apache-2.0
"""`coffeecup score`: the scores of logs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coffeecup.postprocess.cli import options
from coffeecup.postprocess.cli.common import (
    UNSCORED,
    USAGE,
    compared_with,
    exit_codes,
    leave,
    logs_below,
    need_comparison,
    print_json,
)
from coffeecup.postprocess.logs.reader import LogError

if TYPE_CHECKING:
    from coffeecup.postprocess.benchmarks.score import Score


@exit_codes({0: "every log has a score", 1: "a test of --history has no value, " + UNSCORED, 2: USAGE})
def score(
    logs: options.Logs,
    as_json: options.AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, a row per log and metric.")] = False,
    r_max: options.RMax = None,
    design: options.DesignFile = None,
    calibrate: options.Calibrate = None,
    history: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="SESSIONS",
            help="Session reports or results database of ReFrame that contain the session that wrote these logs: print "
            "one table, with the change of each result against the sessions before; may be repeated.",
        ),
    ] = None,
) -> None:
    """Print the scores of logs with their qualifications: up to four in full, more in one table."""
    from coffeecup.postprocess.benchmarks.score import Score
    from coffeecup.postprocess.benchmarks.scoring import score_logs
    from coffeecup.postprocess.cli.history import against_earlier
    from coffeecup.postprocess.reports import terminal
    from coffeecup.postprocess.reports.predictions import comparison_text

    if as_json and as_csv:
        raise typer.BadParameter("choose one of --json and --csv")
    if as_csv and design:
        raise typer.BadParameter("--csv has measured values only: use --json with --design")
    if history and (as_json or as_csv):
        raise typer.BadParameter("--history is for the table: use `coffeecup history --last --json` for machines")
    designs = compared_with(design, calibrate)
    results = score_logs(logs_below(logs))
    compared = [designs.of(result) for result in results]
    need_comparison(design, results, compared)
    if r_max is not None:
        results = [balanced(result, r_max) for result in results]
    hashes = {result.log.sha256 for result in results if isinstance(result, Score)}
    changes, missing = against_earlier(hashes, history) if history and hashes else (None, [])
    if as_json:
        print_json([terminal.as_object(result, beside) for result, beside in zip(results, compared)])
    else:
        typer.echo(terminal.csv_text(results) if as_csv else terminal.terminal_text(results, changes), nl=False)
        typer.echo("".join(f"{line}\n" for line in missing), nl=False)
        found = [each for beside in compared for each in beside if not isinstance(each, LogError)]
        typer.echo(comparison_text(found), nl=False)
    leave([each for result, beside in zip(results, compared) for each in (result, *beside)], failed=bool(missing))


def balanced(result: "Score | LogError", r_max: float) -> "Score | LogError":
    """The score with its balance factor for R_max in Gflop/s, where its benchmark has one."""
    from coffeecup.postprocess.benchmarks.registry import functions

    add = functions(result.benchmark).balance_factor if not isinstance(result, LogError) else None
    return add(result, r_max) if add else result
