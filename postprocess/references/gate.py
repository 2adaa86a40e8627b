# SPDX-License-Identifier: Apache-2.0
"""The gate: every metric of a run has a reference, and every reference was used by the run and can fail."""

import re
from functools import partial

import pandas as pd

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.benchmarks.registry import metric_kind
from coffeecup.postprocess.references.proposals import PLACE, column, flat, with_places, worded


def with_distinct_places(table: pd.DataFrame) -> pd.DataFrame:
    """A row of the history table for each benchmark, place, size and metric."""
    return with_places(table).drop_duplicates(["benchmark", *PLACE, "metric"])


def without_reference(table: pd.DataFrame) -> list[str]:
    """The rows of the history table that were compared with nothing, as ReFrame recorded in the session (of a dry run
    as well)."""
    bare = table[table["lower"].isna() & table["upper"].isna()]
    return [f"{worded(row)}: {row.benchmark} has no reference" for row in with_distinct_places(bare).itertuples()]


def orphans(contents: dict[str, dict], table: pd.DataFrame) -> list[str]:
    """References that no row of the table was compared with. `contents` maps a benchmark to the content of its
    reference file."""
    distinct = with_distinct_places(table)
    return [
        f"{', '.join(map(str, key))}: the reference of {benchmark} was not used by any run"
        for benchmark, content in contents.items()
        for key in flat(content, benchmark)
        if not used(distinct[distinct["benchmark"] == benchmark], content[benchmark]["$index"], key)
    ]


def without_effect(contents: dict[str, dict], table: pd.DataFrame) -> list[str]:
    """References that no bad value fails: without a bound on the bad side, which the table states, or with one that no
    value exceeds."""
    better = dict(zip(zip(table["benchmark"], table["metric"]), table["better"]))
    return [
        f"{', '.join(map(str, key))}: the reference of {benchmark} cannot fail: {entry}"
        for benchmark, content in contents.items()
        for key, entry in flat(content, benchmark).items()
        if not metric_kind(benchmark, key[-1], better.get((benchmark, key[-1]), Better.UNKNOWN)).can_fail(
            *(entry[2] if entry[0] == "$xfail" else entry)[:3]
        )
    ]


def used(table: pd.DataFrame, index: list[str], key: tuple) -> bool:
    """Whether ReFrame can look a row up by this key: text keys are anchored patterns, sizes are equal."""
    fits = table["metric"] == key[-1]
    for name, wanted in zip(index, key):
        fits &= column(table, name).map(partial(matches, wanted))
    return bool(fits.any())


def matches(wanted, value) -> bool:
    return bool(re.fullmatch(wanted, value)) if isinstance(wanted, str) else value == wanted
