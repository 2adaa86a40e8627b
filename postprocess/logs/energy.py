# SPDX-License-Identifier: Apache-2.0
"""The energy of a run, from the counters of its nodes."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum

from coffeecup.postprocess.logs.counter_kinds import KINDS
from coffeecup.postprocess.logs.counters import Change, changes_of_hosts, counters_of
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.units import GBYTE
from coffeecup.postprocess.show.words import digits

# No processor package, and no memory of one, takes more. A counter that begins again at 0 sooner than at this power may
# have done so unnoticed.
MOST_WATTS = 1000
JOULES = {"uJ": 1e-6, "J": 1.0}


@dataclass(frozen=True)
class Energy:
    """What all nodes took in `seconds`, and what of a node it covers. `joules` is None if that is not known, and
    `reason` says why."""

    joules: float | None
    seconds: float
    covers: str
    reason: str = ""


def energy(log: Log, phase: str = "run") -> Energy | None:
    """None if no node has a counter of energy that may be read."""
    record = counters_of(log, phase)
    nodes = [best_counters(own) for own in changes_of_hosts(log, phase)]
    if record is None or not any(own for _, own in nodes):
        return None
    covers = " or ".join(sorted({covers for covers, _ in nodes}))
    reason = next(
        (doubt for _, own in nodes for change in own if (doubt := doubt_of(change, record.longest_seconds))), ""
    )
    if len({covers for covers, _ in nodes}) > 1:
        reason = f"the nodes count different parts ({covers})"
    if reason:
        return Energy(None, record.elapsed_seconds, covers, reason)
    return Energy(fsum(joules(change) for _, own in nodes for change in own), record.elapsed_seconds, covers)


def best_counters(own: list[Change]) -> tuple[str, list[Change]]:
    """What a node's best counters of energy cover, and these counters. Those of Cray cover the whole node. Of RAPL,
    packages contain their cores, and memory is apart; `psys` would count both again."""
    readable = [change for change in own if change.readable]
    if any(change.source.counter == "cray_energy" for change in readable):
        return "whole nodes", [
            change for change in readable if change.source.counter in ("cray_energy", "cray_startup")
        ]
    zones = {"package": [], "dram": []}
    for change in readable:
        label = change.source.instance.rpartition(" ")[2]
        zone = next((zone for zone in zones if label.startswith(zone)), "")
        if change.source.counter == "rapl_energy" and zone:
            zones[zone].append(change)
    covered = [word for zone, word in (("package", "processors"), ("dram", "memory")) if zones[zone]]
    return " and ".join(covered) or "nothing", [*zones["package"], *zones["dram"]]


def joules(change: Change) -> float:
    return (change.difference or 0) * JOULES.get(KINDS[change.source.counter].unit, 0)


def doubt_of(change: Change, unread_seconds: float) -> str:
    """Why a counter that was not read for some time does not prove how much energy was used; empty if it does."""
    where = f"{change.name} on {change.host.name}"
    if change.difference is None:
        return f"{where} {change.reason}"
    if change.source.counter == "cray_startup":
        return f"the counters of {change.host.name} were restarted" if change.difference else ""
    largest = change.source.largest
    if largest and largest * JOULES[KINDS[change.source.counter].unit] < MOST_WATTS * unread_seconds:
        return (
            f"{where} begins again at 0 after {digits(largest * 1e-6)} J, which may have happened more than once while "
            f"it was not read, for {digits(unread_seconds)} s"
        )
    return ""


def of_energy(log: Log) -> Iterator[tuple[str, str]]:
    """Qualification by counters of energy that could not be compared."""
    for phase, what in (("run", "The energy of the run"), ("idle", "The idle power")):
        if (found := energy(log, phase)) and found.joules is None:
            yield "energy_unknown", f"{what} is not known: {found.reason}"


def energy_metrics(log: Log, moved_bytes: int) -> dict[str, float]:
    """Name to value of the metrics that every benchmark has where the nodes count energy. `moved_bytes` is what the
    benchmark transferred, 0 if it transfers nothing."""
    used, idle = energy(log), energy(log, "idle")
    metrics = {}
    if used and used.joules is not None:
        metrics = {"energy": used.joules, "power": used.joules / used.seconds}
        if moved_bytes:
            metrics["energy_per_gbyte"] = used.joules / moved_bytes * GBYTE
    if idle and idle.joules is not None:
        metrics["idle_power"] = idle.joules / idle.seconds
    return metrics
