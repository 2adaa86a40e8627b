# SPDX-License-Identifier: Apache-2.0
"""b_eff_io_load's part of the report: the factors with their intervals, and the load that caused them."""

import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff_io.section import of_check, of_component
from coffeecup.postprocess.benchmarks.b_eff_io_load import IMPACTS, WORDS
from coffeecup.postprocess.benchmarks.b_eff_io_load.records import Plan
from coffeecup.postprocess.benchmarks.b_eff_io_load.reduction import repetitions
from coffeecup.postprocess.benchmarks.load_section import in_words, of_load
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.words import counted, seconds, size


def section(log: Log[Plan], table: pd.DataFrame, score: Score) -> dict:
    """The values of section.html.j2."""
    plan, load = log.plan, log.plan.load
    impacts = {
        kind: ", ".join(f"{words} {in_words(score, f'{method}_impact_by', kind)}" for method, words in WORDS.items())
        for kind in load.kinds
    }
    files = f"Each process of the load accesses a file of {size(load.file_bytes or 0)}."
    factors = (
        f"The factors are medians over {counted(len(repetitions(log)), 'repetition')} of "
        f"{counted(len(plan.patterns), 'pattern')}: "
        + "; ".join(f"{pattern.type} with {size(pattern.call_bytes or 0)} a call" for pattern in plan.patterns)
        + "."
    )
    return of_load(log, score, IMPACTS, "Bandwidth", impacts, [files, factors])


def heading(log: Log[Plan]) -> str:
    """The title of the section."""
    return f"{log.benchmark} on {counted(log.run.ranks, 'process')}, {counted(len(log.run.hosts), 'host')}"


def plan(log: Log[Plan]) -> list[tuple[str, str]]:
    """Facts about the run for the report: name and text."""
    return [
        ("Scheduled time", f"{seconds(log.plan.scheduled_seconds)} for the run"),
        ("MPI-I/O", of_component(log)),
        ("Space", f"at most {size(log.plan.space_limit_bytes)} for all files"),
        ("Data check", of_check(log)),
    ]
