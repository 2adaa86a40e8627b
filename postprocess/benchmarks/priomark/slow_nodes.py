# SPDX-License-Identifier: Apache-2.0
"""Which nodes are slow, from the times of processes in PRIOMark's cases that are not collective."""

from coffeecup.postprocess.benchmarks import io_nodes
from coffeecup.postprocess.benchmarks.nodes import READS, WRITES, Examination
from coffeecup.postprocess.benchmarks.priomark.records import Layout, Measurement, Plan, ProcessTimes
from coffeecup.postprocess.logs.reader import Log

OWN, SHARED = ("single_file", "raw"), ("common_file", "strided")  # what each process accesses


def examination(log: Log[Plan]) -> Examination:
    """The nodes of a run. Where the processes share a file, its sync is collective and does not count. In `async` they
    calculate as well, and in `trace` they do different work."""
    servers = {(record.case, record.repetition): record.of_processes for record in log.all(Layout)}
    collective = {entry.name for entry in log.plan.interfaces if entry.collective}
    accesses = [
        io_nodes.Access(
            WRITES if whole.write_calls else READS,
            f"case {record.case}, repetition {record.repetition}",
            record.elapsed_seconds if whole.benchmark in OWN else record.access_seconds,
            servers.get((record.case, record.repetition), ()),
        )
        for record, whole in zip(log.all(ProcessTimes), log.all(Measurement))
        if whole.benchmark in OWN or (whole.benchmark in SHARED and not is_collective(whole.method, collective))
    ]
    return io_nodes.of_accesses(log.run, log.plan.process_times, accesses)


def is_collective(method: str, loaded: set[str]) -> bool:
    """`loaded` are the collective ones of the loaded interfaces."""
    return method.endswith("-collective") or method in loaded
