# SPDX-License-Identifier: Apache-2.0
"""A score: the metrics and qualifications of one log, for every benchmark."""

from dataclasses import dataclass

from coffeecup.postprocess.benchmarks.nodes import Examination
from coffeecup.postprocess.benchmarks.registry import reasons
from coffeecup.postprocess.logs.reader import Log


@dataclass(frozen=True)
class Metric:
    value: float
    unit: str


@dataclass(frozen=True)
class Qualification:
    """What improves or limits a result: a key for programs, a sentence for people."""

    key: str
    text: str


@dataclass(frozen=True)
class Score:
    """The first metric is the headline. `log` is without its measurements. `breaches`, the paper's rules that the run
    did not keep, are the first of `qualifications`; `cache_affected` are those which state that a cache took part in
    the result. `nodes` is None if the benchmark does not examine them."""

    benchmark: str
    metrics: dict[str, Metric]
    qualifications: tuple[Qualification, ...]
    breaches: tuple[Qualification, ...]
    cache_affected: tuple[Qualification, ...]
    log: Log
    nodes: Examination | None = None

    @property
    def official(self) -> bool:
        """The run kept all rules of the paper."""
        return not self.breaches

    @property
    def reason(self) -> str:
        """The rules of the paper that the run did not keep, in a few words; empty for an official run."""
        return reasons(self.benchmark, ",".join(breach.key for breach in self.breaches))

    @property
    def headline(self) -> tuple[str, Metric]:
        return next(iter(self.metrics.items()))

    @property
    def standing(self) -> str:
        """Either "official", "not official" or "simulated". A simulated result belongs to no real machine and is never
        mixed with measured ones."""
        return "simulated" if self.log.run.simulated else "official" if self.official else "not official"

    @property
    def simulated_machine(self) -> str:
        """The machine that was simulated, as its platform file names it; empty for a measured machine."""
        run = self.log.run
        return run.environment.get("SMPI_MODEL_OF", "an unnamed machine") if run.simulated else ""
