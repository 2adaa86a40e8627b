# SPDX-License-Identifier: Apache-2.0
"""Changes of a log with matchings of nodes, for each invariant that they break: as in contradictions.py, but of the log
of a kernel."""

from contradictions import both, option, put, where
from logs_made import first


def of_plan(**fields):
    return lambda r: r[1]["matchings"].update(fields)


def groups(**names):
    return lambda r: r[1]["matchings"]["groups"].update(names)


def seconds(kind, change, **match):
    return lambda r: change(first(r, record=kind, **match)["seconds"])


def pair_up(r):
    """The nodes of the first two pairs change their partners."""
    partners = first(r, record="matching", scope="across")["partners"]
    (a, b), (c, d) = [(node, other) for node, other in enumerate(partners) if node < other][:2]
    partners[a], partners[d], partners[c], partners[b] = d, a, b, c


def suspect(**fields):
    """Of the second one, whose confirmation is left out, since it would have to be with other nodes."""

    def change(r):
        first(r, record="suspects")["suspects"][1].update(fields)
        confirmed = [number for number, record in enumerate(r) if record.get("suspect") == 1]
        left_out = {"loops": "confirmation", "scope": None, "measured": 1, "elapsed_seconds": 30.0}
        r[confirmed[0] : confirmed[-1] + 1] = [{"record": "matchings_left_out", **left_out}]

    return change


def longer_budget(r):
    """With a budget of two seconds more, a tenth of a second more would be reserved."""
    both(put("plan", time_budget_seconds=32.0), option(time_budget=32.0))(r)


NODES = {
    "planned": [
        of_plan(count=6),
        option(matchings=8),
        of_plan(lengths=[4096, 8192]),
        of_plan(loop_lengths=[300, 30, 3]),
        of_plan(resolution="node"),
        of_plan(reserved_seconds=1.6),
        longer_budget,
        pair_up,
        where("matching", {"partners": [1, 0, -1, -1, -1]}, scope="within"),
        where("pair", {"partners": [-1] * 5}),
        both(put("plan", seed=2), option(seed=2)),
        groups(n3="left"),
        put("matching", loop_length=4),
        put("pair", loop_length=2),
        put("confirmation", loop_length=2),
        put("pair", message_bytes=4096),
        put("pattern_processes", loop_length=2),
        put("data_check", received_bytes=10**6),
    ],
    "matching_groups": [
        groups(n6="left"),
        lambda r: r[1]["matchings"]["groups"].pop("n5"),
        option(node_groups=None),
        of_plan(groups=None),
    ],
    "options": [option(all_pairs=False)],
    "process_times": [
        seconds("matching", list.pop, processes="one_per_node"),
        seconds("matching", lambda times: times.append(0.1), processes="all"),
        seconds("matching", lambda times: times.__setitem__(times.index(None), 0.1), processes="one_per_node"),
        seconds("matching", lambda times: times.__setitem__(0, None), processes="all", scope="within"),
        seconds("pair", list.pop),
        seconds("confirmation", lambda times: times.append(0.1), processes="one_per_node"),
        seconds("confirmation", lambda times: times.append(None), processes="all"),
        seconds("pattern_processes", list.pop),
        seconds("pattern_processes", lambda times: times.__setitem__(0, None)),
    ],
    "suspects": [
        suspect(node=3),
        suspect(node=0),
        suspect(good=[2]),
        suspect(good=[2, 2]),
        suspect(good=[2, 0]),
        suspect(good=[2, 5]),
        suspect(ratio=53.9),
        suspect(ratio=1.09),
    ],
}

OF_NODES = {
    "record": [lambda r: r[1].pop("matchings")],
    "whole_time": [seconds("pair", lambda times: times.__setitem__(-1, 1e6))],
}
