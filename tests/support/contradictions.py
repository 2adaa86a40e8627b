# SPDX-License-Identifier: Apache-2.0
"""For each invariant of docs/log.md, by section of the page and log, changes of a sound log that break it: those of
tests/logs/contradictions.txt, each with its invariant and after "=>" words of the message, and here those that a text
cannot state. A change gets the records of a log made for tests or of a kernel and edits them in place, or returns the
text of a log."""

import copy
import json
import re
from functools import cache
from pathlib import Path

import counters_made as made_counters
import logs_made
import logs_made_b_eff
from edits import edit, put, where
from logs_made import KIB, MIB, calls_of, file_system, first, of_kind, striping, text
from logs_made_b_eff import b_eff_log, budget
from logs_made_b_eff_io import b_eff_io_log
from logs_made_ftio import ftio_log, half
from logs_made_nodes import matched_log
from logs_made_priomark import ALL, cases, metadata_case, priomark_log

LOGS = Path(__file__).parents[1] / "logs"
GROUPS = ("ring", "random-01", "random-02", "worst", "bisection", "cartesian-2d", "ping")  # two random patterns
OF_KERNELS = ("b_eff-nodes", "b_eff-memory", "b_eff_load", "b_eff_load-io", "b_eff_io_load")


def slower_by_tenths(node, *_):
    return 1 - 0.1 * node


def uneven(stage, activity, process, repetition):
    """The last process is slowest."""
    return half(stage, activity, process, repetition) * (1 + 0.1 * process)


@cache
def made() -> dict[str, list[dict]]:
    """A small sound log of each benchmark; copy it before you change it. Those with files state the servers of some."""
    small = {"ranks": 5, "methods": ("sendrecv", "neighbor"), "only": lambda name: name.startswith(GROUPS)}
    b_eff, reduced = b_eff_log(**small, repetitions=2), b_eff_log(**small, repetitions=1)
    b_eff[1]["random_patterns"] = reduced[1]["random_patterns"] = 2
    for length in (2, 4):
        left_out = first(reduced, record="measurement", method="neighbor", message_bytes=length)
        reduced = logs_made_b_eff.reduced(
            reduced, [left_out], budget("ring-1", length, "averaged_methods", ["sendrecv"])
        )
    by_metadata = [metadata_case(f"{whose}-directory", 10, 4096) for whose in ("own", "shared")]
    replay = [
        case | {"benchmark": "trace", "pattern": "replay"} for case in cases(("raw",), (MIB,), (KIB,), 0.5, "device")
    ]
    logs = {
        "b_eff": b_eff,
        "b_eff-reduced": reduced,
        "b_eff-counters": counted(copy.deepcopy(b_eff)),
        "b_eff-tails": matched_log([1] * 5, repetitions=1),
        "b_eff_io": b_eff_io_log(ranks=4, partitions=(2, 4), scheduled=9.0, speed=slower_by_tenths),
        "ftio": ftio_log(ranks=4, repetitions=2),
        "ftio-uneven": ftio_log(ranks=4, repetitions=2, seconds=uneven),
        "priomark": priomark_log(ranks=4, benchmarks=ALL, process_bytes=(MIB,), repetitions=2, speed=slower_by_tenths),
        "priomark-metadata": priomark_log(benchmarks=("single_file",), repetitions=2, metadata=by_metadata),
        "priomark-replay": priomark_log(planned=replay[:1]),
    }
    first(logs["priomark-replay"], record="measurement")["values"] = {name: [1.0] * 4 for name in REPLAYED}
    single_file = first(logs["priomark"], record="measurement", benchmark="single_file")["case"]
    for log, before, fields in (
        ("b_eff_io", "pattern_type{partition=4,method=write,type=separate}", {"partition": 4, **SEPARATE}),
        ("ftio-uneven", "repetition", {"repetition": 1}),
        ("priomark", f"measurement{{case={single_file},repetition=2}}", {"case": single_file, "repetition": 1}),
    ):
        layout = {"record": "layout", **fields, "servers": ["a", "b"], "files": [0, 1, 1, 0]}
        edit(f"insert {before} = {json.dumps(layout)}")(logs[log])
        logs[log] = logs_made.numbered(logs[log])
    return logs


SEPARATE = {"method": "write", "type": "separate"}
KINDS = ("streams", "mmap", "aio", "io_uring", "splice", "copy", "rename", "link", "program", "other")
REPLAYED = ("differing_results", "threads", "copies", "overlapped", *(f"unseen_{kind}" for kind in KINDS))
COUNTED = [
    made_counters.source("rapl_energy", "0 package-0", 1000),
    made_counters.source("infiniband_symbol_error", "a/1"),
]


def counted(r):
    """The log with counters."""
    r[:] = made_counters.with_counters(r, COUNTED, [[5, [3, 4]] for _ in r[0]["hosts"]])
    r[0] = {**r[0], "options": dict(r[0]["options"])}
    return logs_made.numbered(r)


def lines(change):
    return lambda r: change(text(r))


def suspect(**fields):
    """Of the second one, whose confirmation is left out, since it would have to be with other nodes."""

    def change(r):
        first(r, record="suspects")["suspects"][1].update(fields)
        confirmed = [number for number, record in enumerate(r) if record.get("suspect") == 1]
        left_out = {"loops": "confirmation", "scope": None, "measured": 1, "elapsed_seconds": 30.0}
        r[confirmed[0] : confirmed[-1] + 1] = [{"record": "matchings_left_out", **left_out}]

    return change


