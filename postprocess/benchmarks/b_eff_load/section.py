# SPDX-License-Identifier: Apache-2.0
"""b_eff_load's part of the report: the factors with their intervals, and the load that caused them."""

import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff import section as of_loops
from coffeecup.postprocess.benchmarks.b_eff_load.records import IO, LOADS, Plan, PlannedLoad
from coffeecup.postprocess.benchmarks.b_eff_load.reduction import complete_repetitions
from coffeecup.postprocess.benchmarks.load_section import (
    in_words,
    labels_under_load,
    of_generators,
    of_impacts,
    of_victims,
)
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.words import counted, size

NAMES = {
    "b_eff_impact": "b_eff of the victims without load / with load",
    "b_eff_at_l_max_impact": "b_eff of the victims at L_max without load / with load",
    "latency_impact": "time of 1 byte with load / without, median exchange",
    "latency_impact_99": "time of 1 byte with load / without, 99th percentile",
    "bandwidth_impact": "time at L_max with load / without, median exchange",
    "bandwidth_impact_99": "time at L_max with load / without, 99th percentile",
}


heading = of_loops.heading
plan = of_loops.plan


def section(log: Log[Plan], table: pd.DataFrame, score: Score) -> dict:
    """The values of section.html.j2."""
    load, run = log.plan.load, log.run
    return {
        "load": of_impacts(score, load.kinds, NAMES),
        "labels": labels_under_load(LOADS, NAMES),
        "sentences": [
            f"{of_generators(run, load, score, kind)} b_eff of {counted(len(load.victims), 'node')} without load, "
            f"divided by that with load: {in_words(score, 'b_eff_impact', kind)}."
            for kind in load.kinds
        ],
        "victims": f"{of_victims(run, load)} {means(load)} "
        f"The factors are those of {counted(len(complete_repetitions(log)), 'repetition')} of "
        f"{counted(len(log.plan.patterns), 'pattern')}.",
    }


def means(load: PlannedLoad) -> str:
    """By which the load is generated."""
    messages = f"Messages of the load have {size(load.message_bytes)}." if load.kinds != [IO] else ""
    files = f"The load {IO} writes, syncs and reads files of {size(load.file_bytes)}." if load.file_bytes else ""
    return " ".join(filter(None, [messages, files]))
