#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""priomark's S3 interface beside the client rclone, over one connection and without hashes of the data, to a server of
rclone on this machine, whose objects are files in memory. Both write an object in the same parts and read it by one
request.

priomark writes from and reads to one buffer; rclone reads and writes a file in memory.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import comparison
from comparison import Comparison, ComparisonError, start

from coffeecup.postprocess.benchmarks.priomark.records import Measurement
from coffeecup.postprocess.benchmarks.scoring import read_log

OBJECT_BYTES, PART_BYTES = 256 << 20, 16 << 20
MEMORY = Path("/dev/shm")
RCLONE = Path(sys.executable).with_name("rclone")
# One stream of parts; nothing but the data is asked for or hashed.
HOW = (
    f"--use-json-log --log-level INFO --stats 1h --ignore-checksum --no-check-dest --multi-thread-cutoff 1 "
    f"--multi-thread-streams 1 --multi-thread-chunk-size {PART_BYTES}B --s3-chunk-size {PART_BYTES}B "
    f"--s3-upload-cutoff {PART_BYTES}B --s3-upload-concurrency 1 --s3-use-unsigned-payload true "
    "--s3-disable-checksum --s3-no-check-bucket"
).split()


def main():
    options = comparison.options_of(__doc__)
    try:
        with tempfile.TemporaryDirectory(dir=MEMORY) as name, server(Path(name)):
            folder = Path(name)
            (folder / "data").write_bytes(os.urandom(OBJECT_BYTES))
            sides = [lambda _: priomark(options, folder), lambda _: rclone(folder)]
            return comparison.compare("priomark", [Comparison("rclone", *sides, part="s3")], options)
    except ComparisonError as error:
        print(error, file=sys.stderr)
        return comparison.EXIT_ERROR


@contextlib.contextmanager
def server(folder: Path) -> Iterator[None]:
    """A server with a bucket, and the environment that leads both clients to it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (folder / "objects" / "cup").mkdir(parents=True)
    url, key, secret = f"http://{address}", "KEY", "SECRET"
    os.environ |= {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
    os.environ |= {"RCLONE_S3_PROVIDER": "Rclone", "RCLONE_S3_ENDPOINT": url, "RCLONE_S3_ACCESS_KEY_ID": key}
    os.environ |= {"RCLONE_S3_SECRET_ACCESS_KEY": secret, "COFFEECUP_S3_BUCKET": "cup", "RCLONE_CONFIG": os.devnull}
    # A hash of the whole object would be computed before the first byte of an answer.
    words = [RCLONE, "serve", "s3", folder / "objects", "--addr", address, "--auth-key", f"{key},{secret}"]
    words += ["--etag-hash", ""]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as served:
        try:
            while served.poll() is None:
                with contextlib.suppress(OSError), socket.create_connection(address.split(":")):
                    break
                time.sleep(0.1)
            yield
        finally:
            served.terminate()


def priomark(options, folder):
    return {
        "write": measured(options, folder, "write", PART_BYTES),
        "read": measured(options, folder, "read-write", OBJECT_BYTES),
    }


def measured(options, folder, pattern, block_bytes):
    """Bytes per second of the last pattern: one that reads needs an object first."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        workload, log = Path(name) / "workload.cfg", Path(name) / "log.jsonl"
        workload.write_text(
            f'single_file = {{ process_size = "{OBJECT_BYTES}B"; block_size = "{block_bytes}B"; read_write = "1:0"; '
            f'patterns = "{pattern}"; methods = "s3"; }};'
        )
        start(options.build / "priomark" / "priomark", "--workload", workload, "--log", log, folder=name)
        return OBJECT_BYTES / read_log(log).all(Measurement)[-1].elapsed_seconds


def rclone(folder):
    """Bytes per second of rclone's own transfer time, without its start."""
    copies = {"write": (folder / "data", ":s3:cup/data"), "read": (":s3:cup/data", folder / "back")}
    found = {}
    for case, where in copies.items():
        lines = start_logging(where)
        stats = [line["stats"] for line in lines if "stats" in line][-1]
        if stats["bytes"] != OBJECT_BYTES or stats["errors"]:
            raise ComparisonError(f"rclone moved {stats['bytes']} bytes, with {stats['errors']} errors")
        found[case] = stats["bytes"] / stats["transferTime"]
    (folder / "back").unlink()
    return found


def start_logging(where):
    """rclone writes its log to standard error."""
    done = subprocess.run([RCLONE, "copyto", *where, *HOW], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise ComparisonError(f"rclone failed with exit code {done.returncode}:\n{done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stderr.splitlines()]


if __name__ == "__main__":
    sys.exit(main())
