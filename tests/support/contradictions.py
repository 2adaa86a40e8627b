# SPDX-License-Identifier: Apache-2.0
"""For each invariant of docs/log.md, by section of the page, changes of a sound log that break it. A change gets the
records of a log made for tests and edits them in place, or returns the text of a log."""

import json

import counters_made as made_counters
import logs_made
from logs_made import GIB, MIB, file_system, first, of_kind, text
from logs_made_b_eff import b_eff_log, retimed
from logs_made_b_eff_io import b_eff_io_log
from logs_made_ftio import ftio_log, half
from logs_made_priomark import ALL, priomark_log


def pattern_groups(name):
    return name.startswith(("ring", "random", "worst", "bisection", "cartesian-2d", "ping"))


def slower_by_tenths(node, *_):
    return 1 - 0.1 * node


def uneven(stage, activity, process, repetition):
    """The last process is slowest."""
    return half(stage, activity, process, repetition) * (1 + 0.1 * process)


def made() -> dict[str, list[dict]]:
    """A small sound log of each benchmark."""
    return {
        "b_eff": b_eff_log(ranks=5, methods=("sendrecv", "neighbor"), repetitions=2, only=pattern_groups),
        "b_eff_io": b_eff_io_log(ranks=4, partitions=(2, 4), scheduled=9.0, speed=slower_by_tenths),
        "ftio": ftio_log(ranks=4, repetitions=2),
        "ftio-uneven": ftio_log(ranks=4, repetitions=2, seconds=uneven),
        "priomark": priomark_log(ranks=4, benchmarks=ALL, process_bytes=(MIB,), repetitions=2, speed=slower_by_tenths),
    }


def put(kind, **fields):
    """Sets fields of the first record of a kind."""
    return lambda r: first(r, record=kind).update(fields)


def where(kind, fields, **match):
    return lambda r: first(r, record=kind, **match).update(fields)


def option(**options):
    return lambda r: r[0]["options"].update({name.replace("_", "-"): value for name, value in options.items()})


def host(**fields):
    return lambda r: r[0]["hosts"][0].update(fields)


def pattern(of, /, **fields):
    return lambda r: next(entry for entry in r[1]["patterns"] if entry["name"] == of).update(fields)


def both(*changes):
    def change(r):
        for one in changes:
            one(r)

    return change


def lines(change):
    return lambda r: change(text(r))


def gone(kind):
    return lambda r: r.remove(first(r, record=kind))


def ended(seconds):
    """The run ended sooner than its measurements allow."""
    return lambda r: logs_made.ended(r, seconds)


def latencies(**fields):
    return lambda r: first(r, record="measurement", case=1)["latencies"][0].update(fields)


def phase(stage, activity, **fields):
    return where("measurement", fields, stage=stage, activity=activity)


def alone(r):
    """On one process."""
    r[0]["ranks"] = 1
    for record in r:
        del record.get("hosts", [])[1:]
    entry = r[0]["hosts"][0]
    entry.update(ranks=[0], core_sets=["0-127"], memory_bytes=r[0]["memory_per_process_bytes"])


def reduction(name, length, reduced_to, methods, elapsed_seconds=9.0):
    return {
        "record": "budget",
        "repetition": 1,
        "loops": "bandwidth",
        "pattern": name,
        "message_bytes": length,
        "reduced_to": reduced_to,
        "methods": methods,
        "elapsed_seconds": elapsed_seconds,
        "estimate_seconds": 900.0,
    }


def without_averaged(r):
    """The budget leaves out the averaged method, in both repetitions."""
    for repetition in (1, 2):
        at = next(
            n
            for n, m in enumerate(r)
            if (m["record"], m.get("repetition"), m.get("pattern"), m.get("message_bytes"))
            == ("measurement", repetition, "ring-1", 2)
        )
        r[at] = {**reduction("ring-1", 2, "best_method", ["neighbor"]), "repetition": repetition}


def one_exchange_more(r):
    """The data check stays as it was."""
    check = first(r, record="data_check")
    check["received_bytes"] = check["checked_bytes"] = int(check["received_bytes"])
    first(r, record="measurement")["loop_length"] += 1


def budgets_back(r):
    """Two lengths are measured by the averaged method only; the second budget is noted before the first."""
    for length, seconds in ((2, 9.0), (4, 5.0)):
        at = next(n for n, m in enumerate(r) if m["record"] == "measurement" and m["message_bytes"] == length)
        r.insert(at, reduction("ring-1", length, "averaged_methods", ["sendrecv"], seconds))
        del r[at + 2]


COUNTED = [
    made_counters.source("rapl_energy", "0 package-0", 1000),
    made_counters.source("infiniband_symbol_error", "a/1"),
]


