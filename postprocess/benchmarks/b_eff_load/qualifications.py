# SPDX-License-Identifier: Apache-2.0
"""What limits a result of b_eff_load: whether the load was there all the time, and strong enough, and what limits any
result of timed loops."""

from collections.abc import Iterator

import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff.qualifications import broken_rules_of_run, of_data, of_loops, of_time
from coffeecup.postprocess.benchmarks.b_eff_load.records import IO, Load, Plan
from coffeecup.postprocess.benchmarks.b_eff_load.reduction import complete_repetitions, of_busiest_node, of_victim_node
from coffeecup.postprocess.benchmarks.load_qualifications import of_repetitions, of_steadiness, of_strength
from coffeecup.postprocess.logs.hosts import of_hosts
from coffeecup.postprocess.logs.reader import Log


def breaches(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    """No run is official: the paper defines none under load."""
    yield from broken_rules_of_run(log.run)
    yield "under_load", "the run measured what a load costs a part of the nodes, no b_eff of the machine"


def qualifications(log: Log[Plan], table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """All qualifications of a log. `table` contains the log's rows of a measurement_table."""
    yield from of_hosts(log)
    yield from of_time(log)
    yield from of_loops(log, table)
    yield from of_data(log)
    yield from of_load(log)


def of_load(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    for kind in log.plan.load.kinds:
        phases = [record for record in log.all(Load) if record.load == kind]
        busiest = [of_busiest_node(log, record) for record in phases]
        if kind != IO:  # nothing compares files with messages
            yield from of_strength(kind, busiest, of_victim_node(log))
        yield from of_steadiness(kind, phases, busiest)
    yield from of_repetitions(len(complete_repetitions(log)), log.plan.repetitions)
