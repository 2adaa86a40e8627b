# SPDX-License-Identifier: Apache-2.0
"""Logs made for tests, as a kernel would write them: plain loops and the words of docs/log.md, with nothing taken from
`postprocess`. What all benchmarks have in common is here; `logs_made_NAME.py` makes the logs of one benchmark."""

import hashlib
import json
from datetime import datetime, timedelta
from pathlib import Path

KIB, MIB, GIB = 2**10, 2**20, 2**30
PROGRAM = {"role": "program", "path": "/opt/bin/kernel", "sha256": "0" * 64}


def sha256(content):
    """Of bytes, or of a file."""
    data = content if isinstance(content, bytes) else Path(content).read_bytes()
    return hashlib.sha256(data).hexdigest()


def entry(constant="", **others):
    """A record, or a part of one: constant fields as they are in a log, without the outer braces, and others."""
    return json.loads("{" + constant + "}") | others


def hosts(ranks, nodes, memory_per_process_bytes):
    share = -(-ranks // nodes)
    groups = [list(range(first, min(first + share, ranks))) for first in range(0, ranks, share)]
    cores = '"cores": 128, "offered_cores": 128, "online_cores": 128'
    made = []
    for number, group in enumerate(groups):
        memory = memory_per_process_bytes * len(group)
        placed = {"name": f"node{number:02}", "ranks": group, "core_sets": ["0-127"] * len(group)}
        made.append(entry(cores, **placed, memory_bytes=memory, available_bytes=memory // 2))
    return made


FILE_SYSTEM = """"source": "server:/scratch", "mount_point": "/scratch", "mount_options": ["rw", "noatime"],
"block_bytes": 1048576, "fragment_bytes": 512, "total_bytes": 1000000000000000, "free_bytes": 100000000000000"""


def file_system(kind, directory="/scratch"):
    """A file system of this type, which a server exports."""
    return entry(FILE_SYSTEM, directory=directory, type=kind)


def striping(**other):
    """Of a file with four stripes, or one that differs."""
    known = {"parts": 1, "stripes": 4, "stripe_bytes": 2**20, "pool": None}
    return {"preferred_bytes": 4 * 2**20, **known, "server": None} | other


OTHERS = "others"  # the key of a function among options: (run, plan, records) -> those that nothing else states


def run_record(benchmark, ranks, nodes, memory_per_process_bytes, others, filesystem=None):
    """The first record; `others` are the options as OTHERS, `filesystem` is the type of the file system under test."""
    memory = {
        "hosts": hosts(ranks, nodes, memory_per_process_bytes),
        "memory_per_process_bytes": memory_per_process_bytes,
    }
    log = f"{benchmark}.jsonl"
    options = {"log": log, "idle-power": 0.0, "hang-after": 0.0, OTHERS: others}
    system = filesystem and file_system(filesystem)
    command = [benchmark, "--log", log]
    return entry(RUN, benchmark=benchmark, command=command, options=options, ranks=ranks, **memory, filesystem=system)


RUN = """"record": "run", "schema_version": 2, "kernel_version": "0.1.0", "start_time": "2026-11-20T14:00:00Z",
"mpi": {"library": "Open MPI v4.1.4", "standard": "3.1", "binding_cores_min": 128, "binding_cores_max": 128,
    "single_copy": "cma"},
"memory_source": "physical", "environment": {"OMPI_MCA_btl": "self,vader,tcp"}, "simulated": false,
"build": {"git_revision": "0123abc", "spack_hash": null, "compiler": "gcc 12.2.0", "flags": "-O2",
    "mpi_standard": "3.1", "mpi_library": "Open MPI 4.1.4",
    "source_sha256": "5555555555555555555555555555555555555555555555555555555555555555"},
"provenance": {"nonce": null, "user": "user", "job": null, "preloaded": []}"""
OVERHEAD = """"record": "overhead", "clock_resolution_seconds": 1e-9, "clock_read_seconds": 3e-8,
"barrier_seconds": 4e-7, "agreement_seconds": 6e-7"""


def complete(run, plan, records, elapsed_seconds, check=None):
    """All records of a complete run on quiet nodes without counters; `check` is what the data check counted. A
    simulation has neither files nor clocks nor counters."""
    measured, took, hosts = not run["simulated"], {"elapsed_seconds": elapsed_seconds}, run["hosts"]
    end_time = datetime.fromisoformat(run["start_time"]) + timedelta(seconds=elapsed_seconds)
    files = entry('"record": "files", "other_files": []', files=[PROGRAM])
    phase = {"phase": "run", "measured_seconds": elapsed_seconds, "day_seconds": elapsed_seconds}
    clocks = entry('"record": "clocks"', mpi_seconds=elapsed_seconds, day_seconds=elapsed_seconds, phases=[phase])
    counters = entry('"record": "counters", "phase": "run", "sources": [], "absent": ["cray_energy"]', **took)
    counters |= {"longest_seconds": elapsed_seconds, "hosts": [{"values": []} for _ in hosts]}
    quiet = {"others_user_seconds": elapsed_seconds / 120, "stolen_seconds": elapsed_seconds / 1800}
    end = entry('"record": "end", "status": "complete", "reason": null', **took)
    made = [run, {"record": "plan", **plan}, entry(OVERHEAD), *[files] * measured, *records]
    made += [{"record": "data_check", **check, "wrong_bytes": 0}] if check else []
    made += [*[clocks, counters] * measured, {"record": "activity", **took, "hosts": [dict(quiet) for _ in hosts]}]
    return numbered([*made, end | {"end_time": end_time.strftime("%Y-%m-%dT%H:%M:%SZ")}])


class Derived(int):
    """A number that follows from the other records: numbered() determines it, unless a test states another."""

    of = staticmethod(lambda records: 0)


def calls_of(seconds, calls):
    """A histogram of calls that all take the same time."""
    bins = {"from_seconds": [0.99 * seconds], "to_seconds": [1.01 * seconds], "bin_calls": [calls]}
    return {
        "calls": calls,
        "sum_seconds": calls * seconds,
        "shortest_seconds": seconds,
        "longest_seconds": seconds,
    } | bins


def ended(records, seconds):
    """A run ended so many seconds after its start. Changes the records and lacks `activity`, which took longer."""
    records[:] = numbered([record for record in records if record["record"] != "activity"])
    first(records, record="counters").update(elapsed_seconds=seconds, longest_seconds=seconds)
    records[-1]["elapsed_seconds"] = seconds


def with_cores(records, host, count):
    """The processes of a host share so few processors. Changes the first record."""
    own = records[0]["hosts"][host]
    own.update(cores=count, core_sets=[f"0-{count - 1}"] * len(own["ranks"]))
    counts = [entry["cores"] for entry in records[0]["hosts"]]
    records[0]["mpi"].update(binding_cores_min=min(counts), binding_cores_max=max(counts))


def simulated(records):
    """What a kernel for simulators writes. Changes the records."""
    records[0]["simulated"], records[0]["provenance"]["preloaded"] = True, None
    records[:] = numbered([record for record in records if record["record"] not in ("files", "clocks", "counters")])


def derived(of, value=0):
    number = Derived(value)
    number.of = of
    return number


def numbered(records):
    """The records with their sequence, the numbers that follow from others, and an end record that counts them."""
    counted = [{**record, "sequence": number} for number, record in enumerate(records)]
    for record in counted:
        for name, value in record.items():
            if isinstance(value, Derived):
                record[name] = derived(value.of, value.of(counted))
    if counted[-1]["record"] == "end":
        counted[-1]["records"] = len(counted)
    return counted


def of_kind(records, kind):
    return [record for record in records if record["record"] == kind]


def first(records, **fields):
    """The first record with these fields."""
    return next(record for record in records if all(record.get(name) == value for name, value in fields.items()))


def stated(records):
    """The records with all options: those that a test did not state follow from the plan."""
    run, plan, *_ = [*records, {}, {}]
    others = run.get("options", {}).get(OTHERS)
    if not others:
        return records
    options = {name: value for name, value in run["options"].items() if name != OTHERS}
    if plan.get("record") == "plan":
        options = others(run, plan, records) | options
    return [run | {"options": options}, *records[1:]]


def text(records) -> bytes:
    records = stated(records)
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def write(path, records) -> Path:
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(records if isinstance(records, bytes) else text(records))
    return path
