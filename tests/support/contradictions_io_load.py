# SPDX-License-Identifier: Apache-2.0
"""Changes of a log of b_eff_io_load, for each invariant that they break: as in contradictions.py, but of a log of
a kernel on six processes: nodes 0 (two processes) and 4 are victims, nodes 1, 2 and 3 read and write."""

from contradictions import both, option, put, where
from contradictions_load import all_in_one, load, of_load, one_more, removed
from logs_made import GIB, KIB, MIB, first

PASS = {"pattern": 20, "method": "read", "phase": 0}
WRITE = {"pattern": 3, "method": "write", "phase": 0}


def without_load(r):
    del r[1]["load"]


def of_pass(**fields):
    return where("loaded", fields, **PASS)


def accesses(**fields):
    return lambda r: first(r, record="loaded", **PASS)["accesses"].update(fields)


def swapped(r):
    place = r.index(first(r, record="load"))
    r[place], r[place - 1] = r[place - 1], r[place]


def longer(**fields):
    """A pass that takes longer, and with it the load and the run."""
    return both(
        where("loaded", fields, **WRITE), lambda r: r[-1].update(elapsed_seconds=r[-1]["elapsed_seconds"] + 100)
    )


def slower_trial(r):
    last = [record for record in r if record["record"] == "loaded_trial"][-1]
    last["elapsed_seconds"] *= 2


IO_LOAD = {
    "planned": [
        lambda r: r[1]["patterns"].pop(),
        lambda r: r[1]["patterns"][0].update(call_bytes=2 * MIB),
        put("plan", pass_seconds=0.1),
        put("plan", repetitions=9),
        of_pass(calls=1),
        slower_trial,
        of_pass(type="scatter"),
        of_pass(bytes=32 * KIB),
        load(victims=[0, 1]),
        load(victim_processes=4),
        option(seed=3),
        option(victims=None),
        load(victims_percent=41),
        put("load", senders=2),
        put("load", senders=4),
        put("plan", space_limit_bytes=GIB),
        option(space_limit=GIB),
    ],
    "load": [both(load(kinds=["write", "read"]), option(kinds=["write", "read"]))],
    "cached": [of_pass(cached_bytes=None), of_pass(cached_bytes=GIB), where("loaded", {"cached_bytes": 0}, **WRITE)],
    "access_sum": [all_in_one("accesses", **PASS)],
    "no_load": [of_load("read", received_bytes=0), of_load("write", sent_bytes=0)],
    "load_bytes": [
        of_load("read", received_bytes=MIB),
        of_load("read", received_bytes=100 * MIB + 1),
        of_load("read", sent_bytes=10 * MIB),
        of_load("write", received_bytes=10 * MIB),
        of_load("read", silent_senders=1),
        of_load("read", cached_bytes=10 * GIB),
        of_load("write", cached_bytes=None),
    ],
    "load_time": [put("load", shortest_seconds=1e-6), put("load", elapsed_seconds=1e-6)],
    "victims": [load(victims=[0, 1, 2, 3, 4]), load(victims=[0, 5])],
}

OF_IO_LOAD = {
    "latency_calls": [accesses(calls=1), one_more("accesses", **PASS)],
    "bins": [lambda r: accesses(to_seconds=first(r, record="loaded", **PASS)["accesses"]["from_seconds"])(r)],
    "bin_widths": [load(latency_relative_error=1e-5)],
    "extremes": [accesses(longest_seconds=0.0)],
    "latency_sum": [accesses(sum_seconds=1e3)],
    "options": [
        lambda r: r[0]["options"].pop("kinds"),
        lambda r: r[0]["options"].pop("watchdog"),
        option(kinds=["read"]),
        option(dry_run=True),
        option(check_all=True),
        put("plan", scheduled_seconds=60.0),
        option(scheduled_time=60.0),
        load(file_bytes=MIB),
        option(load_file=MIB),
        lambda r: r[1]["load"].pop("file_bytes"),
    ],
    "whole_time": [of_pass(open_seconds=1e3)],
    "order": [
        removed("loaded", pattern=19, method="rewrite", phase=2),
        removed("load"),
        removed("loaded_trial", pattern=20, calls=2),
        removed("stop"),
        swapped,
        of_pass(load="read"),
        of_pass(phase=1),
        put("stop", repetition=2),
        put("stop", repetition=1),
    ],
    "read_bytes": [put("data_check", read_bytes=1)],
    "checked_bytes": [put("data_check", checked_bytes=0)],
    "wrong_bytes": [put("data_check", wrong_bytes=1)],
    "file_system": [put("run", filesystem=None)],
    "single": [removed("mpi_io")],
}

# Of b_eff_io's rules.
IO_PARTS = {
    "mpi_io": [lambda r: r.insert(5, r.pop(4))],
    "parts": [where("loaded", {"sync_seconds": 99.0}, **WRITE), of_pass(access_fastest_seconds=4.0)],
    "whole": [longer(elapsed_seconds=20.0)],
    "sync": [of_pass(sync_seconds=1e-6)],
}
