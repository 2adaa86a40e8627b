#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""priomark beside fio: the same file size, block size, read share and cache, by pread and pwrite in one process.

A case is a pattern, a block size and a mode: direct I/O; buffered, with the file evicted from the page cache before;
cached, with the file left there. Both open an existing file (write: create it), use one buffer of a block, record each
request's latency, and synchronise at the end within their time. Random orders are drawn anew for each pair, for both.
By default the cases run whose figures repeat on a virtual disk; --all runs all of them and takes half an hour.
"""

import json
import sys
import tempfile
from itertools import product
from pathlib import Path

import comparison
import numpy as np
from comparison import Comparison, ComparisonError, program_on_path, start

from coffeecup.postprocess.benchmarks.priomark.records import Measurement
from coffeecup.postprocess.benchmarks.scoring import read_log

KIB, MIB = 2**10, 2**20
# Pattern, read share of ours, and fio's options. None: fio has no such pattern and replays a list of requests. Its own
# rw=rw reads one sequence of blocks and writes another; its random order takes the next free block instead of one that
# was already done, so that more accesses than by chance follow a block of the cache, for which Linux reads ahead.
PATTERNS = {
    "write": ("write", "1:1", ["--rw=write"]),
    "read": ("read-write", "1:0", ["--rw=read"]),
    "rewrite": ("read-write", "0:1", ["--rw=write", "--overwrite=1"]),
    "read-write": ("read-write", "1:1", None),
    "random-read": ("random-read-write", "1:0", None),
    "random-write": ("random-read-write", "0:1", None),
    "random-read-write": ("random-read-write", "1:1", None),
}
MODES = ("direct", "buffered", "cached")
# fio reports its time in whole milliseconds: a run has to take some hundreds of them
FILE_BYTES = {("direct", 4): 32 * MIB, ("direct", 64): 256 * MIB, ("cached", 4): 512 * MIB, ("cached", 64): 1024 * MIB}
FILE_BYTES |= dict.fromkeys([("buffered", 4), ("buffered", 64)], 256 * MIB)
DEFAULT = {
    *product(PATTERNS, (4,), ("direct",)),
    *product(("read", "rewrite", "random-read-write"), (64,), ("direct",)),
    *product(("read", "random-read"), (4,), ("cached",)),
}


def main():
    def extend(parser):
        parser.add_argument("--all", action="store_true", help="run all cases")

    options = comparison.options_of(__doc__, extend=extend)
    cases = [case for case in product(PATTERNS, (4, 64), MODES) if options.all or case in DEFAULT]
    return comparison.compare("priomark", [beside_fio(options, *case) for case in cases], options)


def beside_fio(options, name, block_kib, mode):
    case = f"{name} {block_kib} KiB {mode}"
    job = name, FILE_BYTES[mode, block_kib], block_kib * KIB, mode

    def in_new_folder(run):
        def measured(number):
            with tempfile.TemporaryDirectory(dir=options.directory) as folder:
                return {case: run(options, Path(folder).resolve(), *job, seed=number + 1)}

        return measured

    return Comparison("fio", in_new_folder(priomark), in_new_folder(fio), part=case)


def priomark(options, folder, name, file_bytes, block_bytes, mode, seed):
    """Bytes per second; requests per second are these over the block size, as with fio."""
    pattern, share, _ = PATTERNS[name]
    (folder / "workload.cfg").write_text(
        f"evict = {'true' if mode == 'buffered' else 'false'}; seed = {seed}; "
        f'single_file = {{ process_size = "{file_bytes}B"; '
        f'block_size = "{block_bytes}B"; read_write = "{share}"; patterns = "{pattern}"; '
        f'methods = "{"posix-direct" if mode == "direct" else "posix"}"; }};'
    )
    log = folder / "log.jsonl"
    where = ("--workload", folder / "workload.cfg", "--directory", folder, "--log", log)
    start(options.build / "priomark" / "priomark", *where)
    [measured] = read_log(log).all(Measurement)
    return (measured.read_bytes + measured.written_bytes) / measured.elapsed_seconds


def fio(_, folder, name, file_bytes, block_bytes, mode, seed):
    """Bytes per second of fio's runtime, which includes the sync at the end. Sizes are in bytes: fio takes KiB for
    1000."""
    program, words = program_on_path("fio", "apt-get install fio"), PATTERNS[name][2]
    how = f"--size={file_bytes} --end_fsync=1 --fallocate=none --output-format=json"
    file = [f"--filename={folder}/file", *how.split()]
    if name != "write":
        start(program, "--name=fill", *file, f"--bs={MIB}", "--rw=write")
    if words is None:
        words = [f"--read_iolog={requests(folder, name, file_bytes // block_bytes, block_bytes, seed)}"]
    # priomark gives Linux no hint of the order, and does not change the data between requests
    how = "--name=measured --ioengine=psync --thread=0 --fadvise_hint=0 --scramble_buffers=0"
    how += f" --bs={block_bytes} --invalidate={int(mode == 'buffered')} --direct={int(mode == 'direct')}"
    text = start(program, *how.split(), *file, *words)
    [job] = json.loads(text)["jobs"]
    moved = job["read"]["io_bytes"] + job["write"]["io_bytes"]
    if moved != file_bytes:
        raise ComparisonError(f"fio moved {moved} bytes instead of {file_bytes}")
    return moved / (1e-3 * max(job["read"]["runtime"], job["write"]["runtime"]))


def requests(folder, name, count, block_bytes, seed):
    """A list for fio: each block once, in order or at random; which of them are read is drawn according to the read
    share."""
    random = np.random.default_rng(seed)
    pattern, share, _ = PATTERNS[name]
    reads, writes = map(int, share.split(":"))
    order = random.permutation(count) if pattern.startswith("random") else range(count)
    is_read = random.permutation(count) < count * reads // (reads + writes)
    lines = [
        f"{folder}/file {'read' if read else 'write'} {number * block_bytes} {block_bytes}"
        for number, read in zip(order, is_read, strict=True)
    ]
    path = folder / "requests"
    first = ["fio version 2 iolog", f"{folder}/file add", f"{folder}/file open"]
    path.write_text("\n".join([*first, *lines, f"{folder}/file close"]) + "\n")
    return path


if __name__ == "__main__":
    sys.exit(main())
