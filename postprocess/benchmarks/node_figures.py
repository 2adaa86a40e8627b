# SPDX-License-Identifier: Apache-2.0
"""The figures of a run's nodes, and of its pairs of nodes."""

from collections.abc import Sequence

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from coffeecup.postprocess.benchmarks.nodes import SHOWN, Examination
from coffeecup.postprocess.show import plots
from coffeecup.postprocess.show.plots import BLUE, GREY, VERMILION, Figure
from coffeecup.postprocess.show.words import digits, printable
from coffeecup.postprocess.statistics.nodes import SLOWER

MOST = 60  # nodes that a figure has room for
MOST_CELLS, MOST_ROWS = 256, 100_000  # of a matrix of pairs: cells of a side, and rows of its table
NAMES = 32  # that a side of a matrix has room for
KINDS = ((True, VERMILION, "s", "suspected"), (False, BLUE, "o", "not suspected"))


def figure(found: Examination) -> Figure:
    """The slowest nodes by effect, with intervals."""
    with matplotlib.rc_context(plots.LOOK):
        drawn, others = ranked(found.nodes)
    return Figure(
        "nodes",
        "Nodes by their speed",
        "The slowest nodes first, each with its interval of 95 %; the dotted line is the share of the peers' speed "
        f"below which a node is slow.{others}",
        found.nodes,
        drawn,
    )


def ranked(nodes: pd.DataFrame) -> tuple[Canvas, str]:
    """The slowest of the nodes, and a sentence on those that are not shown. `nodes` is sorted by `ratio` and has the
    columns node, ratio, low, high and suspect."""
    known = nodes[np.isfinite(nodes["ratio"])]
    shown = known[: min(max(SHOWN, int(known["suspect"].sum())), MOST)]
    drawn, [axes] = plots.canvas(8.6, 1.4 + 0.22 * len(shown))
    draw(axes, shown)
    rest = len(known) - len(shown)
    return drawn, f" The {rest} others are faster." if rest else ""


def draw(axes: Axes, shown: pd.DataFrame) -> None:
    """A node a line, the slowest on top. An interval without a bound ends at the edge."""
    edge = 1.5 * float(shown["ratio"].max())
    places = np.arange(len(shown))[::-1]
    for suspect, colour, marker, label in KINDS:
        chosen = (shown["suspect"] == suspect).to_numpy()
        if chosen.any():
            rows = shown[chosen]
            below, above = rows["ratio"] - rows["low"].clip(lower=0), rows["high"].clip(upper=edge) - rows["ratio"]
            axes.errorbar(
                rows["ratio"],
                places[chosen],
                xerr=[below, above],
                color=colour,
                marker=marker,
                linestyle="none",
                label=label,
            )
    axes.axvline(SLOWER, color=GREY, linestyle=":")
    axes.set_yticks(places, list(shown["node"]))
    axes.set_xlim(left=0)
    axes.set_xlabel("speed relative to the median node")
    axes.legend(loc="lower left")


def matrix(names: Sequence[str], pairs: pd.DataFrame) -> Figure:
    """The bandwidth of every pair of nodes. `pairs` has a row per pair: `first` and `second`, numbers in `names`, and
    `mbyte_per_second`. Of many nodes, several share a cell, which shows the slowest of their pairs."""
    ordered = pairs.sort_values("mbyte_per_second")
    share = -(-len(names) // MOST_CELLS)
    side = -(-len(names) // share)
    cells = np.full((side, side), np.inf)
    for row, column in (("first", "second"), ("second", "first")):
        np.minimum.at(cells, (ordered[row] // share, ordered[column] // share), ordered["mbyte_per_second"])
    with matplotlib.rc_context(plots.LOOK):
        drawn, [axes] = plots.canvas(7, 5.6)
        draw_matrix(axes, [printable(name) for name in names[::share]], np.where(np.isinf(cells), np.nan, cells))
    slowest, median = ordered.iloc[0], float(ordered["mbyte_per_second"].median())
    two = " and ".join(names[int(slowest[node])] for node in ("first", "second"))
    several = f" A cell has {share} nodes a side and shows the slowest of their pairs." if share > 1 else ""
    named = {node: ordered[node].map(dict(enumerate(names))) for node in ("first", "second")}
    return Figure(
        "pairs",
        "Bandwidth of every pair of nodes",
        "In each round every node communicates with one other, in both directions at once. A dark line is a slow node, "
        f"a dark spot a slow link. The slowest pair is {printable(two)} with {digits(slowest['mbyte_per_second'])} "
        f"MByte/s; the median pair has {digits(median)} MByte/s.{several}",
        ordered.assign(**named)[:MOST_ROWS],
        drawn,
    )


def draw_matrix(axes: Axes, names: Sequence[str], cells: np.ndarray) -> None:
    image = axes.imshow(cells, cmap="cividis", vmin=0, interpolation="nearest")
    axes.grid(visible=False)
    axes.figure.colorbar(image, ax=axes, label="MByte/s", shrink=0.8)
    step = -(-len(cells) // NAMES)
    places = range(0, len(cells), step)
    axes.set_xticks(places, names[::step], rotation=90, fontsize=7)
    axes.set_yticks(places, names[::step], fontsize=7)
