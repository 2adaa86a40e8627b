# SPDX-License-Identifier: Apache-2.0
"""What limits a result of b_eff under load: whether the load was there all the time, and strong enough."""

from collections.abc import Iterator

from postprocess.benchmarks.b_eff.load_records import Load
from postprocess.benchmarks.b_eff.records import IO, Plan
from postprocess.benchmarks.b_eff.under_load import complete_repetitions, of_busiest_node, of_victim_node
from postprocess.benchmarks.load_qualifications import of_repetitions, of_steadiness, of_strength
from postprocess.logs.reader import Log


def of_load(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    if log.plan.load is None:
        return
    for kind in log.plan.load.kinds:
        phases = [record for record in log.all(Load) if record.load == kind]
        busiest = [of_busiest_node(log, record) for record in phases]
        if kind != IO:  # nothing compares files with messages
            yield from of_strength(kind, busiest, of_victim_node(log))
        yield from of_steadiness(kind, phases, busiest)
    yield from of_repetitions(len(complete_repetitions(log)), log.plan.repetitions)
