# SPDX-License-Identifier: Apache-2.0
"""Runs the arms of a comparison in turn, each in a folder of its own, and keeps what came of them.

The folder of a comparison holds plan.json, runs.jsonl (a line per run that ended), a folder per run, a lock and, at
the end, result.json. A comparison that was interrupted goes on where it ended.
"""

import ctypes
import fcntl
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec

from coffeecup.postprocess.comparison.arms import COMPARED
from coffeecup.postprocess.comparison.plan import Arm, Plan, PlanError
from coffeecup.postprocess.comparison.result import Results, Run
from coffeecup.postprocess.logs.paths import files_below, replace_text
from coffeecup.postprocess.show.words import digits, printable, seconds

PLAN, RUNS, RESULT, LOCK = "plan.json", "runs.jsonl", "result.json", "lock"
OUTPUT, ERRORS = "output.txt", "errors.txt"
ONE_LOG = "*.jsonl, are in its folder: the command must write one log into its working directory"
MOST_FAILURES = 2  # one after the other of an arm, after which it does not run again
LINES = 3  # of a run's error output that are shown
LONGER, SHORTEST_LIMIT = 10, 60.0  # a run hangs if it takes so many times the longest one of earlier, in seconds
FIRST_LIMIT = 4 * 3600.0  # seconds, before any run ended: several official runs of the slowest benchmark
LIBC, PR_SET_PDEATHSIG = ctypes.CDLL(None), 1  # of <sys/prctl.h>
GRACE, LOOK_SECONDS = 20.0, 0.1  # seconds to remove what a run made, after SIGTERM; between two looks whether it did


