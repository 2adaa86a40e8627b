# SPDX-License-Identifier: Apache-2.0
"""Logs of PRIOMark made for tests. The bandwidth of every case is a function that the test chooses, so that the test
knows the score."""

from itertools import product

from logs_made import GIB, KIB, MIB, calls_of, complete, entry, run_record, striping

SUMMARIES = {
    "common_file": "one file, a consecutive range of blocks for each process",
    "strided": "one file, several separate blocks for each process",
    "async": "input and output beside a calculation",
    "single_file": "a file for each process",
    "raw": "a device without the page cache",
    "trace": "recorded requests",
    "metadata": "operations on small files",
}
MPI_IO = ("individual", "individual-collective", "explicit", "explicit-collective")
# (sub-benchmark, patterns, methods): the paper's, section 4.1
OFFERED = (
    ("common_file", ("write", "read-write", "random-read-write"), (*MPI_IO, "posix")),
    ("strided", ("write", "read-write"), ("individual",)),
    ("async", ("write", "read"), ("individual", "explicit", "posix-aio")),
    ("single_file", ("write", "read-write", "random-read-write", "backwards-read"), ("posix",)),
    ("raw", ("read-write", "random-read-write"), ("device",)),
)
FILES = ("common_file", "strided", "single_file", "raw")
ALL = tuple(name for name, *_ in OFFERED)
SHARES = {"write": None, "read": None, "backwards-read": None}


def options_of(run, plan, _):
    """Those that the plan of a log determines."""
    memory = {"cache-size": plan["cache_bytes"], "fill-memory": plan["fill_memory_percent"]}
    return entry(OPTIONS, workload=plan["workload"], **memory, **{"read-shift": plan["read_shift"] is not None})


OPTIONS = '"directory": "/scratch", "only": null, "interfaces": null, "dry-run": false, "keep": false'


def cases(benchmarks, process_bytes, block_bytes, read_share, target):
    planned = []
    for name, patterns, methods in OFFERED:
        sizes = product(process_bytes, block_bytes if name != "async" else (None,))
        for (size, block), pattern, method in product(sizes, patterns, methods) if name in benchmarks else ():
            how = {"benchmark": name, "pattern": pattern, "method": method, "direct": name == "raw"}
            bytes_of = {"process_bytes": size, "block_bytes": block or size}
            where = {"read_share": SHARES.get(pattern, read_share), "target": target if name == "raw" else "directory"}
            planned.append({"case": len(planned) + 1, **how, **bytes_of, **where})
    return planned


def counts(case, ranks):
    """(reads, writes) of all processes."""
    requests = case["process_bytes"] // case["block_bytes"]
    share = {"write": 0.0, "read": 1.0, "backwards-read": 1.0}.get(case["pattern"], case["read_share"])
    reads = round(requests * share)
    return ranks * reads, ranks * (requests - reads)


def latencies(operation, calls, seconds):
    """All calls in one bin, but one that took ten times as long; `seconds` are those of all calls together."""
    mean = seconds / (calls + 9)
    edges = [(0.98 * mean, 1.01 * mean, calls - 1), (9.9 * mean, 10.1 * mean, 1)]
    edges = [edge for edge in edges if edge[2]]
    sums = {"sum_seconds": (calls - 1) * mean + 10 * mean, "shortest_seconds": mean, "longest_seconds": 10 * mean}
    bins = {name: [edge[n] for edge in edges] for n, name in enumerate(("from_seconds", "to_seconds", "bin_calls"))}
    return {"operation": operation, "calls": calls, **sums, **bins}


def transfers(operation, ranks, seconds):
    """One call of each process, all of the same duration."""
    return {"operation": operation} | calls_of(seconds, ranks)


def times_of_processes(record, speeds):
    """`speeds` are those of the processes, as shares of the usual one: the slowest one has the time of the record."""
    record["fastest_seconds"] = record["elapsed_seconds"] * min(speeds) / max(speeds)
    names = ("elapsed_seconds", "access_seconds")
    times = {name: [float(f"{record[name] * min(speeds) / speed:.4g}") for speed in speeds] for name in names}
    return {"record": "process_times", "case": record["case"], "repetition": record["repetition"], **times}


def measured_seconds(record):
    """Beside a calculation, both are measured alone before."""
    alone = sum(values[0] for name, values in record["values"].items() if name.endswith("_alone_seconds"))
    return alone + max([record["elapsed_seconds"], *record["values"].get("calculation_overlapped_seconds", [])])


def seconds_of_operations(record):
    return sum(operation["elapsed_seconds"] for operation in record["operations"])


