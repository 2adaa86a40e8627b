# SPDX-License-Identifier: Apache-2.0
"""What all figures have in common: their style, and how they are written to files or into a page.

Colours are those of Okabe and Ito, which colour-blind people can tell apart, orange, sky and purple darkened so that
thin lines are visible on paper; lines differ in marker or dash as well.
"""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, log10
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter

from coffeecup.postprocess.show.tables import csv_text
from coffeecup.postprocess.show.words import NARROW_SPACE, digits

BLACK, ORANGE, SKY, GREEN = "#1a1a1a", "#c08400", "#3b95d1", "#009e73"
BLUE, VERMILION, PURPLE, GREY = "#0072b2", "#d55e00", "#c46f9d", "#6b6b6b"
BROWN, MINT, SILVER = "#8c3a00", "#569a86", "#8c8c8c"  # beside these: more shares of a bar
WHITE, GRID = "#ffffff", "#e3e3e3"
# Colour and mark of lines that a person has to tell apart.
LINES = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (ORANGE, "D"), (PURPLE, "v"), (SKY, "P"), (GREY, "X"))
# The variables of style.css that stand for these colours on a page: in the dark they have other values.
VARIABLES = {
    "#000000": "ink",  # matplotlib's default
    BLACK: "ink",
    WHITE: "paper",
    GRID: "grid",
    ORANGE: "orange",
    SKY: "sky",
    GREEN: "green",
    BLUE: "blue",
    VERMILION: "vermilion",
    PURPLE: "purple",
    GREY: "grey",
    BROWN: "brown",
    MINT: "mint",
    SILVER: "silver",
}
LOOK: dict[Any, Any] = {
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],  # ships with matplotlib; Helvetica and its replacements lack superscripts
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "svg.fonttype": "none",  # keep text as text, which can be searched, copied and read by screen readers
    "svg.hashsalt": "coffeecup",  # the same log gives the same file
    "text.parse_math": False,
}


NARROWEST = 0.05  # of a level, to both sides
PLAIN, SUPERSCRIPTS = "-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"


@dataclass(frozen=True)
class Figure:
    """A figure with the numbers that it shows. `title` names it, `description` is for those who cannot see it."""

    name: str
    title: str
    description: str
    data: pd.DataFrame
    canvas: Canvas

    def files(self, stem: str) -> Iterator[tuple[str, bytes]]:
        """Name and content of STEM-NAME.png, .svg and .csv."""
        formats: dict[str, dict[str, Any]] = {"png": {"dpi": 160}, "svg": {"metadata": {"Date": None}}}
        for kind, options in formats.items():
            with matplotlib.rc_context(LOOK), io.BytesIO() as file:
                self.canvas.savefig(file, format=kind, **options)
                yield f"{stem}-{self.name}.{kind}", file.getvalue()
        yield f"{stem}-{self.name}.csv", csv_text(self.data).encode()

    def svg(self, prefix: str) -> str:
        """An <svg> element for a page that holds several: ids begin with `prefix`, it is announced as one image, its
        colours follow those of the page, and it contains no character that common fonts lack."""
        with matplotlib.rc_context(LOOK), io.StringIO() as file:
            self.canvas.savefig(file, format="svg", metadata={"Date": None})
            text = file.getvalue()
        text = text[text.index("<svg") :]
        text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
        text = re.sub(r'\bid="', f'id="{prefix}-', text)
        text = re.sub(r'(href="|url\()#', rf"\1#{prefix}-", text)
        text = re.sub(r'((?:fill|stroke)(?:: |="))(#[0-9a-f]{6})', with_variable, text)
        text = re.sub(f"[{SUPERSCRIPTS}]+", raised, text)
        return text.replace("<svg", f'<svg role="img" aria-labelledby="{prefix}-title"', 1)


def canvas(width: float, height: float, columns: int = 1, **options) -> tuple[Canvas, list[Axes]]:
    """An empty figure of `columns` panels side by side; width and height in inches. It has no window and no global
    state."""
    with matplotlib.rc_context(LOOK):
        drawn = Canvas(figsize=(width, height), layout="constrained")
        axes = drawn.subplots(1, columns, squeeze=False, **options)[0]
    return drawn, list(axes)


def look_of(number: int) -> tuple[str, str]:
    """Colour and mark of the line of this number, from 0; the colours begin again with other marks."""
    return LINES[number % len(LINES)][0], LINES[(number + number // len(LINES)) % len(LINES)][1]


def process_axis(axes: Axes, processes: pd.Series) -> None:
    """A logarithmic axis to base 2 with the numbers of processes that were run."""
    sizes = sorted(set(processes))
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(count) for count in sizes], rotation=0 if len(sizes) < 6 else 60)
    axes.minorticks_off()
    axes.set_xlabel("processes")


def time_axis(axes: Axes, ticks: int) -> None:
    """Dates in their shortest form, at most so many ticks."""
    locator = AutoDateLocator(minticks=2, maxticks=ticks)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def from_zero(*panels: Axes) -> None:
    """The vertical axis, common to several panels: from zero to a little above the data, with plain numbers."""
    top = max(axes.dataLim.y1 for axes in panels)
    panels[0].set_ylim(0, 1.05 * top if 0 < top < inf else 1)
    plain_numbers(panels[0].yaxis)


def around(axes: Axes, level: float) -> None:
    """The vertical axis: the range of the data, and at least NARROWEST of a level to both sides, so that small changes
    are visible and noise is not blown up. From zero if the data reach below half of their largest value."""
    low, high = axes.dataLim.y0, axes.dataLim.y1
    if not 0 < high / 2 < low < inf:
        return from_zero(axes)
    margin = 0.05 * (high - low)
    axes.set_ylim(min(low - margin, level * (1 - NARROWEST)), max(high + margin, level * (1 + NARROWEST)))
    return plain_numbers(axes.yaxis)


def plain_numbers(axis) -> None:
    """Numbers with their thousands set apart, on logarithmic axes too."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: digits(value, NARROW_SPACE)))
    if axis.get_scale() == "log":  # less than a decade has no other labels; more than one has no room for all
        axis.set_minor_formatter(
            FuncFormatter(lambda value, _: digits(value, NARROW_SPACE) if has_room(axis, value) else "")
        )


def has_room(axis, value: float) -> bool:
    """Whether a number between powers of ten is labelled on a logarithmic axis: with several decades, only 2 and 5."""
    least, most = axis.get_view_interval()
    return most < 10 * least or f"{value:e}"[0] in "25"


def power_of_ten(value: float, _: int) -> str:
    """10⁶ in plain characters, because labels are text that can be searched."""
    return "10" + f"{round(log10(value))}".translate(str.maketrans(PLAIN, SUPERSCRIPTS))


def with_variable(colour: re.Match) -> str:
    """A colour of an SVG as a variable of the page, with the colour on paper as its default."""
    name = VARIABLES.get(colour[2])
    return f"{colour[1]}var(--{name}, {colour[2]})" if name else colour[0]


def raised(superscripts: re.Match) -> str:
    """Superscript characters as raised digits: Helvetica, Arial and Liberation Sans have no others than ¹²³."""
    plain = superscripts[0].translate(str.maketrans(SUPERSCRIPTS, PLAIN))
    return f'<tspan dy="-0.4em" font-size="70%">{plain}</tspan>'
