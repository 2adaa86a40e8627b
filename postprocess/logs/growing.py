# SPDX-License-Identifier: Apache-2.0
"""Logs that are being written, or that were cut off: the progress of the run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from coffeecup.postprocess.logs.format import LogFormat, Progress
from coffeecup.postprocess.logs.lines import UNREADABLE
from coffeecup.postprocess.logs.records import End, Record, Run, kind_of


@dataclass
class Course:
    """The progress of a run, from the records of its log so far. `last` is the last record that completed a step."""

    progress: Progress
    plan: Record | None = None
    planned: int = 0
    done: int = 0
    last: Record | None = None
    end: End | None = None

    def take(self, record: Record) -> None:
        kind = type(record)
        if isinstance(record, End):
            self.end = record
        elif kind_of(record) == "plan":
            self.plan, self.planned = record, self.progress.planned(record)
        elif self.plan is not None:
            if kind in self.progress.done:
                self.done, self.last = self.done + self.progress.done[kind](self.plan, record), record
            if kind in self.progress.left_out:
                self.planned -= self.progress.left_out[kind](self.plan, record)

    @property
    def total(self) -> int:
        """Number of steps, for a progress bar: never 0, and never less than those done."""
        return max(self.planned, self.done, 1)

    def summary(self) -> str:
        state = self.end.status if self.end else f"{100 * self.done // self.total} %"
        return f"{self.done} of {self.total} measurements, {state}"

    @property
    def status(self) -> str:
        """The status in the end record."""
        return self.end.status if self.end else "running or cut off"

    def __str__(self) -> str:
        if self.last is None:
            return f"none of the {self.planned} planned measurements was done"
        where = ", ".join(
            f"{name} {value}"
            for name, value in msgspec.structs.asdict(self.last).items()
            if isinstance(value, str | int) and name != "sequence"
        )
        return f"{self.done} of the {self.planned} planned measurements were done, the last one: {where}"


@dataclass
class GrowingLog:
    """A log that may still grow. Each byte is read once. Lines that are no record of a benchmark in `formats` are
    ignored: the reader of complete logs refuses them."""

    path: Path
    formats: Mapping[str, LogFormat]
    title: str = ""
    course: Course | None = None
    _offset: int = field(default=0, repr=False)
    _decode: Callable[[bytes], Any] = field(default=msgspec.json.Decoder(Run).decode, repr=False)
    _partial: bytes = field(default=b"", repr=False)

    def read_on(self) -> bool:
        """Reads the new complete lines; true if there are any."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                new = file.read()
        except OSError:  # ReFrame moves a log away when its test is done
            return False
        self._offset += len(new)
        *lines, self._partial = (self._partial + new).split(b"\n")
        for line in lines:
            self._take(line)
        return bool(lines)

    def _take(self, line: bytes) -> None:
        try:
            record = self._decode(line)
            if self.course is None:
                log_format = self.formats[record.benchmark]
                self.course, self._decode = Course(log_format.progress), log_format.decoder.decode
                self.title = f"{record.benchmark} on {record.ranks} processes"
            else:
                self.course.take(record)
        except (*UNREADABLE, LookupError):
            pass
