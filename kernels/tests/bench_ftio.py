#!/usr/bin/env python3
"""ftio beside what its parts take by themselves: the I/O of each stage beside a bare loop of the same calls, the transforms beside FFTW
in memory. Pairs of runs, interleaved; a ratio of 1 means as fast, below 1 slower: the median of the pairs' ratios with its 95 %
bootstrap interval, and the ratio of the fastest runs of both, which others on the machine disturb least.
"""

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

STAGES = ("initialise", "series_1", "transpose", "exchange", "series_2", "verify")
IO = ("read", "write", "flush")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/kernels"), help="folder of the built kernels")
    parser.add_argument("--input", type=int, default=32, help="input parameter (default 32)")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--directory", default=".", help="directory under test")
    parser.add_argument("--mpirun", default="mpirun")
    options = parser.parse_args()
    taken = {name: [] for name in (*STAGES, "fft")}
    for pair in range(options.pairs):
        runs = [ours, bare] if pair % 2 == 0 else [bare, ours]
        seconds = {run: run(options) for run in runs}
        for name, pairs in taken.items():
            pairs.append((seconds[bare][name], seconds[ours][name]))
    print(f"load average {os.getloadavg()[0]:.2f}, {options.pairs} pairs, i = {options.input} on {options.processes} processes")
    for name, pairs in taken.items():
        alone, within = np.array(pairs).T
        low, high = interval(alone / within)
        print(f"{'I/O of ' * (name != 'fft') + name:<20} {np.median(alone / within):6.3f}   ({low:.3f} to {high:.3f})   fastest "
              f"{alone.min() / within.min():6.3f}")


def ours(options):
    """Seconds of ftio by stage, mean over the processes, I/O alone; and of all transforms."""
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        log = Path(folder, "ftio.jsonl")
        start(options, "ftio/ftio", "--input", options.input, "--directory", folder, "--log", log)
        measured = [record for record in map(json.loads, log.read_text().splitlines()) if record["record"] == "measurement"]
    seconds = {stage: sum(m["mean_seconds"] for m in measured if m["stage"] == stage and m["activity"] in IO) for stage in STAGES}
    return seconds | {"fft": sum(m["mean_seconds"] for m in measured if m["activity"] == "fft")}


def bare(options):
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        return json.loads(start(options, "tests/bench_ftio", options.input, folder).splitlines()[-1])


def start(options, program, *arguments):
    command = [options.mpirun, "-np", str(options.processes), str(options.build / program), *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def interval(values):
    medians = np.median(np.random.default_rng(0).choice(values, size=(10_000, len(values))), axis=1)
    return np.quantile(medians, [0.025, 0.975])


if __name__ == "__main__":
    main()
