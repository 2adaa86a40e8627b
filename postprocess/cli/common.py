# SPDX-License-Identifier: Apache-2.0
"""What several commands share: their arguments, and how they read, write and end."""

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import orjson
import typer
import typer.core

from coffeecup.postprocess.logs.paths import files_below, replace_text, replaced
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.show.words import printable

if TYPE_CHECKING:
    import pandas as pd

    from coffeecup.postprocess.benchmarks.predicted import Designs
    from coffeecup.postprocess.history.change_points import Site
    from coffeecup.postprocess.history.events import Event
    from coffeecup.postprocess.history.site_files import Entry, SiteRules
    from coffeecup.postprocess.logs.reader import Log
    from coffeecup.postprocess.show.plots import Figure

NO_CAUSE = (
    "the result is about no cause of an event: metric, number of processes, options with their order, and both values "
    "of the cause have to be the same"
)
UNSCORED = "a log has no score, or a design does not fit its run; the others are shown all the same"
USAGE = "wrong usage, or a file that cannot be read or written"  # the exit code 2 of most commands


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raises BadParameter for an error of the file system while writing."""
    try:
        yield
    except OSError as error:
        raise typer.BadParameter(f"cannot write {printable(str(path))}: {error.strerror}") from None


@contextmanager
def as_usage(*errors: type[Exception]) -> Iterator[None]:
    """Raises BadParameter for errors that say what is wrong with the arguments or files."""
    try:
        yield
    except errors as error:
        text = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
        raise typer.BadParameter(printable(text)) from None


class WithoutEmptyArguments(typer.core.TyperGroup):
    """Refuses empty arguments, which would be the current directory as a path. Only settings may be empty: those of a
    run without options."""

    def parse_args(self, ctx, args):
        own = args[: args.index("--")] if "--" in args else args
        if any(word == "" and before != "--settings" for before, word in zip(["", *own], own)):
            raise typer.BadParameter("an argument is empty: is a variable of the shell not set?")
        return super().parse_args(ctx, args)


def exit_codes(codes: dict[int | str, str]) -> Callable:
    """Decorator: states when a command exits with which code; its --help shows it."""

    def decorate(command: Callable) -> Callable:
        command.__dict__["exit_codes"] = codes
        return command

    return decorate


def add(app: typer.Typer, name: str, command: Callable) -> None:
    """Adds a command, which has to state its exit codes."""
    codes = "; ".join(f"{code}: {meaning}" for code, meaning in command.__dict__["exit_codes"].items())
    app.command(name, epilog=f"Exit codes: {codes}.")(command)


def print_json(content) -> None:
    """Prints one JSON document. Times are in ISO 8601, what is missing or no finite number is null, and text is
    printable."""
    typer.echo(orjson.dumps(plain(content), option=orjson.OPT_INDENT_2).decode())


def print_result(as_json: bool, content, text: str) -> None:
    """Prints a result once: as JSON with --json, otherwise as text with its last line feed."""
    if as_json:
        print_json(content)
    else:
        typer.echo(text, nl=False)


def plain(value):
    """The same in JSON's types; a table becomes a list with an object for each row."""
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        value = value.to_dict("records")
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    if isinstance(value, dict):
        return {printable(str(key)): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, str):
        return printable(value)
    if pd.isna(value):
        return None
    if isinstance(value, datetime):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else value


def command_line() -> str:
    """The command as the user typed it, quoted for a shell, for pages that state how they were made."""
    return shlex.join(["coffeecup", *(printable(argument) for argument in sys.argv[1:])])


def write_text(path: Path, text: str) -> None:
    """Replaces a file in one step, so that no other program reads a part of it."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, text)
    typer.echo(f"wrote {printable(str(path))}", err=True)


def write_figures(folder: Path, figures: "Iterable[tuple[str, Figure]]") -> None:
    """Pairs of what the files' names begin with, and a figure. Prints the paths to the standard error output."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for stem, figure in figures:
            for name, content in figure.files(stem):
                with replaced(folder / name) as path:
                    path.write_bytes(content)
                typer.echo(f"wrote {printable(str(folder / name))}", err=True)


def logs_below(paths: list[Path]) -> list[Path]:
    """Logs that the arguments name, those of a directory in the order of their paths; each once."""
    logs = {}
    for path in paths:
        inside = files_below(path, "*.jsonl")
        if not inside:
            raise typer.BadParameter(f"the directory {printable(str(path))} contains no *.jsonl file")
        logs |= dict.fromkeys(inside)
    return list(logs)


def compared_with(design: Path | None, calibrate: list[Path] | None) -> "Designs":
    """The designs of the file, and what calibrates them. Raises BadParameter."""
    from coffeecup.postprocess.benchmarks.predicted import Designs
    from coffeecup.postprocess.designs.design import DesignError, read_machines

    if calibrate and not design:
        raise typer.BadParameter("--calibrate calibrates a design: add --design FILE")
    with as_usage(DesignError, LogError):
        return Designs(read_machines(design) if design else [], calibrating(calibrate))


