# SPDX-License-Identifier: Apache-2.0
"""Predictions as text and as a figure: several designs side by side, always marked as predicted."""

import io
import itertools
from collections import Counter
from typing import Any

import matplotlib
import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from postprocess.benchmarks.predicted import Estimate, Prediction
from postprocess.show import plots
from postprocess.show.plots import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, Figure
from postprocess.show.words import counted, digits, printable, unit_word

LOOKS = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (PURPLE, "v"), (ORANGE, "D"), (SKY, "P"), (GREY, "X"))


def terminal_text(predictions: list[Prediction]) -> str:
    """A table with a column per design, and what limits each pattern."""
    text = io.StringIO()
    width = max(Console().width, 46 + 36 * len(predictions))
    console = Console(file=text, force_terminal=Console().is_terminal, width=width)
    console.print(Text("Predicted, not measured", style="bold"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("metric", no_wrap=True)
    for each in predictions:
        head = f"{printable(each.design)}\n{counted(each.processes, 'process')}, {counted(each.nodes, 'node')}"
        table.add_column(head, justify="right", no_wrap=True)
    for name, unit in units(predictions).items():
        cells = [estimate_text(each.metrics.get(name)) for each in predictions]
        table.add_row(f"{name}, {unit_word(unit)}".removesuffix(", "), *cells)
    console.print(table)
    for line in notes(predictions):
        console.print(Text(line))
    return text.getvalue()


def units(predictions: list[Prediction]) -> dict[str, str]:
    return {name: estimate.unit for each in predictions for name, estimate in each.metrics.items()}


def estimate_text(estimate: Estimate | None) -> str:
    """The value with its band."""
    if estimate is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return digits(estimate.value)
    return f"{digits(estimate.value)} ({digits(estimate.low)} to {digits(estimate.high)})"


def notes(predictions: list[Prediction]) -> list[str]:
    """What limits the patterns, what was assumed, and where the bands come from."""
    lines = []
    for each in predictions:
        limits = Counter((limit.pattern.rpartition("-")[0], kind_of(limit.link)) for limit in each.limits)
        shown = "; ".join(f"{counted(count, f'{group} pattern')}: {link}" for (group, link), count in limits.items())
        lines.append(f"- {printable(each.design)}, limited at the longest messages by: {printable(shown)}.")
        if each.assumed:
            lines.append(f"  Assumed, because the design does not state it: {printable(', '.join(each.assumed))}.")
        lines += [f"  Calibrated by {printable(origin)}." for origin in each.calibration]
    origins = {e.origin: None for each in predictions for e in each.metrics.values() if e.origin}
    lines += [f"- In brackets: where a measured value is expected: {printable(origin)}." for origin in origins]
    return lines


def kind_of(link: str) -> str:
    """A link's name without numbers, so that links of the same kind count together."""
    return " ".join(word for word in link.split() if not word.strip(",").isdigit()).replace(" ,", ",").rstrip(",")


def over_nodes(predictions: list[Prediction]) -> Figure:
    """The headline, in total and per process, over the number of nodes: a line per design."""
    name, headline = predictions[0].headline
    data = pd.DataFrame(
        [
            {
                "design": each.design,
                "nodes": each.nodes,
                "processes": each.processes,
                "predicted": each.headline[1].value,
                "low": each.headline[1].low,
                "high": each.headline[1].high,
                "per_process": each.headline[1].value / each.processes,
            }
            for each in predictions
        ]
    )
    with matplotlib.rc_context(plots.LOOK):
        drawn, panels = plots.canvas(9.6, 4.2, columns=2)
        for (design, line), (colour, marker) in zip(data.groupby("design", sort=False), itertools.cycle(LOOKS)):
            label = f"predicted: {printable(str(design))}"
            look: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": "--"}
            panels[0].plot(line["nodes"], line["predicted"], label=label, **look)
            if line["low"].notna().all():
                panels[0].fill_between(line["nodes"], line["low"], line["high"], color=colour, alpha=0.12, linewidth=0)
            panels[1].plot(line["nodes"], line["per_process"], **look)
        for axes, label in zip(panels, (name, f"{name} per process")):
            axes.set_xscale("log", base=2)
            plots.plain_numbers(axes.xaxis)
            axes.set_xlabel("nodes")
            axes.set_ylabel(f"{label}, {headline.unit}")
        panels[0].set_yscale("log")
        plots.plain_numbers(panels[0].yaxis)
        plots.from_zero(panels[1])
        drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, labelcolor=BLACK)
    return Figure(
        "predicted",
        f"{name} over the number of nodes, predicted",
        "Computed from descriptions of machines, not measured. The areas are where measured values are expected; "
        "dashed lines join the sizes that were computed.",
        data,
        drawn,
    )
