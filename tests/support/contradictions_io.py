# SPDX-License-Identifier: Apache-2.0
"""Changes of logs of the benchmarks that do I/O, as in contradictions.py."""

from contradictions import B_EFF, EVERY, both, ended, gone, latencies, option, phase, put, where
from contradictions_io_load import IO_LOAD, IO_PARTS, OF_IO_LOAD
from contradictions_load import LOAD, OF_LOAD
from contradictions_memory import MEMORY
from contradictions_nodes import NODES, OF_NODES
from logs_made import GIB, KIB, MIB, first, of_kind, striping

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


def longer(r, seconds):
    """A pattern takes longer than its parts, and with it its type."""
    entry = first(r, record="measurement", pattern=3)
    first(r, record="pattern_type", type="scatter")["elapsed_seconds"] += seconds
    entry["elapsed_seconds"] += seconds
    r[-1]["elapsed_seconds"] += seconds


def values(name, change):
    """Of the processes of two nodes, of which the second one is slower."""
    return lambda r: change(first(r, record="process_times", partition=4, pattern=21)[name])


def scaled(place, factor):
    """The times of a node's two processes."""

    def change(times):
        times[place : place + 2] = [time * factor for time in times[place : place + 2]]

    return change


def type_files(servers, files, kind="separate"):
    """The servers of the files in the first write of a type by the larger partition."""

    def change(r):
        where = {"partition": 4, "method": "write", "type": kind}
        place = r.index(first(r, record="pattern_type", **where))
        r.insert(place, {"record": "layout", **where, "servers": servers, "files": files})

    return change


def striped(kind, striping, **where):
    """The stripings of the files of a measurement."""
    return lambda r: first(r, record=kind, **where).update(striping=striping)


def on_nine_servers(change):
    """The first file is on more servers than its four stripes and their mirrors."""
    return change([" ".join(f"server{number}" for number in range(9)), "b"], [0, 1, 1, 1])


OTHER = striping(stripes=2)
WITH_IO = {
    "whole_time": [ended(1.0)],
    "striping": [
        striped("pattern_type", [], type="scatter"),
        striped("pattern_type", [striping(), striping()], type="separate", partition=4),
        striped("pattern_type", [striping(), OTHER], type="scatter"),
        striped("pattern_type", [striping(stripes=n) for n in range(1, 6)], type="separate", partition=4),
        striped("pattern_type", [striping(server="a")], type="separate"),
        striped("pattern_type", [striping(stripes=1, server="a b c")], type="segmented"),
        on_nine_servers(type_files),
    ],
    "layout": [
        type_files(["a", "b"], [0, 1]),
        type_files(["a", "b"], [0, 0, 0, 0]),
        type_files(["a", "b"], [1, 0, 1, 0]),
        type_files(["a", "b"], [0, 2, 1, 1]),
        *(type_files(["a", "b"], [0, 1, 1, 0], kind) for kind in ("scatter", "segmented")),
    ],
    "options": [
        option(top_clusters=True),
        option(individual_pointers=True),
        option(agree_per_access=True),
        option(check_all=True),
    ],
    "file_system": [put("run", filesystem=None)],
    "free_bytes": [lambda r: r[0]["filesystem"].update(free_bytes=10**16)],
    "mount": [
        lambda r: r[0]["filesystem"].update(mount_point="/scratch/1"),
        lambda r: r[0]["filesystem"].update(directory="/scratches"),
        lambda r: r[0]["filesystem"].update(mount_options=["noatime", "ro"]),
    ],
    "fragment_bytes": [lambda r: r[0]["filesystem"].update(fragment_bytes=2**40)],
    "wrong_bytes": [put("data_check", wrong_bytes=1)],
    "read_bytes": [put("data_check", read_bytes=1)],
    "read_shift": [put("plan", read_shift="node"), both(option(read_shift=True), put("plan", read_shift="process"))],
    "memory_fill": [option(fill_memory=50), put("plan", fill_memory_percent=50)],
    "process_resolution": [put("plan", process_times="node")],
    "process_values": [
        values("calls", list.pop),
        values("access_seconds", lambda times: times.append(times[0])),
        values("sync_seconds", lambda times: times.append(times[0])),
    ],
    "process_slowest": [
        values("access_seconds", scaled(2, 1.0012)),
        values("sync_seconds", scaled(2, 0.9988)),
    ],
    "process_fastest": [values("access_seconds", scaled(0, 0.9988)), values("access_seconds", scaled(0, 1.0012))],
    "checked_bytes": [
        put("data_check", checked_bytes=0),
        lambda r: first(r, record="data_check").update(checked_bytes=10**15),
        lambda r: both(
            put("plan", check="all"),
            option(check_all=True),
            put("data_check", checked_bytes=first(r, record="data_check")["read_bytes"] - 1),
        )(r),
    ],
}


