# SPDX-License-Identifier: Apache-2.0
"""The options of `coffeecup references propose`."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from coffeecup.postprocess.cli.selection import begin_of


def share(value: float | None) -> float | None:
    """Callback of an option: refuses numbers that are not between 0 and 1."""
    if value is not None and not 0 < value < 1:
        raise typer.BadParameter(f"{value:g} is not between 0 and 1")
    return value


@dataclass(frozen=True)
class Wanted:
    """What a proposal is made from, and how wide its bounds are."""

    file: Annotated[
        Path, typer.Option("--file", "-f", metavar="YAML", help="Reference file; updated in place with --write.")
    ]
    coverage: Annotated[
        float,
        typer.Option(
            metavar="0..1",
            callback=share,
            help="Probability that the next session falls inside the bounds if nothing changes.",
        ),
    ] = 0.95
    floor: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION",
            callback=share,
            help="Minimum distance of the bounds from the value (default: 0.05, of simulated sessions 0.01).",
        ),
    ] = None
    min_sessions: Annotated[
        int | None,
        typer.Option(metavar="N", min=2, help="Minimum number of sessions (default: 10, of simulated ones 1)."),
    ] = None
    settings: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Use only sessions with these kernel options; needed if sessions differ."),
    ] = None
    environ: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Use only this ReFrame environment; otherwise a partition with several gets references for each.",
        ),
    ] = None
    valid_from: Annotated[
        datetime | None,
        typer.Option(
            metavar="DATE",
            parser=begin_of,
            help="Start a new epoch after an upgrade: earlier values are kept under _meta, and earlier sessions not "
            "used.",
        ),
    ] = None
    xfail: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC=TICKET", help="Mark a failure as expected; an empty ticket removes the mark."),
    ] = None
    scaling: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=EXPONENT",
            help="For sizes that were never measured: derive the value from the nearest "
            "smaller one times the ratio of processes to this power, marked as derived.",
        ),
    ] = None
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="Use what is excluded otherwise: `failed` runs, other `versions` of kernel or MPI library than the "
            "newest, `disturbed` runs, or sessions with `changes` of level. May be repeated.",
        ),
    ] = None
