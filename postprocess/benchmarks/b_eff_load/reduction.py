# SPDX-License-Identifier: Apache-2.0
"""The reduction of b_eff_load: by which factor the load slows down the victims. Pure functions of logs.

A unit is a pattern in a repetition. In each unit, the phase with a load is compared with the two phases without load
around it, on the same nodes. docs/b_eff_load.md defines the factors.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from coffeecup.postprocess.benchmarks import under_load
from coffeecup.postprocess.benchmarks.b_eff.reduction import moved_bytes as moved_by_loops
from coffeecup.postprocess.benchmarks.b_eff.reduction import rows_of, table_of
from coffeecup.postprocess.benchmarks.b_eff_load import BENCHMARK, IMPACTS
from coffeecup.postprocess.benchmarks.b_eff_load.records import IO, Load, Loaded, Plan
from coffeecup.postprocess.benchmarks.under_load import LATE, Interval, bandwidth, of_units, ratio_at
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.statistics.means import bootstrap_interval


def measurement_table(logs: list[Log[Plan]]) -> pd.DataFrame:
    """All loops of the victims, a row each, with the columns of b_eff's measurement_table and, in front, the number of
    their `phase` and its `load`, "none" in phases without."""
    phases = [
        {"phase": loop.phase, "load": loop.load or "none"}
        for log in logs
        for names in [{pattern.name for pattern in log.plan.patterns}]
        for loop in log.all(Loaded)
        if loop.pattern in names
    ]
    table = table_of(rows_of(number, log, Loaded) for number, log in enumerate(logs))
    return pd.concat([pd.DataFrame(phases, columns=["phase", "load"]).astype({"load": "category"}), table], axis=1)


@dataclass(frozen=True)
class Phases:
    """The loops of a unit, by message length: one with the load and two without it."""

    loaded: dict[int, Loaded]
    before: dict[int, Loaded]
    after: dict[int, Loaded]


def complete_repetitions(log: Log[Plan]) -> list[int]:
    """Repetitions in which all patterns were measured. A run that stops does so before a pattern."""
    measured = {(loop.repetition, loop.pattern) for loop in log.all(Loaded)}
    patterns = [pattern.name for pattern in log.plan.patterns]
    return [
        repetition
        for repetition in range(1, log.plan.repetitions + 1)
        if all((repetition, name) in measured for name in patterns)
    ]


def units(log: Log[Plan], kind: str) -> dict[tuple[int, str], Phases]:
    """By repetition and pattern, of complete repetitions."""
    loops: dict[tuple[int, str, int], dict[int, Loaded]] = {}
    for loop in log.all(Loaded):
        loops.setdefault((loop.repetition, loop.pattern, loop.phase), {})[loop.message_bytes] = loop
    phase = log.plan.load.phases.index(kind)
    return {
        (repetition, pattern.name): Phases(
            *(loops[repetition, pattern.name, number] for number in (phase, phase - 1, phase + 1))
        )
        for repetition in complete_repetitions(log)
        for pattern in log.plan.patterns
    }


def exchange_seconds(loop: Loaded) -> float:
    return loop.elapsed_seconds / loop.loop_length


def slowdown(phases: Phases, message_bytes: int) -> float:
    """Time of an exchange with load / mean of the times without."""
    without = (exchange_seconds(phases.before[message_bytes]) + exchange_seconds(phases.after[message_bytes])) / 2
    return exchange_seconds(phases.loaded[message_bytes]) / without


def slowdown_at(phases: Phases, message_bytes: int, share: float) -> float:
    """A percentile of the exchanges with load / the percentile of those without."""
    loaded, *without = (loops[message_bytes].exchanges for loops in (phases.loaded, phases.before, phases.after))
    return ratio_at(share, *([times for times in some if times] for some in ([loaded], without)))


def slowdown_of_pattern(phases: Phases) -> float:
    """Mean over the lengths of the bandwidth without load / that with load, as in b_eff."""
    with_load = [length / exchange_seconds(loop) for length, loop in phases.loaded.items()]
    without = [bandwidth * slowdown(phases, length) for length, bandwidth in zip(phases.loaded, with_load)]
    return sum(without) / sum(with_load)


def factors(log: Log[Plan], kind: str) -> pd.DataFrame:
    """A row per unit: `repetition`, `pattern`, `group`, and the factors by which exchanges were slower: `latency` and
    `bandwidth` (the median exchange at the shortest and at the longest length), the same of the 99th percentile, and
    those of the pattern as b_eff defines it, by the slowest process: of its mean over the lengths, and at L_max."""
    groups = {pattern.name: pattern.group for pattern in log.plan.patterns}
    shortest, longest = log.plan.message_bytes[0], log.plan.message_bytes[-1]
    return pd.DataFrame(
        [
            {
                "repetition": repetition,
                "pattern": pattern,
                "group": groups[pattern],
                "latency_impact": slowdown_at(phases, shortest, 0.5),
                "latency_impact_99": slowdown_at(phases, shortest, LATE),
                "bandwidth_impact": slowdown_at(phases, longest, 0.5),
                "bandwidth_impact_99": slowdown_at(phases, longest, LATE),
                "b_eff_impact": slowdown_of_pattern(phases),
                "b_eff_at_l_max_impact": slowdown(phases, longest),
            }
            for (repetition, pattern), phases in units(log, kind).items()
        ]
    )


def of_groups(found: pd.DataFrame, name: str) -> Interval:
    """A factor of b_eff: as in b_eff, the geometric mean over the patterns of each group, then of
    both groups; the interval is that of this mean (bootstrap over the units of each group)."""
    groups = [np.log(values.to_numpy()) for _, values in found.groupby("group")[name]]
    low, high = bootstrap_interval(*groups)
    return float(np.exp(np.mean([values.mean() for values in groups]))), float(np.exp(low)), float(np.exp(high))


def impacts(log: Log[Plan], kind: str) -> dict[str, Interval]:
    """Each of IMPACTS."""
    found = factors(log, kind)
    return {name: of_groups(found, name) if name.startswith("b_eff") else of_units(found[name]) for name in IMPACTS}


def moved_by_load(record: Load) -> int:
    """Bytes that the generating processes received in a phase, or that they wrote and read."""
    return record.received_bytes + (record.sent_bytes if record.load == IO else 0)


def load_bandwidth(log: Log[Plan], kind: str) -> float:
    """What the load moved while the victims were measured, in MByte/s."""
    return bandwidth((record, moved_by_load(record)) for record in log.all(Load) if record.load == kind)


def metrics(logs: list[Log[Plan]], table: pd.DataFrame) -> pd.DataFrame:
    """All metrics of the benchmark, a column each; a row per log in `table`, NaN of loads that a log lacks."""
    return under_load.metrics(BENCHMARK, {n: logs[n] for n in table["log"].unique()}, impacts, load_bandwidth)


def moved_bytes(log: Log[Plan]) -> int:
    """What the victims received in all loops, and what the load beside them moved."""
    return moved_by_loops(log) + sum(map(moved_by_load, log.all(Load)))


# --- whether the load was there ---------------------------------------------------------------------------------------


def of_busiest_node(log: Log[Plan], record: Load) -> float:
    """Bandwidth of the load on the node that moves most of it, in byte/s: an incast's root receives everything, a
    broadcast's sends everything, and in an all-to-all exchange and for files all nodes are alike."""
    generating = len(log.run.hosts) - len(log.plan.load.victims)
    moved = record.sent_bytes if record.load == "broadcast" else moved_by_load(record)
    return moved / record.elapsed_seconds / (generating if record.load in ("alltoall", IO) else 1)


def of_victim_node(log: Log[Plan]) -> float:
    """What a victim's node receives at the longest messages without load, in byte/s: the median over the loops of
    random patterns."""
    messages = {p.name: p.messages_per_exchange for p in log.plan.patterns if p.group == "random"}
    longest, nodes = log.plan.l_max_bytes, len(log.plan.load.victims)
    return float(
        np.median(
            [
                messages[loop.pattern] * longest / exchange_seconds(loop) / nodes
                for loop in log.all(Loaded)
                if loop.load is None and loop.message_bytes == longest and loop.pattern in messages
            ]
        )
    )
