# SPDX-License-Identifier: Apache-2.0
"""Scoring logs: from files to scores, for every benchmark."""

import gc
import os
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType

from postprocess.benchmarks import nodes
from postprocess.benchmarks.benchmark import Benchmark
from postprocess.benchmarks.registry import benchmarks, log_formats, optional_function, part
from postprocess.benchmarks.score import Metric, Qualification, Score
from postprocess.logs import reader
from postprocess.logs.counters import of_counters, of_root
from postprocess.logs.energy import energy_metrics, of_energy
from postprocess.logs.reader import Log, LogError

LOGS_AT_ONCE = 16
LOGS_WORTH_A_POOL = 48


def read_log(path) -> Log:
    """Reads a complete log of any benchmark. Raises LogError."""
    return reader.read_log(path, log_formats())


def score_log(path) -> Score:
    """The score of one log. Raises LogError where the log yields none."""
    [score] = score_read([read_log(path)])
    if isinstance(score, LogError):
        raise score
    return score


def score_logs(paths: Iterable) -> list[Score | LogError]:
    """A score for each log, or the error that says why there is none; in the order of the paths."""
    paths = [Path(path) for path in paths]
    chunks = [paths[start : start + LOGS_AT_ONCE] for start in range(0, len(paths), LOGS_AT_ONCE)]
    workers = min(len(os.sched_getaffinity(0)), len(chunks))
    if len(paths) < LOGS_WORTH_A_POOL or workers < 2:
        return [score for chunk in chunks for score in score_chunk(chunk)]
    # Records hold no cycles, and the garbage collector would walk through millions of them again and again.
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=gc.disable) as pool:
        return [score for scores in pool.map(score_chunk, chunks) for score in scores]


def score_chunk(paths: list[Path]) -> list[Score | LogError]:
    read = [read_or_error(path) for path in paths]
    scores = iter(score_read([log for log in read if isinstance(log, Log)]))
    return [next(scores) if isinstance(log, Log) else log for log in read]


def read_or_error(path: Path) -> Log | LogError:
    """The log, or why it cannot be read: one bad log must not cost the results of others."""
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


def score_read(logs: list[Log]) -> list[Score | LogError]:
    """Scores logs that have been read, all logs of a benchmark in one reduction."""
    places = defaultdict(list)
    for place, log in enumerate(logs):
        places[log.benchmark].append(place)
    scores = {}
    for benchmark, found in places.items():
        scores |= zip(found, score_together(benchmark, [logs[place] for place in found]))
    return [scores[place] for place in range(len(logs))]


def score_together(name: str, logs: list[Log]) -> list[Score | LogError]:
    """Scores of one benchmark; after an unexpected exception one by one, so that it is an error of its log only."""
    try:
        return score_alike(name, logs)
    except Exception as error:
        if len(logs) == 1:
            return [defect(logs[0].path, error)]
    return [score for log in logs for score in score_together(name, [log])]


class UnscoredError(LogError):
    """A log without a score whose nodes were examined nevertheless."""

    def __init__(self, path, problem: str, examined: nodes.Examination):
        super().__init__(path, problem)
        self.nodes = examined

    def __reduce__(self) -> tuple:
        return UnscoredError, (self.path, self.problem, self.nodes)


def unscored(log: Log, problem: str) -> LogError:
    """The error of a log that its benchmark's rules refuse, with its nodes if what it lacks does not concern them."""
    examine = optional_function(log.benchmark, "nodes_of_unscored")
    examined = examine(log) if examine else None
    return UnscoredError(log.path, problem, examined) if examined else LogError(log.path, problem)


def score_alike(name: str, logs: list[Log]) -> list[Score | LogError]:
    reduction, rules = part(name, "reduction"), part(name, "rules")
    refused = rules.refusals(logs)
    sound = [log for number, log in enumerate(logs) if number not in refused]
    scores = iter(scores_of(name, reduction, sound) if sound else [])
    return [unscored(log, refused[number]) if number in refused else next(scores) for number, log in enumerate(logs)]


def scores_of(name: str, reduction: ModuleType, logs: list[Log]) -> list[Score]:
    """Scores of logs that no rule refuses."""
    table = reduction.measurement_table(logs)
    metrics = dict(reduction.metrics(logs, table).iterrows())
    by_log = dict(iter(table.groupby("log", observed=True)))
    return [scored(benchmarks()[name], log, by_log[number], metrics[number]) for number, log in enumerate(logs)]


def scored(benchmark: Benchmark, log: Log, table, metrics) -> Score:
    qualifications = part(benchmark.name, "qualifications")
    rules_of_counters = [Qualification(key, f"Not official: {text}.") for key, text in of_root(log)]
    breaches = (*qualifications.breaches(log), *rules_of_counters)
    examine = optional_function(benchmark.name, "nodes")
    examined = examine(log) if examine else None
    of_nodes = [Qualification(*stated) for stated in nodes.qualifications(examined)] if examined else []
    counted = [Qualification(key, f"{text}.") for key, text in (*of_counters(log), *of_energy(log))]
    every = (*breaches, *qualifications.qualifications(log, table), *of_nodes, *counted)
    moved_bytes = optional_function(benchmark.name, "moved_bytes")
    values = {**metrics.dropna(), **energy_metrics(log, moved_bytes(log) if moved_bytes else None)}
    return Score(
        benchmark=benchmark.name,
        metrics={name: Metric(float(value), benchmark.metric(name).unit) for name, value in values.items()},
        qualifications=every,
        breaches=breaches,
        cache_affected=tuple(qualification for qualification in every if qualification.key in benchmark.cache_affected),
        log=log.brief(),
        nodes=examined,
    )
