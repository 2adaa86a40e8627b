# SPDX-License-Identifier: Apache-2.0
"""A rolling examination: every night a few idle nodes in small groups, whose nodes change from night to night, so that
all nodes become comparable although no job has all of them.

A session's ratios are relative to the median of the group, which removes what all nodes of a group have in common; a
node's sessions differ from each other by what is random in a night, so the session is the unit of all statistics. A
node is named by several sessions together only, and in a year chance names any node with a probability of at most
FALSE_NAME.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

import numpy as np
import pandas as pd

from coffeecup.postprocess.statistics.nodes import FALSE_SUSPICION, FEWEST, SLOWER

GROUP = 8  # nodes that are compared with each other in a job
MINUTES = 5  # of a job at most, which the budget has to allow
NIGHT, YEAR = timedelta(hours=12), timedelta(days=365)
NEVER = pd.Timestamp(0, tz="UTC")
FALSE_NAME = 0.01  # probability that chance names any node of a site within a year
AGAIN = 1 / 4  # of the nodes of a night at most were suspected before, so that all groups have good nodes


def plan(
    table: pd.DataFrame, slow: Collection[str], idle: Collection[str], node_hours: float, now: datetime
) -> list[list[str]]:
    """Groups of equally many `idle` nodes to examine now: first those that their newest rolling session suspected,
    unless they are `slow` beyond doubt, then those whose examination was longest ago, or never. Jobs of the groups take
    at most `node_hours`, with what the rolling sessions of the same night took. Empty if fewer than three nodes may be
    examined. `table` is a history.nodes.node_table, and names of nodes are short."""
    rolled = table[table["group"] != ""]
    spent = (rolled["session_time"] > now - NIGHT).sum()
    count = min(int(node_hours * 60 / MINUTES) - spent, len(idle))
    size = min(GROUP, count)
    if size < FEWEST:
        return []
    newest = rolled.groupby("node")["suspected"].last()
    suspected = set(newest.index[newest]) - set(slow)
    examined = table.groupby("node")["session_time"].max().to_dict()
    names = sorted(idle)
    mixed = np.random.default_rng(len(table)).permutation(len(names))  # equally old ones meet others every time
    order = sorted((names[place] for place in mixed), key=lambda node: examined.get(node, NEVER))
    again = [node for node in order if node in suspected][: max(int(count * AGAIN), 1)]
    groups = count // size
    chosen = [*again, *(node for node in order if node not in again)][: groups * size]
    return [sorted(chosen[first::groups]) for first in range(groups)]


def newest_of_each(rows: pd.DataFrame, last: int) -> pd.Series:
    """Which rows are of the `last` sessions of their node, and not older than a year."""
    place = rows.groupby("node")["session_time"].rank(method="dense", ascending=False)
    return (place <= last) & (rows["session_time"] > rows["session_time"].max() - YEAR)


def missed(rows: pd.DataFrame) -> pd.Series:
    """How often each node could have been examined since its newest session, by the average of all nodes."""
    newest = rows.groupby("node")["session_time"].max()
    times = np.sort(rows["session_time"].to_numpy())
    later = len(times) - np.searchsorted(times, newest.to_numpy(), side="right")
    return pd.Series(later // len(newest), newest.index)


def by_chance(rows: pd.DataFrame) -> tuple[float, float]:
    """For statistics.nodes.effects: the probability with which a look may name any of the nodes by chance, so that all
    looks of a year keep FALSE_NAME, and that of a healthy node to be slow in a session. The latter comes from the first
    session of each node: of later ones, suspects have more."""
    in_a_year = looks_in_a_year(rows["session_time"])
    first = rows.drop_duplicates("node")["ratio"]
    slow = float(((first < SLOWER).sum() + 1) / (len(first) + 2))
    return min(FALSE_NAME * rows["node"].nunique() / in_a_year, FALSE_SUSPICION), slow


def looks_in_a_year(times: pd.Series) -> float:
    """How many of what happened at these times there are in a year, at least as many as there were."""
    return len(times) * max(YEAR / (times.max() - times.min() + timedelta(days=1)), 1.0)
