# SPDX-License-Identifier: Apache-2.0
"""Logs of b_eff made for tests. The bandwidth of every measurement is a function that the test chooses, so that the
test knows the score."""

import math

from logs_made import GIB, MIB, complete, derived, entry, first, numbered, run_record

# Rings by hand, from the specification's table: (count, size) in rank order for patterns 1 to 6.
RINGS = {
    2: [[(1, 2)]] * 6,
    3: [[(1, 3)]] * 6,
    5: [[(1, 2), (1, 3)]] + [[(1, 5)]] * 5,
    7: [[(2, 2), (1, 3)], [(1, 4), (1, 3)]] + [[(1, 7)]] * 4,
    10: [[(5, 2)], [(2, 5)]] + [[(1, 10)]] * 4,
    13: [[(5, 2), (1, 3)], [(2, 4), (1, 5)], [(1, 6), (1, 7)]] + [[(1, 13)]] * 3,
    16: [[(8, 2)], [(4, 4)], [(2, 8)]] + [[(1, 16)]] * 3,
    19: [[(8, 2), (1, 3)], [(4, 4), (1, 3)], [(1, 10), (1, 9)]] + [[(1, 19)]] * 3,
    28: [[(14, 2)], [(7, 4)], [(1, 10), (2, 9)], [(2, 14)], [(1, 28)], [(1, 28)]],
    32: [[(16, 2)], [(8, 4)], [(4, 8)], [(2, 16)], [(1, 32)], [(1, 32)]],
    100: [[(50, 2)], [(25, 4)], [(8, 8), (4, 9)], [(4, 25)], [(2, 50)], [(1, 100)]],
    128: [[(64, 2)], [(32, 4)], [(16, 8)], [(4, 32)], [(2, 64)], [(1, 128)]],
    512: [[(256, 2)], [(128, 4)], [(64, 8)], [(4, 128)], [(2, 256)], [(1, 512)]],
}
AVERAGED = ("sendrecv", "alltoallv", "nonblocking")
REPORTED = ("neighbor", "persistent")


def lengths(l_max_bytes):
    factor = (l_max_bytes / 4096) ** (1 / 8)
    return [2**k for k in range(13)] + [round(4096 * factor**k) for k in range(1, 8)] + [l_max_bytes]


def messages(rings):
    return sum(count * (size if size == 2 else 2 * size) for count, size in rings)


def pattern(name, group, rings, processes, methods, messages_per_exchange=None):
    sizes = [{"size": size, "count": count} for count, size in rings] if rings else None
    moved = messages(rings) if messages_per_exchange is None else messages_per_exchange
    known = {"name": name, "group": group, "averaged": group in ("ring", "random"), "messages_per_exchange": moved}
    return known | {"processes": processes, "rings": sizes, "methods": list(methods)}


def patterns(ranks, methods):
    n, even = ranks, ranks // 2 * 2
    return [
        *(pattern(f"ring-{k}", "ring", RINGS[n][k - 1], n, methods) for k in range(1, 7)),
        *(pattern(f"random-{k:02}", "random", [(1, n)], n, methods) for k in range(1, 31)),
        pattern("worst-cycle", "worst_cycle", [(1, n)], n, methods),
        *(pattern(f"bisection-{which}", "bisection", None, even, methods, even) for which in ("best", "worst")),
        *(pattern(f"cartesian-2d-{axis}", "cartesian_2d", None, n, methods, 2 * n) for axis in ("x", "y")),
        pattern("cartesian-2d-all", "cartesian_2d", None, n, methods, 4 * n),
        *(pattern(f"cartesian-3d-{axis}", "cartesian_3d", None, n, methods, 2 * n) for axis in ("x", "y", "z")),
        pattern("cartesian-3d-all", "cartesian_3d", None, n, methods, 6 * n),
        pattern("ping-pong", "ping_pong", None, 2, ["blocking"], 2),
    ]


def steady(latency_seconds=2e-6, link=1e9):
    """Bandwidth in byte/s that a process sees at a message length, with a latency and an asymptotic bandwidth; random
    placement costs a third, the methods differ by little."""
    method_factor = {"sendrecv": 1.0, "alltoallv": 0.7, "nonblocking": 1.1, "blocking": 1.0}
    method_factor |= {"neighbor": 1.2, "persistent": 1.15}

    def bandwidth(name, method, length, repetition, plan_entry):
        placement = 2 / 3 if name.startswith(("random", "worst", "bisection-worst")) else 1.0
        wobble = 1 - 0.01 * ((repetition + len(name) + length) % 5)
        rate = link * placement * method_factor[method] * wobble
        return plan_entry["messages_per_exchange"] * length / (latency_seconds + length / rate)

    return bandwidth


