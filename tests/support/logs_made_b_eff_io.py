# SPDX-License-Identifier: Apache-2.0
"""Logs of b_eff_io made for tests: plain loops over the paper's table 2. The bandwidth of every pattern type is a
function that the test chooses, so that the test knows the score."""

from logs_made import GIB, KIB, MIB, complete, numbered, run_record, striping
from logs_made import entry as entry_of

TYPES = ("scatter", "shared", "separate", "segmented", "segmented-collective")
METHODS = ("write", "rewrite", "read")
UNITS = {  # by hand, from the paper's table 2
    "scatter": (0, 4, 4, 4, 2, 2, 2, 2, 2),
    "shared": (0, 4, 2, 1, 1, 1, 1, 2),
    "separate": (0, 2, 2, 1, 1, 1, 1, 2),
    "segmented": (0, 2, 2, 1, 1, 1, 1, 2, 0),
    "segmented-collective": (0, 2, 2, 1, 1, 1, 1, 2, 0),
}
CHUNKS = (MIB, "m_part", MIB, 32 * KIB, KIB, 32 * KIB + 8, KIB + 8, MIB + 8, None)
SCATTERED = ((MIB, MIB), ("m_part", "m_part"), (MIB, 2 * MIB), (MIB, MIB), (32 * KIB, MIB), (KIB, MIB))
SCATTERED += ((32 * KIB + 8, MIB + 256), (KIB + 8, MIB + 8 * KIB), (MIB + 8, MIB + 8))
PERIOD_BYTES = 4099 * 4096


def patterns(m_part):
    planned = []
    for name in TYPES:
        sizes = SCATTERED if name == "scatter" else [(chunk, chunk) for chunk in CHUNKS]
        for units, (chunk, call) in zip(UNITS[name], sizes):
            put = {"m_part": m_part}
            sizes_of = {"chunk_bytes": put.get(chunk, chunk), "call_bytes": put.get(call, call), "units": units}
            planned.append({"pattern": len(planned), "type": name, **sizes_of})
    return planned


