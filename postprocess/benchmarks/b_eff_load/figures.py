# SPDX-License-Identifier: Apache-2.0
"""The figures of b_eff_load."""

import matplotlib
import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff_load.records import LOADS, Plan
from coffeecup.postprocess.benchmarks.b_eff_load.reduction import complete_repetitions, slowdown, units
from coffeecup.postprocess.benchmarks.load_figures import impact_over_sizes, middle_half
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show import plots
from coffeecup.postprocess.show.plots import Figure
from coffeecup.postprocess.show.words import size


def figures(log: Log[Plan], table: pd.DataFrame) -> list[Figure]:
    """One, of a log with a complete repetition."""
    return [slowdown_over_lengths(log)] if complete_repetitions(log) else []


def over_sizes(scores: list[Score]) -> Figure:
    """What a load costs b_eff, over the number of processes."""
    return impact_over_sizes(scores, LOADS, "b_eff_impact", "b_eff of the victims without load / with load")


def slowdown_over_lengths(log: Log[Plan]) -> Figure:
    """Time of an exchange with load / without, over the message length: the median over patterns and repetitions, and
    the range of half of them."""
    lengths, kinds = log.plan.message_bytes, log.plan.load.kinds
    data = pd.DataFrame(
        [
            {"load": kind, "message_bytes": length, "slowdown": slowdown(phases, length)}
            for kind in kinds
            for phases in units(log, kind).values()
            for length in lengths
        ]
    )
    shown = middle_half(data.groupby(["load", "message_bytes"])["slowdown"]).reset_index()
    looks = dict(zip(LOADS, plots.LINES))
    with matplotlib.rc_context(plots.LOOK):
        drawn, [axes] = plots.canvas(8.6, 3.9)
        for kind in kinds:
            of_kind, (colour, marker) = shown[shown["load"] == kind], looks[kind]
            places = [lengths.index(length) for length in of_kind["message_bytes"]]
            low, high = of_kind["quarter"], of_kind["three_quarters"]
            axes.fill_between(places, low, high, color=colour, alpha=0.18, linewidth=0)
            axes.plot(places, of_kind["median"], color=colour, marker=marker, label=f"{kind}: median, and middle half")
        axes.set_xticks(range(len(lengths)), [size(length) for length in lengths], rotation=60)
        axes.set_xlabel("message length")
        axes.set_ylabel("time with load / without")
        axes.legend(loc="upper left")
    return Figure(
        "load",
        "Slowdown under load over message length",
        "Time of an exchange of the victims with load, divided by the mean of the times without load before and after, "
        "in the same pattern and repetition. 1: the load costs nothing.",
        shown,
        drawn,
    )
