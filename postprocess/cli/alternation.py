# SPDX-License-Identifier: Apache-2.0
"""Runs the arms of a comparison in turn, each in a folder of its own, and keeps what came of them.

The folder of a comparison holds plan.json, runs.jsonl (a line per run that ended) and a folder per run. A comparison
that was interrupted goes on where it ended.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from coffeecup.postprocess.comparison.arms import COMPARED
from coffeecup.postprocess.comparison.plan import Arm, Plan, PlanError
from coffeecup.postprocess.comparison.result import Results
from coffeecup.postprocess.logs.paths import files_below
from coffeecup.postprocess.show.words import digits, printable, seconds

PLAN, RUNS, OUTPUT, ERRORS = "plan.json", "runs.jsonl", "output.txt", "errors.txt"
MOST_FAILURES = 2  # one after the other of an arm, after which it does not run again
LINES = 3  # of a run's error output that are shown
LONGER, SHORTEST_LIMIT = 10, 60.0  # a run hangs if it takes so many times the longest one of earlier, in seconds
FIRST_LIMIT = 4 * 3600.0  # seconds, before any run ended: several official runs of the slowest benchmark
GRACE, LOOK_SECONDS = 20.0, 0.1  # seconds to remove what a run made, after SIGTERM; between two looks whether it did


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run that ended. `log` is relative to the folder of the comparison, None if the run failed, for the reason
    `problem`."""

    block: int
    arm: str
    seconds: float
    folder: str
    log: str | None = None
    problem: str | None = None