def processes(name, change):
    return lambda r: change(first(r, record="process_times", case=3)[name])


def overlapped(**values):
    return lambda r: first(r, record="measurement", benchmark="async")["values"].update(values)


def laid_out(servers, files, benchmark="single_file"):
    """The servers of the files in the first case of a sub-benchmark."""

    def change(r):
        case = next(entry["case"] for entry in r[1]["cases"] if entry["benchmark"] == benchmark)
        place = r.index(first(r, record="process_times", case=case)) + 1
        r.insert(place, {"record": "layout", "case": case, "repetition": 1, "servers": servers, "files": files})

    return change


OF_WORKLOAD = {
    "latency_calls": [
        latencies(calls=7),
        lambda r: first(r, record="measurement", case=1)["latencies"][0]["bin_calls"].__setitem__(0, 1),
    ],
    "bins": [
        lambda r: [
            first(r, record="measurement", case=1)["latencies"][0][name].reverse()
            for name in ("from_seconds", "to_seconds", "bin_calls")
        ]
    ],
    "bin_widths": [
        lambda r: first(r, record="measurement", case=1)["latencies"][0]["to_seconds"].__setitem__(-1, 1.0),
        put("plan", latency_relative_error=0.001),
    ],
    "extremes": [latencies(longest_seconds=0.0), latencies(shortest_seconds=0.0)],
    "latency_sum": [latencies(sum_seconds=1e3), latencies(sum_seconds=0.0)],
    "whole_time": [
        ended(0.1),
        *(
            overlapped(**{f"{name}_seconds": [2.0**63] * 4})
            for name in ("io_alone", "calculation_alone", "calculation_overlapped")
        ),
    ],
    "striping": [
        striped("measurement", [], benchmark="common_file"),
        striped("measurement", [striping(), OTHER], benchmark="strided"),
        striped("measurement", [striping()], benchmark="async"),
        striped("measurement", [striping()], benchmark="raw"),  # on a device
        striped("measurement", [striping(server="a")], benchmark="single_file"),
        striped("measurement", [striping(stripes=1, server="a b c")], benchmark="common_file"),
        on_nine_servers(laid_out),
    ],
    "layout": [
        laid_out(["a", "b"], [0, 1, 1]),
        laid_out(["a", "b"], [0, 0, 0, 0]),
        laid_out(["a", "b"], [1, 0, 1, 0]),
        laid_out(["a", "b"], [0, 2, 1, 1]),
        *(laid_out(["a", "b"], [0, 1, 1, 0], benchmark) for benchmark in ("common_file", "raw")),  # raw on a device
    ],
    "process_resolution": [put("plan", process_times="node")],
    "process_values": [processes("elapsed_seconds", list.pop), processes("access_seconds", list.pop)],
    "process_slowest": [
        processes("elapsed_seconds", scaled(2, 1.0012)),
        processes("access_seconds", scaled(2, 0.9988)),
    ],
    "process_fastest": [processes("elapsed_seconds", scaled(0, 0.9988))],
    "options": [option(workload="default"), option(cache_size=GIB), option(dry_run=True)],
    "order": [
        put("measurement", repetition=2),
        lambda r: r.insert(5, dict(first(r, record="measurement"))),
        gone("process_times"),
    ],
}


