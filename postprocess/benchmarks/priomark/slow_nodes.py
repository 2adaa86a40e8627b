# SPDX-License-Identifier: Apache-2.0
"""Which nodes are slow, from the times of processes in PRIOMark's cases that are not collective."""

from postprocess.benchmarks import io_nodes, nodes
from postprocess.benchmarks.nodes import READS, WRITES, Examination
from postprocess.benchmarks.priomark.records import Measurement, Plan, ProcessTimes
from postprocess.logs.reader import Log

OWN, SHARED = ("single_file", "raw"), ("common_file", "strided")  # what each process accesses


def examination(log: Log[Plan]) -> Examination:
    """The nodes of a run. Where the processes share a file, its sync is collective and does not count. In `async` they
    calculate as well, and in `trace` they do different work, as plug-ins may."""
    resolution, ranks = log.plan.process_times, log.run.ranks
    if resolution is None:
        return nodes.not_examined(io_nodes.EARLY_KERNEL)
    measured = {WRITES: {}, READS: {}}
    for record, whole in zip(log.all(ProcessTimes), log.all(Measurement)):
        if whole.benchmark in (*OWN, *SHARED) and not whole.method.endswith("-collective"):
            seconds = record.elapsed_seconds if whole.benchmark in OWN else record.access_seconds
            kind = WRITES if whole.write_calls else READS
            access = f"case {record.case}, repetition {record.repetition}"
            measured[kind][access] = io_nodes.of_nodes(log.run, resolution, ranks, seconds)
    return io_nodes.examination(log.run, measured)
