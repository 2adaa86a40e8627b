"""Scores: what a log is worth, for every benchmark.

Each benchmark is a row of BENCHMARKS: a module with its reductions and one with its figures and its part of the report. Both have
the same functions with the same roles; nothing else names a benchmark.
"""

import gc
import os
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from postprocess.logs.reader import Log, LogError, read_log

# A reduction module has
#   UNITS: dict[str, str]                          every metric's unit, the headline first
#   OPTIONAL: set[str]                             metrics that not every sound run has; may be left out
#   CACHE_AFFECTED: set[str]                       qualifications by which caches took part in the result; may be left out
#   measurement_table(logs) -> DataFrame           tidy, many logs at once, column `log` counts them
#   refusals(logs, table) -> dict[int, str]        which logs yield no score, and why
#   metrics(logs, table) -> DataFrame              a row per log, a column per metric; NaN where a log did not measure it
#   breaches(log) -> list[Qualification]           the paper's rules that the run did not keep: none makes it official
#   qualifications(log, table) -> list[...]        what else flatters or limits the result
#   together(scores) -> list[str]                  sentences on the scores of several runs; may be left out
# and a presentation module
#   figures(log, table) -> list[Figure]
#   section(log, table, score) -> dict             what section.html.j2 shows
BENCHMARKS = {
    "b_eff": ("postprocess.benchmarks.b_eff.reduction", "postprocess.benchmarks.b_eff.section"),
    "b_eff_io": ("postprocess.benchmarks.b_eff_io.reduction", "postprocess.benchmarks.b_eff_io.section"),
    "ftio": ("postprocess.benchmarks.ftio.reduction", "postprocess.benchmarks.ftio.section"),
    "priomark": ("postprocess.benchmarks.priomark.reduction", "postprocess.benchmarks.priomark.section"),
}

LOGS_AT_ONCE = 16
LOGS_WORTH_A_POOL = 48


@dataclass(frozen=True)
class Metric:
    value: float
    unit: str


@dataclass(frozen=True)
class Qualification:
    """What flatters or limits a result: a key for programs, a sentence for people."""

    key: str
    text: str


@dataclass(frozen=True)
class Score:
    """The first metric is the headline. `log` is without its measurements. `breaches`, the paper's rules that the run did not keep, are
    the first of `qualifications`."""

    benchmark: str
    metrics: dict[str, Metric]
    qualifications: tuple[Qualification, ...]
    breaches: tuple[Qualification, ...]
    log: Log

    @property
    def official(self) -> bool:
        """The run kept all rules of the paper."""
        return not self.breaches

    @property
    def headline(self) -> tuple[str, Metric]:
        return next(iter(self.metrics.items()))

    @property
    def cache_affected(self) -> tuple[Qualification, ...]:
        """Why the result is in part that of a cache; empty where it is not."""
        keys = getattr(reduction(self.benchmark), "CACHE_AFFECTED", ())
        return tuple(qualification for qualification in self.qualifications if qualification.key in keys)

    @property
    def standing(self) -> str:
        """What a reader must know first. A simulated result is of no machine and never stands among measured ones."""
        return "simulated" if self.log.run["simulated"] else "official" if self.official else "not official"

    @property
    def simulated_machine(self) -> str:
        """What the simulated machine is a model of, as its platform says; empty where a machine was measured."""
        run = self.log.run
        return run["environment"].get("SMPI_MODEL_OF", "an unnamed machine") if run["simulated"] else ""


def reduction(benchmark: str):
    return import_module(BENCHMARKS[benchmark][0])


def presentation(benchmark: str):
    return import_module(BENCHMARKS[benchmark][1])


def metric_units(benchmark: str) -> dict[str, str]:
    """Every metric that a benchmark's score can hold, in order, with its unit."""
    return dict(reduction(benchmark).UNITS)


def optional_metrics(benchmark: str) -> frozenset[str]:
    """Those of metric_units that not every sound run has."""
    return frozenset(getattr(reduction(benchmark), "OPTIONAL", ()))


def score_log(path) -> Score:
    """The score of one log. Raises LogError where the log yields none."""
    [score] = score_read([read_log(path)])
    if isinstance(score, LogError):
        raise score
    return score


def score_logs(paths: Iterable) -> list[Score | LogError]:
    """A score for each log, or the error that says why there is none; in the order of the paths."""
    paths = [Path(path) for path in paths]
    chunks = [paths[start:start + LOGS_AT_ONCE] for start in range(0, len(paths), LOGS_AT_ONCE)]
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
    try:
        return read_log(path)
    except LogError as error:
        return error


def score_read(logs: list[Log]) -> list[Score | LogError]:
    """Scores logs that have been read, all logs of a benchmark in one reduction."""
    places = defaultdict(list)
    for place, log in enumerate(logs):
        places[log.benchmark].append(place)
    scores = {}
    for benchmark, found in places.items():
        scores |= zip(found, score_alike(benchmark, [logs[place] for place in found]))
    return [scores[place] for place in range(len(logs))]


def score_alike(benchmark: str, logs: list[Log]) -> list[Score | LogError]:
    if benchmark not in BENCHMARKS:
        return [LogError(log.path, f"no score: this coffeecup reads logs of {benchmark} but does not score them; upgrade coffeecup")
                for log in logs]
    module = reduction(benchmark)
    table = module.measurement_table(logs)
    refused = module.refusals(logs, table)
    metrics = module.metrics(logs, table[~table["log"].isin(refused)]) if len(refused) < len(logs) else None
    by_log = dict(iter(table.groupby("log", observed=True)))
    return [
        LogError(log.path, refused[number]) if number in refused
        else scored(module, log, by_log[number], metrics.loc[number])
        for number, log in enumerate(logs)
    ]


def scored(module, log: Log, table, metrics) -> Score:
    breaches = tuple(module.breaches(log))
    return Score(
        benchmark=log.benchmark,
        metrics={name: Metric(float(value), module.UNITS[name]) for name, value in metrics.dropna().items()},
        qualifications=(*breaches, *module.qualifications(log, table)),
        breaches=breaches,
        log=log.brief(),
    )
