# SPDX-License-Identifier: Apache-2.0
"""Comparison of a kernel with a peer that does the same work: measuring in pairs, ratios, intervals, verdict, table and
exit code of all bench_*.py.

The kernel and its peer run in turn, and which of them is first alternates from pair to pair. A case is one kind of
work, such as a message size or a file pattern; its ratio is the speed of the kernel over that of the peer in one pair.
The estimate of a case is the middle of its ratios with a 95 % interval, as `coffeecup compare` computes them. The
aggregate of a peer is the geometric mean over all cases of each pair, estimated in the same way. No pair is left out
afterwards: a pair starts only while other processes leave the machine idle, which is decided before anything of it is
measured.

Exit code: 0 if the kernel is as fast as every peer, 1 if it is slower or the comparison cannot tell, 2 if a program
failed or did not report a usable number for each case.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from coffeecup.postprocess.statistics.pairs import interval

GOAL = 0.95  # of the peer's speed
WIDEST = 1.5  # upper over lower end of an interval that contains the goal: a wider one tells nothing about its case
FEWEST_PAIRS = 12
CONFIDENCE = 0.95
PROBE_SECONDS, PATIENCE_SECONDS = 0.25, 60
TIMEOUT_SECONDS = 600  # of one run of a program

# glibc then writes to all memory that it allocates. Memory that was never written is Linux's shared page of zeros,
# which stays in the cache: a peer that sends such a buffer looks up to twice as fast for messages of 0.4 to 11 MB.
ENVIRONMENT = {"MALLOC_PERTURB_": "85", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class ComparisonError(Exception):
    """Nothing can be compared; the message names the cause and, where there is one, the remedy."""


class Outcome(Enum):
    AS_FAST = "as fast"
    SLOWER = "slower"
    UNDECIDED = "cannot tell"


EXIT_CODES = {Outcome.AS_FAST: 0, Outcome.SLOWER: 1, Outcome.UNDECIDED: 1}
EXIT_ERROR = 2


@dataclass(frozen=True)
class Comparison:
    """A kernel and a peer. Both functions take the number of the pair, 0 for a first one that does not count, in which
    the kernel runs first; they return the speed of each case. Runs that are much shorter than those of other
    comparisons are made `rounds` times as often: the shorter a pair, the less the machine changes between its sides."""

    peer: str
    run_kernel: Callable[[int], dict[str, float]]
    run_peer: Callable[[int], dict[str, float]]
    part: str = ""  # of the peer's cases, if several comparisons share them
    rounds: int = 1


@dataclass(frozen=True)
class Estimate:
    middle: float
    low: float
    high: float

    def __str__(self):
        return f"{self.middle:6.3f} [{self.low:.3f}, {self.high:.3f}]"


# --- measuring --------------------------------------------------


def options_of(description, arguments=None, extend=lambda parser: None):
    """Parses the options that all comparisons have, and those that `extend` adds."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/kernels"), help="folder of the built kernels")
    parser.add_argument("--mpirun", default="mpirun", help="launcher of the MPI that the kernels were built with")
    parser.add_argument("--directory", type=Path, default=Path(), help="directory under test")
    parser.add_argument("--pairs", type=int, default=FEWEST_PAIRS, help=f"at least {FEWEST_PAIRS}, the default")
    parser.add_argument("--only", default="", metavar="TEXT", help="run the comparisons whose name contains it")
    parser.add_argument(
        "--busy-cores",
        type=float,
        default=0.5,
        metavar="CORES",
        help="wait before a pair while other processes use more (default 0.5)",
    )
    parser.add_argument(
        "--cache-bytes", type=int, help="size of the last-level cache (default: as hwloc or Linux report it)"
    )
    extend(parser)
    options = parser.parse_args(arguments)
    if options.pairs < FEWEST_PAIRS:
        parser.error(f"--pairs: an interval requires at least {FEWEST_PAIRS} pairs")
    options.build = options.build.resolve()
    return options


