# SPDX-License-Identifier: Apache-2.0
"""All benchmarks: the packages beside this file. A new benchmark is a new folder; there is no list to extend."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType

from coffeecup.postprocess import benchmarks as folder
from coffeecup.postprocess.benchmarks.benchmark import RULES, Benchmark, Better, Functions, MetricKind
from coffeecup.postprocess.logs.format import LogFormat

# The modules of a benchmark's folder, and the functions of each. section.html.j2 and records.py lie beside them,
# and functions.py with the Functions that not every benchmark has.
ROLES = {
    # problems(log) -> Iterator[Problem]: why a log yields no score, the most serious first; if the sentence of one is
    # that of its invariant, invariants.py has it
    "rules": ("problems",),
    # measurement_table(logs) -> DataFrame: tidy, many logs at once, column `log` counts them
    # metrics(logs, table) -> DataFrame: a row per log, a column per metric; NaN where a log did not measure it
    # moved_bytes(log) -> int: what the run transferred, to relate its energy to; 0 if that means nothing
    "reduction": ("measurement_table", "metrics", "moved_bytes"),
    # breaches(log) -> the paper's rules that the run did not keep; without any it is official
    # qualifications(log, table) -> what else improves or limits the result; both as (key, sentence without period)
    "qualifications": ("breaches", "qualifications"),
    # figures(log, table) -> list[Figure]; over_sizes(scores) -> Figure
    "figures": ("figures", "over_sizes"),
    # heading(log) -> str; plan(log) -> list of a name and its value each: what every log has
    # section(log, table, score) -> dict: the names that score.html.j2 and section.html.j2 use, for a log with a score
    "section": ("heading", "plan", "section"),
}


@cache
def benchmarks() -> dict[str, Benchmark]:
    """All benchmarks by name."""
    found = [
        import_module(f"{folder.__name__}.{module.name}").BENCHMARK
        for module in iter_modules(folder.__path__)
        if module.ispkg
    ]
    return {benchmark.name: benchmark for benchmark in found}


def metric_kind(benchmark: str, metric: str, better: str = Better.UNKNOWN) -> MetricKind:
    """What a benchmark states about a metric; of the metrics of other tests only the direction is known, `better`, as
    directions finds it."""
    try:
        return benchmarks()[benchmark].metric(metric)
    except KeyError:
        return MetricKind(metric, "", Better(better))


def reasons(benchmark: str, breaches: str) -> str:
    """The rules that a run of a benchmark did not keep, in a few words. `breaches` are their keys, separated by
    commas; a key that this version does not know is its own word."""
    known = RULES | dict(benchmarks()[benchmark].rules if benchmark in benchmarks() else {})
    return ", ".join(dict.fromkeys(known.get(key, key) for key in breaches.split(",")))


@cache
def log_formats() -> dict[str, LogFormat]:
    """The log formats of all benchmarks, for the readers in postprocess.logs."""
    return {name: benchmark.log_format for name, benchmark in benchmarks().items()}


def part(name: str, role: str) -> ModuleType:
    """A module of a benchmark's folder. Imported on first use, because listing the checks must not wait for pandas and
    matplotlib."""
    return import_module(f"{benchmarks()[name].package}.{role}")


@cache
def functions(name: str) -> Functions:
    """What functions.py of a benchmark's folder offers, imported on first use as well; nothing if there is none."""
    package = benchmarks()[name].package
    return part(name, "functions").FUNCTIONS if find_spec(f"{package}.functions") else Functions()
