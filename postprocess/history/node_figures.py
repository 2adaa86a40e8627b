# SPDX-License-Identifier: Apache-2.0
"""Figures of nodes, or of servers of files, over sessions: their effects in the last ones, and the history of those
that stand out."""

from collections.abc import Iterator

import matplotlib
import pandas as pd
from matplotlib.axes import Axes

from coffeecup.postprocess.benchmarks import node_figures
from coffeecup.postprocess.show import plots
from coffeecup.postprocess.show.plots import GREY, Figure
from coffeecup.postprocess.show.words import counted, printable
from coffeecup.postprocess.statistics.nodes import SLOWER


def outstanding(found: pd.DataFrame) -> pd.Series:
    """Which rows of a history.nodes.summary are slow, now and then or always, or named by the newest session."""
    return found["slow"].astype(bool) | found["intermittent"].astype(bool) | found["since"].notna()


def figures(table: pd.DataFrame, found: pd.DataFrame, what: str = "node") -> Iterator[Figure]:
    """Two figures of each test with a node that stands out, from a history.nodes.node_table and its summary; or the
    same of `what` is in these tables instead of nodes."""
    with matplotlib.rc_context(plots.LOOK):
        for number, ((system, test), nodes) in enumerate(found.groupby(["system", "test"]), 1):
            chosen = nodes[outstanding(nodes)].sort_values("ratio")
            if len(chosen):
                rows = table[(table["system"] == system) & (table["test"] == test)]
                yield effects(nodes.sort_values("ratio"), what, f"{number:02}")
                yield history(rows, list(chosen["node"]), what, f"{number:02}")


def effects(nodes: pd.DataFrame, what: str, number: str) -> Figure:
    drawn, others = node_figures.ranked(nodes.assign(suspect=outstanding(nodes)))
    return Figure(
        f"{what}s-{number}-effects",
        printable(f"{what.capitalize()}s over the last sessions: {nodes['test'].iloc[0]}"),
        f"The slowest {what}s first: the median over the last sessions with its interval of 95 %, if there are at "
        f"least six; below the dotted line a {what} is slow.{others}",
        nodes,
        drawn,
    )


def history(rows: pd.DataFrame, names: list[str], what: str, number: str) -> Figure:
    drawn, [axes] = plots.canvas(8.6, 3.4)
    most = len(plots.LINES)
    draw_history(axes, rows, names[:most])
    more = f" {counted(len(names) - most, f'more {what}')} not shown." if len(names) > most else ""
    return Figure(
        f"{what}s-{number}-history",
        printable(f"Slow {what}s by session: {rows['test'].iloc[0]}"),
        f"The bandwidth of each slow {what} relative to its peers. A ring marks a session that suspected it, a "
        f"cross one that confirmed it. The area is the range of all other {what}s.{more}",
        rows[["session_time", "session", "node", "ratio", "suspected", "confirmed"]],
        drawn,
    )


def draw_history(axes: Axes, rows: pd.DataFrame, names: list[str]) -> None:
    others = rows[~rows["node"].isin(names)].groupby("session_time")["ratio"]
    low, high = others.min(), others.max()
    axes.fill_between(low.index, low, high, color=GREY, alpha=0.25, linewidth=0, label="others")
    for name, (colour, marker) in zip(names, plots.LINES):
        own = rows[rows["node"] == name].sort_values("session_time")
        axes.plot(own["session_time"], own["ratio"], color=colour, marker=marker, markersize=3, label=printable(name))
        for kind, style, size in (("suspected", "o", 9), ("confirmed", "x", 7)):
            marked, look = own[own[kind]], {"color": colour, "markersize": size, "fillstyle": "none", "alpha": 0.8}
            axes.plot(marked["session_time"], marked["ratio"], style, **look)
    axes.axhline(SLOWER, color=GREY, linestyle=":")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("relative to the median")
    plots.time_axis(axes, 8)
    axes.legend(loc="lower left", ncols=2)
