# SPDX-License-Identifier: Apache-2.0
"""Questions of a centre, answered by `coffeecup compare` on this machine with two processes: single copy, the MPI
library, the component of MPI-IO, a setting of a GlusterFS volume, and the library of an application's files; delays
that a preloaded library really waits; and real runs of arms that are equal. Prints tables, and exits with 1 if an arm
failed, if the arms differ in something else or not in what they should, or if a known answer was missed.

    site_configs/local/setup prove
    .venv/bin/python tests/evidence/bench_settings.py [QUESTION...] [--pairs 20] [--write]

Nothing else should run meanwhile. Logs, figures and JSON are in build/prove/settings. GlusterFS needs root. With
--write, the tables and figures of the pages are replaced.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

from bench_tables import Goals, header, part_of_page, row
from builds import install_kernels, shared_library
from file_systems import glusterfs_mounts
from libraries import Library, libraries
from proofs import OUTPUT, ROOT, TOOLS

from coffeecup.postprocess.benchmarks.b_eff_io.library import TYPES as LIBRARY_TYPES
from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.cli.alternation import Alternation, run_blocks
from coffeecup.postprocess.comparison.plan import CONTROL, Arm, Plan
from coffeecup.postprocess.comparison.verdicts import ratios, verdict
from coffeecup.postprocess.show.words import digits
from coffeecup.postprocess.statistics.pairs import RISK
from coffeecup.postprocess.statistics.shares import share_interval

FOLDER = OUTPUT / "settings"
PAGE = ROOT / "docs" / "evidence" / "settings.md"
IMAGES = ROOT / "docs" / "images"
SHORT = ("--memory-per-process", "4MiB", "--patterns", "ring,random", "--methods", "sendrecv", "--repetitions", "1")
SHORT += ("--random-patterns", "1", "--first-loop-length", "1", "--longest-loop", "2")
SHORT_IO = ("--scheduled-time", "2", "--memory-per-process", "64MiB", "--space-limit", "256MiB")
FIRST, *OTHERS = "Open MPI 4", "Open MPI 5", "MPICH 4", "MPICH 5"
METHODS = {"mpi_io": "explicit", "hdf5": "hdf5", "pnetcdf": "pnetcdf"}
WORKLOAD = 'common_file = {{ process_size = "64MiB"; block_size = "1MiB"; patterns = "write"; methods = "{}"; }};\n'
LIBRARY_ARMS = {"mpi_io": "mpi-io", "hdf5": "hdf5", "pnetcdf": "pnetcdf"}
LIBRARY_ARMS |= {"hdf5-aligned": "hdf5 --hints alignment=1MiB", "hdf5-chunked": "hdf5 --hints chunk=1MiB"}
LIBRARY_ARMS |= {"hdf5-metadata": "hdf5 --hints collective_metadata=1"}
DELAYS = (1.01, 1.03, 1.1)
CLOCK = 0.003  # of a ratio: what the waiting library itself takes
AT_ONCE = 20  # pairs of a comparison of equal arms


@cache
def library(name: str) -> Library:
    """Of libraries.py, by its name."""
    return next(each for each in libraries() if each.name == name)


def command(name: str, kernel: str, *options) -> list[str]:
    """Two processes of a kernel that is built with this library, without FFTW, which ftio alone needs."""
    chosen = library(name)
    settings = (f"-DMPI_C_COMPILER={chosen.compiler}", "-DCOFFEECUP_BENCHMARKS=b_eff;b_eff_io;priomark")
    programs = install_kernels(f"settings-{chosen.parts}", *settings) / "bin"
    return list(map(str, (chosen.launcher, "-np", "2", programs / kernel, *options)))


@contextmanager
def single_copy() -> Iterator[dict]:
    off = {"environment": {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}}
    yield {"command": command(FIRST, "b_eff", *SHORT), "arms": {"on": {}, "off": off}}


@contextmanager
def mpi() -> Iterator[dict]:
    others = {name.replace(" ", ""): {"command": command(name, "b_eff", *SHORT)} for name in OTHERS}
    yield {"command": command(FIRST, "b_eff", *SHORT), "arms": {FIRST.replace(" ", ""): {}, **others}}


@contextmanager
def mpi_io() -> Iterator[dict]:
    with TemporaryDirectory(dir=FOLDER) as files:
        romio = {"environment": {"OMPI_MCA_io": "romio321"}}
        yield {
            "command": command(FIRST, "b_eff_io", *SHORT_IO, "--directory", files),
            "arms": {"ompio": {}, "romio": romio},
        }


@contextmanager
def glusterfs() -> Iterator[dict]:
    """Two volumes: their clients send writes later, which is GlusterFS's default, or at once."""
    with ExitStack() as open_:
        arms = {}
        for name in ("behind", "at-once"):
            folder = open_.enter_context(TemporaryDirectory())
            [mount] = open_.enter_context(glusterfs_mounts(folder, 1, cached=name == "behind"))
            arms[name] = {"options": ["--directory", str(mount)]}
        yield {"command": command(FIRST, "b_eff_io", *SHORT_IO), "arms": arms}


