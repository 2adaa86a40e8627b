# SPDX-License-Identifier: Apache-2.0
"""b_eff_io in its official form on a disk of known bandwidth, and what part of the small chunks' time went into
agreements.

    .venv/bin/python tests/evidence/official_b_eff_io.py run FOLDER [--rate 100] [--memory 1] [--kernels BIN]
    .venv/bin/python tests/evidence/official_b_eff_io.py agreements LOG...

`run` is for root, and takes a quarter of an hour and 30 GByte below FOLDER: the check, through ReFrame, on two
processes, on a loop device of --rate MByte/s each way, in a control group of --memory GiB, so that no cache holds a
twentieth of what is accessed.
"""

import argparse
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

from check_runs import values
from file_systems import disk
from raw_log import read_log

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
SMALL = (2**10, 2**10 + 8)
GROUPS = Path("/sys/fs/cgroup/memory")


@contextmanager
def limited_memory(gibibytes):
    """A control group (version 1) that a child enters by the function that this gives."""
    group = GROUPS / f"coffeecup-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(int(gibibytes * 2**30)))
        yield lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        time.sleep(1)  # the last page of the last process
        group.rmdir()


def run(options):
    folder = options.folder.resolve()
    if os.geteuid() != 0 or not GROUPS.is_dir():
        sys.exit(f"only root can make a disk of known bandwidth and a control group below {GROUPS}")
    if folder.exists():
        sys.exit(f"{folder} is there already; name a new folder")
    (folder / "disk-image").mkdir(parents=True)
    device = disk(folder / "disk-image", 200, bytes_per_second=int(options.rate * 10**6))
    with limited_memory(options.memory) as enter, device as mount:
        kernels = options.kernels.resolve()
        settings = ("builder=prebuilt", f"prebuilt_directory={kernels}", f"b_eff_io.directory={mount}")
        command = [BIN / "reframe", "-C", ROOT / "site_configs/local/settings.py", "-c", ROOT / "reframe_checks", "-r"]
        command += ["-n", "b_eff_io.*num_processes=2$", *values(*settings)]
        command += [f"--prefix={folder}", f"--report-file={folder}/session.json"]
        environment = os.environ | {"RFM_SQLITE_DB_FILE": str(folder / "results.db")}
        done = subprocess.run(list(map(str, command)), check=False, env=environment, preexec_fn=enter)
    logs = sorted((folder / "output").rglob("*.jsonl"))
    if done.returncode != 0 or not logs:
        sys.exit("the run failed or left no log: see above")
    subprocess.run([BIN / "coffeecup", "score", *map(str, logs)], check=False)
    agreements(logs)


def agreements(logs):
    """Of the patterns with small chunks: what the process that waited least spent in agreements, and the calls by
    themselves."""
    for path in logs:
        log = read_log(path)
        small = [record for record in log.records["measurement"] if record["chunk_bytes"] in SMALL]
        one = log.records["overhead"][0]["agreement_seconds"]
        for method in (*dict.fromkeys(record["method"] for record in small), "all"):
            chosen = [record for record in small if method in ("all", record["method"])]
            seconds = sum(record["elapsed_seconds"] for record in chosen)
            agreed = sum(record["agreement_fastest_seconds"] for record in chosen) / seconds
            calls = one * sum(record["agreements"] for record in chosen) / seconds
            shares = f"{agreed:.2%} of the time of small chunks, the calls by themselves {calls:.4%}"
            print(f"{path.name}, {method}: {shares}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    official = commands.add_parser("run")
    official.add_argument("folder", type=Path)
    official.add_argument("--rate", type=float, default=100, help="MByte/s")
    official.add_argument("--memory", type=float, default=1, help="GiB")
    official.add_argument("--kernels", type=Path, default=ROOT / "build" / "kernels" / "b_eff_io")
    official.set_defaults(do=run)
    shares = commands.add_parser("agreements")
    shares.add_argument("logs", type=Path, nargs="+")
    shares.set_defaults(do=lambda options: agreements(options.logs))
    options = parser.parse_args()
    options.do(options)


if __name__ == "__main__":
    main()
