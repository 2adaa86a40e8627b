# SPDX-License-Identifier: Apache-2.0
"""The figures of b_eff_io_load."""

import matplotlib
import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff_io.definition import METHODS
from coffeecup.postprocess.benchmarks.b_eff_io_load import WORDS
from coffeecup.postprocess.benchmarks.b_eff_io_load.records import LOADS, Plan
from coffeecup.postprocess.benchmarks.b_eff_io_load.reduction import factors
from coffeecup.postprocess.benchmarks.load_figures import impact_over_sizes, middle_half
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show import plots
from coffeecup.postprocess.show.plots import Figure
from coffeecup.postprocess.show.words import size


def figures(log: Log[Plan], table: pd.DataFrame) -> list[Figure]:
    """One: what each load costs each pattern."""
    return [slowdown_of_patterns(log)]


def over_sizes(scores: list[Score]) -> Figure:
    """What a load costs reads, over the number of processes."""
    return impact_over_sizes(
        scores, LOADS, "read_impact_by", "Reads: bandwidth of the victims without load / with load"
    )


def slowdown_of_patterns(log: Log[Plan]) -> Figure:
    """Time with load / without of each pattern and access method: the median over repetitions, and the range of half of
    them."""
    kinds = log.plan.load.kinds
    names = {entry.pattern: f"{entry.type} {size(entry.chunk_bytes or 0)}" for entry in log.plan.patterns}
    places = [(method, pattern) for method in METHODS for pattern in names]
    tables = {kind: factors(log, kind).set_index(["method", "pattern"])["impact"] for kind in kinds}
    shown = pd.concat(
        [middle_half(table.groupby(level=[0, 1])).assign(load=kind) for kind, table in tables.items()]
    ).reset_index()
    looks = dict(zip(LOADS, plots.LINES))
    with matplotlib.rc_context(plots.LOOK):
        drawn, [axes] = plots.canvas(8.6, 3.9)
        for number, kind in enumerate(kinds):
            of_kind = shown[shown["load"] == kind].set_index(["method", "pattern"]).loc[places]
            colour, marker = looks[kind]
            at = [place + 0.2 * number for place in range(len(places))]
            middle = of_kind["median"]
            ends = [middle - of_kind["quarter"], of_kind["three_quarters"] - middle]
            axes.errorbar(at, middle, yerr=ends, fmt=marker, color=colour, label=f"{kind}: median, and middle half")
        axes.set_xticks(
            range(len(places)), [f"{WORDS[method]}, {names[pattern]}" for method, pattern in places], rotation=60
        )
        axes.set_ylabel("time with load / without")
        axes.legend(loc="upper left")
    return Figure(
        "load",
        "Slowdown under load by access method and pattern",
        "Time of the victims from opening to closing their files with load, divided by the mean of the times without "
        "load before and after, in the same pattern and repetition. 1: the load costs nothing.",
        shown,
        drawn,
    )