def exchanged(records):
    """Bytes of all loops, each with one exchange that is not timed."""
    [planned] = [record["patterns"] for record in records if record["record"] == "plan"]
    messages = {pattern["name"]: pattern["messages_per_exchange"] for pattern in planned}
    loops = [record for record in records if record["record"] in ("measurement", "latency", "trial")]
    return sum(m["message_bytes"] * messages.get(m["pattern"], 0) * (m["loop_length"] + 1) for m in loops)


def b_eff_log(
    ranks=16,
    nodes=2,
    memory_per_process_bytes=GIB,
    bandwidth=None,
    methods=AVERAGED + REPORTED,
    repetitions=3,
    only=None,
    simulated=False,
):
    """All records of a complete, official b_eff run. `bandwidth(pattern, method, length, repetition, plan entry)` in
    byte/s; `only` picks patterns by name."""
    bandwidth = bandwidth or steady()
    l_max = min(128 * MIB, memory_per_process_bytes // 128)
    planned = [pattern for pattern in patterns(ranks, methods) if only is None or only(pattern["name"])]
    received = derived(exchanged)
    run = run_record("b_eff", ranks, nodes, memory_per_process_bytes, options_of) | {"simulated": simulated}
    if simulated:
        run["provenance"]["preloaded"] = None
    measured = [
        record
        for repetition in range(1, repetitions + 1)
        for record in one_repetition(planned, lengths(l_max), repetition, bandwidth, run["hosts"])
        if not (simulated and record["record"] in ("probe", "memory_copy"))
    ]
    in_loops = sum(record.get("elapsed_seconds", 0) for record in measured)
    named = [{"name": method, "averaged": method in AVERAGED} for method in (*methods, "blocking")]
    plan = entry(PLAN, message_bytes=lengths(l_max), l_max_bytes=l_max, buffer_bytes=8 * l_max, repetitions=repetitions)
    plan |= {"methods": named, "patterns": planned}
    plan["matchings"]["lengths"] = [lengths(l_max)[place] for place in (12, 16, 20)]
    check = {"received_bytes": received, "checked_bytes": received}
    return complete(run, plan, measured, 1.05 * in_loops + 1, check=check)


PLAN = """"first_loop_length": 300, "longest_loop_length": 100000, "random_patterns": 30, "time_budget_seconds": 300.0,
"seed": 20260101, "matchings": {"count": 0, "loop_lengths": [300, 30, 3], "resolution": "process", "groups": null,
    "all_pairs": false, "reserved_seconds": 0.0}"""
UNSET = '"memory-per-process": null, "memory": null, "memory-anyway": false'
# Options that are fields of the plan.
PLANNED = {"time-budget": "time_budget_seconds", "longest-loop": "longest_loop_length"}
PLANNED |= {name: name.replace("-", "_") for name in ("seed", "first-loop-length", "repetitions", "random-patterns")}


def options_of(run, plan, _):
    """Those that the plan of a log determines."""
    asked = plan["matchings"]
    groups = list(dict.fromkeys(pattern["group"] for pattern in plan["patterns"]))
    pairwise = {
        "matchings": asked["count"],
        "node-groups": asked["groups"] and "groups.txt",
        "all-pairs": asked["all_pairs"],
    }
    chosen = {"patterns": groups, "methods": [method["name"] for method in plan["methods"]]}
    planned = {option: plan[name] for option, name in PLANNED.items()}
    return entry(UNSET, **planned, **chosen, **pairwise)


def averaged_log(**options):
    """A log of the averaged patterns and the ping-pong with one method and one repetition: small, complete."""
    few = {"methods": ("nonblocking",), "repetitions": 1}
    return b_eff_log(**{**few, "only": lambda name: name.startswith(("ring", "random", "ping")), **options})


def one_repetition(planned, message_bytes, repetition, bandwidth, hosts):
    """The records of a repetition, as the kernel writes them. A process copies 1 GByte/s in memory."""
    round_trips = {"shortest_round_trip_seconds": 1.0e-7, "longest_round_trip_seconds": 1.2e-7}
    probed = [round_trips if len(host["ranks"]) > 1 else None for host in hosts]
    yield {"record": "probe", "repetition": repetition, "hosts": probed}
    copied = min(8 * message_bytes[-1], 4 * MIB)
    copy = {"record": "memory_copy", "repetition": repetition, "copied_bytes": copied}
    yield copy | {"seconds": len(hosts) * [copied / 1e9]}
    for pattern in planned:
        methods = pattern["methods"]
        if repetition == 1:
            yield from (loop(pattern, method, 1, 1, bandwidth, "trial") for method in methods for _ in range(3))
        for length in message_bytes:
            yield from (loop(pattern, method, length, repetition, bandwidth) for method in methods)
            if length == 1 and pattern["group"] in ("ring", "ping_pong"):
                for method in [method for method in methods if method in AVERAGED] or methods:
                    yield loop(pattern, method, 1, repetition, bandwidth, "latency")


def loop(planned, method, length, repetition, bandwidth, kind="measurement"):
    """One timed loop; its length is that of the first repetition's."""
    first, rate = (bandwidth(planned["name"], method, length, number, planned) for number in (0, repetition - 1))
    moved = length * planned["messages_per_exchange"]
    loop_length = {"latency": 10000, "trial": 1}.get(kind) or (
        300 if length == 1 else min(100000, max(1, math.ceil(0.0025 * first / moved)))
    )
    elapsed = moved * loop_length / rate
    place = {"record": kind, "repetition": repetition, "pattern": planned["name"], "method": method}
    slowest = elapsed * planned["processes"] / planned["messages_per_exchange"]
    seconds = {"elapsed_seconds": elapsed, "fastest_seconds": 0.97 * elapsed, "slowest_message_seconds": slowest}
    return {**place, "message_bytes": length, "loop_length": loop_length, **seconds}


def retimed(record, elapsed_seconds, fastest_seconds=None):
    """Another time of a loop, and of each message in it."""
    factor = elapsed_seconds / record["elapsed_seconds"]
    return record | {
        "elapsed_seconds": elapsed_seconds,
        "fastest_seconds": elapsed_seconds if fastest_seconds is None else fastest_seconds,
        "slowest_message_seconds": record["slowest_message_seconds"] * factor,
    }


def reduced(records, left_out, record):
    """The log of a run whose budget did not suffice for some loops: `record`, a budget, is where they begin."""
    kind = {"bandwidth": "measurement", "latency": "latency"}[record["loops"]]
    same = ("repetition", "pattern", "message_bytes")
    place = next(
        number
        for number, loop in enumerate(records)
        if loop["record"] == kind and all(loop[name] == record[name] for name in same)
    )
    kept = [[loop for loop in part if loop not in left_out] for part in (records[:place], records[place:])]
    return numbered([*kept[0], record, *kept[1]])


def loops_of(records, kind, pattern):
    """Records of loops whose pattern's name begins like this."""
    return [record for record in records if record["record"] == kind and record["pattern"].startswith(pattern)]


def budget(pattern, length, reduced_to, methods, repetition=1, loops="bandwidth"):
    """The record of a budget that did not suffice."""
    place = {"repetition": repetition, "loops": loops, "pattern": pattern, "message_bytes": length}
    known = entry('"record": "budget", "elapsed_seconds": 100.0, "estimate_seconds": 400.0', **place)
    return known | {"reduced_to": reduced_to, "methods": methods}


def stopped_log(repetition, pattern, needed=None, **run):
    """A log whose run was stopped at 64 byte of a pattern in a repetition, and needs that time budget for a score."""
    records = b_eff_log(methods=AVERAGED, only=lambda name: name.startswith(("ring", "random", "worst")), **run)
    at = records.index(first(records, record="measurement", repetition=repetition, pattern=pattern, message_bytes=64))
    end = records.index(first(records, record="data_check"))
    place = {"repetition": repetition, "pattern": pattern}
    stop = entry('"record": "stop", "message_bytes": 64, "elapsed_seconds": 525.0', **place)
    stop |= {"needed_budget_seconds": needed} if needed else {}
    return numbered([*records[:at], stop, *records[end:]])
