# SPDX-License-Identifier: Apache-2.0
"""The figures of b_eff. The first has the form of the paper: message lengths are equidistant on the abscissa."""

import itertools
from dataclasses import replace

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from coffeecup.postprocess.benchmarks.b_eff.doors import View
from coffeecup.postprocess.benchmarks.b_eff.parts import doors, views
from coffeecup.postprocess.benchmarks.b_eff.records import Plan, Rings
from coffeecup.postprocess.benchmarks.b_eff.reduction import logavg
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.logs.hosts import system
from coffeecup.postprocess.logs.placement import placement_of
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show import plots
from coffeecup.postprocess.show.plots import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, WHITE, Figure
from coffeecup.postprocess.show.tables import each_row
from coffeecup.postprocess.show.words import NARROW_SPACE, counted, digits, printable, size

GROUPS = {"ring": ("ring patterns", BLUE, "o"), "random": ("random patterns", VERMILION, "s")}
METHODS = {
    "sendrecv": ("Sendrecv", BLUE, "o", "-"),
    "alltoallv": ("Alltoallv", ORANGE, "s", "-"),
    "nonblocking": ("Isend, Irecv, Waitall", GREEN, "^", "-"),
    "neighbor": ("Neighbor_alltoallv (reported only)", PURPLE, "D", ":"),
    "persistent": ("persistent requests (reported only)", SKY, "v", ":"),
}
REPORTED = {
    "Pairs and worst cycle": {
        "worst_cycle": "worst-case cycle",
        "bisection-best": "bisection, best",
        "bisection-worst": "bisection, worst",
        "ping_pong": "ping-pong",
    },
    "Two-dimensional": {"cartesian-2d-x": "in x", "cartesian-2d-y": "in y", "cartesian-2d-all": "x and y together"},
    "Three-dimensional": {
        "cartesian-3d-x": "in x",
        "cartesian-3d-y": "in y",
        "cartesian-3d-z": "in z",
        "cartesian-3d-all": "all together",
    },
}
SIMULATED_LINES = ((GREEN, "^"), (PURPLE, "v"), (ORANGE, "s"), (SKY, "P"), (GREY, "X"), (BLACK, "*"))


def figures(log: Log[Plan], table: pd.DataFrame) -> list[Figure]:
    """All figures for which `table`, the log's rows of a measurement_table, contains planned measurements with finite
    results. Logs without a score have figures as well."""
    return [
        *(figure for view in views(log) for figure in figures_of_view(view, table[table["view"] == view.suffix])),
        *(figure for door in doors().values() for figure in door.figures(log)),
    ]


def figures_of_view(view: View, table: pd.DataFrame) -> list[Figure]:
    log = view.log
    table = table[table["message_bytes"].isin(log.plan.message_bytes) & np.isfinite(table["bandwidth"])]
    averaged = best_by_pattern(table.query("averaged"))
    drawn = []
    with matplotlib.rc_context(plots.LOOK):
        if len(averaged):
            drawn += [over_lengths(averaged, log), placement(averaged, log), methods(table, log)]
        if len(table) > len(table.query("group in ('ring', 'random')")):
            drawn.append(reported(table, log))
    where = f", {view.words}" if view.words else ""
    return [replace(one, name=f"{one.name}{view.suffix}", title=f"{one.title}{where}") for one in drawn]


def best_by_pattern(table: pd.DataFrame, *more: str) -> pd.DataFrame:
    """Best bandwidth in MByte/s, a row per group, pattern, message length and value of `more` columns."""
    best = table.groupby(["group", *more, "pattern", "message_bytes"], observed=True)["bandwidth"].max()
    return best.rename("mbyte_per_second").reset_index()


def draw_line(axes: Axes, log: Log[Plan], data: pd.DataFrame, column: str, **look) -> None:
    """A column over the message length, in the same distances between all lengths of the plan."""
    lengths = log.plan.message_bytes
    axes.plot([lengths.index(length) for length in data["message_bytes"]], data[column], **look)


