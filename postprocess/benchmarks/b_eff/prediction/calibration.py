# SPDX-License-Identifier: Apache-2.0
"""The time of an exchange over message length: from the numbers of a design, or from logs of one or two nodes of a
similar machine.

Each process sends m messages at the same time as all others. A message takes software time o, half of it to send and
half to receive, and latency l; X = (L + 16 byte) * load is the time of all messages on the busiest link. The software
time of one message overlaps with the transfer of the others:

    T(L) = o/2 + max((m - 1/2) o, l + max(o/2 + X, m o/2 + X/m))

so T = o + l + X for long messages, and T = m o + l, or less, for short ones.

Without a log, o and l are those of the design. With logs, o(L) contains the latency as well, X is multiplied by b(L),
and both are fitted for each message length L separately: o(L) then contains the protocols of the MPI library, b(L) what
many processes on a node lose against the stated bandwidth.
"""

import itertools
from dataclasses import dataclass, field, replace

import numpy as np

from coffeecup.postprocess.benchmarks.b_eff.parts import views
from coffeecup.postprocess.benchmarks.b_eff.prediction import patterns
from coffeecup.postprocess.benchmarks.b_eff.prediction.exchange import (
    HEADER,
    KINDS,
    NETWORK,
    Exchange,
    exchange,
    logged,
)
from coffeecup.postprocess.benchmarks.b_eff.records import Measurement, Plan
from coffeecup.postprocess.benchmarks.b_eff.rules import METHODS_AVERAGED
from coffeecup.postprocess.benchmarks.predicted import Band, PredictionError
from coffeecup.postprocess.designs.design import Machine
from coffeecup.postprocess.designs.routes import FatTree
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.words import counted, printable

MOST_HOSTS = 2  # more would contain the network that is to be predicted
ROUNDS = 10  # of fitting; the rows change their function in the first few only
OWN = 1.25  # factor by which a log may differ from its own calibration
DISTINCT = 0.05  # of their size, the least by which loads must differ to tell time for messages from time for bytes


