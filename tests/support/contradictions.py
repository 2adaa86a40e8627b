# SPDX-License-Identifier: Apache-2.0
"""For each invariant of docs/log.md, by section of the page and log, changes of a sound log that break it: those of
tests/logs/contradictions.txt, and here those that a text cannot state. A change gets the records of a log made for
tests or of a kernel and edits them in place, or returns the text of a log."""

import copy
import re
from functools import cache
from pathlib import Path

import counters_made as made_counters
import logs_made
from edits import both, edit, option, put, where
from logs_made import MIB, calls_of, file_system, first, of_kind, striping, text
from logs_made_b_eff import b_eff_log
from logs_made_b_eff_io import b_eff_io_log
from logs_made_ftio import ftio_log, half
from logs_made_priomark import ALL, metadata_case, priomark_log

STATED = Path(__file__).parents[1] / "logs" / "contradictions.txt"
GROUPS = ("ring", "random-01", "random-02", "worst", "bisection", "cartesian-2d", "ping")  # two random patterns
OF_KERNELS = ("b_eff-nodes", "b_eff-memory", "b_eff_load", "b_eff_io_load")


def slower_by_tenths(node, *_):
    return 1 - 0.1 * node


def uneven(stage, activity, process, repetition):
    """The last process is slowest."""
    return half(stage, activity, process, repetition) * (1 + 0.1 * process)


@cache
def made() -> dict[str, list[dict]]:
    """A small sound log of each benchmark; copy it before you change it."""
    b_eff = b_eff_log(
        ranks=5, methods=("sendrecv", "neighbor"), repetitions=2, only=lambda name: name.startswith(GROUPS)
    )
    b_eff[1]["random_patterns"] = 2
    return {
        "b_eff": b_eff,
        "b_eff-counters": counted(copy.deepcopy(b_eff)),
        "b_eff_io": b_eff_io_log(ranks=4, partitions=(2, 4), scheduled=9.0, speed=slower_by_tenths),
        "ftio": ftio_log(ranks=4, repetitions=2),
        "ftio-uneven": ftio_log(ranks=4, repetitions=2, seconds=uneven),
        "priomark": priomark_log(ranks=4, benchmarks=ALL, process_bytes=(MIB,), repetitions=2, speed=slower_by_tenths),
        "priomark-metadata": priomark_log(
            benchmarks=("single_file",),
            repetitions=2,
            metadata=[metadata_case(f"{whose}-directory", 10, 4096) for whose in ("own", "shared")],
        ),
    }


def ended(seconds):
    """The run ended sooner than its measurements allow."""
    return lambda r: logs_made.ended(r, seconds)


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


def counted(r):
    """The log with counters."""
    r[:] = made_counters.with_counters(r, COUNTED, [[5, [3, 4]] for _ in r[0]["hosts"]])
    r[0] = {**r[0], "options": dict(r[0]["options"])}
    return logs_made.numbered(r)


def idle(seconds, option_seconds):
    """The run had idle time: `seconds` by its counters."""
    stated = {"phase": "idle", "elapsed_seconds": seconds, "longest_seconds": seconds}
    counters = edit(f"repeat counters ; run.options.idle-power = {option_seconds}")
    return both(counters, lambda r: first(r, record="counters").update(stated))


def lines(change):
    return lambda r: change(text(r))


def moved(kind, places):
    """A record and those after it: the first one comes last."""

    def change(r):
        at = r.index(first(r, record=kind))
        r.insert(at + places, r.pop(at))

    return change


def layout(before, servers, files, after=0, **fields):
    """The servers of the files, in a record before or after another one."""

    def change(r):
        place = r.index(first(r, **before)) + after
        r.insert(place, {"record": "layout", **fields, "servers": servers, "files": files})

    return change


def of_type(servers, files, kind="separate"):
    """The servers of the files in the first write of a type by the larger partition."""
    where = {"partition": 4, "method": "write", "type": kind}
    return layout({"record": "pattern_type", **where}, servers, files, **where)


