#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ftio beside a bare loop of the same calls in the same order (bench_ftio.c): pread, pwrite, fdatasync and FFTW's
transforms, with nothing between them. A case is the I/O of a stage, or all transforms; its speed is one over the mean
time of the processes. The matrix is at least four times as large as the last-level cache.
"""

import math
import sys
import tempfile
from pathlib import Path

import comparison
from comparison import Comparison, cache_bytes, json_output, start_mpi

from coffeecup.postprocess.benchmarks.ftio.reduction import measurement_table
from coffeecup.postprocess.benchmarks.scoring import read_log

STAGES = ("initialise", "series_1", "transpose", "exchange", "series_2", "verify")
CALLS = ("read", "write", "flush")
ELEMENT_BYTES = 16
CACHES = 4  # the matrix, in last-level caches


def main():
    def extend(parser):
        parser.add_argument(
            "--input", type=int, help="input parameter (default: the smallest whose matrix is large enough)"
        )
        parser.add_argument("--processes", type=int, default=2)

    options = comparison.options_of(__doc__, extend=extend)
    options.input = options.input or smallest_input(CACHES * cache_bytes(options), options.processes)
    return comparison.compare(f"ftio --input {options.input}", [bare_loop(options)], options)


def smallest_input(matrix_bytes, processes):
    """i² rows and columns for each process, with i² a multiple of the number of processes."""
    i = math.isqrt(math.isqrt(matrix_bytes // ELEMENT_BYTES) // processes) + 1
    while i * i % processes:
        i += 1
    return i


def bare_loop(options):
    def run_kernel(_):
        with tempfile.TemporaryDirectory(dir=options.directory) as folder:
            log = Path(folder, "ftio.jsonl")
            where = ("--input", options.input, "--directory", folder, "--log", log)
            start_mpi(options, options.build / "ftio" / "ftio", *where, processes=options.processes)
            table = measurement_table([read_log(log)])
        calls = table[table["activity"].isin(CALLS)]
        seconds = {stage: calls.loc[calls["stage"] == stage, "mean_seconds"].sum() for stage in STAGES}
        return speeds(seconds | {"transforms": table.loc[table["activity"] == "fft", "mean_seconds"].sum()})

    def run_peer(_):
        with tempfile.TemporaryDirectory(dir=options.directory) as folder:
            loop = options.build / "tests" / "bench_ftio"
            return speeds(json_output(start_mpi(options, loop, options.input, folder, processes=options.processes)))

    return Comparison("bare loop", run_kernel, run_peer)


def speeds(seconds):
    return {name if name == "transforms" else f"I/O of {name}": 1 / float(taken) for name, taken in seconds.items()}


if __name__ == "__main__":
    sys.exit(main())
