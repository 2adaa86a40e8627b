# SPDX-License-Identifier: Apache-2.0
"""Qualifications of a PRIOMark result: what improves or limits it. They are shown beside the number everywhere."""

import hashlib
from collections.abc import Iterator

import pandas as pd

from coffeecup.postprocess.benchmarks.priomark import INCLUDED, PAPER, metadata
from coffeecup.postprocess.benchmarks.priomark.records import Measurement, Plan
from coffeecup.postprocess.logs.hosts import of_hosts
from coffeecup.postprocess.logs.io_options import of_cache_size, of_memory_fill, of_read_shift
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.words import counted, size

SHORT_SECONDS = 0.01
# What the recorder counts instead of recording it: by the name of the value, the words for one of them.
UNSEEN = {
    "streams": ("process", " whose streams this libc hides"),
    "mmap": ("mapped file", " (mmap)"),
    "aio": ("asynchronous request", " (POSIX aio)"),
    "io_uring": ("ring", " of requests (io_uring)"),
    "splice": ("splice", ""),
    "copy": ("transfer", " between a file and something else (sendfile, copy_file_range)"),
    "rename": ("rename", " of a directory or across the recorded one"),
    "link": ("hard link", ""),
    "program": ("program", " that cannot be recorded (static, with other rights, or without LD_PRELOAD)"),
    "other": ("other access", ""),
}
PAPERS_WORKLOAD = "default"
PAPERS_WORKLOAD_SHA256 = "161fff7066e80fad668b51bf088460f9a491a2d97a25502651f75368a5c30766"  # of workloads/default.cfg


def breaches(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    """The rules that the run did not keep. The paper leaves everything to the workload; to keep official numbers
    comparable, only the paper's own choice is official: the workload `default` with all sub-benchmarks."""
    if log.plan.workload != PAPERS_WORKLOAD:
        yield "workload", f"the workload is {log.plan.workload}, not the paper's ({PAPERS_WORKLOAD})"
    elif (content := hashlib.sha256(log.plan.workload_text.encode()).hexdigest()) != PAPERS_WORKLOAD_SHA256:
        yield (
            "workload",
            f"the workload is called {PAPERS_WORKLOAD}, but its content is not the paper's: its SHA-256 is {content}",
        )
    elif missing := left_out(log):
        yield "left_out", f"{listed(missing)} did not run"


def qualifications(log: Log[Plan], table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """All qualifications of a log. `table` contains the log's rows of a measurement_table."""
    yield from of_parts(log)
    yield from of_read_shift(log.plan.read_shift)
    yield from of_memory_fill(log, "during the run")
    yield from of_cache(log, table)
    yield from of_cache_size(log)
    yield from of_targets(table)
    yield from of_replay(log)
    yield from of_overlap(table)
    yield from (pair for pair in of_hosts(log) if pair[0] != "one_host")
    yield from of_time(table)
    yield from metadata.qualifications(log)


def of_parts(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    """What enters the total."""
    plan = log.plan
    ran = [entry.name for entry in plan.benchmarks if entry.name in INCLUDED]
    missing = left_out(log)
    yield (
        "parts",
        f"The total is the mean of {listed(ran)} under the workload {plan.workload}"
        f"{f'; without {listed(missing)}' if missing else ''}: compare it with totals of the same workload only",
    )
    if plan.interfaces:
        loaded = listed(f"{entry.name} (SHA-256 {entry.sha256[:16]}...)" for entry in plan.interfaces)
        yield "interfaces", f"Methods that were loaded as interfaces: {loaded}"
    if plan.build != "full":
        yield (
            "build",
            (
                "The kernel was built without "
                + ("MPI-IO: MPI only synchronised the processes" if plan.build == "mpi" else "MPI")
            ),
        )


def left_out(log: Log[Plan]) -> list[str]:
    """The paper's sub-benchmarks that did not run."""
    ran = {entry.name for entry in log.plan.benchmarks}
    return [name for name in PAPER if name not in ran]


def of_cache(log: Log[Plan], table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Reads that may have come from the page cache: of files that fit into memory, neither direct nor evicted."""
    memory = log.plan.cache_bytes or sum(host.memory_bytes for host in log.run.hosts)
    cached = table[
        (table["target"] != "device") & ~table["direct"] & (table["process_bytes"] * log.run.ranks <= memory)
    ]
    reads = cached[(cached["read_calls"] > 0) & ~cached["evicted"]]
    if len(reads):
        yield (
            "cache_affected",
            f"Cache-affected: {listed(reads['benchmark'].unique())} read files of at most "
            f"{size(int(reads['process_bytes'].max()) * log.run.ranks)} together, which the "
            f"{'cache' if log.plan.cache_bytes else 'memory'} of {size(memory)} holds, and they were not evicted "
            "from it before: part of the reads, or all, came from there",
        )
    loaded = [entry.name for entry in log.plan.interfaces]  # what their writes do is unknown
    if len(written := cached[(cached["write_calls"] > 0) & ~cached["method"].isin(loaded)]):
        yield (
            "cached_writes",
            f"Latencies of writes in {listed(written['benchmark'].unique())} are those of copies into the page "
            "cache; the bandwidths hold the time until the data was written out",
        )


def of_targets(table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    if (table["target"] == "file").any():
        yield "raw_on_file", "raw measured a file, not a device: its result includes the file system"
    if (table["pattern"] == "replay-think").any():
        yield (
            "think_time",
            "trace replayed think times as well: its bandwidth is that of the recorded program, not of the file system",
        )


def of_replay(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    """How the replay of a recording differs from the recorded program. Logs of earlier kernels do not state it."""
    replays = [record for record in log.all(Measurement) if record.benchmark == "trace" and "copies" in record.values]
    if not replays:
        return
    first = replays[0]
    copies = int(first.values["copies"][0])
    unseen = {kind: int(sum(first.values.get(f"unseen_{kind}", [0]))) // copies for kind in UNSEEN}
    if any(unseen.values()):
        named = listed(f"{counted(count, UNSEEN[kind][0])}{UNSEEN[kind][1]}" for kind, count in unseen.items() if count)
        yield "not_recorded", f"The recorded program also did what is not recorded and not replayed: {named}"
    overlapped = int(sum(first.values.get("overlapped", [0])))
    reasons = [f"{copies} copies of the recorded program ran at the same time"] if copies > 1 else []
    if overlapped and first.pattern != "replay-think":
        reasons.append(
            f"{overlapped} of {log.run.ranks} processes, which overlapped when they were recorded, began at the same "
            "time"
        )
    if reasons:
        yield "made_concurrent", f"Made concurrent: {listed(reasons)}"
    if differing := int(max(sum(record.values.get("differing_results", [0])) for record in replays)):
        yield (
            "differing",
            f"{counted(differing, 'request')} of the replay had other results than when the program was recorded",
        )


def of_overlap(table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Cases in which a calculation did not cover its transfer: key and sentence."""
    if len(short := table[table["covered"] < 1]):
        yield (
            "not_covered",
            f"In {counted(len(short), 'measurement')} of {listed(short['benchmark'].unique())} the calculation "
            "ended before the transfer: ACL and ABL are too small there",
        )


def of_time(table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    if len(short := table[table["elapsed_seconds"] < SHORT_SECONDS]):
        yield (
            "short",
            f"{counted(len(short), 'measurement')} of {len(table)} took less than {SHORT_SECONDS * 1e3:.0f} ms: "
            "too short to be reproduced; give the workload more data",
        )


def listed(names) -> str:
    """a, b and c."""
    *first, last = [str(name) for name in names]
    return f"{', '.join(first)} and {last}" if first else last
