# SPDX-License-Identifier: Apache-2.0
"""Nodes over sessions: how fast each was compared with its peers, how often it was suspected, and in which failed jobs
it took part; and the same of servers of files, which nothing confirms.

Two kinds of tests know it: those that examined the nodes of a run (benchmarks.nodes.stored), and those that
--distribute runs on every node. Of the former, rolling ones examine some nodes each night (history.rolling).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from math import nan

import numpy as np
import orjson
import pandas as pd

from coffeecup.postprocess.benchmarks.benchmark import ROLLING, Better
from coffeecup.postprocess.history import rolling
from coffeecup.postprocess.history.cases import FAILURES
from coffeecup.postprocess.history.node_kinds import kinds
from coffeecup.postprocess.history.repeated import now_and_then
from coffeecup.postprocess.history.site_files import Entry, of_present_nodes
from coffeecup.postprocess.show.words import counted
from coffeecup.postprocess.statistics.nodes import (
    CONDITION,
    FALSE_SUSPICION,
    FIRST,
    SECOND,
    SECONDS,
    SLOWER,
    UNIT,
    effects,
)

LAST = 10  # sessions that tell how fast a node is now
SAME = ["system", "partition", "environ", "benchmark", "processes", "settings"]  # what makes tests comparable
COLUMNS = "session session_time system test node ratio high suspected confirmed group share".split()
OF_NODE = ["ratio", "low", "high", "kind", "of_all", "slow", "sessions", "suspected", "confirmed", "since"]
OF_NODE += ["confirmed_now", "last_examined", "absent", "rolling", "share", "others", "intermittent"]


def node_table(values: pd.DataFrame, entries: Iterable[Entry] = ()) -> pd.DataFrame:
    """A row per session, test and node, by time: its `ratio` to its peers, the `high` end of the ratio's interval, and
    whether it was `suspected` or `confirmed`; in a rolling examination, the `group` with which it was compared, empty
    otherwise. `values` are the selected rows of the history table. Full and short names are the same node. Of a node
    that was replaced by the `entries` of the site's file, only sessions since then."""
    found = one_name(pd.concat([examined(values.drop_duplicates("case")), distributed(values)]))
    return of_present_nodes(found, entries).sort_values("session_time", ignore_index=True)


