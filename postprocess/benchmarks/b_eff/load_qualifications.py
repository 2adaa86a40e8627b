# SPDX-License-Identifier: Apache-2.0
"""What limits a result of b_eff under load: whether the load was there all the time, and strong enough."""

from collections.abc import Iterator

import numpy as np

from postprocess.benchmarks.b_eff.load_records import Load
from postprocess.benchmarks.b_eff.records import IO, Plan
from postprocess.benchmarks.b_eff.under_load import complete_repetitions, of_busiest_node, of_victim_node
from postprocess.logs.reader import Log
from postprocess.show.units import MBYTE
from postprocess.show.words import counted, digits

WEAK_LOAD = 0.25  # bandwidth of the load's busiest node over that of a victim's node without load
STEADY_LOAD = 0.5  # the slowest phase of a load over the median phase


def of_load(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    if log.plan.load is None:
        return
    victim = of_victim_node(log)
    for kind in log.plan.load.kinds:
        phases = [record for record in log.all(Load) if record.load == kind]
        busiest = np.array([of_busiest_node(log, record) for record in phases])
        middle = float(np.median(busiest))
        if kind != IO and middle < WEAK_LOAD * victim:
            yield (
                "weak_load",
                f"The load {kind} moved {digits(middle / MBYTE)} MByte/s on its busiest node, less than "
                f"{WEAK_LOAD:.0%} of the {digits(victim / MBYTE)} MByte/s of a measured node without load: its impact "
                "is that of a weak load",
            )
        if unsteady := int((busiest < STEADY_LOAD * middle).sum()):
            yield (
                "unsteady_load",
                f"In {unsteady} of {counted(len(phases), 'phase')}, the load {kind} moved less than {STEADY_LOAD:.0%} "
                "of what it moved in the median phase",
            )
        if cached := sum(record.cached_bytes or 0 for record in phases):
            read = sum(record.received_bytes for record in phases)
            yield (
                "cached_load",
                f"Of what the load {kind} read, {cached / read:.0%} was in the page cache of the nodes that read it, "
                "and did not come from the file system",
            )
        if silent := sum(record.silent_senders > 0 for record in phases):
            yield (
                "silent_senders",
                f"In {silent} of {counted(len(phases), 'phase')} of the load {kind}, some of the processes that were "
                "to send completed no message",
            )
    done, planned = len(complete_repetitions(log)), log.plan.repetitions
    if done < planned:
        yield "few_repetitions", f"The result is that of {done} of {counted(planned, 'repetition')}"
