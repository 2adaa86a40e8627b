# SPDX-License-Identifier: Apache-2.0
"""The figure of a run's nodes."""

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from postprocess.benchmarks.nodes import SHOWN, Examination
from postprocess.show import plots
from postprocess.show.plots import BLUE, GREY, VERMILION, Figure
from postprocess.statistics.nodes import SLOWER

MOST = 60  # nodes that a figure has room for
KINDS = ((True, VERMILION, "s", "suspected"), (False, BLUE, "o", "not suspected"))


def figure(found: Examination) -> Figure:
    """The slowest nodes by effect, with intervals."""
    known = found.nodes[np.isfinite(found.nodes["ratio"])]
    shown = known[: min(max(SHOWN, len(found.named)), MOST)]
    with matplotlib.rc_context(plots.LOOK):
        drawn, [axes] = plots.canvas(8.6, 1.4 + 0.22 * len(shown))
        draw(axes, shown)
    rest = len(known) - len(shown)
    others = f" The {rest} others are faster." if rest else ""
    return Figure(
        "nodes",
        "Nodes by their bandwidth",
        "The slowest nodes first, each with its interval of 95 %; the dotted line is the share of the peers' bandwidth "
        f"below which a node is slow.{others}",
        found.nodes,
        drawn,
    )


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
    axes.set_xlabel("bandwidth relative to the median node")
    axes.legend(loc="lower left")
