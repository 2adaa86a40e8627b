# SPDX-License-Identifier: Apache-2.0
"""The figures of b_eff_io: the paper's figure 3, bandwidth over chunk size, and its figures 2 and 4, the value over the
size of the partition."""

import itertools
from typing import Any, cast

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from msgspec.structs import asdict

from coffeecup.postprocess.benchmarks.b_eff_io import reduction
from coffeecup.postprocess.benchmarks.b_eff_io.definition import METHODS, TYPES
from coffeecup.postprocess.benchmarks.b_eff_io.means import type_bandwidth
from coffeecup.postprocess.benchmarks.b_eff_io.records import PatternType, Plan
from coffeecup.postprocess.benchmarks.b_eff_io.system import of_filesystem, together
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.logs.hosts import system
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show import plots
from coffeecup.postprocess.show.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, WHITE, Figure
from coffeecup.postprocess.show.units import MBYTE
from coffeecup.postprocess.show.words import NARROW_SPACE, counted, digits, printable, seconds, size

TITLES = {"write": "Initial write", "rewrite": "Rewrite", "read": "Read"}
LOOK = {
    "scatter": ("0 strided, scattered, collective", BLUE, "o", "-"),
    "shared": ("1 strided, shared pointer, collective", ORANGE, "s", "-"),
    "separate": ("2 separate files", GREEN, "^", "-"),
    "segmented": ("3 segmented file", VERMILION, "D", "-"),
    "segmented-collective": ("4 segmented file, collective", PURPLE, "v", "-"),
    "random": ("random (reported only)", SKY, "x", ":"),
    "random-collective": ("random, collective (reported only)", GREY, "+", ":"),
}
REDUCTIONS = {
    "b_eff_io": ("release 1.x (the paper)", BLUE, "o"),
    "b_eff_io_2_1": ("release 2.1", VERMILION, "s"),
    "b_eff_io_0_5": ("release 0.5", GREEN, "^"),
}


def figures(log: Log[Plan], table: pd.DataFrame) -> list[Figure]:
    """All figures for which `table`, the log's rows of a measurement_table, holds measurements."""
    with matplotlib.rc_context(plots.LOOK):
        drawn = [
            over_chunks(rows, log, cast(int, partition))
            for partition, rows in table.query("units > 0").groupby("partition")
        ]
        if table["partition"].nunique() > 1 and reduction.partition_values(table).notna().any(axis=None):
            drawn.append(over_partitions(table, log))
    return drawn


def over_chunks(rows: pd.DataFrame, log: Log[Plan], partition: int) -> Figure:
    """Bandwidth over chunk size: a panel per access method, a line per pattern type. Chunk sizes are equidistant, and
    each is followed by the same size plus 8 bytes: the paper's pseudo-logarithmic scale."""
    sums = rows.groupby(["method", "type", "chunk_bytes"])[["bytes", "elapsed_seconds"]].sum()
    data = (sums["bytes"] / sums["elapsed_seconds"] / MBYTE).rename("mbyte_per_second").reset_index()
    chunks = sorted(data["chunk_bytes"].unique())
    drawn, panels = plots.canvas(8.6, 4.3, columns=len(METHODS), sharey=True)
    for axes, method in zip(panels, METHODS):
        for name, (label, colour, marker, dash) in LOOK.items():
            shown = data[(data["method"] == method) & (data["type"] == name)].sort_values("chunk_bytes")
            if len(shown):
                axes.plot(
                    [chunks.index(chunk) for chunk in shown["chunk_bytes"]],
                    shown["mbyte_per_second"],
                    color=colour,
                    marker=marker,
                    linestyle=dash,
                    markersize=4,
                    label=label,
                )
        chunk_axis(axes, chunks)
        axes.set_yscale("log")
        axes.set_title(TITLES[method])
    plots.plain_numbers(panels[0].yaxis)
    panels[0].set_ylabel("bandwidth of all processes, MByte/s")
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return Figure(
        f"chunks-{partition}",
        f"Bandwidth over chunk size, {counted(partition, 'process')}",
        "The paper's figure 3: bytes of all processes over the time of the pattern with its sync. “+8” is the size "
        "before it and 8 byte. " + extremes(data),
        data,
        drawn,
    )


def chunk_axis(axes: Axes, chunks: list[int]) -> None:
    labels = ["+8" if chunk - 8 in chunks else size(chunk) for chunk in chunks]
    axes.set_xticks(range(len(chunks)), labels, fontsize=8, rotation=60, ha="right", rotation_mode="anchor")
    axes.set_xlim(-0.4, len(chunks) - 0.6)
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("contiguous chunk on disk")