class Alternation:
    """The runs of a plan in a folder (alone_in), which is created, with their results. Raises PlanError if the folder
    is another comparison's, or if its logs have no metric that can be judged. The blocks in which an arm failed again
    and again run once more, unless they are to be kept."""

    def __init__(self, plan: Plan, folder: Path, keep_failed: bool = False):
        self.plan, self.folder, self.results = plan, folder, Results(plan)
        stated = msgspec.json.format(msgspec.json.encode(plan))
        if not (folder / PLAN).exists():
            folder.mkdir(parents=True, exist_ok=True)
            replace_text(folder / PLAN, stated.decode())
        elif (folder / PLAN).read_bytes() != stated:
            raise PlanError(f"{printable(str(folder))} holds another comparison: name another folder, or the same plan")
        for run in self._earlier(keep_failed):
            self._add(run)

    def _earlier(self, keep_failed: bool) -> list[Run]:
        """The runs that the folder holds. A line that was cut off is no run; neither is a block of which runs are
        missing."""
        path, found = self.folder / RUNS, []
        if not path.exists():
            return []
        with suppress(msgspec.DecodeError):
            found.extend(msgspec.json.decode(line, type=Run) for line in path.read_bytes().splitlines())
        arms = len(self.plan.order(0))
        whole = found[: len(found) // arms * arms]
        if failing(whole) and not keep_failed:
            del whole[-MOST_FAILURES * arms :]
        replace_text(path, msgspec.json.Encoder().encode_lines(whole).decode())
        return whole

    def _add(self, run: Run) -> Run:
        """Adds a run; returns it, with the problem of its log if this cannot be used."""
        logs = [] if run.problem else files_below(self.folder / run.folder, "*.jsonl")
        problem = run.problem or (None if len(logs) == 1 else f"{len(logs) or 'no'} logs, {ONE_LOG}")
        run = msgspec.structs.replace(run, problem=problem or self.results.add(run.block, run.arm, logs[0]))
        self.results.ended.append(run)
        return run

    @property
    def blocks(self) -> int:
        """The blocks of which every arm ran."""
        return len(self.results.ended) // len(self.plan.order(0))

    @property
    def limit(self) -> float:
        """The most seconds of the next run: those of the plan, or by the runs that ended well before."""
        ended = [run.seconds for run in self.results.ended if not run.problem]
        return self.plan.run_limit or (max(SHORTEST_LIMIT, LONGER * max(ended)) if ended else FIRST_LIMIT)

    def block(self, came: list[int]) -> Iterator[Run]:
        """Runs the next block, until a signal came."""
        block = self.blocks
        for arm in self.plan.order(block):
            run = self._run(block, arm, came)
            if came:
                return
            run = self._add(run)
            with (self.folder / RUNS).open("ab") as file:
                file.write(msgspec.json.encode(run) + b"\n")
            yield run

    def _run(self, block: int, arm: str, came: list[int]) -> Run:
        folder = self.folder / Run(block, arm, 0).folder
        if folder.exists():  # of a block that was interrupted, or failed
            shutil.rmtree(folder)
        folder.mkdir()
        began = time.monotonic()
        problem = run_in(folder, self.plan, self.plan.arm(arm), self.limit, came)
        return Run(block, arm, time.monotonic() - began, problem)


@contextmanager
def alone_in(folder: Path, begins: str) -> Iterator[None]:
    """Keeps other commands out of the folder of a comparison, which is created. Raises PlanError if one runs there, or
    if the folder is not empty and has not the file or folder with which such a comparison begins."""
    if folder.exists() and {each.name for each in folder.iterdir()} - {LOCK} and not (folder / begins).exists():
        raise PlanError(f"{printable(str(folder))} is not empty, and no such comparison began there")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the kernel releases it however this process ends
        except BlockingIOError:
            message = "another `coffeecup compare` runs there: wait for its end, or name another folder (--output)"
            raise PlanError(f"{printable(str(folder))}: {message}") from None
        except OSError as error:  # not every parallel file system has locks
            say(f"{folder}: no lock ({error.strerror}): do not start another comparison there")
        yield


def run_until_decided(runs: Alternation) -> Results:
    """Runs until nothing is left to decide, after the last block at the latest, or until an arm fails again and
    again."""
    run_blocks(runs, runs.plan.pairs, lambda: failing(runs.results.ended) or runs.results.is_over)
    if failing(runs.results.ended):
        say(
            f"an arm failed {MOST_FAILURES} times, one after the other: fix the cause; the same command then runs "
            "these blocks again"
        )
    replace_text(runs.folder / RESULT, msgspec.json.format(msgspec.json.encode(runs.results.comparison)).decode())
    return runs.results


def failing(runs: list[Run]) -> bool:
    """Whether an arm failed too often one after the other."""
    problems: dict[str, list[str | None]] = {}
    for run in runs:
        problems.setdefault(run.arm, []).append(run.problem)
    return any(len(each) >= MOST_FAILURES and all(each[-MOST_FAILURES:]) for each in problems.values())


def run_blocks(runs: Alternation, most: int, is_over: Callable[[], bool]) -> bool:
    """Runs block after block, until so many have run in all, it is over, or SIGINT or SIGTERM comes. Returns whether
    one came, maybe after the last run."""
    with interrupts() as came:
        while not came and runs.blocks < most and not is_over():
            for run in runs.block(came):
                say(f"block {run.block + 1} of at most {most}: {in_words(run, runs.results)}")
    if came:
        say("interrupted: the same command goes on")
    return bool(came)


def in_words(run: Run, results: Results) -> str:
    if run.problem:
        return f"{run.arm} failed: {run.problem}"
    metric = results.judged[0]
    value = results.scores[run.block, run.arm].metrics[metric].value
    return f"{run.arm} in {seconds(run.seconds)}, {metric} {digits(value)}"


def say(text: str) -> None:
    """Progress, for people: results go to standard output."""
    print(printable(text), file=sys.stderr, flush=True)


def run_in(folder: Path, plan: Plan, arm: Arm, limit: float, came: list[int]) -> str | None:
    """Runs an arm in a folder, with its output in files there, for at most `limit` seconds and until a signal came.
    Returns why it failed, None if it did not."""
    environment = {name: value for name, value in (os.environ | variables(plan, arm)).items() if value is not None}
    command = command_of(plan, arm)
    with (folder / OUTPUT).open("wb") as output, (folder / ERRORS).open("wb") as errors:
        apart = {"start_new_session": True, "preexec_fn": end_with_parent}  # no thread runs here
        files = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": errors}
        try:
            process = subprocess.Popen(command, cwd=folder, env=environment, **apart, **files)
        except OSError as error:
            return f"{command[0]} cannot be run: {error.strerror}"
        last = time.monotonic() + limit
        while process.poll() is None and not came and time.monotonic() < last:
            with suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_SECONDS)
    if process.returncode is None:
        end(process, came, command, GRACE)
        return f"it did not end within {limit:.0f} s and was ended; `run_limit` of a plan states another time"
    if not process.returncode:
        return None
    text = (folder / ERRORS).read_text(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip(" -*")][:LINES]
    code = process.returncode
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return printable(f"{how}: {' '.join(lines)}" if lines else how)


