# SPDX-License-Identifier: Apache-2.0
"""Runs of b_eff that hang for a known reason, in each part of it: whether the log names the right process, pair or node
and nobody else, within how many seconds the run ends, and whether it leaves anything behind; and runs that are slow but
move, none of which may count as hung. Prints a table. Exits with 1 if a run is wrong.

    .venv/bin/python tests/evidence/bench_hangs.py [FAULT...] [--runs 20] [--slow 50]

Logs of wrong runs are in build/prove/hangs. A link and the end of memory need root and control groups (version 1).
"""

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

from bench_tables import Goals, header, row
from builds import OPEN_MPI, Mpi, build_kernels, faulty
from kernel_runs import of_kind, on_nodes, rank_processes, read_processes
from links import Links, across, links
from msgspec import convert
from proofs import OUTPUT

from coffeecup.postprocess.logs.reader import reason_of
from coffeecup.postprocess.logs.records import End

FOLDER = OUTPUT / "hangs"
NODES = [(f"n{node}", 2) for node in range(4)]
HOSTS, PULLED = 4, 2
RATE, BURST, SLOW, LOAD = 50e6, 64 * 1024, 0.01, 30  # byte/s of a link; the part of a slow one; other programs
AFTER, WITHIN, WATCHED = 5, 10, 60  # seconds: --hang-after; to end after it; of a run that is slow
USUAL = ["--memory-per-process", "16MiB", "--time-budget", "600"]
EXAMINED = ["--patterns", "ping_pong", "--repetitions", "1", "--matchings", "1000"]
PARTS = {  # of b_eff: options, and the record that shows that it has begun
    **{
        name: (["--patterns", name], "measurement")
        for name in ("ring", "random", "worst_cycle", "bisection", "cartesian_2d", "cartesian_3d", "ping_pong")
    },
    "latency": (["--patterns", "ring,ping_pong"], "latency"),
    "matchings": (EXAMINED, "matching"),
}


@dataclass
class Run:
    """A run of b_eff that goes on. `told` is what a fault in front of it wrote."""

    log: Path
    process: subprocess.Popen
    hosts: Links | None = None
    told: Path | None = None
    numbers: dict[int, int] = field(default_factory=dict)


# --- faults: each strikes the run and returns what the verdict has to say ---------------------------------------------


def stop(run: Run) -> str:
    rank = random.choice(list(run.numbers))
    os.kill(run.numbers[rank], signal.SIGSTOP)
    return rf"; rank {rank} on \S+ is stopped \("


def kill(run: Run) -> str:
    rank = random.choice(list(run.numbers))
    os.kill(run.numbers[rank], signal.SIGKILL)
    return rf"^rank {rank} on \S+: killed or crashed"


def memory_ends(run: Run) -> str:
    """Another program needs the memory of a control group; the kernel of Linux ends the process in it."""
    rank = random.choice(list(run.numbers))
    group = Path("/sys/fs/cgroup/memory", run.log.parent.name)
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(2**26))
        Path(f"/proc/{run.numbers[rank]}/oom_score_adj").write_text("1000")
        (group / "cgroup.procs").write_text(str(run.numbers[rank]))
        hungry = 'echo $$ >"$0/cgroup.procs"; exec tail /dev/zero'
        subprocess.run(["sh", "-c", hungry, str(group)], capture_output=True, check=False)
    finally:
        run.process.wait()
        group.rmdir()
    return rf"^rank {rank} on \S+: killed or crashed"


def swallow(run: Run) -> str:
    """The library in front of the kernel has struck by itself."""
    assert run.told
    receiver, other = run.told.read_text().strip(), r"rank \d on \S+"
    pair = rf"rank 0 on \S+ and rank {receiver} on \S+ wait for messages from each other"
    return rf"; ({pair}|rank {receiver} on \S+ waits for a message from ({other} or )?rank 0 on \S+( or {other})?) \("


def pull(run: Run) -> str:
    assert run.hosts
    run.hosts.pull(PULLED)
    return rf"; eth of {run.hosts.hosts[PULLED]} lost the link"


FAULTS: dict[str, Callable[[Run], str]] = {
    "stopped": stop,
    "killed": kill,
    "memory": memory_ends,
    "message": swallow,
    "link": pull,
}


# --- runs -------------------------------------------------------------------------------------------------------------