def managed_elsewhere(r):
    """The same vendor's managed memory, on the two devices of the first node the other way round."""
    managed = {**r[1]["memory"][1], "kind": "cuda-managed"}
    first, second, *others = managed["devices"]
    managed["devices"] = [{**first, "numa_node": 1}, second, *others]
    r[1]["memory"].append(managed)
    r[0]["options"]["memory"].append("cuda-managed")
    for entry in [p for p in r[1]["patterns"] if p["memory"] == ["cuda", "cuda"]]:
        kinds = [["cuda", "cuda-managed"], ["cuda-managed", "cuda-managed"]]
        base = entry["name"].removesuffix("-cuda")
        wanted = [[*kinds, ["host", "cuda-managed"]], kinds[1:]][entry["group"] != "ping_pong"]
        place = r[1]["patterns"].index(entry)
        added = [{**entry, "name": f"{base}-{'-'.join(dict.fromkeys(k))}", "memory": k} for k in wanted]
        if entry["group"] == "ping_pong":
            r[1]["patterns"][place:place] = added[2:]
            place += 1
        r[1]["patterns"][place + 1 : place + 1] = added[: len(added) - (entry["group"] == "ping_pong")]


def stopped(repetition, **more):
    """Before the second pattern of a repetition."""
    where = {"repetition": repetition, "pattern": "ring-2"}

    def change(r):
        stop = {"record": "stop", **where, "message_bytes": 1, "elapsed_seconds": 9.0, **more}
        r[r.index(first(r, record="loaded_trial", **where)) : r.index(first(r, record="data_check"))] = [stop]

    return change


def all_in_one(name, **match):
    """Times within their bins, but not those of the record."""

    def change(r):
        record = first(r, record="loaded", **match)
        record[name] = calls_of(2.0 * record["elapsed_seconds"], record[name]["calls"])

    return change


def last_trial_twice_as_long(r):
    of_kind(r, "loaded_trial")[-1]["elapsed_seconds"] *= 2


ONE_TO_FIVE = {"striping": [striping(stripes=n) for n in range(1, 6)]}  # of four files
SUSPECTS = [{"node": 3}, {"node": 0}, {"ratio": 53.9}, {"ratio": 1.09}]
SUSPECTS += [{"good": good} for good in ([2], [2, 2], [2, 0], [2, 5])]
LOADS = "b_eff_load invariants", "b_eff_load"
IO_LOADS = "b_eff_io_load invariants", "b_eff_io_load"
ON_FILES = put("run", filesystem=file_system("ext4"))
BY_HAND = [
    ("Every log", "b_eff", "keys", lines(lambda t: t.replace(b'"ranks": 5,', b'"ranks": 5, "ranks": 5,'))),
    ("Every log", "b_eff", "sequence", lines(lambda t: re.sub(rb".*\n(.*\n)$", rb"\1", t))),
    ("Every log", "b_eff", "lines", lines(lambda t: t[:-1])),
    ("Every log", "b_eff", "count", lines(lambda t: re.sub(rb'"records": \d+', b'"records": 3', t))),
    ("Every log", "b_eff_io", "striping", where("pattern_type", ONE_TO_FIVE, type="separate", partition=4)),
    ("Every log", "ftio-uneven", "striping", put("repetition", **ONE_TO_FIVE)),
    ("Every log", "priomark", "striping", where("measurement", {"striping": [striping()]}, benchmark="async")),
    ("Every log", "priomark", "striping", where("measurement", {"striping": [striping()]}, target="device")),
    ("Every log", "b_eff_load", "order", stopped(2, message_bytes=2)),
    ("b_eff invariants", "b_eff", "no_file_system", ON_FILES),
    *(("b_eff invariants", "b_eff-nodes", "suspects", suspect(**fields)) for fields in SUSPECTS),
    ("b_eff invariants", "b_eff-memory", "devices", managed_elsewhere),
    (*LOADS, "averaged_loops", stopped(1)),
    (*LOADS, "no_file_system", ON_FILES),
    (*LOADS, "planned", stopped(2, needed_budget_seconds=9.0)),
    (*LOADS, "exchanges", lambda r: first(r, record="loaded_trial").update(exchanges=calls_of(1.0, 1))),
    (*LOADS, "exchange_sum", all_in_one("exchanges", pattern="ring-1", message_bytes=1, phase=0)),
    (*IO_LOADS, "planned", last_trial_twice_as_long),
    (*IO_LOADS, "access_sum", all_in_one("accesses", pattern=20, method="read", phase=0)),
]


def stated(name):
    """(heading, invariant, change, what stands after "=>") of each case of a text file of tests/logs."""
    heading = ""
    for line in (LOGS / name).read_text(encoding="utf-8").replace("\n" + 20 * " ", " ").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif line and not line.startswith("#"):
            invariant, case = line.split(maxsplit=1)
            change, _, more = case.partition(" => ")
            yield heading, invariant, change.strip(), more


def contradictions():
    """(section of the page, log, invariant, change, words of the message) of each case."""
    for heading, name, change, words in stated("contradictions.txt"):
        yield *heading.split(": "), name, edit(change), words
    yield from ((*case, "") for case in BY_HAND)