def of_case(servers, files, benchmark="single_file"):
    """The servers of the files in the first case of a sub-benchmark."""

    def change(r):
        case = next(entry["case"] for entry in r[1]["cases"] if entry["benchmark"] == benchmark)
        times = {"record": "process_times", "case": case}
        layout(times, servers, files, after=1, case=case, repetition=1)(r)

    return change


def of_repetition(servers, files):
    return layout({"record": "repetition"}, servers, files, repetition=1)


TWO = ["a", "b"]
# Of four processes: too few, too many, not in order of their first use, with one that does not exist.
LAYOUTS = ([0, 1], [0, 0, 0, 0], [1, 0, 1, 0], [0, 2, 1, 1])
# More servers than the four stripes of the first file and their mirrors.
NINE = [" ".join(f"server{number}" for number in range(9)), "b"], [0, 1, 1, 1]
ONE_TO_FIVE = [striping(stripes=n) for n in range(1, 6)]


def longer(r, seconds):
    """A pattern takes longer than its parts, and with it its type."""
    entry = first(r, record="measurement", pattern=3)
    first(r, record="pattern_type", type="scatter")["elapsed_seconds"] += seconds
    entry["elapsed_seconds"] += seconds
    r[-1]["elapsed_seconds"] += seconds


KINDS = ("streams", "mmap", "aio", "io_uring", "splice", "copy", "rename", "link", "program", "other")
REPLAYED = ("differing_results", "threads", "copies", "overlapped", *(f"unseen_{kind}" for kind in KINDS))


def replayed(**different):
    """A replay as the kernel counts it, which differs in some values; no other rule concerns those of `trace`."""

    def change(r):
        counts = {name: [1.0] * 4 for name in REPLAYED} | different
        for case in r[1]["cases"]:
            case["benchmark"] = "trace" if case["benchmark"] == "raw" else case["benchmark"]
        r[1]["benchmarks"][-1]["name"] = "trace"
        for record in of_kind(r, "measurement"):
            if record["benchmark"] == "raw":
                record.update(benchmark="trace", values=counts)

    return change


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


def bins_of_nothing(r):
    """They end where they begin."""
    found = first(r, record="loaded", pattern=20, method="read", phase=0)["accesses"]
    found["to_seconds"] = found["from_seconds"]


def slower_trial(r):
    of_kind(r, "loaded_trial")[-1]["elapsed_seconds"] *= 2


def stop_twice(r):
    stop = {"record": "stop", "repetition": 1, "pattern": "ring-1", "message_bytes": 1, "elapsed_seconds": 9.0}
    r[9:9] = [dict(stop), dict(stop)]


