# SPDX-License-Identifier: Apache-2.0
"""The arguments and options that several commands share, and callbacks that refuse their values."""

import os
from errno import EACCES, EISDIR
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated

import typer

from coffeecup.postprocess.cli.common import writing
from coffeecup.postprocess.show.words import printable

# In the first bytes of logs, results databases and session reports.
MEASUREMENTS = (b'{"record":', b"SQLite format 3\0", b'"session_info":')


def can_be_written(path: Path | None) -> Path | None:
    """Callback of an option: refuses a file that cannot be written, or that has measurements, as with `-o *.jsonl`,
    before the command works for it. Leaves nothing."""
    if path:
        if str(path) == "-":
            raise typer.BadParameter("- is not the standard output here: use /dev/stdout")
        with writing(path):
            if path.is_dir():
                raise OSError(EISDIR, os.strerror(EISDIR))
            if not path.exists() or path.is_file():
                try_folder(path.resolve().parent)
                if path.exists() and any(mark in beginning(path) for mark in MEASUREMENTS):
                    raise typer.BadParameter(f"{printable(str(path))} has measurements: write to another file")
            elif not os.access(path, os.W_OK):  # for example /dev/stdout
                raise OSError(EACCES, os.strerror(EACCES))
    return path


def beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(100)


def folder_can_be_written(folder: Path | None) -> Path | None:
    """The same of a folder, which need not exist."""
    if folder:
        with writing(folder):
            try_folder(folder.absolute())
    return folder


def try_folder(folder: Path) -> None:
    """Creates a file in a folder, or where the folder would be created, and removes it: only that tells for root and on
    every file system. Raises OSError."""
    TemporaryFile(dir=next(above for above in (folder, *folder.parents) if above.exists())).close()


def positive(value: float | None) -> float | None:
    """Callback of an option: refuses numbers that are not positive and finite."""
    if value is not None and not 0 < value < float("inf"):
        raise typer.BadParameter(f"{value:g} is not a positive number")
    return value


Logs = Annotated[
    list[Path], typer.Argument(metavar="LOG...", help="Logs (*.jsonl), or directories that are searched for logs.")
]
Thresholds = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The site's thresholds of changes (YAML; see the page History).")
]
AcknowledgedFile = Annotated[
    Path | None,
    typer.Option(
        "--acknowledged",
        metavar="FILE",
        help="The site's events and maintenance that `coffeecup acknowledge` recorded.",
    ),
]
FactsFile = Annotated[
    Path | None,
    typer.Option(
        "--facts", metavar="FILE", help="Facts of the site over time, as from its monitoring: CSV, the time first."
    ),
]
RMax = Annotated[
    float | None,
    typer.Option(
        metavar="GFLOPS",
        callback=positive,
        help="Linpack performance of the processors of the run: adds the balance factor, communication over R_max.",
    ),
]
Figures = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        callback=folder_can_be_written,
        help="Folder for every figure as PNG and SVG, with its numbers as CSV; created if it does not exist.",
    ),
]
DesignFile = Annotated[
    Path | None,
    typer.Option(
        "--design",
        metavar="FILE",
        help="YAML file with designs (the page Predict a machine): what they predict for each run is shown beside it.",
    ),
]
Calibrate = Annotated[
    list[Path] | None,
    typer.Option(metavar="LOG", help="Log of one or two nodes of a similar machine; may be repeated."),
]
OutputPage = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", callback=can_be_written, help="The HTML file to write.")
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document instead; messages go to the standard error output.")
]
