# SPDX-License-Identifier: Apache-2.0
"""Scores as text: tables for people at a terminal, plain values and CSV for machines."""

from collections.abc import Mapping, Sequence

import pandas as pd
from rich.console import Group
from rich.text import Text

from coffeecup.postprocess.benchmarks import nodes
from coffeecup.postprocess.benchmarks.predicted import Comparison
from coffeecup.postprocess.benchmarks.predicted import as_object as predicted
from coffeecup.postprocess.benchmarks.registry import functions
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.benchmarks.scoring import UnscoredError
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.reports import overview
from coffeecup.postprocess.show import tables
from coffeecup.postprocess.show.terminal import rendered, simple_table
from coffeecup.postprocess.show.words import counted, digits, printable, unit_word

LOGS_IN_FULL = 4


def as_object(result: Score | LogError, compared: Sequence[Comparison | LogError] = ()) -> dict:
    """The score of a log, or its error, as plain values. What designs predict for the run is apart from its metrics."""
    if isinstance(result, LogError):
        examined = {"nodes": nodes.as_object(result.nodes)} if isinstance(result, UnscoredError) else {}
        return {"log": printable(str(result.path)), "error": result.problem, **examined}
    predictions = [{"error": each.problem} if isinstance(each, LogError) else predicted(each) for each in compared]
    return {
        "log": printable(str(result.log.path)),
        "sha256": result.log.sha256,
        "benchmark": result.benchmark,
        "kernel_version": result.log.run.kernel_version,
        "start_time": result.log.run.start_time,
        "ranks": result.log.run.ranks,
        "hosts": len(result.log.run.hosts),
        "official": result.official,
        "simulated": result.log.run.simulated,
        "metrics": {name: {"value": metric.value, "unit": metric.unit} for name, metric in result.metrics.items()},
        "qualifications": [{"key": q.key, "text": q.text} for q in result.qualifications],
        **({"predictions": predictions} if predictions else {}),
        **({"nodes": nodes.as_object(result.nodes)} if result.nodes else {}),
    }


def csv_text(results: list[Score | LogError]) -> str:
    """Tidy CSV, a row per log and metric; logs without a score have none."""
    table = pd.DataFrame(
        [
            (
                str(score.log.path),
                score.log.sha256,
                score.benchmark,
                score.log.run.ranks,
                len(score.log.run.hosts),
                score.official,
                name,
                metric.value,
                metric.unit,
            )
            for score in results
            if isinstance(score, Score)
            for name, metric in score.metrics.items()
        ],
        columns=["log", "sha256", "benchmark", "ranks", "hosts", "official", "metric", "value", "unit"],
    )
    return tables.csv_text(table)


def terminal_text(results: list[Score | LogError], changes: Mapping[str, str] | None = None) -> str:
    """A few scores in full; many, or those with `changes` (overview.table), as one table."""
    scores = [result for result in results if isinstance(result, Score)]
    in_one = len(scores) > LOGS_IN_FULL or (scores and changes is not None)
    unscored = [
        Text(printable(f"{result.path}: no score. {nodes.in_sentences(result.nodes)}"))
        for result in results
        if isinstance(result, UnscoredError)
    ]
    return rendered(
        *(overview.overview(scores, changes) if in_one else map(in_full, scores)),
        *unscored,
        *(Text(printable(sentence), style="bold") for sentence in together(scores)),
    )


def together(scores: list[Score]) -> list[str]:
    """Sentences about all scores of a benchmark together."""
    by_benchmark = {
        score.benchmark: [other for other in scores if other.benchmark == score.benchmark] for score in scores
    }
    return [
        sentence
        for benchmark, alike in by_benchmark.items()
        if (tell := functions(benchmark).together)
        for sentence in tell(alike)
    ]


def in_full(score: Score) -> Group:
    run = score.log.run
    name, headline = score.headline
    table = simple_table("metric")
    table.add_column("value", justify="right")
    table.add_column("unit")
    for metric_name, metric in score.metrics.items():
        table.add_row(metric_name, digits(metric.value), unit_word(metric.unit))
    return Group(
        Text(f"{name} = {digits(headline.value)} {unit_word(headline.unit)}".rstrip(), style="bold"),
        Text(
            f"{score.standing}{printable(score.simulated_machine and ' ' + score.simulated_machine)}; "
            f"{counted(run.ranks, 'process')} on {counted(len(run.hosts), 'host')}, "
            f"{run.start_time}, {printable(str(score.log.path))}"
        ),
        table,
        *(Text(f"- {printable(q.text)}") for q in score.qualifications),
        Text(""),
    )
