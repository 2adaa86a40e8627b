# SPDX-License-Identifier: Apache-2.0
"""Logs of b_eff with matchings of nodes, one process on each, whose speeds are known."""

from logs_made import numbered, of_kind
from logs_made_b_eff import averaged_log

from coffeecup.postprocess.benchmarks.b_eff.nodes.matchings import RESTS, within
from coffeecup.postprocess.benchmarks.b_eff.nodes.matchings import numbered as numbers_of

MATCHINGS = 16


TAIL = 2e-5


def tails(plan, index, late):
    """Of a matching: one of a thousand round trips with a node takes as long as `late` states."""
    partners = within([0] * len(late), plan["seed"], index)
    times = [None if b == RESTS else max(late[a], late[b]) for a, b in enumerate(partners)]
    place = {"scope": "all", "matching": index, "message_bytes": 1024, "loop_length": 1000, "partners": partners}
    known = {"median_seconds": [time and 1e-5 for time in times], "p999_seconds": times}
    return {"record": "tails", **place, **known, "longest_seconds": [time and 2 * time for time in times]}


def matched_log(speeds, suspects=(), again=None, late=None, **options):
    """An official log but for its number of patterns: a pair needs the time of its slower node. The sender of a message
    does not wait for it. `suspects` are those of the record; `again` are the speeds while all others rest; `late` are
    the tails of the nodes."""
    base = averaged_log(ranks=len(speeds), nodes=len(speeds), **options)
    plan = base[1]
    lengths = [plan["message_bytes"][place] for place in (12, 16, 20)]
    loops = dict(zip(lengths, (300, 30, 3)))
    group = numbers_of([""] * len(speeds))
    measured, received = [], 0
    for index in range(MATCHINGS):
        partners = within(group, plan["seed"], index)
        pairs = [(a, b) for a, b in enumerate(partners) if b != RESTS]
        for length in lengths:
            for direction in ("both", "up", "down"):
                seconds = [None] * len(speeds)
                for a, b in pairs:
                    sends_only = (direction == "up" and a < b) or (direction == "down" and a > b)
                    transfer = loops[length] * (1e-6 + length / (1e9 * min(speeds[a], speeds[b])))
                    seconds[a] = 1e-8 if sends_only else transfer
                place = {"processes": "one_per_node", "scope": "all", "matching": index, "direction": direction}
                loop = {"message_bytes": length, "loop_length": loops[length], "partners": partners}
                measured.append({"record": "matching", **place, **loop, "seconds": seconds})
                received += len(pairs) // (1 if direction == "both" else 2) * length * (loops[length] + 1)
    measured.append({"record": "suspects", "suspects": suspects})
    for suspect in suspects:
        node, good = suspect["node"], suspect["good"]
        alone = again or speeds
        for repetition in range(1, 7):
            for a, b in ((node, good[0]), (node, good[1]), (good[0], good[1])):
                transfer = 3 * (1e-6 + lengths[2] / (1e9 * min(alone[a], alone[b])))
                place = {"suspect": node, "repetition": repetition, "processes": "one_per_node", "pair": [a, b]}
                loop = {"message_bytes": lengths[2], "loop_length": 3, "seconds": [transfer, transfer]}
                measured.append({"record": "confirmation", **place, **loop})
                received += 2 * lengths[2] * 4
    for index in range(MATCHINGS):
        measured.append(tails(plan, index, late or [TAIL] * len(speeds)))
        received += len(speeds) // 2 * 2 * 1024 * (1000 + 4)
    left_out = {"loops": "patterns", "scope": None, "measured": 0, "elapsed_seconds": 1.0}
    if any(pattern["averaged"] for pattern in plan["patterns"]):
        measured.append({"record": "matchings_left_out", **left_out})
    check = of_kind(base, "data_check")[0]
    total = int(check["received_bytes"]) + received
    end = base[-1]["elapsed_seconds"] + sum(
        max(s or 0 for s in m.get("seconds", m.get("longest_seconds", [0]))) for m in measured
    )
    matchings = plan["matchings"] | {"count": MATCHINGS, "reserved_seconds": 0.05 * plan["time_budget_seconds"]}
    place = base.index(check)
    made = [base[0], plan | {"matchings": matchings}, *base[2:place], *measured]
    made.append(check | {"received_bytes": total, "checked_bytes": total})
    made += [record | ({"elapsed_seconds": end} if "elapsed_seconds" in record else {}) for record in base[place + 1 :]]
    return numbered(made)