@contextmanager
def begun(mpi: Mpi, fault: str, part: str) -> Iterator[Run]:
    """A run in which a part of b_eff has begun; of a link, each process has a host of its own."""
    options, kind = PARTS[part]
    with TemporaryDirectory(prefix="hangs-") as name, links_for(fault) as hosts:
        log, told = Path(name, "log.jsonl"), Path(f"{name}-told")
        words = [*USUAL, "--hang-after", str(AFTER), *options, "--log", str(log)]
        after = random.randrange(20, 2000)
        env = faulty(mpi, "swallow", SWALLOW_RANK=0, SWALLOW_AFTER=after, SWALLOW_FILE=told)
        if hosts:
            (shell := Path(f"{name}-shell")).mkdir()
            command = across(hosts, mpi.mpirun, shell, 2**20, mpi.bin / "b_eff", *words)
        else:
            command = on_nodes(mpi, NODES, "b_eff", *words, env=env if fault == "message" else None)
        with subprocess.Popen(
            list(map(str, command)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | OPEN_MPI,
            cwd=name,
        ) as process:
            run = Run(log, process, hosts, told)
            try:
                until = told.exists if fault == "message" else lambda: len(of_kind(log, kind)) > random.randrange(20)
                wait(lambda: process.poll() is not None or until(), 300)
                run.numbers = rank_processes("b_eff", log)
                yield run
            finally:
                process.kill()
                told.unlink(missing_ok=True)
                shutil.rmtree(f"{name}-shell", ignore_errors=True)


@contextmanager
def links_for(fault: str) -> Iterator[Links | None]:
    if fault not in ("link", "slow"):
        yield None
        return
    with links(HOSTS, RATE, BURST) as hosts:
        if fault == "slow":
            hosts.shape(PULLED, SLOW * RATE)
        yield hosts


def wait(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether it became true."""
    latest = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > latest:
            return False
        time.sleep(0.05)
    return True


def left_behind(run: Run) -> list[str]:
    """Processes and files."""
    mark = str(run.log.parent)
    of_run = [
        each
        for each in read_processes()
        if mark in " ".join(each.words) or str(each.folder) == mark or each.pid in run.numbers.values()
    ]
    files = [path for path in run.log.parent.iterdir() if path != run.log]
    return [*(each.words[0] for each in of_run), *(path.name for path in files)]


def verdict_of(log: Path) -> str:
    end = of_kind(log, "end")
    return reason_of(convert(end[0], End)) or "complete" if end else "no end record"


def struck(mpi: Mpi, fault: str, part: str) -> tuple[float, str]:
    """Seconds from the fault to the end of the run, and what is wrong, if anything."""
    with begun(mpi, fault, part) as run:
        if not run.numbers:
            return 0, f"ended before: {verdict_of(run.log)}"
        begin = time.monotonic()
        said = FAULTS[fault](run)
        wait(lambda: run.process.poll() is not None and not left_behind(run), 90)
        seconds = time.monotonic() - begin
        found = verdict_of(run.log)
        named = set(re.findall(r"rank \d+", found)) if fault in ("stopped", "killed", "memory") else {"one"}
        rest = left_behind(run)
        wrong = [
            f"says {found}" if not re.search(said, found) or len(named) != 1 else "",
            f"took {seconds:.1f} s" if seconds > AFTER + WITHIN else "",
            f"left {', '.join(rest)}" if rest else "",
        ]
        if any(wrong):
            FOLDER.mkdir(parents=True, exist_ok=True)
            shutil.copy(run.log, FOLDER / f"{fault}-{part}.jsonl")
        return seconds, "; ".join(filter(None, wrong))


def slow(mpi: Mpi, parts: Sequence[str]) -> list[tuple[float, str]]:
    """The same of runs at once on links with a hundredth of their bandwidth while other programs keep the cores busy:
    the seconds that they were watched, and how each ended, if it did."""
    with ExitStack() as ends:
        runs = [ends.enter_context(begun(mpi, "slow", part)) for part in parts]
        command = f"for i in $(seq {LOAD}); do yes >/dev/null & done; wait"
        busy = subprocess.Popen(["sh", "-c", command], process_group=0)
        ends.callback(busy.wait)
        ends.callback(os.killpg, busy.pid, signal.SIGKILL)
        time.sleep(WATCHED)
        return [(WATCHED, verdict_of(run.log) if of_kind(run.log, "end") else "") for run in runs]


def slow_runs(mpi: Mpi, parts: Sequence[str]) -> list[tuple[float, str]]:
    """Of one part of each kind at once."""
    batches = range(0, len(parts), len(PARTS))
    return [result for first in batches for result in slow(mpi, parts[first : first + len(PARTS)])]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("faults", metavar="FAULT", nargs="*", help=f"{', '.join(FAULTS)}, slow; default: all")
    parser.add_argument("--runs", type=int, default=20, help="of each fault")
    parser.add_argument("--slow", type=int, default=50, help="runs that are slow")
    options = parser.parse_args()
    mpi = build_kernels("openmpi")
    goals = Goals()
    header("Runs that hang, and runs that are slow", "fault; part of b_eff; runs; right; longest [s]")
    for fault in options.faults or [*FAULTS, "slow"]:
        parts = list(islice(cycle(PARTS), options.slow if fault == "slow" else options.runs))
        found = slow_runs(mpi, parts) if fault == "slow" else [struck(mpi, fault, part) for part in parts]
        for part in PARTS:
            results = [result for each, result in zip(parts, found) if each == part]
            wrong = [f"{fault}, {part}: {problem}" for _, problem in results if problem]
            goals.missed += wrong
            longest = max((seconds for seconds, _ in results), default=0)
            if results:
                row(fault, part, len(results), len(results) - len(wrong), f"{longest:.1f}")
    return goals.report()


if __name__ == "__main__":
    sys.exit(main())