@contextmanager
def interfaces() -> Iterator[dict]:
    with TemporaryDirectory(dir=FOLDER) as files:
        workloads = {name: Path(files, f"{name}.cfg") for name in METHODS}
        for name, path in workloads.items():
            path.write_text(WORKLOAD.format(METHODS[name]))
        yield {
            "command": command(FIRST, "priomark", "--directory", files),
            "arms": {name: {"options": ["--workload", str(path)]} for name, path in workloads.items()},
            "metrics": ["common_file"],
        }


@contextmanager
def library_tax() -> Iterator[dict]:
    """Files that end with their space, so that all arms access the same bytes."""
    with TemporaryDirectory(dir=FOLDER) as files:
        stated = ("--types", ",".join(LIBRARY_TYPES), "--partitions", "all", *SHORT_IO, "--scheduled-time", "600")
        arms = {name: {"options": ["--interface", *words.split()]} for name, words in LIBRARY_ARMS.items()}
        yield {
            "command": command(FIRST, "b_eff_io", *stated, "--directory", files),
            "arms": arms,
            "metrics": ["library_bandwidth"],
        }


@contextmanager
def delays() -> Iterator[dict]:
    """With the library in all arms, so that what it takes itself is in all."""
    launcher, *words = command(FIRST, "b_eff", *SHORT)
    preloaded = shared_library(FOLDER, "wait", library(FIRST).compiler)
    arms = {f"late{delay}": {"environment": {"WAIT_FACTOR": str(delay)}} for delay in DELAYS}
    yield {
        "command": [launcher, *words[:2], "env", f"LD_PRELOAD={preloaded}", *words[2:]],
        "arms": {"usual": {"environment": {"WAIT_FACTOR": "1"}}, **arms},
        "pairs": 48,
    }


@dataclass(frozen=True)
class Question:
    """`arms` makes the plan, `fact` is what its arms have to differ in."""

    arms: Callable
    fact: str
    page: Path = PAGE


QUESTIONS = {
    "single-copy": Question(single_copy, "single copy"),
    "mpi": Question(mpi, "MPI library"),
    "mpi-io": Question(mpi_io, "MPI-IO"),
    "glusterfs": Question(glusterfs, "option directory"),
    "interfaces": Question(interfaces, "option workload", ROOT / "docs" / "priomark_libraries.md"),
    "library-tax": Question(library_tax, "option interface", ROOT / "docs" / "priomark_libraries.md"),
    "delays": Question(delays, "environment WAIT_FACTOR"),
}


def answer(name: str, pairs: int, goals: Goals, write: bool) -> None:
    """Prints the answer to a question; with its figure, which is copied to the pages, to `write` it there."""
    folder, question = FOLDER / name, QUESTIONS[name]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with question.arms() as stated:
        (folder / "plan.yaml").write_text(json.dumps({"pairs": pairs, "run_limit": 120} | stated))
        words = [TOOLS / "coffeecup", "compare", folder / "plan.yaml", "-o", folder / "runs", "--figures", folder]
        subprocess.run(words, stdout=sys.stderr, env=os.environ | library(FIRST).environment, check=False)
    if not (folder / "runs" / "result.json").exists():
        return goals.check(f"{name}: results", 0, least=1)
    found = json.loads((folder / "runs" / "result.json").read_text())
    print_answer(found)
    figure = folder / "comparison-ratio.svg"
    if write and name not in ("delays", "interfaces"):  # of several sizes
        shutil.copy(figure, IMAGES / f"compare-{name}.svg")
        images = os.path.relpath(IMAGES, question.page.parent)
        first = next(iter(found["plan"]["arms"]))
        print(f'\n![Ratios to the arm "{first}" over the size]({images}/compare-{name}.svg)')
    goals.check(f"{name}: obstacles and failed runs", len(found["obstacles"] + found["failed"]), most=0)
    facts = [each["fact"] for each in found["differences"]]
    goals.check(f"{name}: facts named {question.fact!r}", facts.count(question.fact), least=1)
    if name == "delays":
        check_delays(found["verdicts"], goals)
    return None


