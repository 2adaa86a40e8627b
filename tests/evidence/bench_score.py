# SPDX-License-Identifier: Apache-2.0
"""How long `coffeecup score` takes for a thousand logs, copies of those in a folder. Prints a table, and exits with 1
if the goal is missed, which is for two cores.

    make run && .venv/bin/python tests/evidence/bench_score.py output [--logs 1000]
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from bench_tables import Goals, header, row

GOAL, CORES = 10, 2  # seconds
COMMAND = Path(sys.executable).with_name("coffeecup")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="with complete logs, such as output/ after `make run`")
    parser.add_argument("--logs", type=int, default=1000)
    options, goals = parser.parse_args(), Goals()
    found = sorted(path for path in options.folder.rglob("*.jsonl") if "stage" not in path.parts)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    header("`coffeecup score`", "logs; of them different; MByte; seconds; of the processor")
    with TemporaryDirectory() as folder:
        for number, path in enumerate(islice(cycle(found), options.logs)):
            shutil.copy(path, Path(folder, f"{number}.jsonl"))
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        before, begun = os.times(), time.monotonic()
        subprocess.run([COMMAND, "score", folder], stdout=subprocess.DEVNULL, check=True)
        seconds, after = time.monotonic() - begun, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    row(options.logs, len(found), f"{size / 1e6:.0f}", f"{seconds:.1f}", f"{used:.1f}")
    goals.check(f"seconds for {options.logs} logs", seconds, most=GOAL)
    return goals.report()


if __name__ == "__main__":
    sys.exit(main())
