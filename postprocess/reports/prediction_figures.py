# SPDX-License-Identifier: Apache-2.0
"""The figure of predictions: several designs side by side, always marked as predicted."""

import itertools
from typing import Any

import matplotlib
import pandas as pd

from coffeecup.postprocess.benchmarks.predicted import Prediction
from coffeecup.postprocess.show import plots
from coffeecup.postprocess.show.plots import BLACK, Figure
from coffeecup.postprocess.show.words import printable


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
        for (design, line), (colour, marker) in zip(data.groupby("design", sort=False), itertools.cycle(plots.LINES)):
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
