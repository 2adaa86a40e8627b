# SPDX-License-Identifier: Apache-2.0
"""b_eff_io's part of the report on a run under load: the factors with their intervals, and the load that caused
them."""

import matplotlib
import pandas as pd

from postprocess.benchmarks.b_eff_io.definition import METHODS
from postprocess.benchmarks.b_eff_io.records import LOADS, Plan
from postprocess.benchmarks.b_eff_io.under_load import factors, repetitions
from postprocess.benchmarks.load_section import in_words, labels_under_load, of_generators, of_impacts, of_victims
from postprocess.benchmarks.score import Score
from postprocess.logs.reader import Log
from postprocess.show import plots
from postprocess.show.plots import BLUE, VERMILION, Figure
from postprocess.show.words import counted, size

WORDS = {"write": "initial write", "rewrite": "rewrite", "read": "read"}
FACTORS = {
    "impact": "bandwidth without load / with load",
    "access_impact": "time of an access with load / without, median",
    "access_impact_99": "time of an access with load / without, 99th percentile",
}
NAMES = {f"{method}_{name}_by": f"{WORDS[method]}, {label}" for method in METHODS for name, label in FACTORS.items()}
LOOKS = dict(zip(LOADS, ((BLUE, "o"), (VERMILION, "s"))))
LABELS_UNDER_LOAD = labels_under_load(LOADS, NAMES)


def section_under_load(log: Log[Plan], score: Score) -> dict:
    """The values of load.html.j2."""
    load = log.plan.load
    if load is None:
        return {}
    patterns = "; ".join(f"{p.type} with {size(p.call_bytes or 0)} a call" for p in log.plan.patterns)
    return {
        "load": of_impacts(score, load.kinds, NAMES),
        "measured": "pattern",
        "labels": LABELS_UNDER_LOAD,
        "flawless": "",
        "sentences": [
            f"{of_generators(log.run, load, score, kind)} Bandwidth of {counted(len(load.victims), 'node')} without "
            "load, divided by that with load: "
            + ", ".join(f"{WORDS[method]} {in_words(score, f'{method}_impact_by', kind)}" for method in METHODS)
            + "."
            for kind in load.kinds
        ],
        "victims": f"{of_victims(log.run, load)} Each process of the load accesses a file of "
        f"{size(load.file_bytes or 0)}. The factors are medians over {counted(len(repetitions(log)), 'repetition')} of "
        f"{counted(len(log.plan.patterns), 'pattern')}: {patterns}.",
    }


def slowdown_of_patterns(log: Log[Plan]) -> Figure:
    """Time with load / without of each pattern and access method: the median over repetitions, and the range of half of
    them."""
    kinds = [*log.plan.load.kinds] if log.plan.load else []
    names = {entry.pattern: f"{entry.type} {size(entry.chunk_bytes or 0)}" for entry in log.plan.patterns}
    places = [(method, pattern) for method in METHODS for pattern in names]
    tables = {kind: factors(log, kind).set_index(["method", "pattern"])["impact"] for kind in kinds}
    shown = pd.concat(
        [
            table.groupby(level=[0, 1])
            .agg(
                quarter=lambda values: values.quantile(0.25),
                median="median",
                three_quarters=lambda values: values.quantile(0.75),
            )
            .assign(load=kind)
            for kind, table in tables.items()
        ]
    ).reset_index()
    with matplotlib.rc_context(plots.LOOK):
        drawn, [axes] = plots.canvas(8.6, 3.9)
        for number, kind in enumerate(kinds):
            of_kind = shown[shown["load"] == kind].set_index(["method", "pattern"]).loc[places]
            colour, marker = LOOKS[kind]
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
