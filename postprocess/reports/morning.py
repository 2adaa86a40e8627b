# SPDX-License-Identifier: Apache-2.0
"""What a person reads in the morning: a line for each event and each test without a value, what is new first. The site
page, its JSON and the notification have these lines in common."""

import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from pathlib import Path

import pandas as pd

from coffeecup.postprocess.comparison.causes import proposal
from coffeecup.postprocess.history.events import BETTER, NEW, Event
from coffeecup.postprocess.reports.changes import gap, sentence, verdict
from coffeecup.postprocess.show.words import counted, printable

FRESH, OPEN, KNOWN = "new", "open", "known"  # KNOWN: over, acknowledged, small, or not for the worse
LATER = timedelta(days=14)  # how long an acknowledgement that is proposed holds
SHOWN = 10  # lines of a notification
FILTERS = ("partition", "benchmark", "file_system")


@dataclass(frozen=True)
class Line:
    """`state` is one of FRESH, OPEN and KNOWN, `word` a verdict, `text` a sentence, `commands` what to type next;
    `places` has the values of FILTERS that it concerns."""

    state: str
    word: str
    alarm: bool
    text: str
    commands: tuple[str, ...]
    places: dict[str, list[str]]


def lines(
    found: Iterable[Event], missing: pd.DataFrame, today: date, sources: Iterable[Path], file: Path | None
) -> list[Line]:
    """The lines on these events and on the rows of completeness.without_value, what is new first. `today` and the
    `file` of acknowledged events enter the commands."""
    known = [of_event(one, today, sources, file) for one in found if not (one.direction == BETTER and one.reverts)]
    every = [*map(of_gap, missing.to_dict("records")), *known]
    return sorted(every, key=lambda line: (FRESH, OPEN, KNOWN).index(line.state))


def of_gap(row: dict) -> Line:
    places = {name: [name_of(row, name)] for name in FILTERS if name in row}
    return Line(FRESH if row["sessions"] <= 1 else OPEN, "no value", True, gap(row), (), places)


def of_event(event: Event, today: date, sources: Iterable[Path], file: Path | None) -> Line:
    recent = event.state == NEW and not event.acknowledged
    state = FRESH if recent else OPEN if event.alarms else KNOWN
    series = [finding.series for finding in event.findings]
    places = {name: sorted({name_of(one, name) for one in series}) for name in FILTERS}
    typed = commands(event, places, today, sources, file) if event.alarms else ()
    return Line(state, verdict(event).lower(), event.alarms, sentence(event), typed, places)


def name_of(row: dict, name: str) -> str:
    """A value of FILTERS; a partition with its system, as the filters of the commands take it."""
    return f"{row['system']}:{row['partition']}" if name == "partition" else row[name]


def commands(
    event: Event, places: dict[str, list[str]], today: date, sources: Iterable[Path], file: Path | None
) -> tuple[str, ...]:
    """What to type next: the nodes if slow ones explain the event, its history, the comparison that would tell its
    cause, and how to acknowledge it."""
    where = list(map(str, sources))
    metrics = sorted({finding.series["metric"] for finding in event.findings})
    filters = [("--partition", places["partition"]), ("--benchmark", places["benchmark"]), ("--metric", metrics)]
    chosen = [word for option, values in filters if len(values) == 1 for word in (option, values[0])]
    end = f"{today + LATER}"
    known = ["--event", event.name, "--until", end, "--file", str(file or "acknowledged.yaml")]
    typed = [
        *([["coffeecup", "nodes", *where]] if event.nodes else []),
        ["coffeecup", "history", *where, *chosen],
        proposal(event),
        ["coffeecup", "acknowledge", *where, *known, "--who", "NAME", "--why", "REASON"],
    ]
    return tuple(printable(shlex.join(words)) for words in typed if words)


def title(every: list[Line]) -> str:
    """Such as "1 new alarm, 2 open"."""
    new, still = (sum(line.alarm and line.state == state for line in every) for state in (FRESH, OPEN))
    return f"{counted(new, 'new alarm')}, {still} open"


def message(every: list[Line], systems: list[str]) -> list[str]:
    """The lines of the notification, plain text: a title that can be the subject of a mail, what is new with what to
    type, and what is still open."""
    text = [f"coffeecup: {title(every)} on {printable(', '.join(systems))}"]
    shown = [line for line in every if line.state != KNOWN]
    for line in shown[:SHOWN]:
        text += ["", f"{line.state.upper()}: {line.word}: {line.text}"]
        text += [f"    {typed}" for typed in line.commands] if line.state == FRESH else []
    if len(shown) > SHOWN:
        text += ["", f"and {counted(len(shown) - SHOWN, 'more line')}: `coffeecup check-history` lists all"]
    return [*text, ""]


def objects(every: Iterable[Line]) -> list[dict]:
    """The lines as plain values."""
    return [asdict(line) for line in every]