def one_name(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the newest name of each node instead of all: a name with its domain and one without it are the
    same node, unless two nodes of a session have the same short name."""
    table = table.sort_values("session_time", kind="stable")
    alike = [table["system"], table["node"].map(short)]
    twice = table["node"].groupby([*alike, table["session"]]).transform("nunique") > 1
    several = twice.groupby(alike).transform("any")
    return table.assign(node=table["node"].where(several, table["node"].groupby(alike).transform("last")))


def server_table(values: pd.DataFrame) -> pd.DataFrame:
    """The same of the servers of files that test cases compared, which are in the column `node`."""
    return examined(values.drop_duplicates("case"), servers=True).sort_values("session_time", ignore_index=True)


def name_of(row: dict) -> str:
    """A test as its users know it."""
    options = f" ({row['settings']})" if row["settings"] else ""
    where = f"{row['system']}:{row['partition']}+{row['environ']}"
    if is_rolling(row):
        return f"{row['benchmark']} on idle nodes of {where}"
    return f"{row['benchmark']} on {counted(row['processes'], 'process')} of {where}{options}"


def is_rolling(row: dict) -> bool:
    """Whether a test case belongs to a rolling examination."""
    return f"{ROLLING}=yes" in row["settings"].split()


def examined(cases: pd.DataFrame, servers: bool = False) -> pd.DataFrame:
    """The rows of node_table of those of the cases that examined the nodes of a run, or its servers of files."""
    found = pd.DataFrame(rows_of(cases, servers), columns=COLUMNS)
    return found.astype({"ratio": float, "high": float, "suspected": bool, "confirmed": bool, "share": float})


def rows_of(cases: pd.DataFrame, servers: bool) -> Iterator[tuple]:
    for row in cases[cases["node_effects"] != ""].to_dict("records"):
        effect = orjson.loads(row["node_effects"])
        effect = effect.get("servers", {}) if servers else effect
        where = row["session"], row["session_time"], row["system"], name_of(row)
        group = row["case"] if is_rolling(row) else ""
        for node, (ratio, _, high, slow, units) in effect.get("values", {}).items():
            named = node in effect.get("suspects", ()), node in effect.get("confirmed", ())
            share = slow / units if units else nan
            yield *where, node, ratio or nan, (ratio and high) or nan, *named, group, share


def distributed(values: pd.DataFrame) -> pd.DataFrame:
    """The rows of the tests that ran on every node: the first metric against the median of the session's nodes, at
    least three of them."""
    own = values[values["node"] != ""].groupby("case", sort=False).head(1)
    own = own[own["better"].isin([Better.HIGHER, Better.LOWER]) & (own["value"] > 0)]
    alike = own.groupby(["session", "metric", *SAME])["value"]
    relative = own["value"] / alike.transform("median")
    rows = own.assign(
        ratio=relative.where(own["better"] == Better.HIGHER, 1 / relative),
        test=[f"{row['metric']}: {name_of(row)}, each node" for row in own.to_dict("records")],
        high=nan,
        suspected=False,
        confirmed=False,
        group="",
        share=nan,
    )
    return rows[alike.transform("size") > 2][COLUMNS]


def over_sessions(table: pd.DataFrame, last: int = LAST, several_kinds: bool = False) -> pd.DataFrame:
    """A row per system, test and node of a node_table or server_table, the slowest first.

    `ratio`, `low` and `high` are its effect over the `last` sessions of the test, compared with the nodes of its `kind`
    (node_kinds, with `several_kinds`), which has the bandwidth `of_all` relative to the median node; `slow` is whether
    it is slow in them by the rules of statistics.nodes. `sessions` counts those that examined it, `suspected` and
    `confirmed` those that named it, if it was slow for its kind. `since` is when the first session named it, with no
    two sessions after each other since then that did not, NaT without one; `confirmed_now` is whether the newest one
    confirmed it.
    `last_examined` is when the newest session that examined it began. `absent` counts the test's sessions since then;
    after `last` of them nothing is known of the node today, and it is neither suspected nor confirmed.
    `share`, `others` and `intermittent` are those of repeated.now_and_then, of nodes that are not `slow`, with
    `several_kinds` only.
    Of rolling examinations the `last` sessions are those of each node, `absent` counts how often it could have been
    examined, and only nodes that are `slow` have a `since` and can be `confirmed_now`."""
    found = [
        of_test(rows, last, several_kinds).assign(system=str(system), test=str(test))
        for (system, test), rows in table.groupby(["system", "test"])
    ]
    every = pd.concat(found) if found else pd.DataFrame(columns=["system", "test", "node", *OF_NODE])
    return every.sort_values("ratio", ignore_index=True)[["system", "test", "node", *OF_NODE]]


def summary(table: pd.DataFrame, cases: pd.DataFrame, last: int = LAST) -> pd.DataFrame:
    """A node_table over_sessions; `failed` counts failed jobs in which the node took part."""
    found, failed = over_sessions(table, last, several_kinds=True), failures(cases)
    return found.assign(failed=[failed.get((row["system"], short(row["node"])), 0) for row in found.to_dict("records")])


def as_servers(found: pd.DataFrame) -> pd.DataFrame:
    """A server_table over_sessions without what only nodes have."""
    of_nodes = ["confirmed", "confirmed_now", "kind", "of_all", "last_examined", "absent", "rolling"]
    return found.drop(columns=[*of_nodes, "share", "others", "intermittent"]).rename(columns={"node": "server"})


def of_test(rows: pd.DataFrame, last: int, several_kinds: bool) -> pd.DataFrame:
    names = sorted(set(rows["node"]))
    rolls = bool((rows["group"] != "").all())
    of_kind = kinds(rows)[names] if several_kinds and not rolls else pd.Series(0, names)
    newest = rows["session_time"].rank(method="dense", ascending=False)
    now = rows[(rolling.newest_of_each(rows, last) if rolls else newest <= last) & (rows["ratio"] > 0)]
    number = now["node"].map({name: number for number, name in enumerate(names)})
    times = pd.DataFrame(
        {UNIT: now["session"], CONDITION: now["group"], FIRST: number, SECOND: number, SECONDS: 1 / now["ratio"]}
    )
    unknown = pd.DataFrame({"ratio": nan, "low": nan, "high": nan, "level": 1.0, "suspect": False}, range(len(names)))
    chance = rolling.by_chance(rows) if rolls else (FALSE_SUSPICION, 0.0)
    found = effects(times, len(names), *chance, kinds=[str(kind) for kind in of_kind]).nodes if len(times) else unknown
    level = rows["node"].map(dict(zip(names, np.minimum(found["level"], 1))))
    for_kind = rows["high"].fillna(rows["ratio"]) / level < SLOWER
    named = rows.assign(**{name: rows[name] & ((level == 1) | for_kind) for name in ("suspected", "confirmed")})
    absent = rolling.missed(rows) if rolls else (newest - 1).groupby(rows["node"]).min().astype(int)
    counts = pd.DataFrame([of_node(own, absent[name], last) for name, own in named.groupby("node")])
    if rolls:
        counts["since"] = counts["since"].where(found["suspect"])
        counts["confirmed_now"] &= found["suspect"]
    sometimes = now_and_then(rows if several_kinds and not rolls else rows[:0], of_kind)
    return counts.assign(
        node=names,
        share=sometimes["share"].to_numpy(),
        others=sometimes["others"].to_numpy(),
        intermittent=sometimes["intermittent"].to_numpy() & ~found["suspect"].to_numpy(bool),
        kind=of_kind.to_numpy(),
        of_all=found["level"],
        slow=found["suspect"],
        rolling=rolls,
        **{name: found[name] for name in ("ratio", "low", "high")},
    )


def of_node(rows: pd.DataFrame, absent: int, last: int) -> dict:
    """Counts of a node's sessions."""
    sessions = rows.groupby("session_time")[["suspected", "confirmed"]].any()
    clear = ~sessions["suspected"]
    ended = sessions.index[clear & clear.shift(fill_value=False)]
    named = sessions[sessions["suspected"] & (sessions.index > ended.max() if len(ended) else True)]
    known = absent < last
    return {
        "sessions": len(sessions),
        "suspected": int(sessions["suspected"].sum()),
        "confirmed": int(sessions["confirmed"].sum()),
        "since": named.index.min() if known and len(named) else pd.NaT,
        "confirmed_now": bool(known and sessions["confirmed"].iloc[-1]),
        "last_examined": sessions.index[-1],
        "absent": absent,
    }


def short(name: str) -> str:
    """A node's name without its domain, as schedulers name it."""
    return name.partition(".")[0]


def hangs(cases: pd.DataFrame) -> pd.DataFrame:
    """A row per system and set of nodes that verdicts on runs that hang name, the most frequent first: how many `hangs`
    there were, when the first and the last one, and the `verdict` of the last one. `again` is whether two or more name
    the same nodes: chance does not do that, so a node, or the link between them, is the likely cause."""
    found = [
        (str(row["system"]), tuple(hang["nodes"]), row["session_time"], hang["verdict"])
        for row in cases[cases["node_effects"] != ""].sort_values("session_time").to_dict("records")
        if (hang := orjson.loads(row["node_effects"]).get("hang"))
    ]
    table = pd.DataFrame(found, columns=["system", "nodes", "time", "verdict"])
    table = table.groupby(["system", "nodes"], as_index=False, sort=False).agg(
        hangs=("time", "size"), first=("time", "first"), last=("time", "last"), verdict=("verdict", "last")
    )
    again = (table["hangs"] > 1) & (table["nodes"].str.len() > 0)
    return table.assign(again=again).sort_values("hangs", ascending=False, kind="stable", ignore_index=True)


def failures(cases: pd.DataFrame) -> dict[tuple[str, str], int]:
    """System and node to the number of failed test cases whose jobs ran on it."""
    failed = cases[cases["result"].isin(FAILURES)]
    return dict(
        Counter(
            (str(row["system"]), short(host))
            for row in failed.to_dict("records")
            for host in str(row["hosts"]).split(",")
            if host
        )
    )