def phase_times(change, activity="read"):
    return lambda r: change(first(r, record="process_times", stage="transpose", activity=activity)["seconds"])


def ftio_files(servers, files):
    """The servers of the files of the first repetition."""

    def change(r):
        place = r.index(first(r, record="repetition"))
        r.insert(place, {"record": "layout", "repetition": 1, "servers": servers, "files": files})

    return change


OF_PHASES = {
    "options": [
        option(storage="mpiio"),
        option(repeat=1),
        option(exchange_buffer=KIB),
        option(keep=True),
        option(direct=True),
    ],
    "whole_time": [ended(1.0)],
    "striping": [
        striped("repetition", []),
        striped("repetition", [striping(stripes=n) for n in range(1, 6)]),
        striped("repetition", [striping(server="a")]),
        on_nine_servers(ftio_files),
    ],
    "layout": [
        ftio_files(["a", "b"], [0, 1, 1]),
        ftio_files(["a", "b"], [0, 0, 0, 0]),
        ftio_files(["a", "b"], [1, 0, 1, 0]),
    ],
    "process_resolution": [put("plan", process_times="node")],
    "process_values": [phase_times(list.pop), phase_times(lambda times: times.append(times[0]))],
    "process_slowest": [phase_times(scaled(2, 1.0012)), phase_times(scaled(2, 0.9988), "compute")],
    "process_fastest": [phase_times(scaled(0, 0.9988)), phase_times(scaled(0, 1.0012), "flush")],
}
OF_EACH_PHASE = {
    "process_mean": [phase_times(lambda times: times.__setitem__(1, times[0]), name) for name in ("read", "compute")],
    "process_sums": [phase_times(list.reverse)],
}
B_EFF_IO = {
    "planned": [
        option(partitions="1,4"),
        option(partitions="all"),
        put("plan", methods=["read", "rewrite", "write"]),
        lambda r: r[1]["types"][0].update(averaged=False),
        lambda r: r[1]["types"][2].update(separate=False),
        lambda r: r[1]["types"][1].update(number=5),
        lambda r: r[1]["patterns"][4].update(units=3),
        put("plan", m_part_bytes=3 * MIB),
        option(scheduled_time=60.0),
        option(scheduled_time=0.0),
        put("plan", node_memory_bytes=GIB),
        put("plan", node_memory_bytes=4 * GIB),
        option(largest_chunk=MIB),
        option(space_limit=MIB),
        option(space_limit=None),
        put("measurement", chunk_bytes=KIB),
        put("measurement", call_bytes=KIB),
        where("measurement", {"type": "shared"}, pattern=3),
        where("measurement", {"scheduled_seconds": 1.0}, pattern=3),
        put("measurement", bytes=5),
        where("pattern_type", {"segment_bytes": MIB, "file_bytes": MIB}, type="segmented", method="write"),
        put("pattern_type", bytes=1),
        put("pattern_type", file_bytes=1),
        put("pattern_type", files=77),
    ],
    "all_methods": [put("plan", methods=["write", "read"])],
    "all_types": [lambda r: r[1]["types"].pop()],
    "partitions": [
        put("plan", partitions=[2, 9]),
        put("plan", partitions=[4, 2]),
    ],
    "calls": [where("measurement", {"calls_max": 2}, pattern=0), where("measurement", {"calls_sum": 3}, pattern=0)],
    "process_calls": [
        values("calls", lambda calls: calls.__setitem__(0, calls[0] - 1)),
        values("calls", lambda calls: calls.__setitem__(0, calls[0] + 1)),
    ],
    "written_calls": [
        where(
            "measurement",
            {"ended_by": "count", "calls_min": 1, "calls_max": 1, "calls_sum": 2, "bytes": 2 * KIB},
            method="read",
            pattern=13,
        )
    ],
    "ended_by": [
        where("measurement", {"ended_by": "space"}, pattern=3),
        where("measurement", {"ended_by": "time"}, method="read", pattern=3),
        put("measurement", ended_by="time"),
    ],
    "size_driven": [
        where("measurement", {"ended_by": "overrun"}, pattern=30, method="write"),
        where("measurement", {"ended_by": "space"}, pattern=30, method="write"),
    ],
    "fill_up": [
        lambda r: [
            m.update(chunk_bytes=8) for m in of_kind(r, "measurement") if (m["pattern"], m["partition"]) == (33, 2)
        ]
    ],
    "agreements": [
        where("measurement", {"agreements": 1}, pattern=3),
        where("measurement", {"agreements": 2}, pattern=30),
    ],
    "agreement_seconds": [where("measurement", {"agreement_seconds": 1e-9}, pattern=30)],
    "mpi_io": [lambda r: r.insert(5, r.pop(4)), lambda r: r.insert(6, r.pop(4))],
    "cached": [where("pattern_type", {"cached_bytes": 0}, method="read"), put("plan", evict=True)],
    "hints": [both(option(hints=None), put("measurement", hints={}))],
    "parts": [
        where("measurement", {"access_seconds": 1e3}, pattern=3),
        where("measurement", {"first_done_seconds": 1e3}, pattern=3),
    ],
    "whole": [lambda r: longer(r, 100.0)],
    "sync": [where("measurement", {"sync_seconds": 1e-9}, pattern=3, method="read")],
    "type_time": [put("pattern_type", open_seconds=1.0)],
}


