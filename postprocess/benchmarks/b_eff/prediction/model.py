# SPDX-License-Identifier: Apache-2.0
"""What b_eff would report on a described machine, by arithmetic: no process runs, nothing is simulated.

All messages of a pattern move at the same time, and messages on a link share its bandwidth equally. A pattern is done
when its most loaded link is. At the longest messages:

    T(L) = software time + latency + (L + 16 byte) * max over links (messages / bandwidth)

calibration.py has the formula for all lengths. 16 byte are the header that SimGrid's SMPI adds as well, so that both
can be compared; docs/evidence/predict.md shows how well they agree. Averages are those of reduction.py.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import msgspec
import numpy as np
import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff import BENCHMARK, RANDOM_AT_L_MAX, reduction
from coffeecup.postprocess.benchmarks.b_eff.prediction import patterns
from coffeecup.postprocess.benchmarks.b_eff.prediction.calibration import Calibration, calibrate, where
from coffeecup.postprocess.benchmarks.b_eff.prediction.exchange import MEMORY, Exchange, Places, exchange
from coffeecup.postprocess.benchmarks.b_eff.records import Plan
from coffeecup.postprocess.benchmarks.b_eff.rules import PATTERNS_AVERAGED, l_max_rule, message_lengths
from coffeecup.postprocess.benchmarks.predicted import Band, Estimate, Limit, Prediction, PredictionError, limited_by
from coffeecup.postprocess.benchmarks.published import published
from coffeecup.postprocess.designs.design import Machine
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.units import MBYTE, MIB
from coffeecup.postprocess.show.words import digits

# Published over predicted values, least and most: of designs from published figures alone and of fitted ones, and at
# L_max of the fitted ones (reference_values/published/b_eff_designs.yaml, docs/evidence/predict.md).
PAPER = "published over predicted values of the T3E, the SR 8000 and the SR 2201 in the paper's Table 1"
AT_L_MAX = (0.82, 1.11)
PUBLISHED = {
    "b_eff": Band(0.37, 1.01, PAPER),
    "b_eff_at_l_max": Band(0.30, 1.11, PAPER),
    "rings_at_l_max": Band(0.32, 1.02, PAPER),
    "ping_pong_bandwidth": Band(0.74, 1.10, PAPER),
}
SHORTEST_L_MAX = 4104  # byte: with less, two message lengths are equal
MOST_PROCESSES = 1_000_000  # some minutes, and the memory of a laptop
LIKE = {
    "b_eff_per_process": "b_eff",
    "b_eff_at_l_max_per_process": "b_eff_at_l_max",
    "b_eff_at_l_max_rings_per_process": "rings_at_l_max",
    "b_eff_at_l_max_random_per_process": "b_eff_at_l_max",
    "balance_factor": "b_eff",
}
LIMITED = {  # by which group of patterns
    "b_eff_at_l_max_rings_per_process": "ring",
    "b_eff_at_l_max_random_per_process": "random",
    "ping_pong_bandwidth": "ping-pong",
}


@dataclass(frozen=True)
class Model:
    """A machine on a number of processes. Without calibration, a message takes latency and length / bandwidth. `places`
    where it is not the machine's own placement, `longest_bytes` where L_max is not that of the machine's memory."""

    machine: Machine
    processes: int
    calibration: Calibration
    random_patterns: int = PATTERNS_AVERAGED["random"]
    seed: int = patterns.SEED
    places: Places | None = None
    longest_bytes: int | None = None

    @cached_property
    def l_max_bytes(self) -> int:
        return self.longest_bytes or l_max_rule(self.machine.memory_per_process)

    @cached_property
    def exchanges(self) -> list[tuple[patterns.Messages, Exchange]]:
        """All averaged patterns; the messages themselves are dropped, because there are many."""
        made = []
        for messages in patterns.messages(self.processes, self.seed, self.random_patterns):
            loads = exchange(self.machine, self.processes, messages, self.places)
            made.append((messages._replace(source=messages.source[:0], target=messages.target[:0]), loads))
        return made

    def seconds(self, loads: Exchange, message_bytes: np.ndarray) -> np.ndarray:
        """Time of one exchange at each of the message lengths in byte."""
        return self.calibration.seconds(self.machine, loads, message_bytes)

    @cached_property
    def table(self) -> pd.DataFrame:
        """The columns of a reduction.measurement_table that the averages use, and the seconds of an exchange."""
        lengths = message_lengths(self.l_max_bytes)
        parts = [
            pd.DataFrame(
                {
                    "log": 0,
                    "group": messages.group,
                    "pattern": messages.pattern,
                    "averaged": True,
                    "message_bytes": lengths,
                    "random_patterns": self.random_patterns,
                    "seconds": seconds,
                    "bandwidth": lengths * float(loads.messages) / seconds / MBYTE,
                }
            )
            for messages, loads in self.exchanges
            for seconds in [self.seconds(loads, lengths)]
        ]
        return pd.concat(parts, ignore_index=True)

    @cached_property
    def kinds(self) -> set[str]:
        """Where its averaged patterns have messages: inside nodes, between them."""
        return {kind for _, loads in self.exchanges for kind in loads.loads}

    @cached_property
    def pair(self) -> Exchange:
        return exchange(self.machine, self.processes, patterns.ping_pong(), self.places)

    @cached_property
    def limits(self) -> list[Limit]:
        """Of each averaged pattern, and of the ping-pong, one way."""
        at_l_max = self.table[self.table["message_bytes"] == self.l_max_bytes].set_index("pattern")["bandwidth"]
        averaged = [
            Limit(messages.pattern, loads.limit(self.l_max_bytes), float(at_l_max[messages.pattern]))
            for messages, loads in self.exchanges
        ]
        one_way = self.l_max_bytes / float(self.seconds(self.pair, np.array([self.l_max_bytes]))[0]) / MBYTE
        return [*averaged, Limit("ping-pong", self.pair.limit(self.l_max_bytes), one_way)]

    def metrics(self) -> dict[str, float]:
        """Values by name, in the units of the benchmark; a subset of the metrics of a measured run, and
        b_eff_at_l_max_random_per_process."""
        best, n = reduction.best_bandwidth(self.table), self.processes
        effective, at_l_max = (float(each(best).iloc[0]) for each in (reduction.b_eff, reduction.b_eff_at_l_max))
        groups = reduction.group_bandwidth_at_l_max(best).droplevel("log")
        longest, shortest = self.seconds(self.pair, np.array([self.l_max_bytes, 1]))
        rings = cast(pd.Series, self.table.query("group == 'ring' and message_bytes == 1")["seconds"])
        values = {
            "b_eff": effective,
            "b_eff_per_process": effective / n,
            "b_eff_at_l_max": at_l_max,
            "b_eff_at_l_max_per_process": at_l_max / n,
            "b_eff_at_l_max_rings_per_process": float(groups["ring"]) / n,
            "b_eff_at_l_max_random_per_process": float(groups["random"]) / n,
            "ping_pong_bandwidth": self.l_max_bytes / longest / MBYTE,
            "ping_pong_latency": shortest * 1e6,
            "ring_latency": float(np.exp(np.log(rings).mean())) * 1e6,
            "time_to_communicate_total_memory": n * self.machine.memory_per_process / (effective * MBYTE),
            "l_max": self.l_max_bytes / MIB,
        }
        return {name: float(value) for name, value in values.items()}


def predict(
    machine: Machine, sizes: list[int], logs: list[Log[Plan]], r_max_gflops: float | None = None
) -> list[Prediction]:
    """A prediction for each number of processes. `logs` calibrate it. `r_max_gflops` is the Linpack performance of the
    largest number of processes and adds the balance factor there. Raises PredictionError."""
    if min(sizes) < 2:
        raise PredictionError("b_eff needs at least two processes; predict it for more")
    if max(sizes) > MOST_PROCESSES:
        raise PredictionError(f"b_eff is predicted for at most {MOST_PROCESSES} processes; choose fewer by --processes")
    if (l_max := l_max_rule(machine.memory_per_process)) < SHORTEST_L_MAX:
        raise PredictionError(
            f"memory_per_process gives an L_max of {l_max} byte, a 128th, and b_eff's 21 message lengths need at least "
            f"{SHORTEST_L_MAX}: state 1MiB or more"
        )
    calibration = calibrate(machine, logs)
    return [
        prediction(Model(machine, size, calibration), r_max_gflops if size == max(sizes) else None) for size in sizes
    ]


def prediction(model: Model, r_max_gflops: float | None = None) -> Prediction:
    """The metrics of a model with their bands, and the balance factor where R_max is known."""
    machine, estimates = model.machine, _estimates(model, r_max_gflops)
    if any(each.startswith("shared_memory ") for each in machine.assumed) and MEMORY not in model.calibration.curves:
        estimates = _unmeasured(model, r_max_gflops, estimates)
    limits = {
        name: limited_by(limit for limit in model.limits if limit.pattern.startswith(group))
        for name, group in LIMITED.items()
    }
    return Prediction(
        BENCHMARK.name,
        machine.name,
        model.processes,
        len(np.unique(model.places.node)) if model.places else -(-model.processes // machine.per_node),
        {name: msgspec.structs.replace(each, limit=limits.get(name, "")) for name, each in estimates.items()},
        model.limits,
        list(machine.assumed),
        model.calibration.origin,
    )


def _estimates(model: Model, r_max_gflops: float | None) -> dict[str, Estimate]:
    values = model.metrics()
    if r_max_gflops:
        values["balance_factor"] = reduction.balance_factor(values["b_eff"], r_max_gflops)
    known = bands(model.calibration, model.kinds)
    return {name: _estimate(name, value, known) for name, value in values.items()}


def _unmeasured(model: Model, r_max_gflops: float | None, estimates: dict[str, Estimate]) -> dict[str, Estimate]:
    """The estimates with ranges for a node whose shared memory nobody measured: it may be slower or faster than what is
    assumed by as much as the shared memory of the paper's machines differs."""
    rows = published("b_eff")
    rows = rows[(rows["memory"] == "shared") & (rows["metric"] == "b_eff_at_l_max_rings_per_process")]
    known = rows["value"].astype(float) * rows["processes"] * MBYTE
    assumed, factor = model.machine.shared_memory, float(known.max() / known.min())
    why = (
        f"nobody measured the memory of this node: {_gbytes(assumed / factor)} to {_gbytes(assumed * factor)} instead "
        f"of the assumed {_gbytes(assumed)}, because that of the paper's machines differs by a factor of {factor:.0f}"
    )
    others = [
        _estimates(replace(model, machine=replace(model.machine, shared_memory=shared)), r_max_gflops)
        for shared in (assumed / factor, assumed * factor)
    ]
    return {
        name: msgspec.structs.replace(
            each,
            low=min(cast(float, one[name].low) for one in (estimates, *others)),
            high=max(cast(float, one[name].high) for one in (estimates, *others)),
            origin=f"{each.origin}; {why}",
        )
        if each.origin
        else each
        for name, each in estimates.items()
    }