@contextmanager
def interrupts() -> Iterator[list[int]]:
    """Yields a list of the SIGINT and SIGTERM that come meanwhile, which end nothing: whoever looks at it ends the run,
    which nobody else would. What is ignored stays ignored, also in a process that is started."""
    came = []
    numbers = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in numbers}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_with_parent() -> None:
    """In a process that begins: it gets SIGTERM when its parent ends in any way, also by SIGKILL."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def end(process: subprocess.Popen, came: list[int], command: list[str], grace: float) -> None:
    """Ends everything in the session of a process: by SIGTERM, after which launchers end their kernels, these remove
    what they made, and ReFrame cancels its jobs; what is still there after `grace` seconds, or when another interrupt
    comes, by SIGKILL."""
    before = len(came)
    for terminate in (*by_slurm(command), partial(os.killpg, process.pid, signal.SIGTERM)):
        with suppress(ProcessLookupError):  # nothing is left
            terminate()
        last = time.monotonic() + grace
        while time.monotonic() < last and len(came) == before and members(process.pid):
            time.sleep(LOOK_SECONDS)
    for member in members(process.pid):
        with suppress(ProcessLookupError):
            os.kill(member, signal.SIGKILL)
    process.wait()


def by_slurm(command: list[str]) -> list[Callable]:
    """Sends SIGTERM to the kernels that srun started: at its own SIGTERM, it would send them SIGKILL. The steps of the
    job get it, which are those of the run unless this process is in a step itself."""
    job, scancel = os.environ.get("SLURM_JOB_ID"), shutil.which("scancel")
    if not job or not scancel or "SLURM_STEP_ID" in os.environ or "srun" not in map(os.path.basename, command):
        return []
    return [partial(subprocess.run, [scancel, "--signal=TERM", job], capture_output=True, check=False)]


def members(session: int) -> list[int]:
    """The processes of a session that run. Launchers give kernels process groups of their own, but no sessions."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            state, _, _, number, *_ = path.read_text(errors="replace").rpartition(")")[2].split()
            if int(number) == session and state != "Z":
                found.append(int(path.parent.name))
    return found


def variables(plan: Plan, arm: Arm) -> dict[str, str | None]:
    """The variables of an arm, and the names of those of all arms, which kernels record."""
    names = {name for each in plan.arms.values() for name in each.environment}
    return {**arm.environment, **({COMPARED: ",".join(sorted(names))} if names else {})}


def command_of(plan: Plan, arm: Arm) -> list[str]:
    """The command of an arm, in a shell that loads its modules if it has any. A shell that does not know `module`
    learns it as a login shell does, but keeps PATH."""
    command = [*(arm.command or plan.command), *arm.options]
    if not arm.modules:
        return command
    known = "path=$PATH; type module >/dev/null 2>&1 || { . /etc/profile; PATH=$path; }"
    return ["bash", "-c", f'{known}; module load {shlex.join(arm.modules)} && exec "$@"', "bash", *command]