def counters(change, values=([5, [3, 4]],), **more):
    """A log with counters, and a change of their last record."""

    def changed(r):
        own = [list(values[0]) for _ in r[0]["hosts"]]
        r[:] = made_counters.with_counters(r, COUNTED, own, **more)
        r[0] = {**r[0], "options": dict(r[0]["options"])}
        change(of_kind(r, "counters")[-1])

    return changed


def idle(seconds, option_seconds):
    """The run had idle time: `seconds` by its counters."""
    stated = {"phase": "idle", "elapsed_seconds": seconds, "longest_seconds": seconds}
    return both(
        counters(lambda counted: None),
        lambda r: r.insert(r.index(first(r, record="counters")), first(r, record="counters") | stated),
        option(idle_power=option_seconds),
    )


EVERY = {
    "planned": [put("plan", buffer_bytes=MIB)],
    "record": [
        put("run", ranks=2.0),
        put("plan", surprise=1),
        lines(lambda t: t.replace(b'"wrong_bytes": 0', b'"wrong_bytes": NaN')),
    ],
    "keys": [lines(lambda t: t.replace(b'"ranks": 5,', b'"ranks": 5, "ranks": 5,'))],
    "sequence": [lines(lambda t: b"".join(t.splitlines(keepends=True)[:-2] + t.splitlines(keepends=True)[-1:]))],
    "lines": [lines(lambda t: t[:-1])],
    "kinds": [lines(lambda t: t.split(b"\n", 1)[1]), lambda r: r.append(dict(r[-1]))],
    "count": [
        lines(
            lambda t: (
                t[: t.rindex(b"{")] + json.dumps({**json.loads(t.splitlines()[-1]), "records": 3}).encode() + b"\n"
            )
        )
    ],
    "complete": [put("end", status="failed"), lambda r: r.pop()],
    "version": [put("run", schema_version=1), put("run", schema_version=3), put("run", benchmark="linpack")],
    "end": [put("end", reason="it failed"), put("end", rank=1), lambda r: r[-1].pop("end_time")],
    "single": [
        *(gone(kind) for kind in ("data_check", "files", "clocks")),
        lambda r: r.insert(3, dict(first(r, record="overhead"))),
        put("run", simulated=True),
    ],
    "preloaded": [lambda r: r[0]["provenance"].update(preloaded=None)],
    "places": [lambda r: r.insert(4, r.pop(2)), lambda r: r.insert(3, r.pop(-2))],
    "ranks": [host(ranks=[0, 1, 3]), lambda r: r[0]["hosts"].pop()],
    "ranks_in_order": [lambda r: r[0]["hosts"].reverse(), host(ranks=[1, 0, 2])],
    "cores": [
        host(cores=7),
        host(core_sets=["0", "0", "1"]),
    ],
    "offered_cores": [host(offered_cores=127)],
    "binding": [lambda r: r[0]["mpi"].update(binding_cores_max=129)],
    "memory_source": [put("run", memory_source="option"), option(memory_per_process=GIB)],
    "memory": [
        put("run", memory_per_process_bytes=GIB + 1),
        both(put("run", memory_source="option"), option(memory_per_process=MIB)),
    ],
    "activity": [
        lambda r: first(r, record="activity")["hosts"].pop(),
        lambda r: r.insert(-1, dict(first(r, record="activity"))),
    ],
    "activity_time": [put("activity", elapsed_seconds=1e6)],
    "activity_cores": [
        lambda r: first(r, record="activity")["hosts"][0].update(stolen_seconds=1e9),
    ],
    "counters": [
        counters(lambda counted: counted.update(phase="idle")),
        lambda r: r.insert(-2, dict(first(r, record="counters"))),
        both(counters(lambda counted: None), option(idle_power=1.0)),
        both(idle(1.0, 1.0), option(idle_power=0.0)),
        both(counters(lambda counted: None), option(idle_power="1")),
        gone("counters"),
    ],
    "counters_time": [
        counters(lambda counted: counted.update(elapsed_seconds=1e6)),
        counters(lambda counted: counted.update(longest_seconds=1e6)),
        idle(0.9, 1.0),
        idle(2.1, 1.0),
    ],
    "counter_names": [
        counters(lambda counted: counted["sources"][0].update(counter="rapl_energie")),
        counters(lambda counted: counted["absent"].append("new_counter")),
        counters(lambda counted: counted["absent"].append("rapl_energy")),
    ],
    "counter_values": [
        counters(lambda counted: counted["hosts"].pop()),
        counters(lambda counted: counted["hosts"][0]["values"].pop()),
        counters(lambda counted: counted["hosts"][0]["values"].__setitem__(1, "absent")),
        counters(lambda counted: counted["hosts"][0].update(has=[0])),
        counters(lambda counted: counted["hosts"][0].update(has=[0, 2])),
        counters(lambda counted: [each.update(has=[0], values=[5]) for each in counted["hosts"]]),
    ],
    "counter_largest": [
        counters(lambda counted: counted["hosts"][0]["values"].__setitem__(0, [5, 1001])),
        counters(lambda counted: counted["hosts"][0]["values"].__setitem__(0, 1001)),
        counters(lambda counted: counted["hosts"][0]["values"].__setitem__(1, [3, 4, 1])),
        counters(lambda counted: counted["hosts"][0]["values"].__setitem__(0, [3, 4, 0])),
    ],
    "options": [
        option(surprise=1),
        option(memory=["host"]),
        option(memory_anyway=True),
        option(seed=7),
        option(repetitions=3),
        option(methods=["sendrecv"]),
        option(patterns=["ring"]),
    ],
    "whole_time": [ended(0.1)],
    "order": [
        lambda r: r.insert(20, r.pop(21)),
        lambda r: r.pop(30),
        lambda r: r.insert(30, dict(r[30])),
        lambda r: r.insert(40, r.pop(400)),
    ],
}
B_EFF = {
    "planned": [
        pattern("ring-1", rings=[{"size": 5, "count": 1}]),
        pattern("bisection-best", rings=[{"size": 2, "count": 2}]),
        pattern("worst-cycle", averaged=True),
        pattern("ring-1", methods=["neighbor", "sendrecv"]),
        pattern("ping-pong", methods=["sendrecv"]),
        pattern("ring-2", processes=4),
        pattern("bisection-best", processes=5),
        pattern("ping-pong", processes=5),
        pattern("ping-pong", messages_per_exchange=200),
        pattern("ring-1", messages_per_exchange=10),
        pattern("cartesian-2d-x", messages_per_exchange=11),
        both(
            put("run", memory_per_process_bytes=2 * GIB),
            lambda r: [h.update(memory_bytes=2 * h["memory_bytes"]) for h in r[0]["hosts"]],
        ),
        put("plan", buffer_bytes=MIB),
        put("memory_copy", copied_bytes=65535),
        put("memory_copy", copied_bytes=8 * MIB),
        one_exchange_more,
        put("data_check", received_bytes=1, checked_bytes=1),
    ],
    "two_processes": [alone],
    "no_file_system": [put("run", filesystem=file_system("ext4"))],
    "wrong_bytes": [put("data_check", wrong_bytes=1)],
    "planned_once": [
        lambda r: r[1]["patterns"].append(r[1]["patterns"][0]),
        lambda r: r[1]["methods"].append(r[1]["methods"][0]),
    ],
    "averaged_methods": [lambda r: r[1]["methods"][1].update(averaged=True)],
    "all_patterns": [put("plan", random_patterns=29), lambda r: r[1]["patterns"].pop(0)],
    "group_of_pattern": [pattern("worst-cycle", name="cycle")],
    "grids": [
        pattern("cartesian-2d-x", messages_per_exchange=5),
        pattern("cartesian-2d-y", processes=4, messages_per_exchange=8),
    ],
    "lengths": [lambda r: r[1]["message_bytes"].__setitem__(14, 27560)],
    "options": [
        option(time_budget=1.0),
        option(first_loop_length=1),
        option(longest_loop=1),
        option(random_patterns=1),
    ],
    "budget": [lambda r: r.insert(9, reduction("ring-1", 1, "best_method", ["sendrecv", "neighbor"]))],
    "budget_times": [budgets_back],
    "stop": [
        lambda r: [
            r.insert(
                9, {"record": "stop", "repetition": 1, "pattern": "ring-1", "message_bytes": 1, "elapsed_seconds": 9.0}
            )
            for _ in "12"
        ]
    ],
    "averaged_loops": [without_averaged],
    "shortest": [lambda r: first(r, record="measurement").update(retimed(first(r, record="measurement"), 1e-10))],
    "fastest": [put("measurement", fastest_seconds=1e6), put("trial", fastest_seconds=1e6)],
    "slowest_message": [
        where("measurement", {"slowest_message_seconds": 1e6}, pattern="ring-2"),
        where("trial", {"elapsed_seconds": 1.0}, pattern="ring-2"),
    ],
    "loop_length": [
        put("latency", loop_length=9999),
        put("trial", loop_length=2),
        put("measurement", loop_length=100001),
    ],
    "probe_hosts": [lambda r: first(r, record="probe")["hosts"].pop()],
    "probe_pairs": [
        both(
            host(ranks=[0], core_sets=["0-127"]),
            lambda r: r[0]["hosts"][1].update(ranks=[1, 2, 3, 4], core_sets=["0-127"] * 4, memory_bytes=4 * GIB),
        )
    ],
    "probe_times": [lambda r: first(r, record="probe")["hosts"][0].update(longest_round_trip_seconds=1e-9)],
    "copy_hosts": [lambda r: first(r, record="memory_copy")["seconds"].pop()],
    "checked_bytes": [put("data_check", checked_bytes=10**18), put("data_check", checked_bytes=0)],
}
