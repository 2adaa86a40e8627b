"""The `coffeecup` command: scores, figures and reports from logs; the other commands have a module each.

Exit codes: 0 all logs scored, 1 a log without a score (a line on stderr says why; the others are still shown), 2 wrong usage.
"""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from postprocess import __version__
from postprocess.benchmarks.score import Score
from postprocess.benchmarks.scoring import score_logs
from postprocess.cli import accept, history, references, site, site_report, watch
from postprocess.logs.reader import LogError
from postprocess.show.words import printable

app = typer.Typer(
    help="Scores, figures and reports from the logs of coffeecup's benchmarks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(site.app, name="site")
app.add_typer(references.app, name="references")
app.command("history")(history.history)
app.command("check-history")(history.check_history)
site.app.command("report")(site_report.site_report)
app.command("export")(site_report.export)
app.command("accept")(accept.accept)
app.command("watch")(watch.watch_command)

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
    r_max: Annotated[float | None, typer.Option(metavar="GFLOPS", help="Linpack performance of the processors of the run: adds the "
                                                                       "balance factor, communication over R_max.")] = None,
) -> None:
    """Show the scores of logs, and what qualifies them."""
    from postprocess.benchmarks.registry import optional_function
    from postprocess.reports import terminal

    if as_json and as_csv:
        raise typer.BadParameter("choose one of --json and --csv")
    if r_max is not None and not 0 < r_max < float("inf"):
        raise typer.BadParameter(f"--r-max has to be a positive number of Gflop/s, not {r_max:g}")
    results = score_logs(found(logs))
    if r_max is not None:
        results = [add(result, r_max) if isinstance(result, Score) and (add := optional_function(result.benchmark, "balance_factor"))
                   else result for result in results]
    show = terminal.json_text if as_json else terminal.csv_text if as_csv else terminal.terminal_text
    typer.echo(show(results), nl=False)
    leave(results)


@app.command()
def plot(
    logs: Logs,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the figures; it is made if need be.")],
) -> None:
    """Draw the figures of logs as PNG and SVG, each with its numbers as CSV."""
    from postprocess.reports import page

    with writing(output):
        output.mkdir(parents=True, exist_ok=True)
    items = page.items(found(logs), with_sections=False)
    stems = distinct([item.path.stem for item in items])
    with writing(output):
        for item, stem in zip(items, stems):
            for figure in item.figures:
                typer.echo("\n".join(printable(str(path)) for path in figure.save(output, stem)))
        for name, figure in page.comparisons([item.result for item in items if isinstance(item.result, Score)]):
            typer.echo("\n".join(printable(str(path)) for path in figure.save(output, name)))
    leave([item.result for item in items])


@app.command("report")
def write_report(
    logs: Logs,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The HTML file to write.")] = Path("report.html"),
    session: Annotated[Path | None, typer.Option(metavar="JSON", help="A ReFrame session report (--report-file): its references and "
                                                                      "verdicts are shown.")] = None,
) -> None:
    """Write one HTML page on all logs: it opens offline, prints, and holds everything that it shows."""
    from postprocess.reports import page
    from postprocess.sessions.verdicts import read_session

    try:
        cases = read_session(session) if session else None
    except LogError as error:
        raise typer.BadParameter(str(error)) from None
    items = page.items(found(logs))
    text = page.html(items, cases, command_line())
    with writing(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, encoding="utf-8")
    typer.echo(f"wrote {printable(str(output))}", err=True)
    leave([item.result for item in items])


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """An error of the file system while writing is the user's to mend."""
    try:
        yield
    except OSError as error:
        raise typer.BadParameter(f"cannot write {printable(str(path))}: {error.strerror}") from None


def command_line() -> str:
    return shlex.join(["coffeecup", *(printable(argument) for argument in sys.argv[1:])])


def distinct(stems: list[str]) -> list[str]:
    """Names for files: where two logs have the same name, numbered."""
    return [stem if stems.count(stem) == 1 else f"{stem}-{stems[:place].count(stem) + 1}" for place, stem in enumerate(stems)]


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
