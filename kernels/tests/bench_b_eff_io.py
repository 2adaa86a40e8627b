#!/usr/bin/env python3
"""b_eff_io beside plain loops of the same MPI-I/O calls, pattern by pattern. Pairs of runs, interleaved, the loops with the counts of the
run before; a ratio of 1 means as fast, below 1 slower. Medians over the pairs, with the 95 % bootstrap interval for all patterns together.

    python kernels/tests/bench_b_eff_io.py build/kernels --pairs 12 --directory /scratch/me
"""

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

TYPES = ("scatter", "shared", "separate", "segmented", "segmented-collective")
METHODS = ("write", "rewrite", "read")
LEAST_SECONDS = 0.02  # a shorter pattern measures the noise


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="folder of the built kernels")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=10, help="scheduled time of the kernel (default 10)")
    parser.add_argument("--largest-chunk", default="8MiB")
    parser.add_argument("--directory", default=".", help="directory under test")
    parser.add_argument("--mpirun", default="mpirun")
    options = parser.parse_args()
    ratios = {}
    pair(options)  # memory that was never touched is slow: the first pair does not count
    for _ in range(options.pairs):
        for key, ratio in pair(options).items():
            ratios.setdefault(key, []).append(ratio)
    print(f"load average {os.getloadavg()[0]:.2f}, {options.pairs} pairs on {options.processes} processes")
    for (method, number, name), values in sorted(ratios.items(), key=lambda item: item[0][1::-1]):
        print(f"{number:>3} {name:<22} {method:<8} {np.median(values):6.3f}   ({min(values):.3f} to {max(values):.3f}, {len(values)} times)")
    for method in METHODS:
        low, middle, high = interval(np.concatenate([values for key, values in ratios.items() if key[0] == method]))
        print(f"all patterns, {method:<8} {middle:6.3f}   ({low:.3f} to {high:.3f})")


def pair(options):
    """Time of the plain loop over time of the kernel, by method and pattern, for patterns long enough to tell."""
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        log = Path(folder, "log.jsonl")
        start(options, "b_eff_io/b_eff_io", "--directory", folder, "--log", log, "--scheduled-time", options.seconds, "--partitions",
              options.processes, "--largest-chunk", options.largest_chunk)
        found = [record for record in map(json.loads, log.read_text().splitlines()) if record["record"] == "measurement"]
    calls = {(r["method"], r["pattern"]): r for r in found}
    patterns = [r for r in found if r["method"] == "write"]
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        plain = json.loads(start(options, "tests/bench_b_eff_io", folder, *(
            f"{TYPES.index(r['type'])}:{r['chunk_bytes']}:{r['call_bytes']}:{r['calls']}" for r in patterns)))
    return {
        (method, r["pattern"], r["type"]): plain[method][place] / calls[method, r["pattern"]]["elapsed_seconds"]
        for place, r in enumerate(patterns) for method in METHODS
        if calls[method, r["pattern"]]["calls"] == r["calls"] and plain[method][place] >= LEAST_SECONDS
    }


def start(options, program, *arguments):
    command = [options.mpirun, "-np", str(options.processes), str(options.build / program), *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def interval(values):
    """95 % bootstrap interval of the median, and the median."""
    drawn = np.median(np.random.default_rng(1).choice(values, (2000, len(values))), axis=1)
    return np.percentile(drawn, 2.5), np.median(values), np.percentile(drawn, 97.5)


if __name__ == "__main__":
    main()
