# SPDX-License-Identifier: Apache-2.0
"""Which nodes are slow, from the times of processes in FTIO's phases: those of I/O, and those that only compute."""

from coffeecup.postprocess.benchmarks import io_nodes
from coffeecup.postprocess.benchmarks.ftio.records import Layout, Plan, ProcessTimes
from coffeecup.postprocess.benchmarks.ftio.rules import STAGES
from coffeecup.postprocess.benchmarks.nodes import COMPUTATIONS, READS, WRITES, Examination
from coffeecup.postprocess.logs.reader import Log


def examination(log: Log[Plan]) -> Examination:
    """The nodes of a run. A process reads and writes its part of each stage for itself: it waits for others in the
    transforms between, which do not count."""
    seconds = {(r.repetition, r.stage, r.activity): r.seconds for r in log.all(ProcessTimes)}
    servers = {record.repetition: record.of_processes for record in log.all(Layout)}
    accesses = []
    for repetition in range(1, log.plan.repetitions + 1):
        for stage in STAGES:
            phase = {activity: seconds.get((repetition, stage, activity)) for activity in ("read", "write", "compute")}
            if phase["write"]:
                flush, separate = seconds[repetition, stage, "flush"], log.plan.storage == "posix"
                phase["write"] = io_nodes.own_seconds(phase["write"], flush, separate)
            for kind, times in zip((READS, WRITES, COMPUTATIONS), phase.values()):
                there = servers.get(repetition, ()) if kind != COMPUTATIONS else ()
                if times:
                    accesses.append(io_nodes.Access(kind, f"{stage} {repetition}", times, there))
    return io_nodes.of_accesses(log.run, log.plan.process_times, accesses)
