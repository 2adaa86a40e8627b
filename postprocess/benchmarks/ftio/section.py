# SPDX-License-Identifier: Apache-2.0
"""FTIO's part of the report: the number in plain sentences, its phases, and the paper's tables 1 and 2 to compare
with."""

from typing import cast

import pandas as pd

from coffeecup.postprocess.benchmarks.ftio.figures import STAGE_LABELS
from coffeecup.postprocess.benchmarks.ftio.records import Plan, Repetition, Start
from coffeecup.postprocess.benchmarks.ftio.rules import ACTIVITIES, STAGES
from coffeecup.postprocess.benchmarks.ftio.sizes import automatic_input
from coffeecup.postprocess.benchmarks.published import published
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.units import MBYTE
from coffeecup.postprocess.show.words import NARROW_SPACE, counted, digits, seconds, size


def section(log: Log[Plan], table: pd.DataFrame, score: Score) -> dict:
    """The values of section.html.j2."""
    values = {name: metric.value for name, metric in score.metrics.items()}
    return {
        "sentences": sentences(log, values),
        "flawless": ", had the cores to itself, and worked on more data than fit into memory",
        "tables": [paper_table(1), paper_table(2)],
        "by_eq_5": log.plan.input_parameter == automatic_input(log.run.ranks),
        "phases": phases(table),
    }


def sentences(log: Log[Plan], values: dict[str, float]) -> list[str]:
    """What the result means, for readers who do not know the benchmark."""
    runs = log.plan.repetitions
    interval = (
        f" (95 % interval {digits(values['io_fraction_low'])} to {digits(values['io_fraction_high'])})"
        if "io_fraction_low" in values
        else ""
    )
    return [
        f"{values['io_fraction']:.0%} of the time of an out-of-core Fourier transform was I/O{interval}: a matrix of "
        f"{size(log.plan.matrix_bytes)}, {counted(runs, 'run')}, counted at the process that waited for the file "
        "system longest.",
        "A value well above one half says that the file system holds the computation up; well below, that it keeps "
        f"pace with it. The whole ran at {digits(values['mflops'], NARROW_SPACE)} Mflop/s, the transforms by "
        f"themselves at {digits(values['mflops_in_fft'], NARROW_SPACE)} Mflop/s.",
    ]


def paper_table(number: int) -> list[dict]:
    """The paper's table, a row per number of processes, as printed."""
    tidy = published("ftio")
    tidy = tidy[tidy["source"].str.contains(f"Table {number}")]
    wide = tidy.pivot(index=["system", "processes", "note"], columns="metric", values="value").reset_index()
    return wide.sort_values("processes").to_dict("records")


def phases(table: pd.DataFrame) -> list[dict]:
    """A row per stage and activity: time in s of the slowest and the fastest process, mean over the repetitions, and
    bytes moved."""
    by_phase = table.groupby(["stage", "activity"], observed=True)[
        ["elapsed_seconds", "fastest_seconds", "bytes", "calls"]
    ].mean()
    return [
        {
            "stage": STAGE_LABELS[stage],
            "activity": activity,
            "io": io,
            "slowest": row["elapsed_seconds"],
            "fastest": row["fastest_seconds"],
            "bytes": int(row["bytes"]),
            "call_bytes": int(row["bytes"] / row["calls"]) if row["bytes"] and row["calls"] else None,
            "bandwidth": row["bytes"] / row["elapsed_seconds"] / MBYTE if row["bytes"] else None,
        }
        for stage in STAGES
        for activity, io in ACTIVITIES.items()
        if (stage, activity) in by_phase.index
        for row in [cast(pd.Series, by_phase.loc[(stage, activity)])]
    ]


def heading(log: Log[Plan]) -> str:
    """The title of the section."""
    return f"FTIO on {counted(log.run.ranks, 'process')}, i = {log.plan.input_parameter}"


def plan(log: Log[Plan]) -> list[tuple[str, str]]:
    """Facts about the run for the report: name and text."""
    plan = log.plan
    way = "direct I/O, past the page cache" if plan.direct else "buffered, flushed inside the timed phases"
    made = [f"{start.directory}{', kept' * start.kept}" for start in log.all(Start)]
    times = [seconds(max(record.elapsed_seconds)) for record in log.all(Repetition)[:10]]
    first = log.all(Repetition)[:1]
    return [
        (
            "Matrix",
            f"N = {plan.matrix_width} rows and columns of complex numbers, {size(plan.matrix_bytes)}; i = "
            f"{plan.input_parameter}, Squares of {plan.square_width}, Mini-Squares of {plan.input_parameter}",
        ),
        (
            "Files",
            f"{'a file per process' if plan.storage == 'posix' else 'one shared file, MPI-IO'}; {way}; in "
            f"{'; '.join(made) or 'no directory'}",
        ),
        ("Runs", f"{plan.repetitions}, each in fresh files"),
        ("Exchange buffer", size(plan.exchange_buffer_bytes)),
        (
            "Hardware counters",
            "; ".join(f"cycles: {record.counters.cycles_reason or 'counted'}; {operations(record)}" for record in first)
            or "none",
        ),
        ("Time of a run", ", ".join(times) or "none"),
    ]


def operations(record: Repetition) -> str:
    counters = record.counters
    if counters.flops is None:
        return f"operations: {counters.flops_reason}"
    return f"operations: {digits(counters.flops / record.nominal_flops)} counted for each nominal one"
