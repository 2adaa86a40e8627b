# SPDX-License-Identifier: Apache-2.0
"""What limits a result of b_eff_io_load: whether the load was there all the time, and strong enough, and whether the
victims read from a cache."""

from collections.abc import Iterator

import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff_io.qualifications import CACHED_SHARE, of_data, of_evicted, of_hints
from coffeecup.postprocess.benchmarks.b_eff_io_load.records import Loaded, Plan
from coffeecup.postprocess.benchmarks.b_eff_io_load.reduction import (
    of_generating_node,
    of_victim_node,
    phases_of,
    repetitions,
)
from coffeecup.postprocess.benchmarks.load_qualifications import of_repetitions, of_steadiness, of_strength
from coffeecup.postprocess.logs.hosts import of_hosts
from coffeecup.postprocess.logs.io_records import DataCheck
from coffeecup.postprocess.logs.reader import Log


def breaches(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    """No run is official: the paper defines none under load."""
    yield "under_load", "the run measured what a load costs a part of the nodes, no b_eff_io of the machine"


def qualifications(log: Log[Plan], table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """All qualifications of a log. `table` contains the log's rows of a measurement_table."""
    yield from of_hints(log.run)
    yield from of_load(log)
    yield from of_victims_cache(log)
    yield from of_hosts(log)
    yield from of_data(log.only(DataCheck), log.plan.check)


def of_load(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    for kind in log.plan.load.kinds:
        phases = phases_of(log, kind)
        bandwidths = [of_generating_node(log, record) for record in phases]
        yield from of_strength(kind, bandwidths, of_victim_node(log, kind))
        yield from of_steadiness(kind, phases, bandwidths)
    yield from of_repetitions(len(repetitions(log)), log.plan.repetitions)


def of_victims_cache(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    """The record has the file of which most stayed in a cache."""
    read = [record for record in log.all(Loaded) if record.method == "read"]
    files = [record.accesses.calls // record.calls if record.type == "separate" else 1 for record in read]
    stayed = [r.type for r, count in zip(read, files) if (r.cached_bytes or 0) > CACHED_SHARE * r.bytes / count]
    yield from of_evicted(stayed, len(read))
