# SPDX-License-Identifier: Apache-2.0
"""The metrics of the ping-pong between two kinds of memory. Those of one kind are b_eff's."""

from collections.abc import Iterator
from itertools import combinations

import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff.memory.kinds import in_memory, kind_of
from coffeecup.postprocess.benchmarks.b_eff.memory.records import KINDS
from coffeecup.postprocess.benchmarks.b_eff.memory.variants import suffix
from coffeecup.postprocess.benchmarks.b_eff.records import Plan
from coffeecup.postprocess.benchmarks.b_eff.reduction import (
    latency_table,
    measurement_table,
    ping_pong_bandwidth,
    ping_pong_latency,
)
from coffeecup.postprocess.logs.reader import Log


def metrics_between(logs: list[Log[Plan]]) -> Iterator[pd.DataFrame]:
    """A table for each two kinds, with a row per log that measured between them."""
    for pair in map("-".join, combinations(KINDS, 2)):
        with_pair = [
            number for number, log in enumerate(logs) if any(kind_of(pattern) == pair for pattern in log.plan.patterns)
        ]
        if with_pair:
            parts = [in_memory(logs[number], pair) for number in with_pair]
            rows = measurement_table(parts)
            found = {
                "ping_pong_bandwidth": ping_pong_bandwidth(rows),
                "ping_pong_latency": ping_pong_latency(latency_table(parts, rows)),
            }
            yield pd.DataFrame(found).rename(index=dict(enumerate(with_pair))).add_suffix(suffix(pair))
