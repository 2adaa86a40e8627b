# SPDX-License-Identifier: Apache-2.0
"""The means of the paper's section 5.1: of pattern types, and over them and the access methods."""

import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff_io.definition import METHODS, TYPES
from coffeecup.postprocess.show.units import MBYTE

WEIGHTS = pd.Series({"write": 0.25, "rewrite": 0.25, "read": 0.5}, name="method")
TYPE_WEIGHTS = pd.Series({name: 2 if name == "scatter" else 1 for name in TYPES})


def type_bandwidth(table: pd.DataFrame) -> pd.DataFrame:
    """Pattern type values in MByte/s: all bytes of a type / time from opening to closing (the paper's section 5.1).

    A row per log, partition and type, a column per access method; NaN for what was not measured.
    """
    groups = table[table["averaged"]].groupby(["log", "partition", "type", "method"])
    return (
        (groups["bytes"].sum() / groups["type_seconds"].first() / MBYTE)
        .unstack("method")
        .reindex(columns=list(METHODS))
    )


def method_bandwidth(types: pd.DataFrame, weights: pd.Series = TYPE_WEIGHTS) -> pd.DataFrame:
    """Access method values in MByte/s: the mean over the five types with scatter counted twice, sum / 6. NaN unless all
    are there.

    `types` is a type_bandwidth; a row per log and partition, a column per access method.
    """
    weighted = types.mul(types.index.get_level_values("type").map(weights.to_dict()), axis=0)
    return weighted.groupby(level=["log", "partition"]).sum(min_count=len(weights)) / weights.sum()


def type_values(types: pd.DataFrame) -> pd.DataFrame:
    """The value of each type in MByte/s, access methods weighted as the paper does; a row per log and partition, a
    column per type."""
    weighted = types.mul(WEIGHTS, axis=1).sum(axis=1, skipna=False).unstack("type")
    return weighted.rename(columns=lambda name: str(name).replace("-", "_"))
