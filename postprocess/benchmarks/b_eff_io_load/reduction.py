# SPDX-License-Identifier: Apache-2.0
"""The reduction of b_eff_io_load: by which factor the load slows down the victims. Pure functions of logs.

A unit is a pattern in a repetition. In each unit, the phase with a load is compared with the two phases without load
around it, on the same nodes. docs/b_eff_io_load.md defines the factors.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from coffeecup.postprocess.benchmarks import under_load
from coffeecup.postprocess.benchmarks.b_eff_io.definition import METHODS
from coffeecup.postprocess.benchmarks.b_eff_io_load import BENCHMARK, IMPACTS
from coffeecup.postprocess.benchmarks.b_eff_io_load.records import Load, Loaded, Plan
from coffeecup.postprocess.benchmarks.under_load import LATE, Interval, bandwidth, of_units, ratio_at
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.units import MBYTE

MEASURED = (
    "repetition phase pattern type method calls bytes open_seconds elapsed_seconds access_seconds sync_seconds "
    "close_seconds"
).split()
LARGE_ACCESSES = 19  # the pattern of separate files with chunks of 1 MiB, as the load accesses its files


def measurement_table(logs: list[Log[Plan]]) -> pd.DataFrame:
    """All passes of the victims, a row each; `load` is the kind, "none" in phases without. `bandwidth` is bytes of all
    processes / time from opening to closing the files, in MByte/s."""
    return pd.DataFrame(
        [
            {"log": number, "load": record.load or "none", "bandwidth": record.bytes / record.seconds / MBYTE}
            | {name: getattr(record, name) for name in MEASURED}
            for number, log in enumerate(logs)
            for record in log.all(Loaded)
        ]
    )


def repetitions(log: Log[Plan]) -> list[int]:
    """Those that were measured, completely: a run that stops does so before a repetition."""
    return sorted({record.repetition for record in log.all(Loaded)})


def units(log: Log[Plan], kind: str) -> Iterator[tuple[int, int, str, Loaded, list[Loaded]]]:
    """Repetition, pattern and method of each pass with a load, the pass, and the passes before and after it."""
    passes = {(r.repetition, r.pattern, r.method, r.phase): r for r in log.all(Loaded)}
    phase = log.plan.load.phases.index(kind)
    for repetition in repetitions(log):
        for pattern in log.plan.patterns:
            for method in METHODS:
                unit = repetition, pattern.pattern, method
                yield *unit, passes[*unit, phase], [passes[*unit, number] for number in (phase - 1, phase + 1)]


def slowdown(loaded: Loaded, without: list[Loaded]) -> float:
    """Time of a pass with load / mean of the times without: of the same bytes, so that of the bandwidths as well."""
    return loaded.seconds / float(np.mean([record.seconds for record in without]))


def factors(log: Log[Plan], kind: str) -> pd.DataFrame:
    """A row per repetition, pattern and access method: the factor by which the load makes it slower, and those of the
    median access and of the 99th percentile."""
    return pd.DataFrame(
        [
            {
                "repetition": repetition,
                "pattern": pattern,
                "method": method,
                "impact": slowdown(loaded, without),
                **{
                    name: ratio_at(share, [loaded.accesses], [record.accesses for record in without])
                    for name, share in (("access_impact", 0.5), ("access_impact_99", LATE))
                },
            }
            for repetition, pattern, method, loaded, without in units(log, kind)
        ]
    )


def impacts(log: Log[Plan], kind: str) -> dict[str, Interval]:
    """Each of IMPACTS, which are named METHOD_FACTOR_by."""
    found = factors(log, kind)
    split = {name: name.removesuffix("_by").partition("_") for name in IMPACTS}
    return {name: of_units(found.loc[found["method"] == method, what]) for name, (method, _, what) in split.items()}


def phases_of(log: Log[Plan], kind: str) -> list[Load]:
    """What each phase under this kind of load moved, in the order of measuring."""
    return [record for record in log.all(Load) if record.load == kind]


def moved_by_load(record: Load) -> int:
    return record.sent_bytes + record.received_bytes


def load_bandwidth(log: Log[Plan], kind: str) -> float:
    """What the load moved while the victims were measured, in MByte/s."""
    return bandwidth((record, moved_by_load(record)) for record in phases_of(log, kind))


def metrics(logs: list[Log[Plan]], table: pd.DataFrame) -> pd.DataFrame:
    """All metrics of the benchmark, a column each; a row per log in `table`, NaN of loads that it did not measure."""
    return under_load.metrics(BENCHMARK, {n: logs[n] for n in table["log"].unique()}, impacts, load_bandwidth)


def moved_bytes(log: Log[Plan]) -> int:
    """What the victims wrote and read, and what the load beside them moved."""
    return sum(record.bytes for record in log.all(Loaded)) + sum(map(moved_by_load, log.all(Load)))


# --- whether the load was there ---------------------------------------------------------------------------------------


def of_generating_node(log: Log[Plan], record: Load) -> float:
    """Bandwidth of the load on a node, in byte/s."""
    generating = len(log.run.hosts) - len(log.plan.load.victims)
    return moved_by_load(record) / record.elapsed_seconds / generating


def of_victim_node(log: Log[Plan], kind: str) -> float:
    """What a victim's node reads or writes without load, as the load `kind` does, in byte/s."""
    passes = [r for r in log.all(Loaded) if (r.load, r.method, r.pattern) == (None, kind, LARGE_ACCESSES)]
    return float(np.median([record.bytes / record.seconds for record in passes])) / len(log.plan.load.victims)
