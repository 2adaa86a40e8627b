# SPDX-License-Identifier: Apache-2.0
"""The optional parts of b_eff. The core names them in this file only; a part that is planned has a field in
records.Plan besides."""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from coffeecup.postprocess.benchmarks.b_eff.doors import Check, Door, Part, View

if TYPE_CHECKING:
    import pandas as pd

    from coffeecup.postprocess.benchmarks.b_eff.records import Plan
    from coffeecup.postprocess.logs.reader import Log

FOLDERS = (  # in the order of their records
    "noise",
    "probes",
    "memory",
    "nodes",
    "prediction",
)


def parts() -> list[Part]:
    """What each folder adds to the log; imports no pandas."""
    return [import_module(f"{__package__}.{folder}").PART for folder in FOLDERS]


@cache
def doors() -> dict[str, Door]:
    """By folder; imported on first use, because they need pandas and the core."""
    return {folder: import_module(f"{__package__}.{folder}.door").DOOR for folder in FOLDERS}


def views(log: "Log[Plan]") -> list[View]:
    """The log itself, if no part divides it."""
    return next(filter(None, (door.views(log) for door in doors().values())), [View(log)])


def checks(view: View, table: "pd.DataFrame") -> list[Check]:
    """What each optional part compares with a limit, in the order of the folders."""
    return [check for door in doors().values() for check in door.checks(view, table)]