def start(*command, folder=None):
    """The standard output of a program. Its session is its own: Linux shares the processors among sessions, and fio
    starts one for its job."""
    command = list(map(str, command))
    try:
        how = {"capture_output": True, "text": True, "timeout": TIMEOUT_SECONDS, "start_new_session": True}
        done = subprocess.run(command, cwd=folder, env=os.environ | ENVIRONMENT, check=False, **how)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ComparisonError(str(error)) from None
    if done.returncode != 0:
        text = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
        raise ComparisonError(f"{' '.join(command)} failed with exit code {done.returncode}:\n{text}")
    return done.stdout


def start_mpi(options, program, *arguments, processes=2, folder=None):
    return start(options.mpirun, "-n", processes, program, *arguments, folder=folder)


def json_output(text):
    """The last line of a program's output, which is JSON."""
    return json.loads(text.strip().rsplit("\n", 1)[-1])


def program_on_path(name, remedy):
    if not (path := shutil.which(name)):
        raise ComparisonError(f"{name} is not on PATH: {remedy}")
    return path


def cache_bytes(options):
    """The largest cache that a core uses: hwloc's view, else that of Linux."""
    if options.cache_bytes:
        return options.cache_bytes
    sizes = []
    if lstopo := shutil.which("lstopo-no-graphics") or shutil.which("lstopo"):
        topology = ElementTree.fromstring(start(lstopo, "--no-io", "--of", "xml"))
        sizes = [int(cache.get("cache_size", 0)) for cache in topology.iter("object")]
    if not any(sizes):
        caches = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
        sizes = [int(file.read_text().strip("K\n")) << 10 for file in caches]
    if not any(sizes):
        raise ComparisonError("neither hwloc nor Linux reports the size of the caches: state it with --cache-bytes")
    return max(sizes)


def busy_cores():
    """Cores that all processes together use at the moment, while this one sleeps."""

    def ticks():
        all_cores = Path("/proc/stat").read_text().split("\n")[0]
        user, nice, system, _, _, interrupts, soft_interrupts, *_ = map(int, all_cores.split()[1:])
        return user + nice + system + interrupts + soft_interrupts

    before, start_seconds = ticks(), time.monotonic()
    time.sleep(PROBE_SECONDS)
    return (ticks() - before) / os.sysconf("SC_CLK_TCK") / (time.monotonic() - start_seconds)


def wait_for_idle_machine(most_cores):
    if math.isinf(most_cores):
        return
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (busy := busy_cores()) > most_cores:
        if time.monotonic() > deadline:
            busiest = f"other processes use {busy:.1f} cores for {PATIENCE_SECONDS} s"
            raise ComparisonError(f"{busiest}: measure on an idle machine, or raise --busy-cores")


def speeds(run, name, number, cases=None):
    """What a side reports, if it is a positive number for every case."""
    try:
        values = {case: float(value) for case, value in run(number).items()}
    except (ArithmeticError, LookupError, OSError, TypeError, ValueError) as error:
        raise ComparisonError(f"{name} gave no usable output: {type(error).__name__}: {error}") from None
    if bad := [case for case, value in values.items() if not (np.isfinite(value) and value > 0)]:
        raise ComparisonError(f"{name} reported {values[bad[0]]} as speed of '{bad[0]}'")
    if not values or (cases is not None and values.keys() != cases):
        missing = sorted((cases or set()) ^ values.keys())
        raise ComparisonError(
            f"{name} and the other side do not report the same cases: {', '.join(missing) or 'none at all'}"
        )
    return values


def measure_pair(comparison, number, kernel):
    """The ratio of each case. The kernel runs first in odd pairs, and in pair 0."""
    sides = [(kernel, comparison.run_kernel), (comparison.peer, comparison.run_peer)]
    measured = {}
    for name, run in sides if number % 2 or number == 0 else reversed(sides):
        measured[name] = speeds(run, name, number, next(iter(measured.values())).keys() if measured else None)
    return {case: speed / measured[comparison.peer][case] for case, speed in measured[kernel].items()}


def pair_numbers(turn, rounds):
    return range((turn - 1) * rounds + 1, turn * rounds + 1) if turn > 0 else (0,)


