# SPDX-License-Identifier: Apache-2.0
"""The figures of FTIO: where the time of a run went, and the paper's figures 2 and 3, over the size of the matrix."""

from math import ceil, floor, log10
from typing import Any, cast

import matplotlib
import pandas as pd
from matplotlib.ticker import FuncFormatter, LogLocator

from postprocess.benchmarks.ftio.records import Plan
from postprocess.benchmarks.ftio.reduction import representative_input
from postprocess.benchmarks.ftio.rules import ACTIVITIES, STAGES
from postprocess.benchmarks.score import Score
from postprocess.logs.reader import Log
from postprocess.show import plots
from postprocess.show.plots import (
    BLUE,
    BROWN,
    GREEN,
    GREY,
    MINT,
    ORANGE,
    PURPLE,
    SILVER,
    SKY,
    VERMILION,
    WHITE,
    Figure,
)
from postprocess.show.words import counted, digits, seconds

STAGE_LABELS = {
    "initialise": "initialisation",
    "series_1": "first DFT series",
    "transpose": "transposition in Squares",
    "exchange": "exchange of Squares",
    "series_2": "second DFT series",
    "verify": "verification",
}
# I/O in warm colours and solid, the rest in cool ones
ACTIVITY_LOOK = {
    "open": ("create", PURPLE),
    "read": ("read", ORANGE),
    "write": ("write", VERMILION),
    "flush": ("flush", BROWN),
    "plan": ("plan the FFT", MINT),
    "fft": ("FFT", GREEN),
    "compute": ("compute", BLUE),
    "exchange": ("exchange", SKY),
    "wait": ("wait", SILVER),
}
LINES = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (ORANGE, "D"), (PURPLE, "v"), (SKY, "P"), (GREY, "X"))


def figures(log: Log[Plan], table: pd.DataFrame) -> list[Figure]:
    """All figures of one log, from its rows of a measurement_table."""
    with matplotlib.rc_context(plots.LOOK):
        return [stages(table)] if len(table) else []


def stages(table: pd.DataFrame) -> Figure:
    """Time of each stage by activity: mean over processes and repetitions, in s."""
    data = (
        table.groupby(["repetition", "stage", "activity"], observed=True)["mean_seconds"]
        .sum()
        .groupby(["stage", "activity"], observed=True)
        .mean()
        .rename("seconds")
        .reset_index()
    )
    wide = (
        data.pivot(index="stage", columns="activity", values="seconds")
        .reindex(index=list(STAGES), columns=list(ACTIVITIES))
        .fillna(0)
    )
    drawn, [axes] = plots.canvas(8.6, 3.6)
    start = pd.Series(0.0, index=wide.index)
    for activity, (label, colour) in ACTIVITY_LOOK.items():
        if wide[activity].any():
            axes.barh(
                range(len(wide)),
                wide[activity],
                left=start,
                color=colour,
                edgecolor=WHITE,
                linewidth=0.6,
                hatch="//" if activity == "wait" else None,
                label=f"{label}{' (I/O)' * ACTIVITIES[activity]}",
            )
            start = start + wide[activity]
    axes.set_yticks(range(len(wide)), [STAGE_LABELS[stage] for stage in wide.index])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("s")
    drawn.legend(loc="outside upper left", ncols=4)
    slowest = str(wide.sum(axis=1).idxmax())
    share = data[data["activity"].map(ACTIVITIES).astype(bool)]["seconds"].sum() / data["seconds"].sum()
    return Figure(
        "stages",
        "Where the time went",
        f"Mean over processes and runs. I/O is {share:.0%} of it. The longest stage is the {STAGE_LABELS[slowest]} "
        f"with {seconds(wide.sum(axis=1)[slowest])}.",
        data,
        drawn,
    )


def over_sizes(scores: list[Score]) -> Figure:
    """The paper's figures 2 and 3: I/O Fraction and cycles per flop over the size of the matrix, a line for each number
    of processes."""
    data = pd.DataFrame(
        [
            {
                "processes": score.log.run.ranks,
                "input_parameter": score.log.plan.input_parameter,
                "elements": score.log.plan.matrix_width**2,
                **{
                    name: score.metrics[name].value if name in score.metrics else float("nan")
                    for name in ("io_fraction", "io_fraction_low", "io_fraction_high", "cycles_per_flop")
                },
            }
            for score in scores
        ]
    ).sort_values(["processes", "elements"], kind="stable")
    with matplotlib.rc_context(plots.LOOK):
        drawn, panels = plots.canvas(8.6, 3.4, columns=2)
        for (processes, line), (colour, marker) in zip(data.groupby("processes"), LINES * len(data)):
            look: dict[str, Any] = {
                "color": colour,
                "marker": marker,
                "label": counted(cast(int, processes), "process"),
            }
            panels[0].plot(line["elements"], line["io_fraction"], **look)
            panels[0].vlines(
                line["elements"], line["io_fraction_low"], line["io_fraction_high"], color=colour, linewidth=1
            )
            panels[1].plot(line["elements"], line["cycles_per_flop"], **look)
        for axes, label in zip(panels, ("I/O Fraction", "cycles per flop")):
            axes.set_xscale("log")
            axes.set_xlim(10 ** floor(log10(data["elements"].min())), 10 ** ceil(log10(data["elements"].max() + 1)))
            axes.xaxis.set_major_locator(LogLocator(numticks=8))
            axes.xaxis.set_major_formatter(FuncFormatter(plots.power_of_ten))
            axes.set_xlabel("elements of the matrix")
            axes.set_ylabel(label)
        panels[0].set_ylim(0, 1)
        panels[1].set_yscale("log")
        plots.plain_numbers(panels[1].yaxis)
        panels[0].legend(loc="best")
    return Figure(
        "sizes",
        "I/O Fraction and cycles per flop over the size of the matrix",
        "The paper's figures 2 and 3. Upright lines are 95 % intervals of the mean where a log has several runs. "
        + representative(data),
        data,
        drawn,
    )


def representative(data: pd.DataFrame) -> str:
    """The recommended input parameter for every number of processes that was run with several of them (the paper's
    section 5.3)."""
    chosen = []
    for processes, tried in data.groupby("processes"):
        fractions = tried.groupby("input_parameter")["io_fraction"].mean()
        if len(fractions) > 1:
            i = representative_input(fractions)
            chosen.append(
                f"i = {i} for {counted(cast(int, processes), 'process')} (I/O Fraction {digits(fractions[i])})"
            )
    return (
        f"The smallest matrix that gives the result of the largest within 0.05: {'; '.join(chosen)}." if chosen else ""
    )
