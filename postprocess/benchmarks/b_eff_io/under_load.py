# SPDX-License-Identifier: Apache-2.0
"""The reduction of b_eff_io under load (--load): by which factor the load slows down the victims. Pure functions of a
log.

A unit is a pattern in a repetition. In each unit, the phase with a load is compared with the two phases without load
around it, on the same nodes. docs/b_eff_io.md defines the factors.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from postprocess.benchmarks.b_eff_io import IMPACTS
from postprocess.benchmarks.b_eff_io.definition import METHODS
from postprocess.benchmarks.b_eff_io.load_records import Load, Loaded
from postprocess.benchmarks.b_eff_io.records import Plan
from postprocess.benchmarks.under_load import LATE, bandwidth, of_units, ratio_at, with_ends
from postprocess.logs.reader import Log

LARGE_ACCESSES = 19  # the pattern of separate files with chunks of 1 MiB, as the load accesses its files


def phase_of(plan: Plan, kind: str) -> int:
    """The number of the phase with a load; the phases before and after it are without."""
    kinds: list[str] = [*plan.load.kinds] if plan.load else []
    return 2 * kinds.index(kind) + 1


def repetitions(log: Log[Plan]) -> list[int]:
    """Those that were measured, completely: a run that stops does so before a repetition."""
    return sorted({record.repetition for record in log.all(Loaded)})


def units(log: Log[Plan], kind: str) -> Iterator[tuple[int, int, str, Loaded, list[Loaded]]]:
    """Repetition, pattern and method of each pass with a load, the pass, and the passes before and after it."""
    passes = {(r.repetition, r.pattern, r.method, r.phase): r for r in log.all(Loaded)}
    phase = phase_of(log.plan, kind)
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


def impacts(log: Log[Plan], kind: str) -> dict[str, tuple[float, float, float]]:
    """(value, low, high) of each of IMPACTS, which are named METHOD_FACTOR_by."""
    found = factors(log, kind)
    split = {name: name.removesuffix("_by").partition("_") for name in IMPACTS}
    return {name: of_units(found.loc[found["method"] == method, what]) for name, (method, _, what) in split.items()}


def phases_of(log: Log[Plan], kind: str) -> list[Load]:
    return [record for record in log.all(Load) if record.load == kind]


def moved_by_load(record: Load) -> int:
    return record.sent_bytes + record.received_bytes


def metrics_under_load(log: Log[Plan]) -> dict[str, float]:
    """All metrics of a log under load."""
    values = {}
    for kind in log.plan.load.kinds if log.plan.load else []:
        for name, found in impacts(log, kind).items():
            values |= with_ends(f"{name}_{kind}", found)
        values[f"load_bandwidth_{kind}"] = bandwidth((record, moved_by_load(record)) for record in phases_of(log, kind))
    return values


# --- whether the load was there ---------------------------------------------------------------------------------------


def of_generating_node(log: Log[Plan], record: Load) -> float:
    """Bandwidth of the load on a node, in byte/s."""
    generating = len(log.run.hosts) - len(log.plan.load.victims) if log.plan.load else 1
    return moved_by_load(record) / record.elapsed_seconds / generating


def of_victim_node(log: Log[Plan], kind: str) -> float:
    """What a victim's node reads or writes without load, as the load `kind` does, in byte/s."""
    victims = len(log.plan.load.victims) if log.plan.load else 1
    passes = [r for r in log.all(Loaded) if (r.load, r.method, r.pattern) == (None, kind, LARGE_ACCESSES)]
    return float(np.median([record.bytes / record.seconds for record in passes])) / victims
