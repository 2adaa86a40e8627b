# SPDX-License-Identifier: Apache-2.0
"""Which nodes are slow, from the times of processes in PRIOMark's cases that are not collective."""

from dataclasses import replace

from postprocess.benchmarks import io_nodes, nodes
from postprocess.benchmarks.nodes import READS, WRITES, Examination
from postprocess.benchmarks.priomark.records import Layout, Measurement, Plan, ProcessTimes
from postprocess.logs.reader import Log

OWN, SHARED = ("single_file", "raw"), ("common_file", "strided")  # what each process accesses


def examination(log: Log[Plan]) -> Examination:
    """The nodes of a run. Where the processes share a file, its sync is collective and does not count. In `async` they
    calculate as well, and in `trace` they do different work, as plug-ins may. Where it is known which
    server has the file of a process, nodes are compared with those whose files are on the same one."""
    resolution, ranks = log.plan.process_times, log.run.ranks
    if resolution is None:
        return nodes.not_examined(io_nodes.EARLY_KERNEL)
    accesses = [
        (record, WRITES if whole.write_calls else READS, record.elapsed_seconds if own else record.access_seconds)
        for record, whole in zip(log.all(ProcessTimes), log.all(Measurement))
        if whole.benchmark in (*OWN, *SHARED) and not whole.method.endswith("-collective")
        for own in [whole.benchmark in OWN]
    ]
    servers = {(r.case, r.repetition): [r.servers[place] for place in r.files] for r in log.all(Layout)}
    measured = {WRITES: {}, READS: {}}
    on_servers, files = {WRITES: {}, READS: {}}, {}
    for record, kind, seconds in accesses:
        there, usual, left_out = servers.get((record.case, record.repetition)), None, []
        if there:
            times = on_servers[kind][in_words(record)] = io_nodes.of_servers(log.run, seconds, there)
            files |= {server: max(files.get(server, 0), there.count(server)) for server in there}
            usual = [times.get(server, 1.0) for server in there]
            left_out = [rank for rank, server in enumerate(there) if server not in times]
        measured[kind][in_words(record)] = io_nodes.of_nodes(log.run, resolution, ranks, seconds, usual, left_out)
    found = io_nodes.examination(log.run, measured)
    return replace(found, servers=tuple(nodes.listed(io_nodes.slow_servers(on_servers, files))))


def in_words(record: ProcessTimes) -> str:
    return f"case {record.case}, repetition {record.repetition}"
