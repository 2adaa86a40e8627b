#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""b_eff_io beside plain loops of the same MPI-I/O calls (bench_b_eff_io.c), pattern by pattern.

Both do the same work: the space limit ends each time-driven pattern of the kernel long before its scheduled time, so
that every run makes the same calls, and the loops make as many through a buffer of the same size. They make no data,
agree on nothing and check nothing. The time of a pattern is the scored one, with positioning, agreements and sync. A
case is an access method, a pattern type and a range of chunk sizes; its speed is the number of bytes over the time of
all its patterns. Small chunks show what agreements cost, large ones what the walk through memory does.

IOR is no peer here: it uses one buffer again and again, which stays in the cache, and has neither shared file pointers
nor scattered chunks.
"""

import mmap
import os
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import comparison
from comparison import Comparison, ComparisonError, cache_bytes, json_output, start_mpi

from coffeecup.postprocess.benchmarks.b_eff_io.records import Measurement
from coffeecup.postprocess.benchmarks.scoring import read_log

TYPES = ("scatter", "shared", "separate", "segmented", "segmented-collective")
METHODS = ("write", "rewrite", "read")
SCHEDULED_SECONDS = 3600  # never reached
LEAST_SPACE, CACHES = 2**30, 4  # all files of a run together: so many bytes, or last-level caches
MIB = 2**20


def main():
    def extend(parser):
        parser.add_argument("--processes", type=int, default=2)
        parser.add_argument("--largest-chunk", default="8MiB")

    options = comparison.options_of(__doc__, extend=extend)
    return comparison.compare(
        "b_eff_io", [bare_loops(options, max(LEAST_SPACE, CACHES * cache_bytes(options)))], options
    )


def bare_loops(options, space_bytes):
    plan = []

    def run_kernel(_):
        warm(space_bytes)
        records = run_b_eff_io(options, space_bytes)
        calls = [
            (record.type, record.chunk_bytes, record.call_bytes, record.bytes // record.call_bytes // options.processes)
            for record in records
        ]
        work = calls[: len(calls) // len(METHODS)]
        if calls != work * len(METHODS) or work != (plan or work):
            raise ComparisonError("b_eff_io did not make the same calls in every pass and every run")
        plan[:] = work
        return speeds([record.elapsed_seconds for record in records], options)

    def speeds(seconds, options):
        total_bytes, total_seconds = defaultdict(int), defaultdict(float)
        patterns = [(method, *pattern) for method in METHODS for pattern in plan]
        for (method, kind, chunk, call, calls), taken in zip(patterns, seconds, strict=True):
            case = f"{method:<8} {kind}, {chunk_range(chunk)}"
            total_bytes[case] += call * calls * options.processes
            total_seconds[case] += taken
        return {case: moved / total_seconds[case] for case, moved in total_bytes.items()}

    def run_peer(_):
        warm(space_bytes)
        arguments = [f"{TYPES.index(kind)}:{chunk}:{call}:{calls}" for kind, chunk, call, calls in plan]
        with tempfile.TemporaryDirectory(dir=options.directory) as folder:
            loops = options.build / "tests" / "bench_b_eff_io"
            found = json_output(start_mpi(options, loops, folder, *arguments, processes=options.processes))
        return speeds([taken for method in METHODS for taken in found[method]], options)

    return Comparison("bare loops", run_kernel, run_peer)


def chunk_range(chunk_bytes):
    return "about 1 KiB" if chunk_bytes < 32 * 2**10 else "about 32 KiB" if chunk_bytes < MIB else "1 MiB and more"


def run_b_eff_io(options, space_bytes):
    """The measurements, pass by pass, pattern by pattern."""
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        log = Path(folder, "log.jsonl")
        kernel, processes = options.build / "b_eff_io" / "b_eff_io", options.processes
        limits = f"--scheduled-time {SCHEDULED_SECONDS} --space-limit {space_bytes} --partitions {processes}".split()
        where = ("--directory", folder, "--log", log, "--largest-chunk", options.largest_chunk)
        start_mpi(options, kernel, *where, *limits, processes=processes)
        return read_log(log).all(Measurement)


def warm(space_bytes):
    """The same start for both. Nothing of the run before is left to be written or removed, and as much memory as the
    page cache will need has been touched and freed: on a virtual machine the first to use it would get it from the
    host, at a tenth of the speed."""
    os.sync()
    with mmap.mmap(-1, space_bytes * 5 // 4, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE):
        pass


if __name__ == "__main__":
    sys.exit(main())
