"""Runs a command and shows, meanwhile, how far the kernels have come whose logs grow under a directory.

A kernel under ReFrame writes to files, so a terminal would stay silent for minutes. The log says what is planned and gains a line
per measurement: that is all that is read here, each byte once.
"""

import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

LOOK_SECONDS = 1.0
LINE_SECONDS = 15.0  # between two lines about a log where the output is no terminal


@dataclass
class GrowingLog:
    """A log being written: what it plans, how much of that it has, how far it has been read."""

    path: Path
    offset: int = 0
    partial: bytes = b""
    title: str = ""
    planned: int = 0
    measured: int = 0
    left_out: int = 0
    stages: int = 0  # of a benchmark whose measurements come together when a repetition is over
    ended: str = ""

    def read_on(self) -> bool:
        """Take in the complete lines that are new; true where there were any."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                new = file.read()
        except OSError:  # ReFrame moves a log away when its test is done
            return False
        self.offset += len(new)
        *lines, self.partial = (self.partial + new).split(b"\n")
        for line in lines:
            self._take(line)
        return bool(lines)

    def _take(self, line: bytes) -> None:
        try:
            record = json.loads(line)
            getattr(self, f"_take_{record['record']}", lambda record: None)(record)
        except (ValueError, KeyError, TypeError, AttributeError):
            pass  # not one of our logs, or a broken one: scoring says so, a progress bar need not

    def _take_run(self, run: dict) -> None:
        self.title = f"{run['benchmark']} on {run['ranks']} processes"

    def _take_plan(self, plan: dict) -> None:
        self.stages = len(plan.get("stages", []))
        if self.stages:
            self.planned = plan["repetitions"] * self.stages
            return
        if "partitions" in plan:
            self.planned = len(plan["partitions"]) * len(plan["methods"]) * len(plan["patterns"])
            return
        self.planned = len(plan["message_bytes"]) * sum(len(pattern["methods"]) for pattern in plan["patterns"])
        self._methods = {pattern["name"]: len(pattern["methods"]) for pattern in plan["patterns"]}

    def _take_measurement(self, measurement: dict) -> None:
        self.measured += not self.stages

    def _take_repetition(self, repetition: dict) -> None:
        self.measured += self.stages

    def _take_budget(self, budget: dict) -> None:
        self.left_out += self._methods[budget["pattern"]] - len(budget["methods"])

    def _take_end(self, end: dict) -> None:
        self.ended = end["status"]

    @property
    def total(self) -> int:
        return max(self.planned - self.left_out, self.measured, 1)

    def __str__(self) -> str:
        share = 100 * self.measured // self.total
        state = self.ended or f"{share} %"
        return f"{self.title}: {self.measured} of {self.total} measurements, {state}"


class Watched:
    """The logs under a directory that appeared or grew since the start."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.logs = {path: None for path in self._paths()}  # what was there before is not ours

    def _paths(self):
        return self.directory.rglob("*.jsonl") if self.directory.is_dir() else ()

    def grown(self) -> list[GrowingLog]:
        for path in self._paths():
            self.logs.setdefault(path, GrowingLog(path))
        return [log for log in self.logs.values() if log and log.read_on() and log.planned]


def watch(directory: Path, command: list[str]) -> int:
    """Run the command with a view on the logs under the directory; returns the command's exit code."""
    console = Console(highlight=False, soft_wrap=True)
    watched = Watched(Path(directory))
    show = bars if console.is_terminal else lines
    return show(console, watched, command)


def bars(console: Console, watched: Watched, command: list[str]) -> int:
    """On a terminal: a bar for each log under what the command prints."""
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        shown: dict[Path, int] = {}

        def look() -> None:
            for log in watched.grown():
                if log.path not in shown:
                    shown[log.path] = progress.add_task(log.title)
                progress.update(shown[log.path], completed=log.measured, total=log.total, visible=not log.ended)

        return run(command, look, lambda text: progress.console.print(Text.from_ansi(text)), piped=True)


def lines(console: Console, watched: Watched, command: list[str]) -> int:
    """Elsewhere: a line now and then, and one at the end of each log."""
    said: dict[Path, float] = {}

    def look() -> None:
        for log in watched.grown():
            if log.ended or time.monotonic() - said.get(log.path, float("-inf")) >= LINE_SECONDS:
                said[log.path] = time.monotonic()
                print(log, flush=True)

    return run(command, look, print, piped=False)


def run(command: list[str], look, show_line, piped: bool) -> int:
    """Run the command, `look` every second; its output is passed through, by `show_line` where a bar stands below it."""
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
        return 127
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
    look()
    return process.returncode if process.returncode >= 0 else 128 - process.returncode
