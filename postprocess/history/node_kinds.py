# SPDX-License-Identifier: Apache-2.0
"""Kinds of nodes that no log states, found in their first sessions: nodes that were slower than others from their first
session on, all by the same amount, are of another generation, and not faulty."""

import numpy as np
import pandas as pd

from coffeecup.postprocess.statistics.nodes import FEWEST, SLOWER

FIRST, AT_LEAST = 10, 3  # sessions of a node by which its kind is known, and the fewest that can show one
ALIKE = -np.log(SLOWER)  # kinds are further apart than this, and no kind is wider
STRAYS = 1 / 8  # of a node's first sessions may be closer to another kind


def kinds(rows: pd.DataFrame) -> pd.Series:
    """The kind of each node of a history.nodes.node_table of one test, by node: a number from 0, the fastest. A node
    between two kinds, such as a slow one, is of the slowest kind that is not slower than the node. A loss that began
    later does not change the kind."""
    own = rows[rows["ratio"] > 0].sort_values("session_time")
    first = own.assign(slower=-np.log(own["ratio"]))[own.groupby("node").cumcount() < FIRST]
    of_node = first.groupby("node")["slower"].agg(["median", "size"]).sort_values("median")
    known = of_node["median"][of_node["size"] >= AT_LEAST]
    groups = [group for _, group in known.groupby((known.diff() > ALIKE).cumsum())]
    groups = [group for group in groups if len(group) >= FEWEST and group.iloc[-1] - group.iloc[0] <= ALIKE]
    steady = [group for group in groups if is_steady(first[first["node"].isin(group.index)], group, groups)]
    levels = np.array([group.median() for group in steady])
    of_kind = (np.searchsorted(levels, of_node["median"] + ALIKE / 2) - 1).clip(0) if len(levels) > 1 else 0
    return pd.Series(of_kind, of_node.index).reindex(rows["node"].unique(), fill_value=0)


def is_steady(first: pd.DataFrame, group: pd.Series, groups: list[pd.Series]) -> bool:
    """Whether almost all first sessions of the nodes of a group are closer to it than to any other."""
    others = [abs(first["slower"] - other.median()) for other in groups if other is not group]
    if not others:
        return True
    strays = abs(first["slower"] - group.median()) > pd.concat(others, axis=1).min(axis=1)
    return bool((strays.groupby(first["node"]).mean() <= STRAYS).all())