def extremes(data: pd.DataFrame) -> str:
    low, high = data.iloc[data["mbyte_per_second"].argmin()], data.iloc[data["mbyte_per_second"].argmax()]
    return " ".join(
        f"{which}: {digits(row['mbyte_per_second'], NARROW_SPACE)} MByte/s, {row['method']} of type {row['type']} "
        f"with chunks of {size(row['chunk_bytes'])}."
        for which, row in (("Least", low), ("Most", high))
    )


def over_partitions(table: pd.DataFrame, log: Log[Plan]) -> Figure:
    """The partition values of the three reductions over the number of processes."""
    data = reduction.partition_values(table).droplevel("log").reset_index()
    drawn, [axes] = plots.canvas(6.4, 3.4)
    for name, (label, colour, marker) in REDUCTIONS.items():
        if data[name].notna().any():
            axes.plot(data["partition"], data[name], color=colour, marker=marker, label=label)
    plots.process_axis(axes, data["partition"])
    plots.from_zero(axes)
    axes.set_ylabel("b_eff_io, MByte/s")
    if axes.get_legend_handles_labels()[1]:
        axes.legend(loc="best")
    return Figure(
        "partitions",
        "b_eff_io over the partition",
        f"The paper's figures 2 and 4: one value for each number of processes, for T = "
        f"{seconds(log.plan.scheduled_seconds)}. The value of the system is the largest of them.",
        data,
        drawn,
    )


def over_sizes(scores: list[Score]) -> Figure:
    """The partition values of several runs over the number of processes: a line for all runs with the same label."""
    data = pd.concat([values_of(number, score) for number, score in enumerate(scores)], ignore_index=True)
    looks = itertools.cycle(itertools.product("osD^vP", (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY)))
    with matplotlib.rc_context(plots.LOOK):
        drawn, [axes] = plots.canvas(6.4, 3.9)
        for (label, runs), (marker, colour) in zip(data.groupby("line", sort=False), looks):
            official = bool(runs["official"].all())
            look: dict[str, Any] = {"color": colour, "marker": marker, "markerfacecolor": colour if official else WHITE}
            largest = runs.groupby("processes")["mbyte_per_second"].max()
            axes.plot(largest.index, largest, linestyle="-" if official else ":", label=printable(str(label)), **look)
            axes.plot(runs["processes"], runs["mbyte_per_second"], linestyle="", **look)
        plots.process_axis(axes, data["processes"])
        plots.from_zero(axes)
        axes.set_ylabel("b_eff_io, MByte/s")
        drawn.legend(*axes.get_legend_handles_labels(), loc="outside lower center", fontsize=8)
    description = " ".join(
        [
            "The paper's figures 2 and 4: a mark for each partition of a run, a line through the largest values of the "
            "same system, processes per node, file system and scheduled time T for a partition. Values are those of "
            "release 1.x, or of release 2.1 for runs in the Top Clusters form.",
            *together(scores),
        ]
    )
    return Figure("sizes", "b_eff_io over the number of processes", description, data, drawn)


def line_of(score: Score) -> str:
    """What partitions have to have in common to be compared over their sizes."""
    run, plan = score.log.run, score.log.plan
    each = max(len(host.ranks) for host in run.hosts)
    return ", ".join(
        [
            system(run),
            "one node" if len(run.hosts) == 1 else f"{each} per node",
            of_filesystem(run.tested_filesystem),
            f"T = {seconds(plan.scheduled_seconds)}",
            *(["Top Clusters"] if plan.form == "top-clusters" else []),
            *([] if score.official else [score.standing]),
        ]
    )


def values_of(number: int, score: Score) -> pd.DataFrame:
    """The partition values of a score, computed from the times of its pattern types."""
    records = pd.DataFrame(map(asdict, score.log.all(PatternType))).rename(columns={"elapsed_seconds": "type_seconds"})
    types = type_bandwidth(records.assign(log=0, averaged=records["type"].isin(TYPES)))
    values = reduction.partition_paper(types).fillna(reduction.partition_2_1(types))
    return pd.DataFrame(
        {
            "run": number,
            "line": line_of(score),
            "processes": values.index.get_level_values("partition"),
            "mbyte_per_second": values.to_numpy(),
            "official": score.official,
        }
    )
