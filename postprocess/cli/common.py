# SPDX-License-Identifier: Apache-2.0
"""What several commands share: their arguments, and how they read, write and end."""

import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postprocess.logs.reader import LogError
from postprocess.show.words import printable

if TYPE_CHECKING:
    import pandas as pd

    from postprocess.show.plots import Figure

Logs = Annotated[
    list[Path], typer.Argument(metavar="LOG...", help="Logs (*.jsonl), or directories that are searched for logs.")
]
Sources = Annotated[
    list[Path],
    typer.Argument(
        metavar="SESSIONS...",
        help="ReFrame session reports (--report-file), results databases "
        "ReFrame, or directories with session*.json at any depth.",
    ),
]
Since = Annotated[
    datetime | None,
    typer.Option(
        metavar="DATE", formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"], help="Ignore sessions that started earlier (UTC)."
    ),
]
Benchmark = Annotated[str | None, typer.Option(metavar="NAME", help="Only this benchmark.")]
MetricName = Annotated[
    list[str] | None, typer.Option("--metric", metavar="NAME", help="Only this metric; may be repeated.")
]
Figures = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Folder for every figure as PNG and SVG, with its numbers as CSV; created if it does not exist.",
    ),
]


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raises BadParameter for an error of the file system while writing."""
    try:
        yield
    except OSError as error:
        raise typer.BadParameter(f"cannot write {printable(str(path))}: {error.strerror}") from None


def command_line() -> str:
    return shlex.join(["coffeecup", *(printable(argument) for argument in sys.argv[1:])])


def write_text(path: Path, text: str) -> None:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    typer.echo(f"wrote {printable(str(path))}", err=True)


def write_figures(folder: Path, figures: "Iterable[tuple[str, Figure]]") -> None:
    """Pairs of what the files' names begin with, and a figure. Prints the paths."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for stem, figure in figures:
            typer.echo("\n".join(printable(str(path)) for path in figure.save(folder, stem)))


def logs_below(paths: list[Path]) -> list[Path]:
    """Logs that the arguments name, those of a directory in the order of their paths; each once."""
    logs = {}
    for path in paths:
        inside = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
        if not inside:
            raise typer.BadParameter(f"the directory {printable(str(path))} contains no *.jsonl file")
        logs |= dict.fromkeys(inside)
    return list(logs)


def leave(results: list) -> None:
    errors = [result for result in results if isinstance(result, LogError)]
    for error in errors:
        print(f"coffeecup: {error}", file=sys.stderr)
    raise typer.Exit(1 if errors else 0)


def reports(sources, since) -> list:
    """The sessions. Raises BadParameter if they cannot be read."""
    from postprocess.sessions.files import read_reports

    try:
        return read_reports(sources, since and since.replace(tzinfo=UTC))
    except LogError as error:
        raise typer.BadParameter(str(error)) from None


def cases_and_history(sources, since, benchmark, metrics) -> "tuple[pd.DataFrame, pd.DataFrame]":
    """The case table, and the rows of the history table that match. Raises BadParameter if there are none."""
    from postprocess.history.table import case_table, history_table

    read = reports(sources, since)
    cases, table = case_table(read), history_table(read)
    matching = cases[cases["benchmark"] == benchmark] if benchmark else cases
    table = table[table["case"].isin(matching["case"])]
    if metrics:
        table = table[table["metric"].isin(metrics)]
    if matching.empty or (metrics and table.empty):
        raise typer.BadParameter("no results match these filters")
    return cases, table


def stored(sources, since, benchmark, metrics) -> "pd.DataFrame":
    """The rows of the history table that match. Raises BadParameter if none was measured."""
    _, table = cases_and_history(sources, since, benchmark, metrics)
    if table["value"].isna().all():
        raise typer.BadParameter("no results match these filters")
    return table


def changes_of(values: "pd.DataFrame") -> list:
    from postprocess.history import change_points

    try:
        return change_points.findings(values)
    except ModuleNotFoundError:
        raise typer.BadParameter(
            f"finding changes requires Apache Otava, which is not installed; install it with\n"
            f"    {sys.executable} -m pip install apache-otava==0.8.0"
        ) from None