@dataclass(frozen=True)
class Curve:
    """o(L) in seconds and b(L), at ascending message lengths in byte."""

    message_bytes: np.ndarray
    software: np.ndarray
    share: np.ndarray

    def at(self, message_bytes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Interpolated over the logarithm of the length; constant beyond the longest one."""
        x, known = np.log2(message_bytes), np.log2(self.message_bytes)
        return np.interp(x, known, self.software), np.interp(x, known, self.share)


def exchange_seconds(each: int, software, latency, moving):
    """T of `each` messages of a process, from o, l and X in seconds."""
    half = software / 2
    arrived = latency + np.maximum(half + moving, each * half + moving / each)
    return half + np.maximum((2 * each - 1) * half, arrived)


@dataclass(frozen=True)
class Calibration:
    """A curve for each kind of messages that the logs contain. `left_out` compares measured with predicted patterns."""

    curves: dict[str, Curve] = field(default_factory=dict)
    origin: list[str] = field(default_factory=list)
    left_out: Band | None = None

    def seconds(self, machine: Machine, loads: Exchange, message_bytes: np.ndarray) -> np.ndarray:
        """Time of one exchange at each message length."""
        return np.max([self.seconds_of(kind, machine, loads, message_bytes) for kind in loads.loads], axis=0)

    def seconds_of(self, kind: str, machine: Machine, loads: Exchange, message_bytes: np.ndarray) -> np.ndarray:
        """As if there were only messages of this kind."""
        moving = (message_bytes + HEADER) * loads.loads[kind].seconds_per_byte
        if kind in self.curves:
            software, share = self.curves[kind].at(message_bytes)
            more = machine.hop_latency * max(0, loads.hops - _neighbours(machine)) if kind == NETWORK else 0.0
            return exchange_seconds(loads.each, software, more, share * moving)
        latency = machine.latency + machine.hop_latency * loads.hops if kind == NETWORK else machine.memory_latency
        return exchange_seconds(loads.each, machine.overhead, latency, moving)


def _neighbours(machine: Machine) -> int:
    """Network links between two neighbouring nodes, where the logs were measured."""
    return machine.network.longest(np.array([0]), np.array([1]))


@dataclass(frozen=True)
class Measured:
    """One pattern of one log: the shortest time of an exchange in seconds at each message length in byte."""

    pattern: str
    loads: Exchange
    message_bytes: np.ndarray
    seconds: np.ndarray


def calibrate(machine: Machine, logs: list[Log[Plan]]) -> Calibration:
    """Raises PredictionError if a log does not suit."""
    if not logs:
        return Calibration()
    of_log = [_measured(machine, in_host_memory(log)) for log in logs]
    measured = [pattern for patterns in of_log for pattern in patterns]
    curves = _fit(machine, measured)
    origin = [
        f"{printable(log.path.name)}: {log.run.ranks} processes on {counted(len(log.run.hosts), 'node')}"
        + (", simulated" if log.run.simulated else "")
        + _disagreement(float(np.mean([_ratio(machine, pattern, Calibration(curves)) for pattern in own])))
        for log, own in zip(logs, of_log)
    ]
    origin += [f"no log with messages {where(kind)}" for kind in KINDS if kind not in curves]
    return Calibration(curves, origin, _left_out(machine, measured))


def _disagreement(ratio: float) -> str:
    """A warning where a log's own patterns are far from what its calibration predicts for them."""
    if 1 / OWN <= ratio <= OWN:
        return ""
    return (
        f"; WARNING: this run reached {ratio:.2g} of what its own calibration predicts for it: repeat it on an idle "
        "machine, or correct the design"
    )


def where(kind: str) -> str:
    """A kind of messages in words."""
    return "between nodes" if kind == NETWORK else "inside nodes"


def in_host_memory(log: Log[Plan]) -> Log[Plan]:
    """The part of a log that a design can predict. Raises PredictionError if there is none."""
    for view in views(log):
        if not view.suffix:
            return view.log
    raise PredictionError(f"{printable(str(log.path))}: has no messages in host memory, and designs describe no other")


def _measured(machine: Machine, log: Log[Plan]) -> list[Measured]:
    """The rings, random patterns and worst cycle of a log."""
    run, plan = log.run, log.plan
    name = printable(str(log.path))
    if len(run.hosts) > MOST_HOSTS:
        raise PredictionError(
            f"{name}: has {len(run.hosts)} nodes; calibrate with logs of one or two nodes, so that the network that is "
            "predicted is not part of the calibration"
        )
    network = FatTree(machine.network.link, False, (MOST_HOSTS,), (1,))
    alone = replace(machine, network=network, hop_latency=0.0)
    places = logged(machine, log)
    best = _best_seconds(log)
    made = [*patterns.messages(run.ranks, plan.seed, plan.random_patterns), patterns.worst_cycle(run.ranks)]
    return [
        Measured(messages.pattern, exchange(alone, run.ranks, messages, places), lengths, seconds)
        for messages in made
        if (times := best.get(messages.pattern))
        for lengths, seconds in [(np.array(sorted(times)), np.array([times[length] for length in sorted(times)]))]
    ]


def _best_seconds(log: Log[Plan]) -> dict[str, dict[int, float]]:
    best: dict[str, dict[int, float]] = {}
    for loop in log.all(Measurement):
        if loop.method in METHODS_AVERAGED:
            seconds = loop.elapsed_seconds / loop.loop_length
            of_pattern = best.setdefault(loop.pattern, {})
            of_pattern[loop.message_bytes] = min(seconds, of_pattern.get(loop.message_bytes, np.inf))
    return best


def _fit(machine: Machine, measured: list[Measured]) -> dict[str, Curve]:
    """For each kind of messages and each length, o and b by least squares of the relative error. A pattern with both
    kinds counts for the one that takes longer by the numbers of the design."""
    rows: dict[tuple[str, int], list[tuple[float, float, float]]] = {}
    for pattern in measured:
        for length, seconds in zip(pattern.message_bytes, pattern.seconds):
            loads = pattern.loads
            times = {
                kind: Calibration().seconds_of(kind, machine, loads, np.array([length]))[0] for kind in loads.loads
            }
            kind = max(times, key=lambda each: times[each])
            moving = (length + HEADER) * loads.loads[kind].seconds_per_byte
            rows.setdefault((kind, int(length)), []).append((loads.each, moving, seconds))
    curves = {}
    for kind, entries in itertools.groupby(sorted(rows), key=lambda entry: entry[0]):
        lengths = [length for _, length in entries]
        solved = np.array([_fitted(np.array(rows[kind, length])) for length in lengths])
        curves[kind] = Curve(np.array(lengths), solved[:, 0], solved[:, 1])
    return curves


def _fitted(rows: np.ndarray) -> tuple[float, float]:
    """o and b of one message length from rows of m, X and T. T is the largest of linear functions of o and b: solved
    again until each row is fitted by the one that is the largest."""
    each, moving, seconds = rows.T
    branches = np.array(
        [[each, 0 * moving], [np.ones_like(each), moving], [(each + 1) / 2, moving / each]]
    )  # of each: the factors of o and b
    software, share = _least_squares(np.stack([each, moving], axis=1), seconds)
    for _ in range(ROUNDS):
        values = branches[:, 0] * software + branches[:, 1] * share
        active = branches[values.argmax(axis=0), :, np.arange(len(rows))]
        software, share = _least_squares(active, seconds)
    return software, share


def _least_squares(factors: np.ndarray, seconds: np.ndarray) -> tuple[float, float]:
    """o >= 0 and b >= 0 with o * factors[:, 0] + b * factors[:, 1] = seconds, each row counted by its relative error.
    If the rows cannot tell one from the other, the stated bandwidth holds as far as it can: b = 1."""
    scaled = factors / seconds[:, None]
    sizes = scaled.max(axis=0)
    if sizes[1] == 0:
        return float(scaled[:, 0].sum() / (scaled[:, 0] ** 2).sum()), 1.0
    if np.linalg.matrix_rank(scaled / sizes, tol=DISTINCT * len(seconds) ** 0.5) > 1:
        software, share = np.linalg.lstsq(scaled, np.ones(len(seconds)), rcond=None)[0]
        if software >= 0 and share >= 0:
            return float(software), float(share)
    software = float(np.mean((seconds - factors[:, 1]) / factors[:, 0]))
    if software >= 0:
        return software, 1.0
    return 0.0, float(scaled[:, 1].sum() / (scaled[:, 1] ** 2).sum())


def _left_out(machine: Machine, measured: list[Measured]) -> Band:
    """How far each pattern is off if the others alone calibrate: measured over predicted bandwidth, averaged over the
    message lengths."""
    ratios = []
    for pattern in measured:
        others = [other for other in measured if other.pattern != pattern.pattern]
        ratios.append(_ratio(machine, pattern, Calibration(_fit(machine, others)) if others else Calibration()))
    return Band(
        min(ratios), max(ratios), f"measured over predicted, each of {len(ratios)} patterns left out of the calibration"
    )


def _ratio(machine: Machine, pattern: Measured, known: Calibration) -> float:
    """Measured over predicted bandwidth of a pattern, averaged over the message lengths."""
    lengths, predicted = pattern.message_bytes, known.seconds(machine, pattern.loads, pattern.message_bytes)
    return float((lengths / pattern.seconds).mean() / (lengths / predicted).mean())
