# SPDX-License-Identifier: Apache-2.0
"""The figure of several runs under load, whatever the benchmark."""

from collections.abc import Sequence

import matplotlib
import pandas as pd

from coffeecup.postprocess.benchmarks.load_metrics import ENDS
from coffeecup.postprocess.benchmarks.load_section import with_ends
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.show import plots
from coffeecup.postprocess.show.plots import Figure


def middle_half(groups) -> pd.DataFrame:
    """The median of each group of values, and the range of half of them."""
    return groups.agg(
        quarter=lambda values: values.quantile(0.25),
        median="median",
        three_quarters=lambda values: values.quantile(0.75),
    )


def impact_over_sizes(scores: list[Score], kinds: Sequence[str], name: str, label: str) -> Figure:
    """A factor with its interval over the number of processes: a mark for each run and kind of load."""
    data = pd.DataFrame(
        [
            {"processes": score.log.run.ranks, "load": kind}
            | {f"factor{end}": value for end, value in zip(ENDS, with_ends(score, f"{name}_{kind}"))}
            for score in scores
            for kind in kinds
            if f"{name}_{kind}" in score.metrics
        ]
    ).sort_values("processes", kind="stable")
    with matplotlib.rc_context(plots.LOOK):
        drawn, [axes] = plots.canvas(8.6, 3.4)
        for kind, (colour, marker) in zip(kinds, plots.LINES):
            shown = data[data["load"] == kind]
            if len(shown):
                below, above = shown["factor"] - shown["factor_low"], shown["factor_high"] - shown["factor"]
                axes.errorbar(
                    shown["processes"], shown["factor"], yerr=[below, above], fmt=marker, color=colour, label=kind
                )
        plots.process_axis(axes, data["processes"])
        axes.set_ylabel("factor, with load / without")
        axes.legend(loc="upper left")
    return Figure(
        "sizes",
        "Slowdown under load over the number of processes",
        f"{label}, with its 95 % interval: a mark for each run and kind of load. 1: the load costs nothing.",
        data,
        drawn,
    )
