# SPDX-License-Identifier: Apache-2.0
"""b_eff_load's part of the report: the factors with their intervals, and the load that caused them."""

import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff import section as of_loops
from coffeecup.postprocess.benchmarks.b_eff_load import IMPACTS
from coffeecup.postprocess.benchmarks.b_eff_load.records import IO, Plan, PlannedLoad
from coffeecup.postprocess.benchmarks.b_eff_load.reduction import complete_repetitions
from coffeecup.postprocess.benchmarks.load_section import in_words, of_load
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.words import counted, size

heading = of_loops.heading
plan = of_loops.plan


def section(log: Log[Plan], table: pd.DataFrame, score: Score) -> dict:
    """The values of section.html.j2."""
    load = log.plan.load
    impacts = {kind: in_words(score, "b_eff_impact", kind) for kind in load.kinds}
    factors = (
        f"The factors are those of {counted(len(complete_repetitions(log)), 'repetition')} of "
        f"{counted(len(log.plan.patterns), 'pattern')}."
    )
    return of_load(log, score, IMPACTS, "b_eff", impacts, [means(load), factors])


def means(load: PlannedLoad) -> str:
    """By which the load is generated."""
    messages = f"Messages of the load have {size(load.message_bytes)}." if load.kinds != [IO] else ""
    files = f"The load {IO} writes, syncs and reads files of {size(load.file_bytes)}." if load.file_bytes else ""
    return " ".join(filter(None, [messages, files]))
