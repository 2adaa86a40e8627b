# SPDX-License-Identifier: Apache-2.0
"""`coffeecup score`: the scores of logs.

Exit codes: 0 all logs scored, 1 a log without a score (a line on stderr says why; the others are still shown), 2 wrong
usage.
"""

from typing import Annotated

import typer

from postprocess.cli.common import Logs, leave, logs_below


def score(
    logs: Logs,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, a row per log and metric.")] = False,
    r_max: Annotated[
        float | None,
        typer.Option(
            metavar="GFLOPS",
            help="Linpack performance of the processors of the run: adds the balance factor, communication over R_max.",
        ),
    ] = None,
) -> None:
    """Print the scores of logs with their qualifications. Exits with 1 if a log yields no score."""
    from postprocess.benchmarks.registry import optional_function
    from postprocess.benchmarks.score import Score
    from postprocess.benchmarks.scoring import score_logs
    from postprocess.reports import terminal

    if as_json and as_csv:
        raise typer.BadParameter("choose one of --json and --csv")
    if r_max is not None and not 0 < r_max < float("inf"):
        raise typer.BadParameter(f"--r-max must be a positive number of Gflop/s, not {r_max:g}")
    results = score_logs(logs_below(logs))
    if r_max is not None:
        results = [
            add(result, r_max)
            if isinstance(result, Score) and (add := optional_function(result.benchmark, "balance_factor"))
            else result
            for result in results
        ]
    show = terminal.json_text if as_json else terminal.csv_text if as_csv else terminal.terminal_text
    typer.echo(show(results), nl=False)
    leave(results)