def geometric_mean(table: pd.DataFrame, by: list[str]) -> pd.Series:
    return logavg(table.set_index(by)["mbyte_per_second"], by)


def over_lengths(best: pd.DataFrame, log: Log[Plan]) -> Figure:
    """Bandwidth over message length, rings and random patterns: mean and range over the patterns of each group."""
    data = (
        best.groupby(["group", "message_bytes"], observed=True)["mbyte_per_second"]
        .agg(least="min", most="max")
        .assign(geometric_mean=geometric_mean(best, ["group", "message_bytes"]))
        .reset_index()
    )
    drawn, [axes] = plots.canvas(8.6, 3.9)
    lengths = log.plan.message_bytes
    for group, (label, colour, marker) in GROUPS.items():
        shown = data[data["group"] == group]
        places = [lengths.index(length) for length in shown["message_bytes"]]
        axes.fill_between(places, shown["least"], shown["most"], color=colour, alpha=0.18, linewidth=0)
        axes.plot(
            places, shown["geometric_mean"], color=colour, marker=marker, label=f"{label}: geometric mean, and range"
        )
    length_axis(axes, lengths)
    plots.from_zero(axes)
    axes.set_ylabel("accumulated bandwidth, MByte/s")
    axes.legend(loc="upper left")
    return Figure(
        "lengths",
        "Bandwidth over message length",
        "All processes together, best of the averaged methods and repetitions. The area under a line, divided by the "
        "width of the figure, is what enters b_eff. The lengths are equidistant as in the paper: on one logarithmic "
        f"scale up to 4 KiB, on another from there to {size(lengths[-1])}. " + peaks(data),
        data,
        drawn,
    )


def peaks(data: pd.DataFrame) -> str:
    tops = data.loc[data.groupby("group", observed=True)["geometric_mean"].idxmax()].sort_values(
        "group", ascending=False
    )
    return " ".join(
        f"The {GROUPS[row.group][0]} reach {digits(row.geometric_mean, NARROW_SPACE)} MByte/s at "
        f"{size(row.message_bytes)}."
        for row in each_row(tops)
    )


def length_axis(axes: Axes, lengths: list[int]) -> None:
    """The paper's abscissa, with a line where the second logarithmic scale begins."""
    ticks = [place for place in range(len(lengths)) if place % 2 == 0]
    axes.set_xticks(
        ticks, [size(lengths[place]) for place in ticks], fontsize=8, rotation=35, ha="right", rotation_mode="anchor"
    )
    axes.set_xlim(-0.4, len(lengths) - 0.6)
    if 4096 in lengths[:-1]:
        axes.axvline(lengths.index(4096), color=GREY, linewidth=0.8, linestyle=(0, (2, 3)))
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("message length")


def placement(best: pd.DataFrame, log: Log[Plan]) -> Figure:
    """The mean over the lengths of every pattern: a line per ring pattern, one line for all random patterns."""
    data = best.groupby(["group", "pattern"], observed=True)["mbyte_per_second"].mean().reset_index()
    rings = {pattern.name: rings_text(pattern.rings) for pattern in log.plan.patterns if pattern.group == "ring"}
    labels = [*(f"{name}: {text}" for name, text in rings.items()), "random order: 1 ring"]
    drawn, [axes] = plots.canvas(8.6, 0.32 * len(labels) + 1.1)
    for group, (label, colour, marker) in GROUPS.items():
        shown = data[data["group"] == group]
        if shown.empty:
            continue
        rows = [list(rings).index(name) if group == "ring" else len(rings) for name in shown["pattern"]]
        axes.plot(
            shown["mbyte_per_second"], rows, linestyle="none", marker=marker, color=colour, markersize=7, alpha=0.75
        )
        mean = float(np.exp(np.log(shown["mbyte_per_second"]).mean()))
        axes.axvline(
            mean,
            color=colour,
            linewidth=1.2,
            linestyle="--",
            zorder=0,
            label=f"{label}: geometric mean {digits(mean, NARROW_SPACE)} MByte/s",
        )
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlim(0, 1.04 * data["mbyte_per_second"].max())
    plots.plain_numbers(axes.xaxis)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("accumulated bandwidth, mean over the message lengths, MByte/s")
    drawn.legend(loc="outside upper left", ncols=2)
    return Figure(
        "placement",
        "Rings and random order",
        "Each mark is one pattern. "
        + (
            "Neighbours in rings have ranks that follow each other, so they often share a node; random order sends "
            "most messages across the machine."
            if len(log.run.hosts) > 1
            else "All processes are on one node."
        ),
        data,
        drawn,
    )


