# SPDX-License-Identifier: Apache-2.0
"""What a benchmark states about itself. It is stated here once, and everything else reads it from here.

A benchmark is a folder beside this file. Its __init__.py defines BENCHMARK; it imports nothing but this module,
logs.format and the records of its log, so that it is cheap to load. The other files have the same names in every
folder (registry.ROLES).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf, isfinite

from coffeecup.postprocess.logs.format import LogFormat

# The parameter of a check's run that says how it was requested (reframe_checks/base.py), and its value otherwise.
VARIANT, STANDARD = "variant", "standard"
ROLLING = "rolling"  # in the variant of tests that examine some idle nodes of a partition


class Better(StrEnum):
    """Which direction of a metric is an improvement. NEITHER: a change is shown and is never a regression. UNKNOWN: a
    metric of another test, of which nothing states it: a change may be a regression."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"
    UNKNOWN = "unknown"


class Form(StrEnum):
    """How thoroughly a check measures; the modes of site_configs choose one. A probe measures next to nothing: it is
    for `coffeecup site check --submit`, which needs one benchmark with I/O that has it. A sweep compares nodes."""

    PROBE = "probe"
    SWEEP = "sweep"
    SHORT = "short"
    REGULAR = "regular"
    OFFICIAL = "official"


@dataclass(frozen=True)
class MetricKind:
    """A metric of a benchmark's scores. `label` is its name in reports. An optional one is missing from some valid
    runs."""

    name: str
    unit: str
    better: Better
    label: str = ""
    optional: bool = False

    def __post_init__(self):
        if self.better not in tuple(Better):
            raise ValueError(f"metric {self.name}: `better` is one of {', '.join(Better)}, not {self.better!r}")

    def can_fail(self, reference: float, lower: float | None, upper: float | None) -> bool:
        """Whether some bad value fails a reference whose bounds are fractions of it. Where more is better, values are
        positive."""
        if not reference or not isfinite(reference):
            return False
        low, high = lower is not None and -1 < lower < inf, upper is not None and isfinite(upper)
        return {Better.HIGHER: low, Better.LOWER: high}.get(self.better, low or high)


# Of every benchmark, if the nodes count the energy that they use (logs/energy.py).
ENERGY = (
    MetricKind("energy", "J", Better.LOWER, "energy of all nodes, from opening the log to its end", optional=True),
    MetricKind(
        "energy_per_gbyte", "J/GByte", Better.LOWER, "… divided by the bytes that were transferred", optional=True
    ),
    MetricKind("power", "W", Better.NEITHER, "… divided by the time", optional=True),
    MetricKind(
        "idle_power", "W", Better.LOWER, "power of all nodes before the run, while all processes slept", optional=True
    ),
)


SIMULATED = ("simulated", "the machine was simulated, nothing was measured on it")  # a breach: its key and text
# Rules of every benchmark, in the form of Benchmark.rules.
RULES = {"simulated": "simulated machine", "counters_root": "counters that are not the system's"}


@dataclass(frozen=True)
class Functions:
    """What not every benchmark has. `together`: (scores) -> sentences on the scores of several runs. `balance_factor`:
    (score, r_max_gflops) -> the score with its ratio to the Linpack performance of the processors. `prediction`:
    (machine, sizes, logs, r_max_gflops) -> a Prediction for each number of processes of a described machine.
    `comparison`: (machine, log, score, logs) -> a Comparison of the log's run with a described machine. `nodes`: (log)
    -> an Examination of the run's nodes. `nodes_of_unscored`: (log) -> an Examination of the nodes of a log that has no
    score, None if its times are not valid either.
    `from_darshan`: (paths) -> a workload that logs of Darshan describe, None if none of them does, and the LogErrors.
    `replay_darshan`: (path) -> a recording of the requests that a log of Darshan traces, or a LogError.
    `compare_darshan`: (log, log of a run) -> what of a log a run of its workload reproduces, or the LogErrors.
    `size_column` names the column of the measurement_table that has the size of a message or of an access."""

    together: Callable | None = None
    balance_factor: Callable | None = None
    prediction: Callable | None = None
    comparison: Callable | None = None
    nodes: Callable | None = None
    nodes_of_unscored: Callable | None = None
    from_darshan: Callable | None = None
    replay_darshan: Callable | None = None
    compare_darshan: Callable | None = None
    size_column: str | None = None


@dataclass(frozen=True)
class Benchmark:
    """`package` is the folder's module name. The first metric is the headline. `variants` are metrics that only
    runs with certain options have, beside or instead of `metrics`. `suffixed_metrics` describes metrics that begin with
    a name which the log states, and so cannot be listed, by the end of their names; the label follows the name.
    `predicted` are those that predictions have and no score. `rules` states in a few words what is wrong with a run
    that breaks a rule of the paper, by the key of its qualification. `system_metric` is the value of a system, if it is
    the largest first metric of all sizes (history.systems). `cache_affected` are the keys of the qualifications which
    state that a cache took part in the result. `forms` are the values of its check's variables, by form. `uses` are the
    benchmarks on whose parts it is built, in each layer: never one that is built on it. `has_official` states whether
    its paper defines official runs."""

    package: str
    title: str
    citation: str
    metrics: tuple[MetricKind, ...]
    log_format: LogFormat
    rules: Mapping[str, str] = field(default_factory=dict)
    uses: frozenset[str] = frozenset()
    has_official: bool = True
    cache_affected: frozenset[str] = frozenset()
    forms: Mapping[Form, Mapping[str, str]] = field(default_factory=dict)
    variants: tuple[MetricKind, ...] = ()
    suffixed_metrics: tuple[MetricKind, ...] = ()
    predicted: tuple[MetricKind, ...] = ()
    system_metric: MetricKind | None = None

    @property
    def name(self) -> str:
        return self.package.rpartition(".")[2]

    @property
    def every_metric(self) -> tuple[MetricKind, ...]:
        """Those of `variants` after `metrics`, and those of the nodes' energy last."""
        return (*self.metrics, *self.variants, *ENERGY)

    @property
    def units(self) -> dict[str, str]:
        """The unit of each of `metrics`, the headline's first."""
        return {metric.name: metric.unit for metric in self.metrics}

    def metric(self, name: str) -> MetricKind:
        """KeyError if no score of the benchmark has such a metric."""
        of_systems = [self.system_metric] if self.system_metric else []
        listed = {metric.name: metric for metric in (*self.every_metric, *of_systems)}
        for suffixed in self.suffixed_metrics:
            if name not in listed and name.endswith(suffixed.name):
                own = name.removesuffix(suffixed.name)
                return replace(suffixed, name=name, label=f"{own}: {suffixed.label}")
        return listed[name]

    def label(self, name: str) -> str:
        """What a report calls a metric of a score or a prediction: its name, if the benchmark states no label."""
        predicted = {metric.name: metric for metric in self.predicted}
        return (predicted.get(name) or self.metric(name)).label or name

    @property
    def optional_metrics(self) -> frozenset[str]:
        return frozenset(metric.name for metric in self.metrics if metric.optional)