FTIO = {
    "together": [
        lambda r: first(r, record="repetition")["elapsed_seconds"].__setitem__(1, 12 * 1.04),
        lambda r: first(r, record="repetition")["elapsed_seconds"].__setitem__(1, 12 / 1.04),
    ],
    "places": [lambda r: r.insert(6, r.pop(3))],
    "input": [put("plan", input_parameter=3)],
    "planned": [
        put("plan", matrix_width=65),
        put("plan", matrix_bytes=1),
        put("plan", square_width=1),
        lambda r: r[1]["stages"].reverse(),
        lambda r: r[1]["activities"][3].update(io=False),
        option(input="8"),
        option(input="1GiB"),
        phase("series_2", "read", bytes=8),
        phase("exchange", "exchange", bytes=8),
        phase("verify", "wait", bytes=1),
        put("repetition", nominal_flops=1.0),
        lambda r: first(r, record="repetition")["verification"].update(tolerated_relative_difference=3.7e-11),
    ],
    "direct": [put("plan", direct=True, storage="mpiio")],
    "calls": [
        phase("series_2", "read", calls=8),
        phase("series_1", "fft", calls=257),
        put("plan", exchange_buffer_bytes=KIB),
        put("plan", storage="mpiio"),
    ],
    "mean": [
        phase("verify", "read", fastest_seconds=9.0),
        phase("verify", "read", mean_seconds=9.0),
        phase("verify", "read", elapsed_seconds=9.0),
    ],
    "each_process": [lambda r: of_kind(r, "repetition")[1]["io_seconds"].pop()],
    "sums": [
        put("repetition", io_seconds=[0.1] * 4),
        put("repetition", transform_io_seconds=[0.0] * 4),
        put("repetition", transform_elapsed_seconds=[99.0] * 4),
        phase("verify", "read", fastest_seconds=1.001, mean_seconds=1.001, elapsed_seconds=1.001),
    ],
    "processes": [put("repetition", io_seconds=[5.0, 7.0, 6.0, 6.0])],
    "verification": [lambda r: first(r, record="repetition")["verification"].update(largest_relative_difference=1e-3)],
    "differences": [lambda r: first(r, record="repetition")["verification"].update(total_difference=0.0)],
    "counters": [
        lambda r: first(r, record="repetition")["counters"].update(cycles=1),
        lambda r: first(r, record="repetition")["counters"].update(flops_reason=None),
    ],
    "resident": [put("start", resident_bytes=GIB), put("repetition", peak_resident_bytes=GIB)],
}


