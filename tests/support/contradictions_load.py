# SPDX-License-Identifier: Apache-2.0
"""Changes of a log of b_eff_load, for each invariant that they break: as in contradictions.py, but of a log of a kernel
on six processes: nodes 0 (two processes) and 3 are victims, nodes 1, 2 and 4 generate incast and broadcast."""

from contradictions import both, option, put, where
from logs_made import calls_of, file_system, first

SHORT = {"pattern": "ring-1", "message_bytes": 1, "phase": 0}


def load(**fields):
    return lambda r: r[1]["load"].update(fields)


def of_load(kind, **fields):
    return where("load", fields, load=kind)


def loop(**fields):
    return where("loaded", fields, **SHORT)


def exchanges(**fields):
    return lambda r: first(r, record="loaded", **SHORT)["exchanges"].update(fields)


def one_more(name, **match):
    """A call more in the first bin, and in all, of the histogram `name` of a record under load."""

    def change(r):
        found = first(r, record="loaded", **match)[name]
        found["bin_calls"][0] += 1
        found["calls"] += 1

    return change


def all_in_one(name, **match):
    """Times within their bins, but not those of the record."""

    def change(r):
        record = first(r, record="loaded", **match)
        record[name] = calls_of(2.0 * record["elapsed_seconds"], record[name]["calls"])

    return change


def stopped(repetition, **more):
    """Before the second pattern of a repetition."""
    where = {"repetition": repetition, "pattern": "ring-2"}

    def change(r):
        stop = {"record": "stop", **where, "message_bytes": 1, "elapsed_seconds": 9.0, **more}
        r[r.index(first(r, record="loaded_trial", **where)) : r.index(first(r, record="data_check"))] = [stop]

    return change


def moved(kind, name):
    """Nothing in the first of these fields that is not 0."""
    return lambda r: first(r, record="load", load=kind).update({name: 0})


def removed(record, **match):
    return lambda r: r.remove(first(r, record=record, **match))


def swapped(r):
    places = [place for place, record in enumerate(r) if record["record"] == "load"][:2]
    r[places[0]], r[places[1]] = r[places[1]], r[places[0]]


LOAD = {
    "no_file_system": [put("run", filesystem=file_system("ext4")), option(directory="/scratch")],
    "averaged_loops": [stopped(1)],
    "load": [
        both(load(kinds=["broadcast", "incast"]), option(kinds=["broadcast", "incast"])),
        lambda r: r[1]["methods"].append({"name": "sendrecv", "averaged": True}),
        lambda r: r[1]["patterns"][0].update(memory=["host", "host"]),
    ],
    "planned": [
        option(victims=50),
        option(victims=None),
        load(victims_percent=41),
        load(victims=[0, 1]),
        load(victim_processes=4),
        lambda r: (r[1].update(seed=3), r[0]["options"].update(seed=3)),
        load(message_bytes=4096),
        put("load", senders=3),
        of_load("broadcast", senders=2),
        put("load", root=None),
        put("load", root=0),
        of_load("broadcast", root=4),
        stopped(2, needed_budget_seconds=9.0),
    ],
    "victims": [load(victims=[0, 1, 2, 3]), load(victims=[0, 5])],
    "exchanges": [
        loop(exchanges=None),
        lambda r: first(r, record="loaded_trial").update(exchanges=first(r, record="loaded", **SHORT)["exchanges"]),
    ],
    "exchange_sum": [all_in_one("exchanges", **SHORT)],
    "no_load": [moved("incast", "received_bytes"), moved("broadcast", "sent_bytes")],
    "load_bytes": [
        lambda r: first(r, record="load").update(received_bytes=first(r, record="load")["received_bytes"] + 1),
        lambda r: first(r, record="load").update(sent_bytes=first(r, record="load")["sent_bytes"] + 1),
    ],
    "load_time": [put("load", shortest_seconds=1e-6), put("load", elapsed_seconds=1e-6)],
    "senders": [put("load", silent_senders=3)],
}

OF_LOAD = {
    "latency_calls": [exchanges(calls=1), one_more("exchanges", **SHORT)],
    "bins": [lambda r: exchanges(to_seconds=first(r, record="loaded", **SHORT)["exchanges"]["from_seconds"])(r)],
    "bin_widths": [load(latency_relative_error=1e-5)],
    "extremes": [exchanges(longest_seconds=0.0)],
    "latency_sum": [exchanges(sum_seconds=1e3)],
    "options": [lambda r: r[0]["options"].pop("kinds"), option(kinds=["incast"]), option(repetitions=1)],
    "order": [
        stopped(2, message_bytes=2),
        removed("loaded", pattern="ring-3", message_bytes=64, phase=2),
        removed("load", pattern="random-01"),
        removed("loaded_trial", pattern="ring-6"),
        swapped,
        loop(load="incast"),
        loop(method="sendrecv"),
        put("loaded_trial", method="sendrecv"),
        loop(phase=1),
        of_load("incast", phase=3),
    ],
}