def need_comparison(design: Path | None, results: list, compared: list[list]) -> None:
    """Raises BadParameter where a design was given, all logs have scores, and none can be compared with it."""
    from coffeecup.postprocess.benchmarks.predicted import predictable

    if design and not any(compared) and not any(isinstance(result, LogError) for result in results):
        raise typer.BadParameter(
            f"nothing to compare with the design: no log with a score is of {', '.join(predictable())}"
        )


def calibrating(paths: list[Path] | None) -> "list[Log]":
    """Logs with a score, of benchmarks that can be predicted. Raises LogError."""
    from coffeecup.postprocess.benchmarks.predicted import predictable
    from coffeecup.postprocess.benchmarks.scoring import evaluate, read

    logs = []
    for path in paths or []:
        log = read(path)
        if isinstance(log, LogError):
            raise log
        if log.benchmark not in (able := predictable()):
            raise LogError(log.path, f"{log.benchmark} cannot be predicted; calibrate with {', '.join(able)}")
        [evaluation] = evaluate([log])
        if isinstance(evaluation.result, LogError):
            raise evaluation.result
        logs.append(log)
    return logs


def leave(results: list, failed: bool = False) -> None:
    """Ends the command: with exit code 1 if a result is an error, or if it failed otherwise."""
    errors = [result for result in results if isinstance(result, LogError)]
    for error in errors:
        print(f"coffeecup: {error}", file=sys.stderr)
    raise typer.Exit(1 if errors or failed else 0)


def judged(
    values: "pd.DataFrame",
    cases: "pd.DataFrame",
    thresholds: Path | None,
    entries: "list[Entry]",
    compared: list[Path] | None = None,
    is_part: bool = False,
) -> "tuple[list[Event], Site, list[str]]":
    """The events with a site's thresholds, its entries on events, the slow nodes that explain them and what the
    `compared` results of comparisons say of their causes; the judged series; and remarks. Entries that match nothing
    are named unless filters are used (`is_part`). Nodes are those of all `cases`, whatever the filters of results:
    another benchmark or partition may tell why a metric changed. Raises BadParameter if a file cannot be used."""
    from coffeecup.postprocess.comparison.causes import says_nothing, tested
    from coffeecup.postprocess.comparison.plan import PlanError
    from coffeecup.postprocess.comparison.result import read_comparison
    from coffeecup.postprocess.history import change_points, events
    from coffeecup.postprocess.history.acknowledgements import acknowledged, maintained
    from coffeecup.postprocess.history.comparable import changed_units
    from coffeecup.postprocess.history.explanations import explained
    from coffeecup.postprocess.history.nodes import examined
    from coffeecup.postprocess.history.table import SERIES
    from coffeecup.postprocess.reports.changes import remarks

    rules = site_rules(thresholds)
    site = change_points.site_of(values, rules)
    findings = [finding for one in site.levels for finding in change_points.of_levels(one)]
    found = explained(events.events(values, findings), examined(cases), values)
    with as_usage(PlanError):
        results = [read_comparison(path) for path in compared or ()]
    ignored = [path for path, each in zip(compared or (), results) if says_nothing(found, each, values)]
    found = [tested(event, results, values) for event in found]
    known, notes = acknowledged(found, entries, values, datetime.now(UTC).date(), is_part)
    unused = rules.unused(values[SERIES].drop_duplicates().to_dict("records"))
    units, unknown = changed_units(values), change_points.undirected(values, rules)
    said = remarks(units, unknown, unused, notes + maintained(cases, entries, is_part))
    return known, site, said + [f"--compared {printable(str(path))}: {NO_CAUSE}" for path in ignored]


def known_entries(acknowledged: Path | None) -> "list[Entry]":
    """The entries of a site's file of acknowledged, accepted and expected events and of maintenance. Raises
    BadParameter."""
    from coffeecup.postprocess.history.site_files import ANY_KIND

    return site_entries(acknowledged, ANY_KIND)


def valued(table: "pd.DataFrame", facts: Path | None) -> "pd.DataFrame":
    """The table of session_values of a history_table, with the facts of a site's file. Raises BadParameter."""
    from coffeecup.postprocess.history.change_points import session_values
    from coffeecup.postprocess.history.site_facts import read_facts, with_facts
    from coffeecup.postprocess.history.site_files import SiteFileError

    values = session_values(table)
    with as_usage(SiteFileError):
        return with_facts(values, read_facts(facts)) if facts else values


def site_rules(thresholds: Path | None) -> "SiteRules":
    """The rules with a site's thresholds. Raises BadParameter if the file cannot be used."""
    from coffeecup.postprocess.history.site_files import SiteRules, Threshold

    return SiteRules(site_entries(thresholds, Threshold))


def site_entries(path: Path | None, kind: Any) -> list:
    """The entries of a site's file, none without a file. Raises BadParameter if it cannot be used."""
    from coffeecup.postprocess.history.site_files import SiteFileError, read_list

    with as_usage(SiteFileError):
        return read_list(path, kind) if path else []