PRIOMARK = {
    "replay": [replayed(threads=[0.5] * 4), replayed(unseen_mmap=[-1.0] * 4)],
    "copies": [replayed(copies=[number] * 4) for number in (3.0, 0.0)] + [replayed(copies=[1.0, 1.0, 2.0, 1.0])],
    "case_numbers": [lambda r: r[1]["cases"][0].update(case=9)],
    "benchmarks": [lambda r: r[1]["benchmarks"].pop(), lambda r: r[1]["benchmarks"].reverse()],
    "plugins": [lambda r: r[1]["benchmarks"][0].update(plugin="/lib/x.so")],
    "plugin_names": [
        lambda r: [
            e.update({name: "total"})
            for name, es in (
                ("name", r[1]["benchmarks"][-1:]),
                ("benchmark", [c for c in r[1]["cases"] if c["benchmark"] == "raw"]),
            )
            for e in es
        ]
    ],
    "build": [put("plan", build="serial"), put("plan", build="mpi")],
    "mpi_io": [gone("mpi_io"), lambda r: r.insert(6, r.pop(4)), lambda r: r.insert(4, dict(r[4]))],
    "planned": [
        put("plan", node_memory_bytes=GIB),
        put("measurement", method="posix"),
        where("measurement", {"read_share": 0.25}, pattern="read-write"),
        put("measurement", direct=True),
        where("measurement", {"read_calls": 1}, pattern="read-write"),
        put("measurement", write_calls=1),
        put("measurement", written_bytes=GIB),
        put("measurement", read_bytes=1),
        put("measurement", evicted=True),
        where("measurement", {"evicted": False}, pattern="read-write"),
        put("plan", evict=False),
    ],
    "workload": [
        put("plan", workload_text="# seed = 1;\nseed = 2; raw = { check = true; };"),
        put("plan", workload_text="evict = false"),
        put("plan", workload_text="check = TRUE;"),
        put("plan", workload_text="repetitions = 3;"),
    ],
    "bytes": [
        both(replayed(), where("measurement", {"read_bytes": 0, "written_bytes": 0}, benchmark="trace")),
        both(replayed(), where("measurement", {"read_calls": 0, "write_calls": 0}, benchmark="trace")),
    ],
    "latencies": [
        put("measurement", latencies=[]),
        lambda r: first(r, record="measurement", pattern="read-write")["latencies"].reverse(),
        latencies(operation="read"),
    ],
    "overlap": [
        lambda r: first(r, record="measurement", benchmark="async")["values"].pop("covered"),
        lambda r: first(r, record="measurement", benchmark="async")["values"].clear(),
        where("measurement", {"values": {"covered": [0.5] * 4}}, benchmark="common_file"),
    ],
    "covered": [
        overlapped(covered=[0.5] * 4),
        overlapped(covered=[1.0, 1.0, 1.0, 0.0]),
        overlapped(calculation_overlapped_seconds=[1e-6] * 4),
    ],
    "transfer": [overlapped(io_overlapped_seconds=[1e-6] * 4)],
    "each_process": [put("measurement", values={"noise": [1.0]})],
    "parts": [put("measurement", access_seconds=1e5), put("measurement", fastest_seconds=1e5)],
    "whole": [put("measurement", elapsed_seconds=6.0)],
    "request_time": [put("measurement", access_seconds=1e-9)],
}


# Section of the page: the benchmark whose log is changed, and the changes.
CONTRADICTIONS = {
    "Every log": {
        "b_eff": EVERY,
        "b_eff_io": WITH_IO,
        "ftio-uneven": OF_PHASES,
        "priomark": OF_WORKLOAD,
        "b_eff-nodes": OF_NODES,
        "b_eff_load": OF_LOAD,
        "b_eff_io_load": OF_IO_LOAD,
    },
    "b_eff invariants": {"b_eff": B_EFF, "b_eff-nodes": NODES, "b_eff-memory": MEMORY},
    "b_eff_load invariants": {"b_eff_load": LOAD},
    "b_eff_io invariants": {"b_eff_io": B_EFF_IO, "b_eff_io_load": IO_PARTS},
    "b_eff_io_load invariants": {"b_eff_io_load": IO_LOAD},
    "ftio invariants": {"ftio": FTIO, "ftio-uneven": OF_EACH_PHASE},
    "priomark invariants": {"priomark": PRIOMARK},
}
