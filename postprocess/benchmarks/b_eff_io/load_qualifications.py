# SPDX-License-Identifier: Apache-2.0
"""What limits a result of b_eff_io under load: whether the load was there all the time, and strong enough, and whether
the victims read from a cache."""

from collections.abc import Iterator

from postprocess.benchmarks.b_eff_io.load_records import Loaded
from postprocess.benchmarks.b_eff_io.records import Plan
from postprocess.benchmarks.b_eff_io.under_load import of_generating_node, of_victim_node, phases_of, repetitions
from postprocess.benchmarks.load_qualifications import of_repetitions, of_steadiness, of_strength
from postprocess.logs.reader import Log
from postprocess.show.words import counted

CACHED_SHARE = 0.01  # of what the victims read


def of_load(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    if log.plan.load is None:
        return
    for kind in log.plan.load.kinds:
        phases = phases_of(log, kind)
        bandwidths = [of_generating_node(log, record) for record in phases]
        yield from of_strength(kind, bandwidths, of_victim_node(log, kind))
        yield from of_steadiness(kind, phases, bandwidths)
    yield from of_repetitions(len(repetitions(log)), log.plan.load.repetitions)
    yield from of_victims_cache(log)


def of_victims_cache(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    """The record has the file of which most stayed in a cache."""
    read = [record for record in log.all(Loaded) if record.method == "read"]
    if stayed := sum((r.cached_bytes or 0) > CACHED_SHARE * file_bytes(r, r.accesses.calls // r.calls) for r in read):
        yield (
            "not_evicted",
            f"The files of {stayed} of {counted(len(read), 'read')} of the victims stayed in a node's cache, at least "
            "in part: these reads may come from memory",
        )
    else:
        yield (
            "evicted",
            "Files were evicted from the nodes' caches before they were read; caches of servers are not affected by "
            "that",
        )


def file_bytes(record: Loaded, processes: int) -> float:
    return record.bytes / (processes if record.type == "separate" else 1)
