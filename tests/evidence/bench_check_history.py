# SPDX-License-Identifier: Apache-2.0
"""How much processor time and memory `coffeecup check-history` needs on a results database of a made-up site. Prints a
table, and exits with 1 if a goal is missed.

    .venv/bin/python tests/evidence/bench_check_history.py [TESTS...] [--nights 500]

Each of TESTS (default: 200 and 1000) tests has one value a night with normal noise of 1 to 5 %; every tenth test loses
10 % in the middle. The first run reads the database; the second one finds what was read, as after every night, and the
goals are for it.
"""

import argparse
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from bench_tables import Goals, header, row

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

from sessions_made import case, database, each_night

GOALS = ((100_000, 5), (500_000, 20))  # values, seconds of processor time
LARGEST = 1.0  # GiB
COMMAND = Path(sys.executable).with_name("coffeecup")


def site(path: Path, tests: int, nights: int) -> Path:
    rng = np.random.default_rng(1)
    values = 1 + rng.uniform(0.01, 0.05, (tests, 1)) * rng.standard_normal((tests, nights))
    values[::10, nights // 2 :] *= 0.9
    command = "reframe -C site.py -c reframe_checks -r --mode=nightly --report-file=%d.json"

    def cases(number: int) -> list[dict]:
        rates = enumerate(1000 * values[:, number], 2)
        return [case({"b_eff": (float(rate), "MByte/s")}, processes=size) for size, rate in rates]

    sessions = each_night(nights, cases)
    for number, session in enumerate(sessions):
        session["session_info"]["cmdline"] = command % number
    return database(path, sessions)


def used(path: Path) -> tuple[float, float]:
    """Seconds of processor time, and GiB of memory, of one run of the command."""
    process = subprocess.Popen([COMMAND, "check-history", str(path)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 1:  # the losses
        raise SystemExit(f"check-history ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tests", nargs="*", type=int, default=[200, 1000])
    parser.add_argument("--nights", type=int, default=500)
    options, goals = parser.parse_args(), Goals()
    header("`coffeecup check-history`", "values; seconds, first run; GiB; seconds, second run; GiB")
    for tests in options.tests:
        with TemporaryDirectory() as folder:
            # In a process of its own: Linux counts the memory of the process that starts a command as the command's.
            with ProcessPoolExecutor(1) as pool:
                path = pool.submit(site, Path(folder, "results.db"), tests, options.nights).result()
            values = tests * options.nights
            first, second = used(path), used(path)
        row(values, *(f"{number:.2f}" for number in (*first, *second)))
        for most, seconds in GOALS:
            if values <= most:
                goals.check(f"seconds for {values} values", second[0], most=seconds)
                break
        goals.check(f"GiB for {values} values", max(first[1], second[1]), most=LARGEST)
    return goals.report()


if __name__ == "__main__":
    sys.exit(main())
