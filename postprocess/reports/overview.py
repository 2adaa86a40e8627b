# SPDX-License-Identifier: Apache-2.0
"""The scores of many logs in one table that fits into 80 columns, and each qualification once, with the rows that it
applies to."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.show.terminal import simple_table
from coffeecup.postprocess.show.words import counted, digits, named, printable, ranges, unit_word

# A number that stands alone: not a part of a name, a version, a date or a path.
NUMBER = re.compile(r"(?<![\w.:/-])(\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w:/-]|\.\d)")


def by_size(score: Score) -> tuple[int, str, int, int]:
    """The order of scores: by benchmark and metric, then by size."""
    run = score.log.run
    return list(benchmarks()).index(score.benchmark), score.headline[0], run.ranks, len(run.hosts)


def overview(scores: list[Score], changes: Mapping[str, str] | None) -> Iterator[RenderableType]:
    """The table of some scores, then their qualifications. `changes` has the change against earlier runs by the log's
    SHA-256; the column is left out for None."""
    ordered = sorted(scores, key=by_size)
    paths = [score.log.path for score in ordered]
    folder, names = told_apart(paths) if alike(ordered) else ("", [])
    below = f" below {folder}" if folder else ""
    yield Text(printable(f"{counted(len(ordered), 'result')}{below}"), style="bold")
    yield table(ordered, names, changes)
    of_changes = "; change: against the median of the earlier sessions (their number)"
    yield Text(f"size: processes / nodes{'' if changes is None else of_changes}\n", style="dim")
    yield sentences(ordered)
    yield Text("")


def alike(scores: list[Score]) -> bool:
    """Whether some scores are of the same metric and size, so that only their logs tell them apart."""
    return len({by_size(score) for score in scores}) < len(scores)


def table(scores: list[Score], names: list[str], changes: Mapping[str, str] | None) -> Table:
    """A row per score; `names` are those of the logs, if they are shown."""
    shown = simple_table()
    shown.add_column("#", justify="right")
    if names:
        shown.add_column("log", overflow="fold")
    shown.add_column("result", no_wrap=not names)
    shown.add_column("value", justify="right")
    shown.add_column("unit")
    shown.add_column("size", justify="right", no_wrap=True)
    shown.add_column("official")
    if changes is not None:
        shown.add_column("change", justify="right", no_wrap=True)
    for number, score in enumerate(scores):
        metric, value = score.headline
        shown.add_row(
            str(number + 1),
            *([Text(printable(names[number]))] if names else []),
            named(score.benchmark, metric),
            digits(value.value),
            unit_word(value.unit),
            f"{score.log.run.ranks} / {len(score.log.run.hosts)}",
            standing(score),
            *([changes.get(score.log.sha256, "unknown")] if changes is not None else []),
        )
    return shown


def standing(score: Score) -> Text:
    if score.simulated_machine:
        return Text(printable(f"simulated {score.simulated_machine}"))
    return Text("yes" if score.official else f"no: {score.reason}")


def sentences(scores: list[Score]) -> Table:
    """The qualifications, each with the numbers of its rows."""
    shown = Table.grid(padding=(0, 1))
    shown.add_column(style="dim", no_wrap=True, justify="right")
    shown.add_column()
    for rows, text in qualified(scores):
        shown.add_row(f"{'all' if len(rows) == len(scores) else ranges(rows)}:", Text(printable(text)))
    return shown


def qualified(scores: list[Score]) -> list[tuple[list[int], str]]:
    """The numbers of the rows that a qualification applies to, and its sentence. Sentences that differ in numbers only
    become one, with the range of each number."""
    rows, numbers = {}, {}
    for row, score in enumerate(scores, 1):
        for text in dict.fromkeys(qualification.text for qualification in score.qualifications):
            parts = NUMBER.split(text)
            key = tuple(parts[::2])
            rows.setdefault(key, []).append(row)
            numbers.setdefault(key, []).append(parts[1::2])
    return [(sorted(set(rows[key])), merged(key, numbers[key])) for key in rows]


def merged(between: tuple[str, ...], numbers: list[list[str]]) -> str:
    """A sentence of the text between its numbers, and for each place the numbers that are to stand there."""
    spans = [span(values) for values in zip(*numbers)]
    return "".join(text + value for text, value in zip(between, [*spans, ""]))


def span(values: tuple[str, ...]) -> str:
    low, high = min(values, key=float), max(values, key=float)
    return low if low == high else f"{low}–{high}"


def told_apart(paths: list[Path]) -> tuple[str, list[str]]:
    """The folder that all paths have in common, and the part in which they differ, without the file names if the
    folders differ."""
    if len(paths) < 2 or len({path.is_absolute() for path in paths}) > 1:
        return "", list(map(str, paths))
    folder = os.path.commonpath([path.parent for path in paths])
    rest = [Path(os.path.relpath(path, folder)) for path in paths]
    if len({path.parent for path in rest}) == len(rest) and all(path.parent.name for path in rest):
        rest = [path.parent for path in rest]
    return folder, list(map(str, rest))
