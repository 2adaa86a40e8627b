# SPDX-License-Identifier: Apache-2.0
"""Text for the terminal, laid out by rich."""

import io

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table


def rendered(*shown: RenderableType, width: int = 80) -> str:
    """At least `width` columns wide, with styles if the standard output is a terminal."""
    text = io.StringIO()
    console = Console(file=text, force_terminal=Console().is_terminal, width=max(width, Console().width))
    for each in shown:
        console.print(each)
    return text.getvalue()


def simple_table(*headings: str) -> Table:
    """A table with a line below its headings; the caller adds further columns, and rows."""
    return Table(*headings, box=box.SIMPLE_HEAD, pad_edge=False)