def measure(kernel, comparisons, options):
    """({peer: {case: ratios}}, {peer: error}). The comparisons take turns, so that each one's pairs are spread over the
    whole time. What fails costs its own peer only."""
    ratios = {comparison.peer: {} for comparison in comparisons}
    errors = {}
    for turn in range(options.pairs + 1):
        for comparison in comparisons:
            for number in pair_numbers(turn, comparison.rounds):
                if comparison.peer in errors:
                    break
                try:
                    wait_for_idle_machine(options.busy_cores)
                    measured = measure_pair(comparison, number, kernel)
                except ComparisonError as error:
                    errors[comparison.peer] = str(error)
                    break
                for case, ratio in measured.items() if number > 0 else ():
                    ratios[comparison.peer].setdefault(case, []).append(ratio)
        print(f"pair {turn} of {options.pairs}", file=sys.stderr, flush=True)
    return ratios, errors


# --- judging --------------------------------------------------


def estimate(ratios):
    """The middle of the ratios and its interval, as `coffeecup compare` computes them."""
    low, middle, high = np.exp(interval(np.log(ratios), 1 - CONFIDENCE))
    return Estimate(float(middle), float(low), float(high))


def case_outcome(found):
    """A case is undecided only if its interval is too wide to tell anything: one among many may contain the goal by
    chance."""
    if found.high < GOAL:
        return Outcome.SLOWER
    return Outcome.UNDECIDED if found.low < GOAL and found.high > WIDEST * found.low else Outcome.AS_FAST


def aggregate_outcome(found):
    """The aggregate has to be on one side of the goal."""
    if found.high < GOAL:
        return Outcome.SLOWER
    return Outcome.UNDECIDED if found.low < GOAL else Outcome.AS_FAST


def judge(ratios):
    """(estimate and outcome of the aggregate, of each case). Slower is worse than undecided, both are worse than as
    fast."""
    cases = {case: estimate(values) for case, values in ratios.items()}
    aggregate = estimate(np.exp(np.mean(np.log(list(ratios.values())), axis=0)))
    return (aggregate, aggregate_outcome(aggregate)), {
        case: (found, case_outcome(found)) for case, found in cases.items()
    }


def verdict(aggregate, cases):
    outcomes = {aggregate[1]} | {outcome for _, outcome in cases.values()}
    return next(outcome for outcome in (Outcome.SLOWER, Outcome.UNDECIDED, Outcome.AS_FAST) if outcome in outcomes)


def report(kernel, peer, ratios):
    """Prints the table and returns the verdict."""
    aggregate, cases = judge(ratios)
    pairs = len(next(iter(ratios.values())))
    print(f"\nSpeed of {kernel} over that of {peer}: middle of {pairs} pairs [{CONFIDENCE:.0%} interval]")
    for case, (found, outcome) in ({"all cases": aggregate} | cases).items():
        print(f"  {case:<44}{found}" + ("" if outcome is Outcome.AS_FAST else f"  {outcome.value}"))
    found = verdict(aggregate, cases)
    reasons = {
        Outcome.AS_FAST: f"at least {GOAL} of the speed over all cases, and no case is slower",
        Outcome.SLOWER: f"an interval lies below {GOAL}",
        Outcome.UNDECIDED: f"the interval of all cases contains {GOAL}, or that of a case is too wide: repeat on an "
        "idle machine, or with more --pairs",
    }
    print(f"{kernel} beside {peer}: {found.value} ({reasons[found]})")
    return found


def compare(kernel, comparisons, options):
    """Measures, prints a table for each peer, and returns the exit code."""
    wanted = [comparison for comparison in comparisons if options.only in f"{comparison.peer} {comparison.part}"]
    ratios, errors = measure(kernel, wanted, options)
    outcomes = [report(kernel, peer, found) for peer, found in ratios.items() if peer not in errors]
    for peer, error in errors.items():
        print(f"{kernel} beside {peer}: error: {error}", flush=True)
    if not wanted:
        errors["--only"] = "no comparison has this name"
    return EXIT_ERROR if errors else max(EXIT_CODES[outcome] for outcome in outcomes)