def rings_text(rings: list[Rings] | None) -> str:
    """Rings in rank order as text: 2 rings of 4 and 1 of 5."""
    if not rings:
        return ""
    first, *others = rings
    return " and ".join(
        [f"{counted(first.count, 'ring')} of {first.size}", *(f"{ring.count} of {ring.size}" for ring in others)]
    )


def methods(table: pd.DataFrame, log: Log[Plan]) -> Figure:
    """Bandwidth over message length by method, geometric mean over the patterns of a group."""
    best = best_by_pattern(table.query("group in ('ring', 'random')"), "method")
    data = geometric_mean(best, ["group", "method", "message_bytes"]).reset_index()
    drawn, panels = plots.canvas(8.6, 3.9, columns=2, sharey=True)
    for axes, (group, (title, _, _)) in zip(panels, GROUPS.items()):
        for method, (label, colour, marker, dash) in METHODS.items():
            shown = data[(data["group"] == group) & (data["method"] == method)]
            look = {"color": colour, "marker": marker, "linestyle": dash, "label": label if len(shown) else "_"}
            draw_line(axes, log, shown, "mbyte_per_second", markersize=4, **look)
        length_axis(axes, log.plan.message_bytes)
        axes.set_yscale("log")
        axes.set_title(title.capitalize())
    plots.plain_numbers(panels[0].yaxis)
    panels[0].set_ylabel("accumulated bandwidth, MByte/s")
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return Figure(
        "methods",
        "Bandwidth over message length by method",
        "Geometric mean over the patterns, best repetition, on a logarithmic scale. For each pattern and length the "
        "best of the averaged methods enters b_eff; the methods drawn with dotted lines are reported only.",
        data,
        drawn,
    )


def reported(table: pd.DataFrame, log: Log[Plan]) -> Figure:
    """The patterns that the paper reports beside b_eff. Their bandwidth is divided by the number of participating
    processes, except for the ping-pong, in which only one message is on its way at a time."""
    shared_by = {
        pattern.name: 1 if pattern.group == "ping_pong" else pattern.processes for pattern in log.plan.patterns
    }
    data = best_by_pattern(table.query("group not in ('ring', 'random')")).assign(
        mbyte_per_second_per_process=lambda t: t["mbyte_per_second"] / t["pattern"].astype(str).map(shared_by)
    )
    measured = {*data["pattern"], *data["group"]}
    shown = {title: entries for title, entries in REPORTED.items() if measured & entries.keys()}
    drawn, panels = plots.canvas(8.6, 3.9, columns=len(shown), sharey=True)
    lengths = log.plan.message_bytes
    for axes, (title, entries) in zip(panels, shown.items()):
        for (name, label), (colour, marker) in zip(entries.items(), plots.LINES):
            line = data[(data["pattern"] == name) | (data["group"] == name)]
            if len(line):
                look = {"color": colour, "marker": marker, "markersize": 4, "label": label}
                draw_line(axes, log, line, "mbyte_per_second_per_process", **look)
        length_axis(axes, lengths)
        axes.set_xticks(range(0, len(lengths), 4), [size(lengths[place]) for place in range(0, len(lengths), 4)])
        axes.set_title(title)
        axes.legend(loc="upper left", fontsize=8)
    plots.from_zero(*panels)
    panels[0].set_ylabel("MByte/s per process")
    return Figure(
        "reported",
        "Patterns that are reported and do not enter b_eff",
        "Best of all methods and repetitions, divided by the number of processes that take part; the ping-pong is "
        "one direction, undivided.",
        data,
        drawn,
    )


