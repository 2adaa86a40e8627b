# SPDX-License-Identifier: Apache-2.0
"""b_eff's part of the report on a run under load: the factors with their intervals, and the load that caused them."""

import matplotlib
import pandas as pd

from postprocess.benchmarks.b_eff import IMPACTS
from postprocess.benchmarks.b_eff.records import IO, LOADS, Plan, PlannedLoad
from postprocess.benchmarks.b_eff.under_load import complete_repetitions, slowdown, units
from postprocess.benchmarks.score import Score
from postprocess.logs.reader import Log
from postprocess.show import plots
from postprocess.show.plots import BLUE, GREEN, ORANGE, VERMILION, Figure
from postprocess.show.words import NARROW_SPACE, counted, digits, size

NAMES = {
    "b_eff_impact": "b_eff of the victims without load / with load",
    "b_eff_at_l_max_impact": "b_eff of the victims at L_max without load / with load",
    "latency_impact": "time of 1 byte with load / without, median exchange",
    "latency_impact_99": "time of 1 byte with load / without, 99th percentile",
    "bandwidth_impact": "time at L_max with load / without, median exchange",
    "bandwidth_impact_99": "time at L_max with load / without, 99th percentile",
}
ENDS = {"": "", "_low": ", lower end of the interval", "_high": ", upper end of the interval"}
LOOKS = dict(zip(LOADS, ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (ORANGE, "D"))))


def labels_under_load() -> dict[str, str]:
    """Of all metrics of runs under load."""
    impacts = {
        f"{name}_{kind}{end}": f"{label}, {kind}{where}"
        for kind in LOADS
        for name, label in NAMES.items()
        for end, where in ENDS.items()
    }
    return impacts | {f"load_bandwidth_{kind}": f"bandwidth of the load, {kind}" for kind in LOADS}


def section_under_load(log: Log[Plan], score: Score) -> dict:
    """The values of load.html.j2."""
    load = log.plan.load
    if load is None:
        return {}
    victims, nodes = len(load.victims), len(log.run.hosts)
    return {
        "load": rows(score, [*load.kinds]),
        "labels": labels_under_load(),
        "flawless": "",
        "groups": {},
        "sentences": [
            f"The other {counted(nodes - victims, 'node')} generated {kind} load of "
            f"{digits(score.metrics[f'load_bandwidth_{kind}'].value, NARROW_SPACE)} MByte/s. b_eff of "
            f"{counted(victims, 'node')} without load, divided by that with load: {factor} "
            f"(95 % interval {low} to {high})."
            for kind in load.kinds
            for factor, low, high in [(digits(score.metrics[f"b_eff_impact_{kind}{end}"].value) for end in ENDS)]
        ],
        "victims": f"{counted(victims, 'node')} of {nodes} with {counted(load.victim_processes, 'process')} were "
        f"measured: {', '.join(log.run.hosts[node].name for node in load.victims)}. {means(load)} "
        f"The factors are those of {counted(len(complete_repetitions(log)), 'repetition')} of "
        f"{counted(len(log.plan.patterns), 'pattern')}.",
    }


def means(load: PlannedLoad) -> str:
    """By which the load is generated."""
    messages = f"Messages of the load have {size(load.message_bytes)}." if load.kinds != [IO] else ""
    files = f"The load {IO} writes, syncs and reads files of {size(load.file_bytes)}." if load.file_bytes else ""
    return " ".join(filter(None, [messages, files]))


def rows(score: Score, kinds: list[str]) -> list[dict]:
    """A row per kind of load and factor, with its interval."""
    return [
        {"kind": kind, "label": NAMES[name], "values": [score.metrics[f"{name}_{kind}{end}"].value for end in ENDS]}
        for kind in kinds
        for name in IMPACTS
    ]


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
