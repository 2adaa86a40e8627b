"""The `coffeecup` command: scores, figures and reports from logs.

Exit codes: 0 all logs scored, 1 a log without a score (a line on stderr says why; the others are still shown), 2 wrong usage.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from postprocess import __version__
from postprocess.logs import LogError, printable
from postprocess.scores import Score, score_logs

app = typer.Typer(
    help="Scores, figures and reports from the logs of coffeecup's benchmarks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Logs = Annotated[list[Path], typer.Argument(metavar="LOG...", help="Logs (*.jsonl), or directories that hold some at any depth.")]


def show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"coffeecup {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")] = False,
) -> None:
    pass


@app.command()
def score(
    logs: Logs,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON list on stdout, for machines.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="A CSV row per log and metric on stdout.")] = False,
) -> None:
    """Show the scores of logs, and what qualifies them."""
    from postprocess import listing

    if as_json and as_csv:
        raise typer.BadParameter("choose one of --json and --csv")
    results = score_logs(found(logs))
    show = listing.json_text if as_json else listing.csv_text if as_csv else listing.terminal_text
    typer.echo(show(results), nl=False)
    leave(results)


def found(paths: list[Path]) -> list[Path]:
    """Logs that the arguments name, those of a directory in the order of their paths; each once."""
    logs = {}
    for path in paths:
        inside = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
        if not inside:
            raise typer.BadParameter(f"the directory {printable(str(path))} holds no *.jsonl file")
        logs |= dict.fromkeys(inside)
    return list(logs)


def leave(results: list[Score | LogError]) -> None:
    errors = [result for result in results if isinstance(result, LogError)]
    for error in errors:
        print(f"coffeecup: {error}", file=sys.stderr)
    raise typer.Exit(1 if errors else 0)


def main() -> None:
    app(prog_name="coffeecup")


if __name__ == "__main__":
    main()