def draw_runs(axes: Axes, data: pd.DataFrame, column: str) -> None:
    """A line per system, partition and placement with its own colour and mark, which joins official runs; and one per
    simulated machine, dotted, so that nobody takes it for measurements. Runs that are not official have hollow marks
    and no line."""
    looks = {False: itertools.cycle(plots.LINES), True: itertools.cycle(SIMULATED_LINES)}
    several = data.loc[~data["simulated"], "line"].nunique() > 1
    for (simulated, line), runs in data.groupby(["simulated", "line"], sort=False):
        colour, mark = next(looks[bool(simulated)])
        if simulated:
            axes.plot(runs["processes"], runs[column], mark, linestyle=":", color=colour, label=f"simulated: {line}")
            continue
        for standing, style in (("official", "-"), ("not official", "none")):
            shown = runs[runs["official"] == (standing == "official")]
            if len(shown):
                axes.plot(
                    shown["processes"],
                    shown[column],
                    mark,
                    linestyle=style,
                    color=colour,
                    markerfacecolor=WHITE if style == "none" else colour,
                    label=f"{standing}, {line}" if several else standing,
                )


def value_of(score: Score, metric: str) -> float:
    """NaN for a run in memory of devices only."""
    return score.metrics[metric].value if metric in score.metrics else float("nan")


def line_of(score: Score) -> str:
    """What the runs of a line have in common."""
    run = score.log.run
    return printable(score.simulated_machine or f"{system(run)}, {placement_of(run)}")


def over_sizes(scores: list[Score]) -> Figure:
    """b_eff, b_eff per process, and how long the run took, over the number of processes: a mark per run."""
    data = pd.DataFrame(
        {
            "processes": [score.log.run.ranks for score in scores],
            "b_eff": [value_of(score, "b_eff") for score in scores],
            "b_eff_per_process": [value_of(score, "b_eff_per_process") for score in scores],
            "elapsed_seconds": [score.log.end.elapsed_seconds for score in scores],
            "time_budget_seconds": [score.log.plan.time_budget_seconds for score in scores],
            "official": [score.official for score in scores],
            "simulated": [score.log.run.simulated for score in scores],
            "line": [line_of(score) for score in scores],
        }
    ).sort_values("processes", kind="stable")
    labels = {
        "b_eff": "b_eff, MByte/s",
        "b_eff_per_process": "b_eff per process, MByte/s",
        "elapsed_seconds": "time of the run, s",
    }
    with matplotlib.rc_context(plots.LOOK):
        drawn, panels = plots.canvas(9.6, 3.4, columns=3)
        panels[2].plot(
            data["processes"], data["time_budget_seconds"], "_", color=GREY, markersize=12, label="time budget"
        )
        for axes, (column, label) in zip(panels, labels.items()):
            draw_runs(axes, data, column)
            plots.process_axis(axes, data["processes"])
            axes.set_ylabel(label)
            several = data["line"].nunique() > 1 and data[column].notna().any()
            if column != "elapsed_seconds" and several:
                axes.set_yscale("log")  # machines may be decades apart
                plots.plain_numbers(axes.yaxis)
            else:
                plots.from_zero(axes)
        drawn.legend(*panels[2].get_legend_handles_labels(), loc="outside lower center", ncols=3, labelcolor=BLACK)
    return Figure(
        "sizes",
        "b_eff over the number of processes",
        "The accumulated bandwidth, the share of each process, both in MByte/s, and how long each run took beside "
        "the time that it was allowed; simulated runs take simulated time. A line joins official runs on one partition "
        "with one placement. A level line in the middle means a network that grows with the machine.",
        data,
        drawn,
    )
