# SPDX-License-Identifier: Apache-2.0
"""What happens to a node in some sessions, more often than chance explains: errors on its link, round trips that keep
others waiting, or a loss of speed that comes and goes. All sessions of a year and all nodes share one probability of a
false name."""

from collections.abc import Iterable, Iterator

import orjson
import pandas as pd

from coffeecup.postprocess.benchmarks.links import FALSE_NAME as IN_A_RUN
from coffeecup.postprocess.history.rolling import FALSE_NAME, looks_in_a_year
from coffeecup.postprocess.history.site_files import Entry, of_present_nodes
from coffeecup.postprocess.statistics.nodes import FEWEST, at_least

WINDOW = 20  # newest sessions in which a node is slow now and then
SLOWEST = 1 / 8  # of the nodes of a session: those that were slow in most matchings
EXCESS = 1 / 8  # the least share of slow matchings that a node has more than the median node
ALIKE = 3  # nodes at most that stand out by half as much or more: otherwise they have something in common
EVIDENCE = ("links", "tails")  # what a session keeps of an examination: nodes.stored
OF_LINKS = ["system", "evidence", "node", "named", "sessions", "first", "last", "text", "again"]


def beyond_chance(times: int, sessions: int, chance: float, nodes: int, looks: float) -> bool:
    """Whether a node was named in more of these sessions than chance explains: in a year of so many `looks` chance does
    that to any of the `nodes` with a probability of at most FALSE_NAME, if it names a node with a probability of
    `chance` in a session. A node can only be found in a session that names it, and by one alone it never is."""
    return times > 1 and looks * nodes * chance * at_least(times - 1, sessions - 1, chance) <= FALSE_NAME


def links(cases: pd.DataFrame, last: int, entries: Iterable[Entry] = ()) -> pd.DataFrame:
    """A row per node whose link may lose packets, for each EVIDENCE of it, by the `last` sessions of its system that
    compared this: in how many of the `sessions` it was `named`, the times of the `first` and the `last` one and its
    `text`; `again` is whether that is beyond chance. Where other nodes are named as well, chance is more probable."""
    rows = [
        (row["session"], row["session_time"], str(row["system"]), what, node.partition(".")[0], text, found["compared"])
        for row in cases[cases["node_effects"] != ""].sort_values("session_time").to_dict("records")
        for what, found in orjson.loads(row["node_effects"]).items()
        if what in EVIDENCE
        for node, text in [("", ""), *found["named"].items()]  # the first one stands for the run
    ]
    columns = ["session", "session_time", "system", "evidence", "node", "text", "compared"]
    table = of_present_nodes(pd.DataFrame(rows, columns=columns), entries)
    parts = table.groupby(["system", "evidence"])
    found = [(*place, *row) for place, own in parts for row in of_system(own, last)]
    return pd.DataFrame(found, columns=OF_LINKS).sort_values("named", ascending=False, kind="stable", ignore_index=True)


def of_system(table: pd.DataFrame, last: int) -> Iterator[tuple]:
    """How probable chance is comes from the names of other nodes in all sessions, and one more if there are any."""
    own = table.drop_duplicates(["session", "node"])
    runs, named = own[own["node"] == ""], own[own["node"] != ""]
    newest = set(runs["session"].iloc[-last:])
    least, nodes = IN_A_RUN * (table["node"] == "").sum() / len(runs), int(runs["compared"].max())
    looks = looks_in_a_year(runs["session_time"])
    for node, rows in named[named["session"].isin(newest)].groupby("node"):
        others = (named["node"] != node).sum()
        usual = (others + 1) / (runs["compared"] - 1).sum() if others else 0.0
        chance = min(max(least / runs["compared"].min(), usual), 1.0)
        again = beyond_chance(len(rows), len(newest), chance, nodes, looks)
        times = rows["session_time"]
        yield node, len(rows), len(newest), times.min(), times.max(), rows["text"].iloc[-1], again


def now_and_then(rows: pd.DataFrame, kinds: pd.Series) -> pd.DataFrame:
    """For each node of a history.nodes.node_table of one test, the `share` of its matchings of the newest WINDOW
    sessions in which it was slow, `others`, that of the median node of its kind, and whether it is `intermittent`: in
    more sessions than chance explains it was among the SLOWEST by this share, which are other nodes each time where
    noise makes them slow. `kinds` has the kind of each node."""
    newest = rows["session_time"].rank(method="dense", ascending=False) <= WINDOW
    known = rows[newest & rows["share"].notna()]
    known = known.assign(kind=known["node"].map(kinds))
    alike = known.groupby(["session", "kind"])["share"]
    size, place = alike.transform("size"), alike.rank(method="max", ascending=False)
    most = (size * SLOWEST).astype(int).clip(lower=1)
    known = known.assign(slowest=(place <= most) & (size >= FEWEST), chance=most / size)
    table = known.groupby("node").agg(
        share=("share", "mean"), times=("slowest", "sum"), sessions=("share", "size"), chance=("chance", "max")
    )
    table = table.reindex(kinds.index)
    of_kind = table.groupby(kinds)["share"]
    table["others"] = of_kind.transform("median")
    excess, looks = table["share"] - table["others"], looks_in_a_year(rows["session_time"].drop_duplicates())
    counts = zip(table["times"].fillna(0), table["sessions"].fillna(0), table["chance"].fillna(1))
    often = [beyond_chance(int(times), int(sessions), chance, len(table), looks) for times, sessions, chance in counts]
    intermittent = pd.Series(often, table.index) & (excess >= EXCESS)
    for node in table.index[intermittent]:
        intermittent[node] = (excess[kinds == kinds[node]] >= excess[node] / 2).sum() <= ALIKE
    return table[["share", "others"]].assign(intermittent=intermittent)
