# SPDX-License-Identifier: Apache-2.0
"""From real sessions to a verdict: short sessions on this machine give references, slowed ones fail them, the change is
found, and so is a benchmark that dies.

    .venv/bin/python tests/evidence/real_sessions.py FOLDER [--sessions 20] [--slowed 5] [--dying 5] [--minutes 3]
        [--kernels build/kernels/b_eff]

Each session is ReFrame's own: b_eff on two processes, three repeats, failing ones retried twice. The slowed ones differ
in nothing but that all processes share one core. In the dying ones the kernel kills its launcher. Nothing is asserted;
the lines of the `coffeecup` commands are printed. Called again with the same folder it goes on where --minutes ended
it.
"""

import argparse
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

from check_runs import values

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
# One core for all processes, which mpirun would bind apart, and which give it to each other while they wait.
SLOWED = {"OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_mpi_yield_when_idle": "1"}
RUN = ["-C", ROOT / "site_configs/local/settings.py", "-c", ROOT / "reframe_checks", "-r"]
RUN += ["--repeat=3", "--max-retries=2", "-n", "^b_eff%num_processes=2(%|$)"]
RUN += values("builder=prebuilt", "b_eff.time_budget=2", "b_eff.memory_per_process=8MiB")


def stored(database):
    """Sessions in the results database."""
    if not database.exists():
        return 0
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute("SELECT count(*) FROM sessions").fetchone()[0]


def deadly(folder):
    """A folder with a kernel that kills its launcher."""
    kernel = folder / "deadly" / "b_eff"
    kernel.parent.mkdir(exist_ok=True)
    kernel.write_text('#!/bin/sh\n[ "$1" = --version ] || kill -9 $PPID\n')
    kernel.chmod(0o755)
    return kernel.parent


def session(folder, kernels, references, slowed):
    """One session of ReFrame; its exit code."""
    chosen = [f"prebuilt_directory={kernels}", *[f"b_eff.reference_file={references}"] * references.exists()]
    command = [BIN / "reframe", *RUN, *values(*chosen), f"--prefix={folder}", f"--perflogdir={folder}/perflogs"]
    command.append(f"--report-file={folder}/sessions/session-{{sessionid}}.json")
    words = ["taskset", "--cpu-list", "0"] * slowed + [*map(str, command)]
    environment = os.environ | {"RFM_SQLITE_DB_FILE": str(folder / "results.db")} | (SLOWED if slowed else {})
    with (folder / "reframe.out").open("a") as output:
        done = subprocess.run(words, cwd=folder, stdout=output, stderr=subprocess.STDOUT, env=environment, check=False)
    return done.returncode


def show(*command):
    print("\n$ coffeecup", *command, flush=True)
    code = subprocess.run([BIN / "coffeecup", *map(str, command)], check=False).returncode
    print(f"exit code {code}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--slowed", type=int, default=5)
    parser.add_argument("--dying", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--kernels", type=Path, default=ROOT / "build" / "kernels" / "b_eff")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    database, references, began = folder / "results.db", folder / "b_eff.yaml", time.monotonic()
    slowed, last = options.sessions + options.slowed, options.sessions + options.slowed + options.dying
    while (done := stored(database)) < last:
        if time.monotonic() - began > 60 * options.minutes:
            sys.exit(f"{done} sessions so far: the same command goes on")
        if done == options.sessions and not references.exists():
            chosen = ["--benchmark", "b_eff", "--file", references, "--write", "--include", "disturbed"]
            show("references", "propose", database, *chosen)
        if done == slowed:
            show("check-history", database, "--metric", "b_eff")
        kind = "good" if done < options.sessions else "slowed" if done < slowed else "dying"
        kernels = deadly(folder) if kind == "dying" else options.kernels.resolve()
        code = session(folder, kernels, references, slowed=kind == "slowed")
        if stored(database) == done:
            sys.exit(f"ReFrame stored no session: {folder / 'reframe.out'} says why")
        print(f"session {done + 1}, {kind}: exit code {code}", flush=True)
    show("check-history", database, "--metric", "b_eff")
    show("site", "report", database, "-o", folder / "site.html")
    show("export", database, "--openmetrics", folder / "coffeecup.prom", "--junit", folder / "junit.xml")


if __name__ == "__main__":
    main()
