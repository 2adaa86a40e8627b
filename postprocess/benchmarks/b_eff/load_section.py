# SPDX-License-Identifier: Apache-2.0
"""b_eff's part of the report on a run under load: the factors with their intervals, and the load that caused them."""

import matplotlib
import pandas as pd

from postprocess.benchmarks.b_eff.records import IO, LOADS, Plan, PlannedLoad
from postprocess.benchmarks.b_eff.under_load import complete_repetitions, slowdown, units
from postprocess.benchmarks.load_section import in_words, labels_under_load, of_generators, of_impacts, of_victims
from postprocess.benchmarks.score import Score
from postprocess.logs.reader import Log
from postprocess.show import plots
from postprocess.show.plots import BLUE, GREEN, ORANGE, VERMILION, Figure
from postprocess.show.words import counted, size

NAMES = {
    "b_eff_impact": "b_eff of the victims without load / with load",
    "b_eff_at_l_max_impact": "b_eff of the victims at L_max without load / with load",
    "latency_impact": "time of 1 byte with load / without, median exchange",
    "latency_impact_99": "time of 1 byte with load / without, 99th percentile",
    "bandwidth_impact": "time at L_max with load / without, median exchange",
    "bandwidth_impact_99": "time at L_max with load / without, 99th percentile",
}
LOOKS = dict(zip(LOADS, ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (ORANGE, "D"))))


def section_under_load(log: Log[Plan], score: Score) -> dict:
    """The values of load.html.j2."""
    load = log.plan.load
    if load is None:
        return {}
    return {
        "load": of_impacts(score, load.kinds, NAMES),
        "measured": "pattern",
        "labels": labels_under_load(LOADS, NAMES),
        "flawless": "",
        "groups": {},
        "sentences": [
            f"{of_generators(log.run, load, score, kind)} b_eff of {counted(len(load.victims), 'node')} without load, "
            f"divided by that with load: {in_words(score, 'b_eff_impact', kind)}."
            for kind in load.kinds
        ],
        "victims": f"{of_victims(log.run, load)} {means(load)} "
        f"The factors are those of {counted(len(complete_repetitions(log)), 'repetition')} of "
        f"{counted(len(log.plan.patterns), 'pattern')}.",
    }


def means(load: PlannedLoad) -> str:
    """By which the load is generated."""
    messages = f"Messages of the load have {size(load.message_bytes)}." if load.kinds != [IO] else ""
    files = f"The load {IO} writes, syncs and reads files of {size(load.file_bytes)}." if load.file_bytes else ""
    return " ".join(filter(None, [messages, files]))


def slowdown_over_lengths(log: Log[Plan]) -> Figure:
    """Time of an exchange with load / without, over the message length: the median over patterns and repetitions, and
    the range of half of them."""
    lengths, kinds = log.plan.message_bytes, [*log.plan.load.kinds] if log.plan.load else []
    data = pd.DataFrame(
        [
            {"load": kind, "message_bytes": length, "slowdown": slowdown(phases, length)}
            for kind in kinds
            for phases in units(log, kind).values()
            for length in lengths
        ]
    )
    by_length = data.groupby(["load", "message_bytes"])["slowdown"]
    shown = by_length.agg(
        quarter=lambda values: values.quantile(0.25),
        median="median",
        three_quarters=lambda values: values.quantile(0.75),
    ).reset_index()
    with matplotlib.rc_context(plots.LOOK):
        drawn, [axes] = plots.canvas(8.6, 3.9)
        for kind in kinds:
            of_kind, (colour, marker) = shown[shown["load"] == kind], LOOKS[kind]
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
