# SPDX-License-Identifier: Apache-2.0
"""The one way from a log to its score, for every benchmark: read, check, reduce, qualify."""

import math
import os
import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from coffeecup.postprocess.benchmarks import links, nodes
from coffeecup.postprocess.benchmarks.benchmark import SIMULATED
from coffeecup.postprocess.benchmarks.registry import benchmarks, functions, log_formats, part
from coffeecup.postprocess.benchmarks.score import Metric, Qualification, Score
from coffeecup.postprocess.logs import invariants, reader
from coffeecup.postprocess.logs.counters import of_counters, of_root
from coffeecup.postprocess.logs.energy import energy_metrics, of_energy
from coffeecup.postprocess.logs.reader import Log, LogError
from coffeecup.postprocess.logs.records import Record
from coffeecup.postprocess.logs.rules import EDITED, Problem, where
from coffeecup.postprocess.logs.workers import workers

LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")  # of Markdown, in texts for the documentation
FEWEST_AT_ONCE, MOST_AT_ONCE = 16, 64  # logs: a table costs the same for many as for few, but all are in memory
LOGS_WORTH_A_POOL = 48


def read_log(path) -> Log:
    """Reads a complete log of any benchmark. Raises LogError."""
    return reader.read_log(path, log_formats())


def score_log(path) -> Score:
    """The score of one log. Raises LogError where the log yields none."""
    [evaluation] = evaluate([read_log(path)])
    if isinstance(evaluation.result, LogError):
        raise evaluation.result
    return evaluation.result


def score_logs(paths: Iterable) -> list[Score | LogError]:
    """A score for each log, or the error that says why there is none; in the order of the paths."""
    paths = [Path(path) for path in paths]
    cores = len(os.sched_getaffinity(0))
    at_once = sorted((FEWEST_AT_ONCE, math.ceil(len(paths) / cores), MOST_AT_ONCE))[1]
    chunks = [paths[start : start + at_once] for start in range(0, len(paths), at_once)]
    count = min(cores, len(chunks))
    if len(paths) < LOGS_WORTH_A_POOL or count < 2:
        return [score for chunk in chunks for score in results_of(chunk)]
    for name in benchmarks():
        part(name, "reduction")  # imports pandas and schemas once, before the workers are copies of this process
    with workers(count) as pool:
        return [score for scores in pool.map(results_of, chunks) for score in scores]


def results_of(paths: list[Path]) -> list[Score | LogError]:
    """All steps, for some files."""
    logs = [read(path) for path in paths]
    evaluations = iter(evaluate([log for log in logs if isinstance(log, Log)]))
    return [next(evaluations).result if isinstance(log, Log) else log for log in logs]


def read(path: Path) -> Log | LogError:
    """The first step from a file to its score: a complete log, or why it is none."""
    try:
        return read_log(path)
    except LogError as error:
        return error
    except Exception as error:  # of this log alone
        return defect(path, error)


def defect(path: Path, error: Exception) -> LogError:
    """The error of a log that met a defect of coffeecup."""
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    return LogError(path, f"met a defect of coffeecup ({what:.200}): please report it together with this log")


@dataclass(frozen=True)
class Evaluation:
    """What came of a log: its score or why it has none, and the measurement_table of a score."""

    result: Score | LogError
    table: pd.DataFrame | None = None


def evaluate(logs: list[Log]) -> list[Evaluation]:
    """The other steps, for logs that have been read: check, reduce and qualify, all logs of a benchmark at once. After
    an unexpected exception one by one, so that it is an error of its log only."""
    found: dict[int, Evaluation] = {}
    for name in dict.fromkeys(log.benchmark for log in logs):
        alike = {place: log for place, log in enumerate(logs) if log.benchmark == name}
        try:
            found |= zip(alike, evaluate_alike(name, [*alike.values()]))
        except Exception as error:
            one_by_one = len(alike) > 1
            for place, log in alike.items():
                found[place] = evaluate([log])[0] if one_by_one else Evaluation(defect(log.path, error))
    return [found[place] for place in range(len(logs))]


