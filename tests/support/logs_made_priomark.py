# SPDX-License-Identifier: Apache-2.0
"""Logs of PRIOMark made for tests. The bandwidth of every case is a function that the test chooses, so that the test
knows the score."""

from logs_made import GIB, KIB, MIB, calls_of, complete, run_record, striping

SUMMARIES = {
    "common_file": "one file, a consecutive range of blocks for each process",
    "strided": "one file, several separate blocks for each process",
    "async": "input and output beside a calculation",
    "single_file": "a file for each process",
    "raw": "a device without the page cache",
    "trace": "recorded requests",
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
    return {
        "workload": plan["workload"],
        "directory": "/scratch",
        "only": None,
        "plugins": None,
        "cache-size": plan["cache_bytes"],
        "read-shift": plan["read_shift"] is not None,
        "fill-memory": plan["fill_memory_percent"],
        "dry-run": False,
        "keep": False,
    }


def cases(benchmarks, process_bytes, block_bytes, read_share, target):
    planned = []
    for name, patterns, methods in OFFERED:
        if name not in benchmarks:
            continue
        for size in process_bytes:
            for block in block_bytes if name != "async" else (size,):
                for pattern in patterns:
                    for method in methods:
                        planned.append(
                            {
                                "case": len(planned) + 1,
                                "benchmark": name,
                                "pattern": pattern,
                                "method": method,
                                "process_bytes": size,
                                "block_bytes": block,
                                "read_share": SHARES.get(pattern, read_share),
                                "direct": name == "raw",
                                "target": target if name == "raw" else "directory",
                            }
                        )
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
    return {
        "operation": operation,
        "calls": calls,
        "sum_seconds": (calls - 1) * mean + 10 * mean,
        "shortest_seconds": mean,
        "longest_seconds": 10 * mean,
        "from_seconds": [edge[0] for edge in edges],
        "to_seconds": [edge[1] for edge in edges],
        "bin_calls": [edge[2] for edge in edges],
    }


def transfers(operation, ranks, seconds):
    """One call of each process, all of the same duration."""
    return {"operation": operation} | calls_of(seconds, ranks)


def times_of_processes(record, speeds):
    """`speeds` are those of the processes, as shares of the usual one: the slowest one has the time of the record."""
    record["fastest_seconds"] = record["elapsed_seconds"] * min(speeds) / max(speeds)
    return {
        "record": "process_times",
        "case": record["case"],
        "repetition": record["repetition"],
        **{
            name: [float(f"{record[name] * min(speeds) / speed:.4g}") for speed in speeds]
            for name in ("elapsed_seconds", "access_seconds")
        },
    }


def measured_seconds(record):
    """Beside a calculation, both are measured alone before."""
    alone = sum(values[0] for name, values in record["values"].items() if name.endswith("_alone_seconds"))
    return alone + max([record["elapsed_seconds"], *record["values"].get("calculation_overlapped_seconds", [])])


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
    return {
        "record": "measurement",
        "repetition": repetition,
        **case,
        "evicted": evicted
        and case["target"] != "device"
        and (case["benchmark"] == "async" or case["pattern"] != "write"),
        "read_calls": reads,
        "write_calls": writes,
        "read_bytes": reads * case["block_bytes"],
        "written_bytes": writes * case["block_bytes"],
        "elapsed_seconds": seconds,
        "fastest_seconds": 0.95 * seconds,
        "open_seconds": 1e-4,
        "access_seconds": access,
        "sync_seconds": seconds - access,
        "close_seconds": 1e-5,
        "latencies": [
            transfers(operation, ranks, access)
            if case["benchmark"] == "async"
            else latencies(operation, calls, access * ranks * calls / (reads + writes))
            for operation, calls in (("read", reads), ("write", writes))
            if calls
        ],
        "values": values,
        "striping": [striping()] if case["benchmark"] in FILES and case["target"] != "device" else [],
    }


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
    plugins=(),
    planned=None,
    speed=lambda node, case: 1.0,
):
    """All records of a complete run. `bandwidth(case, repetition)` in byte/s is that of all processes; `plugins` are
    names of plug-ins, whose cases come in `planned` with all others. `speed(node, case)` is a node's share of the usual
    bandwidth, in the times of each process."""
    planned = planned or cases(benchmarks, process_bytes, block_bytes, read_share, target)
    measured = [
        measurement(case, repetition, ranks, bandwidth, evicted)
        for case in planned
        for repetition in range(1, repetitions + 1)
    ]
    on_node = [rank // -(-ranks // nodes) for rank in range(ranks)]
    times = [times_of_processes(record, [speed(node, record) for node in on_node]) for record in measured]
    records = [record for both in zip(measured, times) for record in both]
    named = list(dict.fromkeys(case["benchmark"] for case in planned))
    by_mpi_io = any(case["method"] in MPI_IO for case in planned)
    run = run_record(
        "priomark",
        ranks,
        nodes,
        node_memory // -(-ranks // nodes),
        options_of,
        filesystem,
    )
    plan = {
        "workload": workload,
        "workload_text": workload_text,
        "build": build,
        "seed": 1,
        "repetitions": repetitions,
        "check": False,
        "evict": evicted,
        "node_memory_bytes": node_memory,
        "cache_bytes": cache,
        "latency_relative_error": 1 / 64,
        "benchmarks": [
            {
                "name": name,
                "summary": SUMMARIES.get(name, "from outside the tree"),
                "plugin": f"/opt/lib/priomark_{name}.so" if name in plugins else None,
            }
            for name in named
        ],
        "cases": planned,
        "read_shift": None,
        "fill_memory_percent": None,
        "process_times": "process",
    }
    return complete(
        run,
        plan,
        [*([{"record": "mpi_io", "component": "romio"}] if by_mpi_io else []), *records],
        1.1 * sum(map(measured_seconds, measured)) + 1,
        check={"read_bytes": sum(record["read_bytes"] for record in measured), "checked_bytes": 0},
    )
