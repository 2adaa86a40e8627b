# SPDX-License-Identifier: Apache-2.0
"""What has to agree in a log of PRIOMark: the names of problems in rules.py, and the table of docs/log.md."""

INVARIANTS = {
    "case_numbers": "cases are numbered 1, 2, 3, ...",
    "benchmarks": (
        "the cases are those of the sub-benchmarks of coffeecup, in their order, and not only those of `metadata`"
    ),
    "interfaces": (
        "the methods of the cases are those of the kernel and those of the loaded interfaces, each of which has a case"
    ),
    "build": "a build measures only what it has",
    "mpi_io": "the component of MPI-IO is stated before the first case by MPI-IO, and only then",
    "workload": "seed, repetitions, `check` and `evict` are those of `workload_text`, if it states them",
    "planned": (
        "a measurement is what was planned under its number; in the sub-benchmarks of the paper, reads, writes and "
        "bytes follow from the sizes and the read share, and files that exist before a case were evicted if planned"
    ),
    "bytes": "a measurement moves data, and none without a call",
    "latencies": "reads and writes have latencies, each once, and only then",
    "overlap": "all times alone and overlapped are stated, or none",
    "covered": (
        "`covered` is 1 where the calculation of a process took at least as long as its transfer, and 0 elsewhere"
    ),
    "transfer": "the times of the transfers of `async` are those of its requests",
    "each_process": "`values` are lists with a value of each process",
    "replay": "what a replay of `trace` counts is a whole number for each process",
    "copies": "the processes are whole copies of the recording",
    "parts": "no part of a measurement takes longer than the whole",
    "whole": (
        "a measurement does not take longer than its parts together (5 %, and 5 s for a process that loses its core)"
    ),
    "request_time": "the requests do not take longer than the accesses of the processes",
    "operations": (
        "`metadata` has each operation on each file of the processes once, in their order, and `readdir` counts the "
        "entries of the directories that they list"
    ),
    "synchronised": "all repetitions of a case of `metadata` synchronised files, or none",
    "operation_times": "no process takes longer for an operation of `metadata` than the slowest, nor do its calls",
}