def _gbytes(rate: float) -> str:
    return f"{digits(rate / 1e9)} GByte/s"


def _estimate(name: str, value: float, known: dict[str, Band]) -> Estimate:
    unit = RANDOM_AT_L_MAX.unit if name == RANDOM_AT_L_MAX.name else BENCHMARK.metric(name).unit
    if name == "time_to_communicate_total_memory":
        band = known["b_eff"]
        return Estimate(value, unit, value / band.high, value / band.low, band.origin)
    band = known.get(LIKE.get(name, name))
    return band.around(value, unit) if band else Estimate(value, unit)


def bands(calibration: Calibration, kinds: set[str]) -> dict[str, Band]:
    """Without calibration, the papers' machines. With it, the patterns that were left out of the calibration in turn,
    widened by what the network beyond the calibrated nodes may do: the papers' machines at L_max. If only some of these
    kinds of messages are calibrated, both."""
    calibrated = kinds & calibration.curves.keys()
    if calibration.left_out is None or not calibrated:
        return PUBLISHED
    found = calibration.left_out
    low, high = min(1.0, found.low * AT_L_MAX[0]), max(1.0, found.high * AT_L_MAX[1])
    origin = f"{found.origin}, times {PAPER} at L_max"
    if calibrated == kinds:
        return {name: replace(found, low=low, high=high, origin=origin) for name in PUBLISHED}
    origin += f"; or, because no log has messages {', '.join(map(where, kinds - calibrated))}, {PAPER}"
    return {name: Band(min(low, band.low), max(high, band.high), origin) for name, band in PUBLISHED.items()}
