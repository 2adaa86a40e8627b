# SPDX-License-Identifier: Apache-2.0
"""Which nodes sometimes keep a round trip waiting, from the tails of a log. docs/compare-nodes.md explains it."""

from collections.abc import Iterator, Sequence
from statistics import median

import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff.nodes.records import Tails
from coffeecup.postprocess.benchmarks.b_eff.records import Plan
from coffeecup.postprocess.benchmarks.links import Found
from coffeecup.postprocess.benchmarks.nodes import kinds
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.tables import each_row
from coffeecup.postprocess.show.words import digits
from coffeecup.postprocess.statistics.nodes import COLUMNS, FEWEST, effects

LONGER = 4  # times the tail of the median node: healthy ones may differ by less, by what else runs on them


def found(log: Log[Plan]) -> Found:
    """The nodes whose tails are certainly longer than those of the others, each with a text."""
    names, records = [host.name for host in log.run.hosts], log.all(Tails)
    times = pd.DataFrame([row for record in records for row in rows_of(record)], columns=COLUMNS)
    if len(names) < FEWEST or times.empty:
        return Found()
    late = standing_out(times, len(names), kinds(log.run))
    return Found(len(names), {names[row.Index]: in_words(row, records) for row in each_row(late)})


def standing_out(times: pd.DataFrame, nodes: int, of_kinds: Sequence[str] | None = None) -> pd.DataFrame:
    """The rows of those nodes in statistics.nodes.Effects, by times as for effects()."""
    table = effects(times, nodes, kinds=of_kinds).nodes
    return table[table["suspect"] & (table["high"] <= 1 / LONGER)]


def rows_of(record: Tails) -> Iterator[tuple]:
    """A row per pair, with the time of its first node: both wait for a lost message, whoever lost it."""
    for first, second in enumerate(record.partners):
        if first < second:
            yield record.matching, "", first, second, record.p999_seconds[first]


def in_words(row, records: Sequence[Tails]) -> str:
    """Such as "the 99.9th percentile of 3250 round trips is 211 ms, 30 times that of others, in 12 of 12 matchings"."""
    own = [(record.loop_length, late) for record in records if (late := record.p999_seconds[row.Index])]
    count, late = sum(count for count, _ in own), digits(1e3 * median(late for _, late in own))
    return (
        f"the 99.9th percentile of {count} round trips is {late} ms, {1 / row.ratio:.0f} times that of others, in "
        f"{row.slow} of {row.examined} matchings"
    )
