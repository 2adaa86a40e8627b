# SPDX-License-Identifier: Apache-2.0
"""`coffeecup watch`: runs a command and shows, meanwhile, the progress of the kernels whose logs are below a directory.

A kernel under ReFrame writes to files, so a terminal would stay silent for minutes.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from coffeecup.postprocess.benchmarks.registry import log_formats
from coffeecup.postprocess.cli.common import exit_codes
from coffeecup.postprocess.logs.growing import Course, GrowingLog
from coffeecup.postprocess.show.words import printable

LOOK_SECONDS = 0.25  # ReFrame removes the log of a short run within a second
CANNOT_RUN = 127  # as in a shell
LINE_SECONDS = 15.0  # between two lines about a log where the output is no terminal


class Watched:
    """The logs under a directory that appeared or grew since the start."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.logs = dict.fromkeys(self._paths())  # what was there before is not ours

    def _paths(self) -> list[Path]:
        """Meanwhile ReFrame removes the directories of tests that are done: os.walk, unlike Path.rglob, goes on."""
        tree = os.walk(self.directory)
        return [Path(folder, name) for folder, _, names in tree for name in names if name.endswith(".jsonl")]

    def grown(self) -> list[tuple[GrowingLog, Course]]:
        for path in self._paths():
            self.logs.setdefault(path, GrowingLog(path, log_formats()))
        grown = [log for log in self.logs.values() if log and log.read_on()]
        return [(log, log.course) for log in grown if log.course and log.course.planned]


@exit_codes(
    {
        2: "wrong usage",
        CANNOT_RUN: "COMMAND cannot be run",
        "any other": "the exit code of COMMAND, or 128 + N if signal N ended it",
    }
)
def watch_command(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Directory in which the logs are written, at any depth.")
    ],
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND...", help="Command to run; its exit code is returned.")
    ],
) -> None:
    """Run COMMAND and show the progress of the logs below DIR, which COMMAND may create."""
    raise typer.Exit(watch(directory, command))


def watch(directory: Path, command: list[str]) -> int:
    """Run the command and show the progress of the logs below the directory; returns the command's exit code."""
    console = Console(highlight=False, soft_wrap=True)
    watched = Watched(Path(directory))
    show = bars if console.is_terminal else lines
    code = show(console, watched, command)
    if code != CANNOT_RUN and not any(watched.logs.values()):
        print(f"coffeecup: no log appeared below {printable(str(directory))}", file=sys.stderr)
    return code


def bars(console: Console, watched: Watched, command: list[str]) -> int:
    """On a terminal: a bar for each log under what the command prints."""
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        shown: dict[Path, TaskID] = {}

        def look() -> None:
            for log, course in watched.grown():
                if log.path not in shown:
                    shown[log.path] = progress.add_task(log.title)
                progress.update(shown[log.path], completed=course.done, total=course.total, visible=not course.end)

        return run(command, look, lambda text: progress.console.print(Text.from_ansi(text)), piped=True)


def lines(console: Console, watched: Watched, command: list[str]) -> int:
    """Elsewhere: a line now and then, and one at the end of each log."""
    said: dict[Path, float] = {}

    def look() -> None:
        for log, course in watched.grown():
            if course.end or time.monotonic() - said.get(log.path, float("-inf")) >= LINE_SECONDS:
                said[log.path] = time.monotonic()
                print(f"{log.title}: {course.summary()}", flush=True)

    return run(command, look, print, piped=False)


def run(command: list[str], look, show_line, piped: bool) -> int:
    """Run the command and call `look` meanwhile. The command's output is passed through, with `show_line` if a bar
    is drawn below it, and so is SIGTERM: nobody else would end the command."""
    try:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE if piped else None,
            stderr=subprocess.STDOUT if piped else None,
            text=piped or None,
            errors="replace" if piped else None,
        )
    except OSError as error:
        print(f"coffeecup: {command[0]} cannot be run: {error.strerror}", file=sys.stderr)
        return CANNOT_RUN
    before = signal.signal(signal.SIGTERM, lambda number, _: process.send_signal(number))
    reader = threading.Thread(target=lambda: [show_line(line.rstrip("\n")) for line in process.stdout or ()])
    reader.start()
    while True:
        try:
            process.wait(LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            look()
        except KeyboardInterrupt:
            continue  # the command got it too, and it knows how to end its kernels
        else:
            break
    reader.join()
    signal.signal(signal.SIGTERM, before)
    look()
    return process.returncode if process.returncode >= 0 else 128 - process.returncode
