# SPDX-License-Identifier: Apache-2.0
"""What the tables of bench_history.py have in common: how they are printed, the goals, and a made-up site."""

import argparse
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.history.table import EVENTS

SERIES = 118  # of a site with four benchmarks at several sizes


class Goals:
    """What the tables have to show, and what they did not."""

    def __init__(self):
        self.missed: list[str] = []

    def report(self) -> int:
        """Prints what was missed; the exit code."""
        print("\n" + "\n".join([f"MISSED: {text}" for text in self.missed] or ["every goal is reached"]))
        return 1 if self.missed else 0

    def check(self, what: str, reached: float, least: float = -np.inf, most: float = np.inf) -> None:
        if not least <= reached <= most:
            self.missed.append(
                f"{what}: {reached:g}, goal {f'at least {least:g}' if most == np.inf else f'at most {most:g}'}"
            )


def parsed(text: str, **usual: int) -> argparse.Namespace:
    """The options of a program, which are numbers with a default."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    for name, value in usual.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


def percent(share: float) -> str:
    return f"{100 * share:.3g}"


def row(*cells) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def header(title: str, columns: str) -> None:
    """The columns are separated by "; "."""
    cells = columns.split("; ")
    print(f"\n{title}\n")
    row(*cells)
    print("|" + "---|" * len(cells))


class Both(io.StringIO):
    """Keeps what is printed on the standard output."""

    def write(self, text: str) -> int:
        print(text, end="", file=sys.__stdout__, flush=True)
        return super().write(text)


@contextmanager
def part_of_page(page: Path | None, part: str, command: str) -> Iterator[None]:
    """Puts what is printed meanwhile into a part of a page, too, with the command and the date; None prints alone."""
    with redirect_stdout(Both()) as printed:
        yield
    if page:
        replace_part(page, part, f"{printed.getvalue().strip()}\n\n`{command}`, {datetime.now(UTC):%Y-%m-%d}.")


def replace_part(page: Path, part: str, text: str) -> None:
    """Replaces what is between the comments with the name of a part. Raises ValueError if the page lacks them."""
    begin, end = (f"<!-- {part}: {word} -->" for word in ("begin", "end"))
    before, rest = page.read_text(encoding="utf-8").split(begin)
    _, after = rest.split(end)
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


def session_table(values: np.ndarray, hosts: np.ndarray | None = None) -> pd.DataFrame:
    """A table of session_values, of values (series, sessions) and sets of hosts, if recorded: 22 metrics of b_eff_io on
    each of two file systems, the rest of b_eff."""
    times = pd.date_range("2026-01-01", periods=values.shape[1], freq="D", tz="UTC")
    parts = []
    for number, series in enumerate(values):
        files = ("scratch", "home", "")[min(number // 22, 2)]
        name = "b_eff_io" if files else "b_eff"
        place = {"benchmark": name, "metric": name, "system": "site", "partition": "cpu", "environ": "mpi"}
        place |= {"file_system": files, "processes": number + 1, "settings": ""}
        measured = {"session_time": times, "session": times.astype(str), "value": series}
        parts.append(pd.DataFrame(measured).assign(**place))
    recorded = {"unit": "MByte/s", "better": Better.HIGHER, "hosts": "node1", "node": ""}
    recorded |= {"name": "test", "facts": "{}", "parameters": "{}"} | dict.fromkeys(EVENTS, "")
    return pd.concat(parts, ignore_index=True).assign(**recorded)
