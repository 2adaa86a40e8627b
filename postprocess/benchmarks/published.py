# SPDX-License-Identifier: Apache-2.0
"""The published values of the papers, to compare a site's own results with."""

from functools import cache
from importlib import resources

import pandas as pd


@cache
def published(benchmark: str) -> pd.DataFrame:
    """Published values, tidy: system, processes, metric, value, unit, source, note; in the paper's order."""
    with (
        resources.files("coffeecup.reference_values")
        .joinpath("published", f"{benchmark}.csv")
        .open(encoding="utf-8") as file
    ):
        return pd.read_csv(file, keep_default_na=False)


def published_systems(benchmark: str) -> pd.DataFrame:
    """A row per system and number of processes, a column per metric, and the note and the kind of memory where the
    paper groups by it; NaN where nothing was printed."""
    tidy = published(benchmark)
    order = (
        tidy[["system", "processes", "note", *tidy.columns.intersection(["memory"])]]
        .drop_duplicates(["system", "processes"])
        .set_index(["system", "processes"])
    )
    return order.join(tidy.pivot(index=["system", "processes"], columns="metric", values="value")).reset_index()