BY_HAND = {
    "Every log": {
        "b_eff": {
            "record": [lines(lambda t: t.replace(b'"wrong_bytes": 0', b'"wrong_bytes": NaN'))],
            "keys": [lines(lambda t: t.replace(b'"ranks": 5,', b'"ranks": 5, "ranks": 5,'))],
            "sequence": [
                lines(lambda t: b"".join(t.splitlines(keepends=True)[:-2] + t.splitlines(keepends=True)[-1:]))
            ],
            "lines": [lines(lambda t: t[:-1])],
            "kinds": [lines(lambda t: t.split(b"\n", 1)[1])],
            "count": [lines(lambda t: re.sub(rb'"records": \d+', b'"records": 3', t))],
            "places": [moved("overhead", 2), lambda r: r.insert(3, r.pop(-2))],
            "whole_time": [ended(0.1)],
            "order": [lambda r: r.insert(40, r.pop(400))],
        },
        "b_eff-counters": {
            "counters": [both(idle(1.0, 1.0), option(idle_power=0.0))],
            "counters_time": [idle(0.9, 1.0), idle(2.1, 1.0)],
        },
        "b_eff_io": {
            "whole_time": [ended(1.0)],
            "striping": [
                where("pattern_type", {"striping": ONE_TO_FIVE}, type="separate", partition=4),
                of_type(*NINE),
            ],
            "layout": [
                *(of_type(TWO, files) for files in LAYOUTS),
                *(of_type(TWO, [0, 1, 1, 0], kind) for kind in ("scatter", "segmented")),
            ],
        },
        "ftio-uneven": {
            "whole_time": [ended(1.0)],
            "striping": [put("repetition", striping=ONE_TO_FIVE), of_repetition(*NINE)],
            "layout": [of_repetition(TWO, files) for files in ([0, 1, 1], *LAYOUTS[1:3])],
        },
        "priomark": {
            "whole_time": [ended(0.1)],
            "striping": [
                where("measurement", {"striping": [striping()]}, benchmark="async"),
                where("measurement", {"striping": [striping()]}, benchmark="raw"),  # on a device
                of_case(*NINE),
            ],
            "layout": [
                *(of_case(TWO, files) for files in ([0, 1, 1], *LAYOUTS[1:])),
                *(of_case(TWO, [0, 1, 1, 0], benchmark) for benchmark in ("common_file", "raw")),  # raw on a device
            ],
        },
        "b_eff_load": {"order": [stopped(2, message_bytes=2)]},
        "b_eff_io_load": {
            "bins": [bins_of_nothing],
            "order": [lambda r: r.remove(first(r, record="loaded_trial", pattern=20, calls=2))],
        },
    },
    "b_eff invariants": {
        "b_eff": {
            "planned": [one_exchange_more],
            "two_processes": [alone],
            "no_file_system": [put("run", filesystem=file_system("ext4"))],
            "budget": [lambda r: r.insert(9, reduction("ring-1", 1, "best_method", ["sendrecv", "neighbor"]))],
            "budget_times": [budgets_back],
            "stop": [stop_twice],
            "averaged_loops": [without_averaged],
        },
        "b_eff-nodes": {
            "suspects": [
                *(suspect(node=node) for node in (3, 0)),
                *(suspect(good=good) for good in ([2], [2, 2], [2, 0], [2, 5])),
                *(suspect(ratio=ratio) for ratio in (53.9, 1.09)),
            ]
        },
        "b_eff-memory": {
            "asked": [
                lambda r: r[1]["memory"][1].update(
                    asked={"mpi_memory_alloc_kinds": None, "MPIX_Query_ze_support": True, "ucp_context_query": None}
                )
            ],
            "devices": [managed_elsewhere],
        },
    },
    "b_eff_load invariants": {
        "b_eff_load": {
            "averaged_loops": [stopped(1)],
            "no_file_system": [put("run", filesystem=file_system("ext4"))],
            "planned": [stopped(2, needed_budget_seconds=9.0)],
            "exchanges": [
                lambda r: first(r, record="loaded_trial").update(exchanges=first(r, record="loaded")["exchanges"])
            ],
            "exchange_sum": [all_in_one("exchanges", pattern="ring-1", message_bytes=1, phase=0)],
        }
    },
    "b_eff_io invariants": {"b_eff_io": {"whole": [lambda r: longer(r, 100.0)], "mpi_io": [moved("mpi_io", 2)]}},
    "b_eff_io_load invariants": {
        "b_eff_io_load": {
            "planned": [slower_trial],
            "access_sum": [all_in_one("accesses", pattern=20, method="read", phase=0)],
        }
    },
    "ftio invariants": {"ftio": {"places": [moved("files", 3)]}},
    "priomark invariants": {
        "priomark": {
            "replay": [replayed(threads=[0.5] * 4), replayed(unseen_mmap=[-1.0] * 4)],
            "copies": [replayed(copies=copies) for copies in ([3.0] * 4, [0.0] * 4, [1.0, 1.0, 2.0, 1.0])],
            "mpi_io": [moved("mpi_io", 2)],
            "bytes": [
                both(replayed(), where("measurement", {f"read_{what}": 0, f"{written}": 0}, benchmark="trace"))
                for what, written in (("bytes", "written_bytes"), ("calls", "write_calls"))
            ],
        }
    },
}


def contradictions():
    """(section of the page, log, invariant, change) of each case."""
    for line in STATED.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section, log = line.removeprefix("## ").split(": ")
        elif line:
            name, stated = line.split(maxsplit=1)
            yield section, log, name, edit(stated)
    for section, logs in BY_HAND.items():
        for log, invariants in logs.items():
            yield from ((section, log, name, change) for name, changes in invariants.items() for change in changes)
