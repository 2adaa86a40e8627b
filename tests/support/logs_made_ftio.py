# SPDX-License-Identifier: Apache-2.0
"""Logs of ftio made for tests. Every time is a function that the test chooses, so that the test knows the score."""

import math

from logs_made import complete, run_record, striping

STAGES = ["initialise", "series_1", "transpose", "exchange", "series_2", "verify"]
IO = dict.fromkeys(("open", "read", "write", "flush"), True)
IO |= dict.fromkeys(("plan", "fft", "compute", "exchange", "wait"), False)
# which activities take place in which stage, and how often the matrix is moved by them
TOOK_PLACE = {
    "initialise": ["open", "write", "flush", "plan", "compute", "wait"],
    "series_1": ["read", "write", "flush", "fft", "wait"],
    "transpose": ["read", "write", "flush", "compute", "wait"],
    "exchange": ["read", "write", "flush", "exchange", "wait"],
    "series_2": ["read", "write", "flush", "fft", "wait"],
    "verify": ["read", "compute", "wait"],
}


def half(stage, activity, process, repetition):
    """Seconds of a process: I/O and the rest take the same time, whatever the number of activities."""
    alike = sum(IO[other] == IO[activity] for other in TOOK_PLACE[stage])
    return 1.0 / alike


def ftio_log(
    ranks=4,
    i=4,
    repetitions=3,
    nodes=2,
    seconds=half,
    storage="posix",
    direct=False,
    cycles=None,
    flops=None,
    time_stamp_cycles=10**9,
    memory_per_process_bytes=2**16,
    relative_difference=1e-13,
    filesystem="lustre",
):
    """All records of a complete run. `seconds(stage, activity, process, repetition)`; the default memory is smaller
    than the matrix's share of a process would be with i = 12."""
    width = i * i * ranks
    matrix = 16 * width * width
    measured = [
        record
        for repetition in range(1, repetitions + 1)
        for record in one_repetition(
            ranks, width, matrix, repetition, seconds, cycles, flops, time_stamp_cycles, relative_difference, storage
        )
    ]
    whole = sum(max(record["elapsed_seconds"]) for record in measured if record["record"] == "repetition")
    sizes = {"input_parameter": i, "matrix_width": width, "square_width": i * i, "matrix_bytes": matrix}
    asked = {"repetitions": repetitions, "storage": storage, "direct": direct, "exchange_buffer_bytes": 2**22}
    activities = [{"name": name, "io": io} for name, io in IO.items()]
    plan = {**sizes, **asked, "stages": STAGES, "activities": activities, "process_times": "process"}
    start = {"record": "start", "directory": "/scratch/ftio-abcdef", "kept": False, "resident_bytes": 15 * 2**20}
    run = run_record("ftio", ranks, nodes, memory_per_process_bytes, options_of, filesystem)
    return complete(run, plan, [start, *measured], 1.01 * whole + 1)


def options_of(run, plan, records):
    """Those that the plan of a log determines."""
    start = next((record for record in records if record["record"] == "start"), {"kept": False})
    asked = {"input": str(plan["input_parameter"]), "directory": "/scratch", "repeat": plan["repetitions"]}
    kept = {"exchange-buffer": plan["exchange_buffer_bytes"], "keep": start["kept"]}
    return {**asked, "storage": plan["storage"], "direct": plan["direct"], **kept}


def calls(stage, activity, ranks, width, storage):
    """Calls of all processes. A Square of i^2 rows is exchanged at once: the buffer is larger."""
    i = math.isqrt(width // ranks)
    if activity in ("open", "plan", "flush", "wait"):
        return ranks
    if stage == "exchange":  # through MPI-IO, each row of a Square is a call
        return ranks * (ranks - 1) * (i * i if storage == "mpiio" and activity != "exchange" else 1)
    if stage == "transpose":  # i x i Mini-Squares in each of `ranks` Squares, of i rows each; pairs are transposed once
        return ranks * ranks * (i * (i + 1) // 2 if activity == "compute" else i * i * i)
    return ranks * width


def one_repetition(
    ranks, width, matrix, repetition, seconds, cycles, flops, time_stamp_cycles, relative_difference, storage
):
    names = ("elapsed_seconds", "io_seconds", "transform_elapsed_seconds", "transform_io_seconds")
    sums = {name: [0.0] * ranks for name in names}
    records = []
    whole = [
        math.fsum(seconds(stage, activity, process, repetition) for stage in STAGES for activity in TOOK_PLACE[stage])
        for process in range(ranks)
    ]
    for stage in STAGES:
        moved = matrix // ranks * (ranks - 1) if stage == "exchange" else matrix
        for activity in TOOK_PLACE[stage]:
            if stage == "exchange" and ranks == 1 and activity in ("read", "write", "exchange"):
                continue
            times = [seconds(stage, activity, process, repetition) for process in range(ranks)]
            if (stage, activity) == ("verify", "wait"):  # for the slowest process
                times = [time + max(whole) - own for time, own in zip(times, whole)]
            for process, time in enumerate(times):
                for name in sums:
                    if (IO[activity] or "io" not in name) and (
                        stage not in ("initialise", "verify") or "transform" not in name
                    ):
                        sums[name][process] += time
            moves = activity in ("read", "write") or activity == stage == "exchange"
            place = {"repetition": repetition, "stage": stage, "activity": activity}
            spread = {"elapsed_seconds": max(times), "fastest_seconds": min(times)}
            spread |= {"mean_seconds": math.fsum(times) / ranks}
            done = {"bytes": moved if moves else 0, "calls": calls(stage, activity, ranks, width, storage)}
            records.append({"record": "measurement", **place, **spread, **done})
            if IO[activity] or activity == "compute":
                rounded = [float(f"{time:.4g}") for time in times]
                records.append({"record": "process_times", **place, "seconds": rounded})
    counters = {"cycles": cycles, "flops": flops, "time_stamp_cycles": time_stamp_cycles}
    counters |= {f"{name}_reason": None if counters[name] else "not permitted" for name in ("cycles", "flops")}
    verification = {"total_difference": 1e-9, "largest_difference": 1e-12}
    verification |= {"largest_relative_difference": relative_difference}
    verification |= {"tolerated_relative_difference": 4 * 2.0**-52 * width**2}
    done = {"nominal_flops": 10 * width * width * math.log2(width), "counters": counters, "verification": verification}
    known = {"record": "repetition", "repetition": repetition, "striping": [striping()]}
    records.append({**known, **sums, **done, "peak_resident_bytes": 20 * 2**20})
    return records
