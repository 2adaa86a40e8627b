#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every benchmark of the tree itself, one after the other, whatever the ones before came to: the comparisons of
the four kernels with their peers, and the detection and speed of `coffeecup history`. Options other than its own go to
the comparisons. Exits with 1 if any of them failed.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
EVIDENCE = HERE.parents[1] / "tests" / "evidence"
KERNELS = {name: HERE / f"bench_{name}.py" for name in ("b_eff", "b_eff_io", "ftio", "priomark", "priomark_s3")}
OTHERS = {name: EVIDENCE / f"bench_{name}.py" for name in ("history", "check_history")}


def run_all(commands):
    """Runs the commands in turn, then prints how each one ended. Returns the exit code."""
    ends = {}
    for name, command in commands.items():
        print(f"\n=== {name} ===", flush=True)
        start = time.monotonic()
        ends[name] = subprocess.run(command, check=False).returncode, time.monotonic() - start
    print("\n=== all ===")
    for name, (code, seconds) in ends.items():
        print(f"{name:<13} {'passed' if code == 0 else f'failed with exit code {code}'} after {seconds:.0f} s")
    return int(any(code != 0 for code, _ in ends.values()))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument(
        "--benches", default=",".join(KERNELS | OTHERS), help="which ones, a list (default: %(default)s)"
    )
    options, rest = parser.parse_known_args()
    scripts = KERNELS | OTHERS
    wanted = options.benches.split(",")
    if unknown := set(wanted) - scripts.keys():
        parser.error(f"--benches: no {', '.join(sorted(unknown))}; valid are {', '.join(scripts)}")
    return run_all({name: [sys.executable, scripts[name], *(rest if name in KERNELS else ())] for name in wanted})


if __name__ == "__main__":
    sys.exit(main())
