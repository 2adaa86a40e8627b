#!/usr/bin/env python3
"""priomark beside fio: the same file size, block size, read share, buffered or direct, one process, interleaved in pairs of runs. A ratio
of 1 means as much bandwidth and as many requests per second as fio, above 1 more: the median of the pairs' ratios with its 95 % bootstrap
interval, and the ratio of the fastest runs of both, which others on the machine disturb least.

Both open a file that exists, out of the page cache, access it by pread and pwrite, and synchronise at the end within their time; both
record each request's latency. Random orders are drawn anew for each pair, for both.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

KIB = 2**10
# name: pattern and read share of ours, the words of fio. Where it has none it is given a list of requests: its own rw=rw reads one
# sequence of blocks and writes another, and its own random order takes the next free block where a drawn one was done, so that more
# accesses than chance has them follow blocks of the cache, for which the kernel reads ahead.
CASES = {
    "write": ("write", "1:1", ["--rw=write"]),
    "read": ("read-write", "1:0", ["--rw=read"]),
    "rewrite": ("read-write", "0:1", ["--rw=write", "--overwrite=1"]),
    "read-write": ("read-write", "1:1", None),
    "random-read": ("random-read-write", "1:0", None),
    "random-write": ("random-read-write", "0:1", None),
    "random-read-write": ("random-read-write", "1:1", None),
}
BLOCKS = (4, 64)  # KiB
LOWEST = 0.95


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/kernels"), help="folder of the built kernels")
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--size", type=int, default=256, help="size of the file in MiB (default 256; fio tells its time in milliseconds)")
    parser.add_argument("--directory", default=".", help="directory under test")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--keep-cache", action="store_true", help="leave the file in the page cache")
    options = parser.parse_args()
    if not shutil.which("fio"):
        sys.exit("fio is not on PATH: nothing to compare with")
    print(f"load average {os.getloadavg()[0]:.2f}, {options.pairs} pairs, a file of {options.size} MiB; bandwidth and requests per second, ours "
          "by fio's")
    slow = []
    for mode in ("buffered", "direct"):
        for block in BLOCKS:
            for name in CASES:
                case = f"{name} {block} KiB {mode}"
                if options.only in case:
                    ratios, fastest = compare(options, name, block, mode == "direct")
                    low, high = interval(ratios)
                    print(f"{case:<34} {np.median(ratios):6.3f}   ({low:.3f} to {high:.3f})   fastest {fastest:6.3f}", flush=True)
                    if high < LOWEST:
                        slow.append(case)
    if slow:
        sys.exit(f"slower than {LOWEST} of fio: {', '.join(slow)}")


def compare(options, name, block, direct):
    """Of each pair ours by fio's, and of the fastest runs."""
    rates = {ours: [], fio: []}
    for pair in range(options.pairs):
        for run in [ours, fio] if pair % 2 == 0 else [fio, ours]:
            with tempfile.TemporaryDirectory(dir=options.directory) as folder:
                rates[run].append(run(options, Path(folder), name, block, direct, seed=pair + 1))
    mine, theirs = np.array(rates[ours]), np.array(rates[fio])
    return mine / theirs, mine.max() / theirs.max()


def ours(options, folder, name, block, direct, seed):
    """Bytes per second; requests per second are these by the block size, here as with fio."""
    pattern, share, _ = CASES[name]
    (folder / "workload.cfg").write_text(
        f'evict = {"false" if options.keep_cache else "true"}; seed = {seed}; single_file = {{ process_size = "{options.size}MiB"; '
        f'block_size = "{block}KiB"; read_write = "{share}"; patterns = "{pattern}"; methods = "posix{"-direct" * direct}"; }};')
    log = folder / "log.jsonl"
    start(options.build / "priomark" / "priomark", "--workload", folder / "workload.cfg", "--directory", folder, "--log", log)
    [measured] = [record for record in map(json.loads, log.read_text().splitlines()) if record["record"] == "measurement"]
    return (measured["read_bytes"] + measured["written_bytes"]) / measured["elapsed_seconds"]


def fio(options, folder, name, block, direct, seed):
    """fio's runtime of the job, which the sync at its end is part of. Sizes are in bytes: fio takes KiB for 1000."""
    words, size, bytes_of_block = CASES[name][2], options.size * KIB**2, block * KIB
    common = ["--name=x", f"--filename={folder}/file", f"--size={size}", f"--bs={bytes_of_block}", "--ioengine=psync", "--thread=0",
              f"--invalidate={int(not options.keep_cache)}", f"--direct={int(direct)}", "--end_fsync=1", "--output-format=json",
              "--fallocate=none", "--fadvise_hint=0"]  # ours gives the kernel no hint of what comes
    if name != "write":  # a file that is there before
        start("fio", "--name=fill", f"--filename={folder}/file", f"--size={size}", f"--bs={KIB**2}", "--rw=write", "--end_fsync=1",
              "--fallocate=none", "--output-format=json")
    if words is None:
        words = [f"--read_iolog={requests(folder, name, size // bytes_of_block, bytes_of_block, seed)}"]
    job = json.loads(start("fio", *common, *words))["jobs"][0]
    moved = job["read"]["io_bytes"] + job["write"]["io_bytes"]
    if moved != size:
        sys.exit(f"fio moved {moved} bytes in place of {size}")
    return moved / (1e-3 * max(job["read"]["runtime"], job["write"]["runtime"]))


def requests(folder, name, count, block, seed):
    """A list for fio: each block once, in order or at random, and of them those of the read share, drawn, are read."""
    random = np.random.default_rng(seed)
    pattern, share, _ = CASES[name]
    reads, writes = map(int, share.split(":"))
    order = random.permutation(count) if pattern.startswith("random") else range(count)
    is_read = random.permutation(count) < count * reads // (reads + writes)
    lines = [f"{folder}/file {'read' if read else 'write'} {number * block} {block}" for number, read in zip(order, is_read)]
    path = folder / "requests"
    path.write_text("\n".join(["fio version 2 iolog", f"{folder}/file add", f"{folder}/file open", *lines, f"{folder}/file close"]) + "\n")
    return path


def start(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command}\n{done.stdout}{done.stderr}")
    return done.stdout


def interval(ratios):
    """The 95 % bootstrap interval of the median."""
    picks = np.random.default_rng(1).choice(ratios, (10000, len(ratios)))
    return np.quantile(np.median(picks, axis=1), [0.025, 0.975])


if __name__ == "__main__":
    main()