def measurement(case, repetition, ranks, bandwidth, evicted):
    reads, writes = counts(case, ranks)
    moved = (reads + writes) * case["block_bytes"]
    seconds = moved / bandwidth(case, repetition)
    access = 0.9 * seconds if writes else seconds
    values = {}
    if case["benchmark"] == "async":  # half of the calculation's speed and a third of the transfer's are lost
        values = {
            "io_alone_seconds": [2 / 3 * access] * ranks,
            "io_overlapped_seconds": [access] * ranks,
            "calculation_alone_seconds": [0.6 * access] * ranks,
            "calculation_overlapped_seconds": [1.2 * access] * ranks,
            "covered": [1.0] * ranks,
        }
    kind = case["benchmark"]
    on_files = case["target"] != "device"
    moved = {"read_bytes": reads * case["block_bytes"], "written_bytes": writes * case["block_bytes"]}
    times = {"elapsed_seconds": seconds, "fastest_seconds": 0.95 * seconds, "open_seconds": 1e-4, "close_seconds": 1e-5}
    times |= {"access_seconds": access, "sync_seconds": seconds - access}
    operations = [(name, calls) for name, calls in (("read", reads), ("write", writes)) if calls]
    histograms = [
        transfers(name, ranks, access)
        if kind == "async"
        else latencies(name, calls, access * ranks * calls / (reads + writes))
        for name, calls in operations
    ]
    record = {"record": "measurement", "repetition": repetition, **case, "read_calls": reads, "write_calls": writes}
    record |= {"evicted": evicted and on_files and (kind == "async" or case["pattern"] != "write"), **moved, **times}
    return record | {
        "latencies": histograms,
        "values": values,
        "striping": [striping()] if kind in FILES and on_files else [],
    }


def metadata_case(pattern, files, file_bytes):
    """One of the sub-benchmark `metadata`."""
    how = {"benchmark": "metadata", "pattern": pattern, "method": "posix", "direct": False, "target": "directory"}
    return {**how, "process_bytes": files * file_bytes, "block_bytes": file_bytes, "read_share": None}


def metadata_record(case, repetition, ranks, rate):
    """Each process takes equally long; `rate(operation, repetition)` is that of all in operations/s."""
    files, operations = ranks * case["process_bytes"] // case["block_bytes"], []
    for name in ("create", "stat", "read", "rename", "readdir", "remove"):
        listed = files * (ranks if case["pattern"] == "shared-directory" else 1)
        count, calls = (listed, ranks) if name == "readdir" else (files, files)
        seconds = count / rate(name, repetition)
        times = {"count": count, "elapsed_seconds": seconds, "fastest_seconds": 0.9 * seconds}
        operations.append({"operation": name, **times, **calls_of(seconds * ranks / calls, calls)})
    of_case = {"case": case["case"], "repetition": repetition, "synchronised": False}
    return {"record": "metadata", **of_case, "operations": operations}


def interface(name, figure="bandwidth", **more):
    """One that was loaded."""
    of_file = {"path": f"/opt/lib/priomark_{name}.so", "sha256": f"{len(name):064x}"}
    how = {"figure": figure, "collective": False, "plain": False, "objects": False, "properties": None}
    return {"name": name, "summary": "from outside the tree"} | of_file | how | more


def priomark_log(
    bandwidth=lambda case, repetition: 1e8,
    ranks=4,
    nodes=2,
    node_memory=64 * GIB,
    benchmarks=("common_file", "strided", "async"),
    process_bytes=(32 * MIB,),
    block_bytes=(16 * KIB,),
    read_share=0.5,
    repetitions=1,
    evicted=True,
    cache=None,
    target="device",
    build="full",
    filesystem="nfs",
    workload="figure_3",
    workload_text="# made for a test\n",
    interfaces=(),
    planned=None,
    speed=lambda node, case: 1.0,
    metadata=(),
    rate=lambda operation, repetition: 1000.0,
):
    """All records of a complete run. `bandwidth(case, repetition)` in byte/s is that of all processes; `interfaces` are
    those that were loaded (`interface`), whose cases come in `planned` with all others. `speed(node, case)` is a node's
    share of the usual bandwidth, in the times of each process. `metadata` are cases of this sub-benchmark, which come
    last, with the rates of `rate(operation, repetition)`."""
    planned = planned or cases(benchmarks, process_bytes, block_bytes, read_share, target)
    moving, numbers = planned, range(1, repetitions + 1)
    planned = [*planned, *({"case": len(planned) + n, **case} for n, case in enumerate(metadata, 1))]
    measured = [measurement(case, number, ranks, bandwidth, evicted) for case in moving for number in numbers]
    small = [metadata_record(case, number, ranks, rate) for case in planned[len(moving) :] for number in numbers]
    on_node = [rank // -(-ranks // nodes) for rank in range(ranks)]
    times = [times_of_processes(record, [speed(node, record) for node in on_node]) for record in measured]
    records = [record for both in zip(measured, times) for record in both]
    named = list(dict.fromkeys(case["benchmark"] for case in planned))
    by_mpi_io = any(case["method"] in MPI_IO for case in planned)
    read = ranks * repetitions * sum(case["process_bytes"] for case in planned[len(moving) :])
    run = run_record("priomark", ranks, nodes, node_memory // -(-ranks // nodes), options_of, filesystem)
    listed = [{"name": name, "summary": SUMMARIES[name]} for name in named]
    asked = {"workload": workload, "workload_text": workload_text, "build": build, "repetitions": repetitions}
    memory = {"evict": evicted, "node_memory_bytes": node_memory, "cache_bytes": cache}
    plan = entry(PLAN, **asked, **memory, benchmarks=listed, interfaces=[*interfaces], cases=planned)
    return complete(
        run,
        plan,
        [*([{"record": "mpi_io", "component": "romio"}] if by_mpi_io else []), *records, *small],
        1.1 * sum(map(measured_seconds, measured)) + sum(map(seconds_of_operations, small)) + 1,
        check={"read_bytes": sum(record["read_bytes"] for record in measured) + read, "checked_bytes": 0},
    )


PLAN = """"seed": 1, "check": false, "latency_relative_error": 0.015625, "process_times": "process", "read_shift": null,
"fill_memory_percent": null"""
