# SPDX-License-Identifier: Apache-2.0
"""Predicted results: computed from a description of a machine, neither measured nor simulated. They have a type of
their own, so that nothing mixes them with scores."""

from dataclasses import dataclass

import msgspec


class Estimate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A predicted metric. The measured value is expected between `low` and `high`, which `origin` explains; both are
    None where nothing tells how wrong the prediction may be."""

    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    origin: str = ""


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


@dataclass(frozen=True)
class Band:
    """Measured over predicted values: the least and the most that were found, and where."""

    low: float
    high: float
    origin: str

    def around(self, value: float, unit: str) -> Estimate:
        return Estimate(value, unit, value * self.low, value * self.high, self.origin)


def as_objects(predictions: list[Prediction]) -> list[dict]:
    """In JSON's types."""
    return msgspec.to_builtins(predictions)
