# SPDX-License-Identifier: Apache-2.0
"""Which nodes are slow, from the times of processes in b_eff_io's patterns that are not collective."""

from coffeecup.postprocess.benchmarks import io_nodes
from coffeecup.postprocess.benchmarks.b_eff_io.definition import TYPE_RULES
from coffeecup.postprocess.benchmarks.b_eff_io.records import Layout, Plan, ProcessTimes
from coffeecup.postprocess.benchmarks.nodes import READS, WRITES, Examination
from coffeecup.postprocess.logs.reader import Log

KINDS = {"write": WRITES, "rewrite": WRITES, "read": READS}


def examination(log: Log[Plan]) -> Examination:
    """The nodes of a run. A pattern without a share of the time has a single call, the first one to a file: that tells
    more about the file."""
    servers = {(r.partition, r.method, r.type): r.of_processes for r in log.all(Layout)}
    timed = {entry.pattern for entry in log.plan.patterns if entry.units}
    accesses = [
        io_nodes.Access(
            KINDS[record.method],
            f"{record.method} {record.pattern} {record.partition}",
            io_nodes.own_seconds(record.access_seconds, record.sync_seconds, TYPE_RULES[record.type].separate),
            servers.get((record.partition, record.method, record.type), ()),
            record.partition,
            record.calls,
        )
        for record in log.all(ProcessTimes)
        if record.pattern in timed
    ]
    return io_nodes.of_accesses(log.run, log.plan.process_times, accesses)
