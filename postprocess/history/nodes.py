# SPDX-License-Identifier: Apache-2.0
"""Nodes over sessions: how fast each was compared with its peers, how often it was suspected, and in which failed jobs
it took part; and the same of servers of files, which nothing confirms.

Two kinds of tests know it: those that examined the nodes of a run (benchmarks.nodes.stored), and those that
--distribute runs on every node.
"""

from collections import Counter
from collections.abc import Iterator
from math import nan

import orjson
import pandas as pd

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.history.cases import FAILURES
from coffeecup.postprocess.show.words import counted
from coffeecup.postprocess.statistics.nodes import CONDITION, FIRST, SECOND, SECONDS, UNIT, effects

LAST = 10  # sessions that tell how fast a node is now
SAME = ["system", "partition", "environ", "benchmark", "processes", "settings"]  # what makes tests comparable
COLUMNS = ["session", "session_time", "system", "test", "node", "ratio", "suspected", "confirmed"]
OF_NODE = ["ratio", "low", "high", "slow", "sessions", "suspected", "confirmed", "since", "confirmed_now"]


def node_table(values: pd.DataFrame) -> pd.DataFrame:
    """A row per session, test and node, by time: its `ratio` to its peers, and whether it was `suspected` or
    `confirmed`. `values` are the selected rows of the history table."""
    found = pd.concat([examined(values.drop_duplicates("case")), distributed(values)])
    return found.sort_values("session_time", ignore_index=True)


def server_table(values: pd.DataFrame) -> pd.DataFrame:
    """The same of the servers of files that test cases compared, which are in the column `node`."""
    return examined(values.drop_duplicates("case"), servers=True).sort_values("session_time", ignore_index=True)


def name_of(row: dict) -> str:
    """A test as its users know it."""
    options = f" ({row['settings']})" if row["settings"] else ""
    where = f"{row['system']}:{row['partition']}+{row['environ']}"
    return f"{row['benchmark']} on {counted(row['processes'], 'process')} of {where}{options}"


def examined(cases: pd.DataFrame, servers: bool = False) -> pd.DataFrame:
    """The rows of node_table of those of the cases that examined the nodes of a run, or its servers of files."""
    found = pd.DataFrame(rows_of(cases, servers), columns=COLUMNS)
    return found.astype({"suspected": bool, "confirmed": bool})


def rows_of(cases: pd.DataFrame, servers: bool) -> Iterator[tuple]:
    for row in cases[cases["node_effects"] != ""].to_dict("records"):
        effect = orjson.loads(row["node_effects"])
        effect = effect.get("servers", {}) if servers else effect
        where = row["session"], row["session_time"], row["system"], name_of(row)
        for node, (ratio, *_) in effect.get("values", {}).items():
            named = node in effect.get("suspects", ()), node in effect.get("confirmed", ())
            yield *where, node, ratio or nan, *named


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
        suspected=False,
        confirmed=False,
    )
    return rows[alike.transform("size") > 2][COLUMNS]


def over_sessions(table: pd.DataFrame, last: int = LAST) -> pd.DataFrame:
    """A row per system, test and node of a node_table or server_table, the slowest first.

    `ratio`, `low` and `high` are its effect over the `last` sessions of the test, `slow` whether it is slow in them by
    the rules of statistics.nodes. `sessions` counts those that examined it, `suspected` and `confirmed` those that
    named it; `since` is when the sessions began of which each named it up to its newest one, NaT if that did not;
    `confirmed_now` is whether the newest one confirmed it."""
    found = [
        of_test(rows, last).assign(system=str(system), test=str(test))
        for (system, test), rows in table.groupby(["system", "test"])
    ]
    every = pd.concat(found) if found else pd.DataFrame(columns=["system", "test", "node", *OF_NODE])
    return every.sort_values("ratio", ignore_index=True)[["system", "test", "node", *OF_NODE]]


def summary(table: pd.DataFrame, cases: pd.DataFrame, last: int = LAST) -> pd.DataFrame:
    """A node_table over_sessions; `failed` counts failed jobs in which the node took part."""
    found, failed = over_sessions(table, last), failures(cases)
    return found.assign(failed=[failed.get((row["system"], short(row["node"])), 0) for row in found.to_dict("records")])


def as_servers(found: pd.DataFrame) -> pd.DataFrame:
    """A server_table over_sessions without what only nodes have."""
    return found.drop(columns=["confirmed", "confirmed_now"]).rename(columns={"node": "server"})


def of_test(rows: pd.DataFrame, last: int) -> pd.DataFrame:
    names = sorted(set(rows["node"]))
    newest = rows["session_time"].rank(method="dense", ascending=False) <= last
    now = rows[newest & (rows["ratio"] > 0)]
    number = now["node"].map({name: number for number, name in enumerate(names)})
    times = pd.DataFrame(
        {UNIT: now["session"], CONDITION: "", FIRST: number, SECOND: number, SECONDS: 1 / now["ratio"]}
    )
    unknown = pd.DataFrame({"ratio": nan, "low": nan, "high": nan, "suspect": False}, range(len(names)))
    effect = effects(times, len(names)).nodes if len(times) else unknown
    counts = pd.DataFrame([of_node(rows[rows["node"] == name]) for name in names])
    return counts.assign(
        node=names, slow=effect["suspect"], **{name: effect[name] for name in ("ratio", "low", "high")}
    )


def of_node(rows: pd.DataFrame) -> dict:
    """Counts of a node's sessions."""
    sessions = rows.groupby("session_time")[["suspected", "confirmed"]].any()
    clear = sessions.index[~sessions["suspected"]]
    named = sessions[sessions.index > clear.max()] if len(clear) else sessions
    return {
        "sessions": len(sessions),
        "suspected": int(sessions["suspected"].sum()),
        "confirmed": int(sessions["confirmed"].sum()),
        "since": named.index.min() if len(named) else pd.NaT,
        "confirmed_now": bool(sessions["confirmed"].iloc[-1]),
    }


def short(name: str) -> str:
    """A node's name without its domain, as schedulers name it."""
    return name.partition(".")[0]


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
