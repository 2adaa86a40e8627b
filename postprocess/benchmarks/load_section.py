# SPDX-License-Identifier: Apache-2.0
"""The part of a report on a run under load, whatever the benchmark: the factors with their intervals, and the
load that caused them. The template is reports/templates/load.html.j2."""

from collections.abc import Mapping, Sequence
from math import isnan, nan

from coffeecup.postprocess.benchmarks.load_metrics import ENDS
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.words import NARROW_SPACE, counted, digits


def of_load(
    log: Log, score: Score, labels: Mapping[str, str], what: str, impacts: Mapping[str, str], more: Sequence[str]
) -> dict:
    """The names that the template uses. `labels` has one for each impact, `impacts` in words that of each kind of load
    on what was measured, `what`; `more` are sentences on the load and on the factors."""
    hosts, load = log.run.hosts, log.plan.load
    victims, others = (counted(count, "node") for count in (len(load.victims), len(hosts) - len(load.victims)))
    measured = (
        f"{victims} of {len(hosts)} with {counted(load.victim_processes, 'process')} were "
        f"measured: {', '.join(hosts[node].name for node in load.victims)}."
    )
    return {
        "load": [
            {"kind": kind, "label": label, "values": with_ends(score, f"{name}_{kind}")}
            for kind in load.kinds
            for name, label in labels.items()
        ],
        "sentences": [
            f"The other {others} generated {kind} load of "
            f"{digits(score.metrics[f'load_bandwidth_{kind}'].value, NARROW_SPACE)} MByte/s. {what} of {victims} "
            f"without load, divided by that with load: {impact}."
            for kind, impact in impacts.items()
        ],
        "victims": " ".join([measured, *more]),
    }


def with_ends(score: Score, name: str) -> list[float]:
    """A factor and the ends of its interval, NaN if the run has too few units for one."""
    return [score.metrics[f"{name}{end}"].value if f"{name}{end}" in score.metrics else nan for end in ENDS]


def in_words(score: Score, name: str, kind: str) -> str:
    """A factor with its interval, if there is one."""
    factor, low, high = with_ends(score, f"{name}_{kind}")
    ends = "too few units for an interval" if isnan(low) else f"95 % interval {digits(low)} to {digits(high)}"
    return f"{digits(factor)} ({ends})"
