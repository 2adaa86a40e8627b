# SPDX-License-Identifier: Apache-2.0
"""A score: what one log is worth, whatever the benchmark."""

from dataclasses import dataclass

from postprocess.logs.reader import Log


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
    did not keep, are the first of `qualifications`; `cache_affected` are those by which a cache took part in the
    result."""

    benchmark: str
    metrics: dict[str, Metric]
    qualifications: tuple[Qualification, ...]
    breaches: tuple[Qualification, ...]
    cache_affected: tuple[Qualification, ...]
    log: Log

    @property
    def official(self) -> bool:
        """The run kept all rules of the paper."""
        return not self.breaches

    @property
    def headline(self) -> tuple[str, Metric]:
        return next(iter(self.metrics.items()))

    @property
    def standing(self) -> str:
        """What a reader must know first. A simulated result is of no machine and never stands among measured ones."""
        return "simulated" if self.log.run["simulated"] else "official" if self.official else "not official"

    @property
    def simulated_machine(self) -> str:
        """What the simulated machine is a model of, as its platform says; empty where a machine was measured."""
        run = self.log.run
        return run["environment"].get("SMPI_MODEL_OF", "an unnamed machine") if run["simulated"] else ""