class Alternation:
    """The runs of a plan in a folder, which is created. Raises PlanError if the folder is another comparison's."""

    def __init__(self, plan: Plan, folder: Path):
        self.plan, self.folder = plan, folder
        stated = msgspec.json.format(msgspec.json.encode(plan))
        if not (folder / PLAN).exists():
            if folder.exists() and any(folder.iterdir()):
                raise PlanError(f"{printable(str(folder))} is not empty, and no comparison began there")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / PLAN).write_bytes(stated)
        elif (folder / PLAN).read_bytes() != stated:
            raise PlanError(f"{printable(str(folder))} holds another comparison: name another folder, or the same plan")
        self.runs = self._ended()

    def _ended(self) -> list[Run]:
        """The runs of earlier. A line that was cut off is no run; neither is a block of which runs are missing."""
        path, found = self.folder / RUNS, []
        for line in path.read_bytes().splitlines() if path.exists() else ():
            try:
                found.append(msgspec.json.decode(line, type=Run))
            except msgspec.DecodeError:
                break
        arms = len(self.plan.order(0))
        whole = found[: len(found) // arms * arms]
        if len(whole) < len(found) or path.exists():
            path.write_bytes(b"".join(msgspec.json.encode(run) + b"\n" for run in whole))
        return whole

    @property
    def blocks(self) -> int:
        """The blocks of which every arm ran."""
        return len(self.runs) // len(self.plan.order(0))

    def failing(self) -> str | None:
        """The arm that failed too often one after the other."""
        for arm in self.plan.order(0):
            last = [run for run in self.runs if run.arm == arm][-MOST_FAILURES:]
            if len(last) == MOST_FAILURES and all(run.problem for run in last):
                return arm
        return None

    @property
    def limit(self) -> float:
        """The most seconds of the next run: those of the plan, or by the runs that ended well before."""
        ended = [run.seconds for run in self.runs if not run.problem]
        return self.plan.run_limit or (max(SHORTEST_LIMIT, LONGER * max(ended)) if ended else FIRST_LIMIT)

    def block(self, add: Callable[[int, str, Path], str | None]) -> Iterator[Run]:
        """Runs the next block. `add` takes block, arm and log of each run, and says why the log cannot be used."""
        block = self.blocks
        for arm in self.plan.order(block):
            run = self._run(block, arm, add)
            with (self.folder / RUNS).open("ab") as file:
                file.write(msgspec.json.encode(run) + b"\n")
            self.runs.append(run)
            yield run

    def _run(self, block: int, arm: str, add: Callable[[int, str, Path], str | None]) -> Run:
        folder = self.folder / f"{block + 1:04d}-{arm}"
        if folder.exists():  # of a block that was interrupted
            shutil.rmtree(folder)
        folder.mkdir()
        began = time.monotonic()
        problem = run_in(folder, self.plan, self.plan.arm(arm), self.limit)
        taken = time.monotonic() - began
        logs = [] if problem else files_below(folder, "*.jsonl")
        if not problem and len(logs) != 1:
            problem = f"{len(logs) or 'no'} logs were written, not one"
        problem = problem or add(block, arm, logs[0])
        log = None if problem else str(logs[0].relative_to(self.folder))
        return Run(block=block, arm=arm, seconds=taken, folder=folder.name, log=log, problem=problem)


def run_until_decided(runs: Alternation) -> Results:
    """Runs until nothing is left to decide, after the last block at the latest, or until an arm fails again and
    again. Raises PlanError if the logs have no such metric."""
    return run_blocks(runs, runs.plan.pairs, lambda results: runs.failing() or results.is_over(runs.blocks))


def run_blocks(runs: Alternation, most: int, is_over: Callable[[Results], object]) -> Results:
    """Runs block after block, until so many have run in all, it is over, or SIGINT or SIGTERM comes. Raises PlanError
    if the logs have no such metric."""
    results = Results(runs.plan)
    for run in runs.runs:
        if run.log and (problem := results.add(run.block, run.arm, runs.folder / run.log)):
            say(f"{run.folder}: {problem}")
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        while runs.blocks < most and not is_over(results):
            for run in runs.block(results.add):
                say(f"block {run.block + 1} of at most {most}: {in_words(run, results)}")
    except KeyboardInterrupt:
        say("interrupted: the same command goes on")
    finally:
        signal.signal(signal.SIGTERM, before)
    return results


def in_words(run: Run, results: Results) -> str:
    if run.problem:
        return f"{run.arm} failed: {run.problem}"
    metric = results.judged[0]
    return f"{run.arm} in {seconds(run.seconds)}, {metric} {digits(results.value(run.block, run.arm, metric))}"


def say(text: str) -> None:
    """Progress, for people: results go to standard output."""
    print(printable(text), file=sys.stderr, flush=True)


def run_in(folder: Path, plan: Plan, arm: Arm, limit: float) -> str | None:
    """Runs an arm in a folder, with its output in files there, for at most `limit` seconds. Returns why it failed, None
    if it did not. An interrupt ends the run, too, before it is raised here."""
    environment = {name: value for name, value in (os.environ | variables(plan, arm)).items() if value is not None}
    command = command_of(plan, arm)
    with (folder / OUTPUT).open("wb") as output, (folder / ERRORS).open("wb") as errors:
        files = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": errors}
        process = None
        try:
            with interrupts_later():  # one before Popen returns would leave the run without anyone who ends it
                process = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **files)
            code = process.wait(limit)
        except OSError as error:
            return f"{command[0]} cannot be run: {error.strerror}"
        except (subprocess.TimeoutExpired, KeyboardInterrupt) as stopped:
            if process:
                end(process)
            if isinstance(stopped, KeyboardInterrupt):
                raise
            return f"it did not end within {limit:.0f} s and was ended; a plan or --run-limit states another time"
    if not code:
        return None
    text = (folder / ERRORS).read_text(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip(" -*")][:LINES]
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return printable(f"{how}: {' '.join(lines)}" if lines else how)


@contextmanager
def interrupts_later() -> Iterator[None]:
    """SIGINT and SIGTERM that come meanwhile raise KeyboardInterrupt at the end. What is ignored stays ignored, also in
    a process that is started."""
    came = []
    numbers = [number for number in (signal.SIGINT, signal.SIGTERM) if callable(signal.getsignal(number))]
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


def end(process: subprocess.Popen) -> None:
    """Ends everything in the session of a process: by SIGTERM, after which launchers end their kernels and these remove
    what they made; what is still there after GRACE, or at another interrupt, by SIGKILL."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
        last = time.monotonic() + GRACE
        while time.monotonic() < last and members(process.pid):
            time.sleep(LOOK_SECONDS)
    finally:
        for member in members(process.pid):
            with suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
        process.wait()


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
    """The command of an arm, in a shell that loads its modules if it has any."""
    command = [*(arm.command or plan.command), *arm.options]
    if not arm.modules:
        return command
    return ["bash", "-lc", f'module load {shlex.join(arm.modules)} && exec "$@"', "bash", *command]
