# SPDX-License-Identifier: Apache-2.0
"""Tables: rows for loops, and CSV that is safe to open."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from coffeecup.postprocess.show.words import printable

FORMULA = ("=", "+", "-", "@")


def each_row(table: pd.DataFrame) -> Iterable[Any]:
    """Named tuples with a field per column. `Any`, because type checkers do not know the types of columns."""
    return table.itertuples()


def csv_text(table: pd.DataFrame) -> str:
    """A table as CSV in which no text is a formula for a spreadsheet, by the rule of OWASP ("CSV Injection"): a text
    that begins with =, +, - or @ gets a single quote before it. Control characters are escaped. Numbers stay numbers.
    """
    safe = table.copy()
    for name in table.select_dtypes(exclude="number"):
        safe[name] = table[name].map(harmless)
    return safe.rename(columns=harmless).to_csv(index=False, lineterminator="\n")


def harmless(cell):
    """The same cell if it is no text."""
    if not isinstance(cell, str):
        return cell
    text = printable(cell)
    return f"'{text}" if text.startswith(FORMULA) else text
