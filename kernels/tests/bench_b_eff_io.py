#!/usr/bin/env python3
"""b_eff_io beside plain loops of the same MPI-I/O calls and, where it is on PATH, beside IOR, pattern by pattern.

They run in turn, the peers with the counts of b_eff_io's run before, so that a disturbance strikes all alike. A ratio of 1 means as
fast, below 1 slower: the median of the pairs' ratios with its 95 % bootstrap interval. Ours is the time of a pattern as it is scored,
with positioning, agreements and sync. Only like is compared with like:

- the plain loops walk through a buffer as b_eff_io does; they make no data, agree on nothing and check nothing;
- IOR has types separate, segmented and segmented-collective, and of type scatter the patterns whose chunk lies in memory as on disk
  (it has neither shared file pointers nor a scattered chunk). It opens a file for each pattern, outside its transfer time, which is
  what is compared, with its sync (-e). It uses one buffer again and again: up to some MiB that comes from a cache and not from memory.
"""

import argparse
import json
import mmap
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TYPES = ("scatter", "shared", "separate", "segmented", "segmented-collective")
METHODS = ("write", "rewrite", "read")
IOR_FLAGS = {"scatter": ["-c"], "separate": ["-F"], "segmented": [], "segmented-collective": ["-c"]}
LEAST_SECONDS = 0.005  # a shorter pattern measures the noise
SPACE_BYTES = 2**30  # for all files of a run together
WARM_BYTES = SPACE_BYTES * 5 // 4  # what they take in the page cache
WANTED = 0.95
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/kernels"), help="folder of the built kernels")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=12, help="how often b_eff_io and the peers take turns")
    parser.add_argument("--seconds", type=float, default=6, help="scheduled time of b_eff_io (default 6)")
    parser.add_argument("--largest-chunk", default="8MiB")
    parser.add_argument("--directory", default=".", help="directory under test")
    parser.add_argument("--mpirun", default="mpirun")
    options = parser.parse_args()
    if not (options.build / "b_eff_io" / "b_eff_io").exists():
        sys.exit(f"there is no b_eff_io in {options.build}; build the kernels first: cmake -S kernels -B build/kernels && "
                 "cmake --build build/kernels")
    peers = {"plain loop": plain} | ({"IOR": ior} if shutil.which("ior") else {})
    if "IOR" not in peers:
        print("IOR is not on PATH (ior): not compared")
    ratios = {name: {} for name in peers}
    for number in range(options.pairs + 1):  # the first pair does not count
        warm()
        records = ours(options)
        for name, peer in peers.items():
            warm()
            for key, ratio in compared(records, peer(options, records)).items() if number else ():
                ratios[name].setdefault(key, []).append(ratio)
        print(f"pair {number} of {options.pairs}, load average {os.getloadavg()[0]:.2f}", file=sys.stderr)
    report(options, ratios)


def report(options, ratios):
    print(f"load average {os.getloadavg()[0]:.2f}, {options.pairs} pairs on {options.processes} processes in {options.directory}")
    print(f"{'bandwidth of b_eff_io over that of the peer':<46}" + "".join(f"{name:^28}" for name in ratios))
    slower = []
    for key in sorted({key for found in ratios.values() for key in found}):
        method, number, name = key
        cells = []
        for peer, found in ratios.items():
            low, middle, high = interval(found[key]) if len(found.get(key, ())) > 1 else (np.nan, np.nan, np.nan)
            cells.append(f"{middle:8.3f} [{low:6.3f}, {high:6.3f}] x{len(found[key])}" if middle == middle else "")
            slower += [f"{method}, pattern {number} ({name}): {middle:.3f} of {peer}"] if high < WANTED else []
        print(f"{METHODS[method]:<8} {number:>3} {name:<33}" + "".join(f"{cell:<28}" for cell in cells))
    for peer, found in ratios.items():
        for place, method in enumerate(METHODS):
            if values := [ratio for key, several in found.items() if key[0] == place for ratio in several]:
                low, middle, high = interval(values)
                print(f"all patterns, {method:<8} {peer:<10} {middle:6.3f} [{low:.3f}, {high:.3f}]")
    print("\n".join(slower) or f"b_eff_io is nowhere slower than {WANTED} of a peer, beyond the interval.")


def warm():
    """The same start for all. Nothing of the run before is left to be written or removed, and memory has been touched and given back:
    whoever comes first would else be the one who gets it from the host of a virtual machine, at a tenth of the speed."""
    os.sync()
    with mmap.mmap(-1, WARM_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE):
        pass


def ours(options):
    """The log's measurements, by method and pattern."""
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        log = Path(folder, "log.jsonl")
        start(options, options.build / "b_eff_io" / "b_eff_io", "--directory", folder, "--log", log, "--scheduled-time", options.seconds,
              "--partitions", options.processes, "--largest-chunk", options.largest_chunk, "--space-limit", SPACE_BYTES)
        records = map(json.loads, log.read_text().splitlines())
        return {(METHODS.index(r["method"]), r["pattern"]): r for r in records if r["record"] == "measurement"}


def compared(records, peer):
    """Time of the peer over that of b_eff_io, where both moved the same bytes for long enough to tell."""
    return {
        (method, number, f"{r['type']}, {r['chunk_bytes']} byte"): peer[method, number] / r["elapsed_seconds"]
        for (method, number), r in records.items()
        if (method, number) in peer and r["calls"] == records[0, number]["calls"] and peer[method, number] >= LEAST_SECONDS
    }


def plain(options, records):
    """Seconds by method and pattern."""
    patterns = [r for (method, _), r in records.items() if method == 0]
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        seconds = json.loads(start(options, options.build / "tests" / "bench_b_eff_io", folder, *(
            f"{TYPES.index(r['type'])}:{r['chunk_bytes']}:{r['call_bytes']}:{r['calls']}" for r in patterns)))
    return {(METHODS.index(method), r["pattern"]): taken for method, found in seconds.items() for r, taken in zip(patterns, found)}


def ior(options, records):
    """Seconds by method and pattern; IOR has no rewrite."""
    found = {}
    for (method, number), r in records.items():
        if method == 0 and r["type"] in IOR_FLAGS and r["call_bytes"] == r["chunk_bytes"] and r["elapsed_seconds"] >= LEAST_SECONDS:
            found |= {(METHODS.index(access), number): seconds for access, seconds in ior_pattern(options, r).items()}
    return found


def ior_pattern(options, r):
    strided = r["type"] == "scatter"
    size = ["-t", r["chunk_bytes"], "-b", r["chunk_bytes"] * (1 if strided else r["calls"]), "-s", r["calls"] if strided else 1]
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        text = start(options, shutil.which("ior"), "-a", "MPIIO", "-g", "-e", "-w", "-r", *IOR_FLAGS[r["type"]], *size, "-o",
                     Path(folder, "file"), "-O", "summaryFormat=JSON")
    [test] = json.loads(text)["tests"]
    return {result["access"]: result["wrRdTime"] for result in test["Results"]}


def start(options, program, *arguments):
    command = [options.mpirun, "-np", options.processes, program, *arguments]
    done = subprocess.run(list(map(str, command)), env=os.environ | OPEN_MPI, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        sys.exit(f"{program} ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def interval(values):
    """95 % bootstrap interval of the median, and the median between its ends."""
    drawn = np.median(np.random.default_rng(1).choice(values, (2000, len(values))), axis=1)
    return np.percentile(drawn, 2.5), np.median(values), np.percentile(drawn, 97.5)


if __name__ == "__main__":
    main()
