# SPDX-License-Identifier: Apache-2.0
"""The part of a report on a run under load, whatever the benchmark: the factors with their intervals, and the
load that caused them. The template is reports/templates/load.html.j2."""

from collections.abc import Mapping, Sequence
from math import isnan, nan

from coffeecup.postprocess.benchmarks.load_metrics import ENDS
from coffeecup.postprocess.benchmarks.load_records import PlannedVictims
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.logs.records import Run
from coffeecup.postprocess.show.words import NARROW_SPACE, counted, digits

WHERE = ("", ", lower end of the interval", ", upper end of the interval")


def labels_under_load(loads: Sequence[str], names: Mapping[str, str]) -> dict[str, str]:
    """Of all metrics of runs under load. `names` has a label for each impact."""
    impacts = {
        f"{name}_{kind}{end}": f"{label}, {kind}{where}"
        for kind in loads
        for name, label in names.items()
        for end, where in zip(ENDS, WHERE)
    }
    return impacts | {f"load_bandwidth_{kind}": f"bandwidth of the load, {kind}" for kind in loads}


def of_impacts(score: Score, kinds: Sequence[str], names: Mapping[str, str]) -> list[dict]:
    """A row per kind of load and factor, with its interval."""
    return [
        {"kind": kind, "label": label, "values": with_ends(score, f"{name}_{kind}")}
        for kind in kinds
        for name, label in names.items()
    ]


def of_generators(run: Run, load: PlannedVictims, score: Score, kind: str) -> str:
    """Which load the other nodes generated, in MByte/s."""
    return (
        f"The other {counted(len(run.hosts) - len(load.victims), 'node')} generated {kind} load of "
        f"{digits(score.metrics[f'load_bandwidth_{kind}'].value, NARROW_SPACE)} MByte/s."
    )


def with_ends(score: Score, name: str) -> list[float]:
    """A factor and the ends of its interval, NaN if the run has too few units for one."""
    return [score.metrics[f"{name}{end}"].value if f"{name}{end}" in score.metrics else nan for end in ENDS]


def in_words(score: Score, name: str, kind: str) -> str:
    """A factor with its interval, if there is one."""
    factor, low, high = with_ends(score, f"{name}_{kind}")
    ends = "too few units for an interval" if isnan(low) else f"95 % interval {digits(low)} to {digits(high)}"
    return f"{digits(factor)} ({ends})"


def of_victims(run: Run, load: PlannedVictims) -> str:
    """Which nodes were measured."""
    victims = len(load.victims)
    return (
        f"{counted(victims, 'node')} of {len(run.hosts)} with {counted(load.victim_processes, 'process')} were "
        f"measured: {', '.join(run.hosts[node].name for node in load.victims)}."
    )