def evaluate_alike(name: str, logs: list[Log]) -> list[Evaluation]:
    """Checks the logs of one benchmark; those that no rule refuses are reduced together and qualified."""
    problems = (next(part(name, "rules").problems(log), None) for log in logs)
    refused = {number: in_words(name, problem) for number, problem in enumerate(problems) if problem}
    reduced = reduce(name, [log for number, log in enumerate(logs) if number not in refused])
    return [
        Evaluation(unscored(log, refused[number])) if number in refused else qualify(log, *next(reduced))
        for number, log in enumerate(logs)
    ]


def in_words(name: str, problem: Problem) -> str:
    """Why a log yields no score, with the name of the invariant that it does not keep in brackets."""
    benchmark, (invariant, why) = benchmarks()[name], problem
    if isinstance(why, Record):
        own = (part(each, "invariants").INVARIANTS for each in (name, *benchmark.uses))
        texts = ChainMap(*own, invariants.EVERY, invariants.IO)
        rule = LINK.sub(r"\1", texts[invariant])
        why = f"{where(why)} breaks the rule that {rule}; {EDITED}"
    return f"no {benchmark.metrics[0].name}: {why} [{invariant}]"


def reduce(name: str, logs: list[Log]) -> Iterator[tuple[pd.DataFrame, pd.Series]]:
    """The measurement_table and the metrics of each log, which no rule refuses."""
    if logs:
        reduction = part(name, "reduction")
        table = reduction.measurement_table(logs)
        metrics = dict(reduction.metrics(logs, table).iterrows())
        by_log = dict(iter(table.groupby("log", observed=True)))
        yield from ((by_log[number], metrics[number]) for number in range(len(logs)))


class UnscoredError(LogError):
    """A log without a score whose nodes were examined nevertheless."""

    def __init__(self, path, problem: str, examined: nodes.Examination):
        super().__init__(path, problem)
        self.nodes = examined

    def __reduce__(self) -> tuple:
        return UnscoredError, (self.path, self.problem, self.nodes)


def unscored(log: Log, problem: str) -> LogError:
    """The error of a log that its benchmark's rules refuse, with its nodes if what it lacks does not concern them."""
    examined = examination(log, functions(log.benchmark).nodes_of_unscored)
    return UnscoredError(log.path, problem, examined) if examined else LogError(log.path, problem)


def examination(log: Log, examine: Callable[[Log], nodes.Examination | None] | None) -> nodes.Examination | None:
    """The nodes of a run with their links, None if it was not examined."""
    examined = examine(log) if examine else None
    return replace(examined, links=links.found(log)) if examined else None


def qualify(log: Log, table: pd.DataFrame, metrics: pd.Series) -> Evaluation:
    """The last step: a score with its qualifications."""
    benchmark, qualifications = benchmarks()[log.benchmark], part(log.benchmark, "qualifications")
    broken = (*([SIMULATED] if log.run.simulated else []), *qualifications.breaches(log), *of_root(log))
    breaches = tuple(Qualification(key, f"Not official: {text}.") for key, text in broken)
    examined = examination(log, functions(benchmark.name).nodes)
    of_nodes = [Qualification(*stated) for stated in nodes.qualifications(examined)] if examined else []
    own, counted = qualifications.qualifications(log, table), (*of_counters(log), *of_energy(log))
    of_run, of_counts = ([Qualification(key, f"{text}.") for key, text in found] for found in (own, counted))
    every = (*breaches, *of_run, *of_nodes, *of_counts)
    moved_bytes = part(benchmark.name, "reduction").moved_bytes(log)
    values = {**metrics.dropna(), **energy_metrics(log, moved_bytes)}
    score = Score(
        benchmark=benchmark.name,
        metrics={name: Metric(float(value), benchmark.metric(name).unit) for name, value in values.items()},
        qualifications=every,
        breaches=breaches,
        cache_affected=tuple(qualification for qualification in every if qualification.key in benchmark.cache_affected),
        log=log.brief(),
        nodes=examined,
    )
    return Evaluation(score, table)
