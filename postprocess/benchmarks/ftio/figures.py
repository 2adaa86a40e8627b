# SPDX-License-Identifier: Apache-2.0
"""The figures of FTIO: where the time of a run went, and the paper's figures 2 to 5, over the size of the matrix."""

from math import ceil, floor, log10
from typing import Any, cast

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator

from coffeecup.postprocess.benchmarks.ftio.records import Plan
from coffeecup.postprocess.benchmarks.ftio.reduction import repetition_table, representative_input
from coffeecup.postprocess.benchmarks.ftio.rules import ACTIVITIES, STAGES
from coffeecup.postprocess.benchmarks.ftio.sizes import automatic_input
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.logs.hosts import system
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show import plots
from coffeecup.postprocess.show.plots import Figure
from coffeecup.postprocess.show.words import counted, digits, printable, seconds

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
    "open": ("create", plots.PURPLE),
    "read": ("read", plots.ORANGE),
    "write": ("write", plots.VERMILION),
    "flush": ("flush", plots.BROWN),
    "plan": ("plan the FFT", plots.MINT),
    "fft": ("FFT", plots.GREEN),
    "compute": ("compute", plots.BLUE),
    "exchange": ("exchange", plots.SKY),
    "wait": ("wait", plots.SILVER),
}
LINE = ["system", "filesystem", "access", "processes"]  # what the runs of a line have in common
CYCLES = {"cycles_per_flop": "-", "time_stamp_cycles_per_flop": ":"}


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
                edgecolor=plots.WHITE,
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
    """The paper's figures 2 and 3, I/O Fraction and cycles per flop over the size of the matrix, and its figures 4 and
    5, the I/O Fraction of single runs. A line joins runs on one system and file system, in one way of I/O and on one
    number of processes."""
    data = run_table(scores)
    lines = list(data.groupby(LINE, sort=False))
    varied = [column for column in LINE[:-1] if data[column].nunique() > 1]
    with matplotlib.rc_context(plots.LOOK):
        drawn, panels = plots.canvas(11.4, 3.8, columns=3)
        for number, (key, runs) in enumerate(lines):
            named = dict(zip(LINE, cast(tuple, key)))
            colour, marker = plots.look_of(number)
            label = ", ".join([counted(named["processes"], "process"), *(str(named[column]) for column in varied)])
            look: dict[str, Any] = {"color": colour, "marker": marker, "label": printable(label)}
            draw_line(panels, runs.groupby("elements"), look)
            for single, fill in ((runs[~runs["by_eq_5"]], "none"), (runs[runs["by_eq_5"]], colour)):
                panels[2].plot(single["processes"], single["io_fraction"], marker, color=colour, markerfacecolor=fill)
        for axes, label in zip(panels, ("I/O Fraction", "cycles per flop", "I/O Fraction of each run")):
            axes.set_ylabel(label)
        for axes in panels[:2]:
            axes.set_xscale("log")
            axes.set_xlim(10 ** floor(log10(data["elements"].min())), 10 ** ceil(log10(data["elements"].max() + 1)))
            axes.xaxis.set_major_locator(LogLocator(numticks=8))
            axes.xaxis.set_major_formatter(FuncFormatter(plots.power_of_ten))
            axes.set_xlabel("elements of the matrix")
        for axes in (panels[0], panels[2]):
            axes.set_ylim(0, 1)
        plots.process_axis(panels[2], data["processes"])
        if data[list(CYCLES)].notna().any(axis=None):
            panels[1].set_yscale("log")
        plots.plain_numbers(panels[1].yaxis)
        drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return Figure(
        "sizes",
        "I/O Fraction and cycles per flop over the size of the matrix",
        "The paper's figures 2 and 3, means over the runs of a matrix, and its figures 4 and 5, the single runs "
        "(filled marks: those of the input parameter by eq. (5)). "
        "Cycles of the processors at work are joined by solid lines, those of the time stamp counter by dotted ones; "
        "their bands leave out the smallest matrix. " + representative(data),
        data,
        drawn,
    )


def run_table(scores: list[Score]) -> pd.DataFrame:
    """A row per run of the computation, of which a log may have several."""
    return pd.DataFrame(
        [
            {
                "system": system(score.log.run),
                "filesystem": score.log.run.tested_filesystem.name,
                "access": f"{score.log.plan.storage}{', direct' * score.log.plan.direct}",
                "processes": score.log.run.ranks,
                "input_parameter": score.log.plan.input_parameter,
                "elements": score.log.plan.matrix_width**2,
                "by_eq_5": score.log.plan.input_parameter == automatic_input(score.log.run.ranks),
                **run,
            }
            for score in scores
            for run in repetition_table([score.log])[["io_fraction", *CYCLES]].to_dict("records")
        ]
    ).sort_values([*LINE, "elements"], kind="stable", ignore_index=True)


def draw_line(panels: list[Axes], by_size, look: dict[str, Any]) -> None:
    means = by_size[["io_fraction", *CYCLES]].mean()
    panels[0].plot(means.index, means["io_fraction"], **look)
    for column, dashes in CYCLES.items():
        if means[column].notna().any():
            panels[1].plot(means.index, means[column], **look, linestyle=dashes)


def representative(data: pd.DataFrame) -> str:
    """For every system that was run with several input parameters, in words: the band of each number of processes (the
    paper's sections 5.1 and 5.2), and the recommended input parameter (section 5.3)."""
    sentences = []
    for key, runs in data.groupby(LINE[:-1], sort=False):
        means = runs.groupby(["processes", "input_parameter"])[["io_fraction", *CYCLES]].mean()
        swept = {c: of_c.droplevel(0) for c, of_c in means.groupby("processes") if len(of_c) > 1}
        if swept:
            bands = "; ".join(f"{counted(cast(int, c), 'process')} {band(of_c)}" for c, of_c in swept.items())
            sentences.append(f"{', '.join(cast(tuple, key))}: means over the sizes are {bands}.{recommended(swept)}")
    return " ".join(sentences)


def band(means: pd.DataFrame) -> str:
    """As in the paper, the smallest matrix is left out of the band of cycles: start-up weighs most in it."""
    found = [f"{digits(means['io_fraction'].min())} to {digits(means['io_fraction'].max())} of I/O"]
    for column, name in zip(CYCLES, ("cycles", "time stamp cycles")):
        if (cycles := means[column].iloc[1:]).notna().any():
            found.append(f"{digits(cycles.min())} to {digits(cycles.max())} {name} per flop")
    return ", ".join(found)


def recommended(swept: dict[Any, pd.DataFrame]) -> str:
    """The same input parameter for all numbers of processes where they were run with the same ones: the speed of an FFT
    depends on the prime factors of its size."""
    same = sorted(set.intersection(*(set(means.index) for means in swept.values())))
    fractions = {c: means["io_fraction"].loc[same if len(same) > 1 else means.index] for c, means in swept.items()}
    chosen = {c: representative_input(by_input) for c, by_input in fractions.items()}
    if len(same) > 1:
        chosen = dict.fromkeys(chosen, max(chosen.values()))
    named = "; ".join(
        f"i = {i} for {counted(c, 'process')} (I/O Fraction {digits(fractions[c][i])})" for c, i in chosen.items()
    )
    caution = (
        ""
        if len(set(chosen.values())) == 1
        else " Other prime factors change the speed of the FFT: compare numbers of "
        "processes with the same i (--input 24, for example)."
    )
    return f" The smallest matrix that gives the result of the largest within 0.05: {named}.{caution}"