def size_driven(entry, planned, written, partition):
    """Calls by the slowest of the types 0 to 2 with the same chunk: tenfold those of type 1, chunks of type 0; without
    pattern 2."""
    if entry["units"] == 0:
        return 1
    return min(
        written[partition, other["pattern"]]
        * (10 if other["type"] == "shared" else other["call_bytes"] // other["chunk_bytes"])
        for other in planned
        if other["pattern"] < 25
        and other["units"]
        and other["pattern"] != 2
        and other["chunk_bytes"] == entry["chunk_bytes"]
    )


def times_of_processes(speeds):
    """Of each process, as a share of the slowest one's."""
    return [min(speeds) / speed for speed in speeds]


def rounded(seconds):
    """Four significant digits."""
    return float(f"{seconds:.4g}")


def b_eff_io_log(
    bandwidth=lambda partition, method, name: 1e8,
    partitions=(2, 4, 8),
    ranks=8,
    nodes=2,
    node_memory=64 * GIB,
    scheduled=900.0,
    form="standard",
    cache=None,
    overhead_share=0.02,
    space_limit=10**17,
    alignment=MIB,
    speed=lambda node, method, name: 1.0,
    interface=None,
):
    """All records of a complete, official run, or of one with the option `interface` and its three types.
    `bandwidth(partition, method, type)` in byte/s is that of the type from opening to closing; every pattern moves what
    its share of the time gives at this rate. `speed(node, method, type)` is a node's share of the usual bandwidth."""
    m_part = max(2 * MIB, min(GIB, node_memory // 128))
    names = [name for name in TYPES if interface is None or name not in ("shared", "separate")]
    planned = [entry for entry in patterns(m_part) if entry["type"] in names]
    moving, elapsed, read, checked = [], 0.0, 0, 0
    written, segments, fill = {}, {}, {}
    for method in METHODS:
        for partition in partitions:
            for name in names:
                if form == "top-clusters" and method == "rewrite" and name != "scatter":
                    continue
                rate, bytes_of_type, seconds_of_type = bandwidth(partition, method, name), 0, 0.0
                time_driven = not name.startswith("segmented")
                segments.setdefault((partition, name), 0)
                for entry in (entry for entry in planned if entry["type"] == name):
                    share = scheduled / 3 * entry["units"] / 64
                    key = partition, entry["pattern"]
                    if not entry["call_bytes"] and method == "write":  # fills up the segment
                        fill[partition, name] = -segments[partition, name] % alignment
                    call = entry["call_bytes"] or fill[partition, name]
                    if not call:
                        continue
                    if method == "write":
                        calls = max(1, round(share * rate / call / partition))
                        spare = space_limit - sum(partitions) * sum(e["call_bytes"] or alignment for e in planned)
                        room = 1 + spare // len(partitions) // 64 * entry["units"] // (call * partition)
                        full = time_driven and calls >= room
                        calls = room if full else calls
                        written[key] = calls if time_driven else size_driven(entry, planned, written, partition)
                        segments[partition, name] += written[key] * call
                    moved = written[key] * call * partition
                    seconds = (1 - overhead_share) * moved / rate
                    bytes_of_type += moved
                    seconds_of_type += moved / rate
                    checked += (method == "read") * partition * call * min(written[key], max(1, PERIOD_BYTES // call))
                    agrees = name in ("scatter", "shared") and entry["units"] > 0
                    access, sync = (0.95, 0.0) if method == "read" else (0.9, 0.05)
                    each = None
                    if name in ("separate", "segmented"):
                        each = times_of_processes(
                            [speed(rank // -(-ranks // nodes), method, name) for rank in range(partition)]
                        )
                    place = {"partition": partition, "method": method, "type": name}
                    by_time = "space" if full else "time"
                    ended_by = by_time if method == "write" and time_driven and share else "count"
                    moving.append(
                        {"record": "measurement", **place, "pattern": entry["pattern"], "hints": None}
                        | {"chunk_bytes": entry["chunk_bytes"] or call, "call_bytes": call, "bytes": moved}
                        | {"calls_min": written[key], "calls_max": written[key], "calls_sum": written[key] * partition}
                        | {"ended_by": ended_by, "scheduled_seconds": share, "elapsed_seconds": seconds}
                        | {"position_seconds": 0.0, "access_seconds": access * seconds, "sync_seconds": sync * seconds}
                        | {"access_fastest_seconds": access * min(each) * seconds if each else 0.8 * seconds}
                        | {"agreement_seconds": agrees * 0.04 * seconds}
                        | {"agreement_fastest_seconds": agrees * 0.001 * seconds}
                        | {"agreements": agrees * min(12, written[key] + 1)}
                        | {"first_done_seconds": 0.85 * seconds, "last_done_seconds": access * seconds}
                    )
                    if each:
                        times = {
                            f"{part}_seconds": [rounded(share * seconds * one) for one in each]
                            for part, share in (("access", access), ("sync", sync))
                        }
                        calls = {"pattern": entry["pattern"], "calls": [written[key]] * partition}
                        moving.append({"record": "process_times", **place, **calls, **times})
                open_close = overhead_share * seconds_of_type / 2
                files = {"files": partition if name == "separate" else 1, "striping": [striping()]}
                sizes = {"bytes": bytes_of_type, "file_bytes": bytes_of_type, "cached_bytes": None}
                segment = {"segment_bytes": None if time_driven else segments[partition, name], "hints": {}}
                seconds = {"open_seconds": open_close, "close_seconds": open_close, "elapsed_seconds": seconds_of_type}
                place = {"record": "pattern_type", "partition": partition, "method": method, "type": name}
                moving.append(place | files | sizes | segment | seconds)
                elapsed += seconds_of_type
                read += bytes_of_type * (method == "read")
    run = run_record("b_eff_io", ranks, nodes, node_memory // -(-ranks // nodes), options_of, "lustre")
    types = [
        {"name": name, "number": number, "averaged": True, "separate": name == "separate"}
        | {"collective": name not in ("separate", "segmented")}
        for number, name in enumerate(TYPES)
        if name in names
    ]
    loaded = [] if interface in (None, "mpi-io") else [interface, f"{interface}-collective"]
    asked = {"form": form, "partitions": list(partitions), "scheduled_seconds": scheduled, "methods": list(METHODS)}
    sizes = {"node_memory_bytes": node_memory, "m_part_bytes": m_part, "alignment_bytes": alignment}
    limits = {"cache_bytes": cache, "space_limit_bytes": space_limit}
    interfaces = [entry_of(INTERFACE, name=name, collective=name != interface) for name in loaded]
    plan = entry_of(PLAN, **asked, **sizes, **limits, types=types, patterns=planned, interfaces=interfaces)
    run["options"]["interface"] = interface
    check = {"read_bytes": read, "checked_bytes": checked}
    return complete(run, plan, [{"record": "mpi_io", "component": "romio"}, *moving], 1.01 * elapsed + 1, check=check)


PLAN = """"units_sum": 64, "termination": "geometric", "file_pointers": "shared", "check": "sample", "evict": false,
"process_times": "process", "read_shift": null, "fill_memory_percent": null"""
INTERFACE = f""""summary": "a library", "path": "/lib.so", "sha256": "{"3f" * 32}", "figure": "bandwidth",
"plain": false, "objects": false, "properties": "HDF5 1.14\""""
OPTIONS = """"directory": "/scratch", "dry-run": false, "memory-per-process": null, "hints": null, "keep": false,
"seed": 1"""
# Options that are fields of the plan.
PLANNED = {"scheduled-time": "scheduled_seconds", "methods": "methods", "largest-chunk": "m_part_bytes"}
PLANNED |= {"alignment": "alignment_bytes", "cache-size": "cache_bytes", "space-limit": "space_limit_bytes"}
PLANNED |= {"evict": "evict", "fill-memory": "fill_memory_percent"}


def options_of(run, plan, _):
    """Those that the plan of a log determines."""
    lists = {"partitions": ",".join(map(str, plan["partitions"])), "types": [entry["name"] for entry in plan["types"]]}
    forms = {form: plan["form"] == form for form in ("quick", "top-clusters")}
    forms |= {"individual-pointers": plan["file_pointers"] == "individual", "check-all": plan["check"] == "all"}
    forms |= {"agree-per-access": plan["termination"] == "per-access", "read-shift": plan["read_shift"] is not None}
    return entry_of(OPTIONS, **{option: plan[name] for option, name in PLANNED.items()}, **lists, **forms)


def b_eff_io_on_servers(speed, servers=5, told=True, method_shift=0):
    """Two processes on each of eight nodes; `speed(method, server)` of their own files, which are on the servers in
    turn, in each access method beginning with another one."""

    def server(method, rank):
        return (rank + method_shift * METHODS.index(method)) % servers

    made = []
    for record in b_eff_io_log(ranks=16, nodes=8, partitions=(4, 16), speed=lambda *_: 1.0):
        ranks = range(record.get("partition", 0))
        if record.get("type") == "separate" and record["record"] == "process_times":
            shares = times_of_processes([speed(record["method"], server(record["method"], rank)) for rank in ranks])
            whole = made[-1]
            for name in ("access_seconds", "sync_seconds"):
                record[name] = [rounded(whole[name] * share) for share in shares]
            whole["access_fastest_seconds"] = whole["access_seconds"] * min(shares)
        if record.get("type") == "separate" and record["record"] == "pattern_type" and told:
            every = [server(record["method"], rank) for rank in ranks]
            names = list(dict.fromkeys(every))
            own = {name: record[name] for name in ("partition", "method", "type")}
            files = {"servers": [f"server{number}" for number in names], "files": [names.index(one) for one in every]}
            made.append({"record": "layout", **own, **files})
        made.append(record)
    return numbered(made)