def check_delays(verdicts: list[dict], goals: Goals) -> None:
    """Whether the intervals contain the known ratios, and the largest delay is found."""
    for delay, each in zip(DELAYS, verdicts):
        low, high = (each[end] or 0 for end in ("low", "high"))
        goals.check(f"delay {delay}: lower end", low, most=1 / delay * (1 + CLOCK))
        goals.check(f"delay {delay}: upper end", high, least=1 / delay * (1 - CLOCK))
        goals.check(f"delay {delay}: upper end", high, most=1 if delay == max(DELAYS) else float("inf"))


def print_answer(found: dict) -> None:
    """The verdicts, and what speaks against them."""
    title = f"{found['benchmark']}, {found['runs']} runs, ratios to `{next(iter(found['plan']['arms']))}`:"
    header(title, "arm; pairs; ratio; interval; verdict")
    for each in [*found["verdicts"], *found["control"]]:
        middle, low, high = ("-" if each[end] is None else digits(each[end]) for end in ("middle", "low", "high"))
        row(each["arm"], each["pairs"], middle, f"[{low}, {high}]", each["standing"])
    for problem in found["obstacles"] + [f"{run['arm']}: {run['problem']}" for run in found["failed"]]:
        print(f"\n{problem}")


def equal(pairs: int, goals: Goals) -> None:
    """Prints how often arms that differ in nothing are called different."""
    shutil.rmtree(FOLDER / "equal", ignore_errors=True)
    os.environ.update(library(FIRST).environment)
    arms = {"usual": Arm(), "equal": Arm(environment={"NOTHING": "1"})}
    plan = Plan(command=command(FIRST, "b_eff", *SHORT), arms=arms, pairs=pairs, run_limit=60)
    runs = Alternation(plan, FOLDER / "equal")
    run_blocks(runs, pairs, lambda: bool(runs.results.failed))
    goals.check("equal arms: failed runs", len(runs.results.failed), most=0)
    header(
        f"Equal arms, {len(runs.results.ended)} runs:",
        f"arm; pairs; ratio; interval; comparisons of {AT_ONCE} pairs; different",
    )
    [metric, *_] = runs.results.judged
    for arm in ("equal", CONTROL):
        logs = ratios(runs.results.metrics(pairs), metric, arm, plan.first)
        parts = [logs[at : at + AT_ONCE] for at in range(0, len(logs) - AT_ONCE + 1, AT_ONCE)]
        whole, *each = (verdict(arm, metric, part, Better.HIGHER, plan.minimum, RISK) for part in (logs, *parts))
        wrong = sum(one.differs for one in each)
        ends = f"[{digits(whole.low)}, {digits(whole.high)}]"
        row(arm, whole.pairs, digits(whole.middle), ends, len(parts), wrong)
        goals.check(f"{arm}: comparisons", len(parts), least=1)
        if parts:
            goals.check(f"{arm}: share that is surely different", share_interval(wrong, len(parts))[0], most=RISK)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = (*QUESTIONS, "equal")
    parser.add_argument("questions", metavar="QUESTION", nargs="*", help=f"{', '.join(names)} (default: all)")
    parser.add_argument("--pairs", type=int, default=20, help="the most of each arm; of equal arms, ten times as many")
    parser.add_argument("--write", action="store_true", help="replace the tables and figures of the pages")
    options = parser.parse_args()
    if unknown := set(options.questions) - {*names}:
        parser.error(f"no question {', '.join(sorted(unknown))}; valid are {', '.join(names)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    goals = Goals()
    for name in options.questions or names:
        page = QUESTIONS[name].page if name in QUESTIONS else PAGE
        with part_of_page(page if options.write else None, name, f"bench_settings.py {name} --write"):
            if name in QUESTIONS:
                answer(name, options.pairs, goals, options.write)
            else:
                equal(10 * options.pairs, goals)
    return goals.report()


if __name__ == "__main__":
    sys.exit(main())
