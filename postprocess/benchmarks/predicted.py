# SPDX-License-Identifier: Apache-2.0
"""Predicted results: computed from a description of a machine, neither measured nor simulated. They have a type of
their own, so that nothing mixes them with scores."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from coffeecup.postprocess.benchmarks.registry import benchmarks, functions
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.benchmarks.scoring import read_log
from coffeecup.postprocess.designs.design import Machine
from coffeecup.postprocess.logs.reader import Log, LogError
from coffeecup.postprocess.show.words import counted


class Estimate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A predicted metric. The measured value is expected between `low` and `high`, which `origin` explains; both are
    None where nothing tells how wrong the prediction may be. `limit` is what limits it; empty where no single message
    length does."""

    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    origin: str = ""
    limit: str = ""


class Limit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What limits a pattern at the longest messages, and the bandwidth of the whole system there, in MByte/s."""

    pattern: str
    link: str
    mbyte_per_second: float


class Prediction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one benchmark is expected to report on a number of processes of a design. The first metric is the
    headline."""

    benchmark: str
    design: str
    processes: int
    nodes: int
    metrics: dict[str, Estimate]
    limits: list[Limit]
    assumed: list[str]
    calibration: list[str]
    kind: str = "predicted"

    @property
    def headline(self) -> tuple[str, Estimate]:
        return next(iter(self.metrics.items()))


class PredictionError(ValueError):
    """A prediction that cannot be made or read; the message is one printable line with the remedy."""


class Comparison(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a design predicts for the very run of a log, whose path is `log`, and what the run itself gave: `run` by
    metric of the prediction, `patterns` by pattern, in MByte/s of the whole run at the longest messages."""

    log: str
    prediction: Prediction
    run: dict[str, float]
    patterns: dict[str, float]
    simulated: bool

    @property
    def ratios(self) -> dict[str, float]:
        """The run over the prediction, by metric."""
        return {name: value / self.prediction.metrics[name].value for name, value in self.run.items()}


@dataclass(frozen=True)
class Band:
    """Measured over predicted values: the least and the most that were found, and where."""

    low: float
    high: float
    origin: str

    def around(self, value: float, unit: str) -> Estimate:
        return Estimate(value, unit, value * self.low, value * self.high, self.origin)


@dataclass(frozen=True)
class Designs:
    """Described machines, which are compared with runs, and the logs that calibrate them."""

    machines: list[Machine]
    calibrating: list[Log] = field(default_factory=list)

    def comparisons(self, log: Log, score: Score) -> list[Comparison | LogError]:
        """One for each design, or the error that says why there is none; nothing for a benchmark that cannot be
        predicted. A log never calibrates its own prediction."""
        compare = functions(log.benchmark).comparison
        others = [each for each in self.calibrating if each.sha256 != log.sha256 and each.benchmark == log.benchmark]
        made = []
        if compare is None:
            return made
        for machine in self.machines:
            try:
                made.append(compare(machine, log, score, others))
            except PredictionError as error:
                made.append(LogError(log.path, f"no prediction by {machine.name}: {error}"))
        return made

    def of(self, result: Score | LogError) -> list[Comparison | LogError]:
        """As `comparisons`; reads the score's log again, because a score keeps no measurements."""
        if isinstance(result, LogError) or not self.machines:
            return []
        return self.comparisons(read_log(result.log.path), result)


def predictable() -> list[str]:
    """The names of the benchmarks that can be predicted."""
    return [name for name in benchmarks() if functions(name).prediction]


def limited_by(limits: Iterable[Limit]) -> str:
    """How many patterns of each group links of each kind limit."""
    found = Counter((limit.pattern.rstrip("0123456789").rstrip("-"), kind_of(limit.link)) for limit in limits)
    named = {key: counted(count, f"{key[0]} pattern") if count > 1 else key[0] for key, count in found.items()}
    return "; ".join(f"{name}: {link}" for (_, link), name in named.items())


def kind_of(link: str) -> str:
    """A link's name without numbers, so that links of the same kind count together."""
    return " ".join(word for word in link.split() if not word.strip(",").isdigit()).replace(" ,", ",").rstrip(",")


def as_object(comparison: Comparison) -> dict:
    """In JSON's types: the prediction, and the run's own values apart from it."""
    shown = {"run": comparison.run, "run_over_predicted": comparison.ratios, "run_patterns": comparison.patterns}
    return msgspec.to_builtins(comparison.prediction) | shown
