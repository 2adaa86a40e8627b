# SPDX-License-Identifier: Apache-2.0
"""Events that slow nodes explain: a node that became slow at the time of an event, on the hosts of the event.

Pure functions from events (history.events) and the sessions in which nodes were named (history.nodes).
"""

from dataclasses import replace

import pandas as pd

from coffeecup.postprocess.history.events import NEAR, UNKNOWN, WORSE, Event, SlowNode
from coffeecup.postprocess.history.nodes import short

FEWEST = 2  # sessions one after the other that name a node: once a node may be named by chance


def explained(found: list[Event], named: pd.DataFrame, values: pd.DataFrame) -> list[Event]:
    """The events, those for the worse or of unknown direction with the nodes that explain them.

    `named` is a table of history.nodes.examined, `values` the one of session_values that has the events. A node
    explains an event if it was named in FEWEST or more sessions one after the other, became slow within NEAR sessions
    of the event, and is among the hosts of at least half of the event's series. It became slow after the last session
    that examined it without naming it, and not after the first one that named it.
    """
    periods = {str(system): periods_of(rows) for system, rows in named.groupby("system")}
    times: dict[str, set[pd.Timestamp]] = {}
    for table in (named, values):
        for system, rows in table.groupby("system")["session_time"]:
            times.setdefault(str(system), set()).update(rows.unique())
    orders = {system: {time: place for place, time in enumerate(sorted(every))} for system, every in times.items()}
    return [
        replace(event, nodes=nodes_of(event, periods.get(event.system, []), orders[event.system]))
        if event.direction in (WORSE, UNKNOWN)
        else event
        for event in found
    ]


def periods_of(rows: pd.DataFrame) -> list[tuple[SlowNode, pd.Timestamp | None]]:
    """The periods in which each session that examined a node named it, and when the node was last examined before, None
    if never."""
    found = []
    for node, of_node in rows.groupby("node"):
        sessions = of_node.groupby("session_time")[["suspected", "confirmed"]].any().sort_index()
        slow = sessions.any(axis=1)
        for _, period in sessions[slow].groupby((~slow).cumsum()[slow]):
            earlier = sessions.index[sessions.index < period.index[0]]
            clear = earlier[-1] if len(earlier) else None
            found.append((SlowNode(str(node), period.index[0], len(period), bool(period["confirmed"].any())), clear))
    return found


def nodes_of(event: Event, periods: list, order: dict[pd.Timestamp, int]) -> tuple[SlowNode, ...]:
    """The nodes that explain an event, those that were confirmed first. `order` numbers the sessions of the system."""
    begin = order[event.since]
    hosts = [{short(host) for host in finding.hosts.split(",")} for finding in event.findings]
    explaining = [
        node
        for node, clear in periods
        if node.sessions >= FEWEST
        and order[node.since] >= begin - NEAR
        and (clear is None or order[clear] < begin + NEAR)
        and 2 * sum(short(node.name) in of_series for of_series in hosts) >= len(hosts)
    ]
    return tuple(sorted(explaining, key=lambda node: (not node.confirmed, node.since, node.name)))
