# SPDX-License-Identifier: Apache-2.0
"""Four questions of a centre, answered by `coffeecup compare` on this machine with two processes: single copy, the MPI
library, the component of MPI-IO, and a setting of a GlusterFS volume; and real runs of arms that are equal. Prints
tables. Exits with 1 if an arm failed, or if the arms differ in something else.

    site_configs/local/setup prove
    .venv/bin/python tests/evidence/bench_settings.py [QUESTION...] [--pairs 20]

Nothing else should run meanwhile. Logs, figures and JSON are in build/prove/settings. GlusterFS needs root.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

import pandas as pd
from bench_tables import header, row
from builds import install_kernels
from file_systems import glusterfs_mounts
from libraries import Library, libraries
from proofs import OUTPUT, TOOLS

from coffeecup.postprocess.cli.alternation import Alternation
from coffeecup.postprocess.comparison.plan import CONTROL, Arm, Plan
from coffeecup.postprocess.comparison.result import Results
from coffeecup.postprocess.comparison.verdicts import ratios, verdict
from coffeecup.postprocess.show.words import digits, size
from coffeecup.postprocess.statistics.pairs import RISK

FOLDER = OUTPUT / "settings"
SHORT = ("--memory-per-process", "4MiB", "--patterns", "ring,random", "--methods", "sendrecv", "--repetitions", "1")
SHORT += ("--random-patterns", "1", "--first-loop-length", "1", "--longest-loop", "2")
SHORT_IO = ("--scheduled-time", "2", "--memory-per-process", "64MiB", "--space-limit", "256MiB")
FIRST, *OTHERS = "Open MPI 4", "Open MPI 5", "MPICH 4", "MPICH 5"


@cache
def library(name: str) -> Library:
    """Of libraries.py, by its name."""
    return next(each for each in libraries() if each.name == name)


def command(name: str, kernel: str, *options) -> list[str]:
    """Two processes of a kernel that is built with this library, without FFTW, which ftio alone needs."""
    chosen = library(name)
    settings = (f"-DMPI_C_COMPILER={chosen.compiler}", "-DCOFFEECUP_BENCHMARKS=b_eff;b_eff_io")
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


QUESTIONS = {"single-copy": single_copy, "mpi": mpi, "mpi-io": mpi_io, "glusterfs": glusterfs}


def answer(name: str, pairs: int) -> bool:
    """Prints the answer to a question; whether there is one."""
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with QUESTIONS[name]() as stated:
        (folder / "plan.yaml").write_text(json.dumps(stated | {"pairs": pairs, "run_limit": 120}))
        words = [TOOLS / "coffeecup", "compare", folder / "plan.yaml", "-o", folder / "runs", "--figures", folder]
        environment = os.environ | library(FIRST).environment
        done = subprocess.run([*words, "--json"], stdout=subprocess.PIPE, env=environment, text=True, check=False)
    if not done.stdout:
        return False
    (folder / "result.json").write_text(done.stdout)
    found = json.loads(done.stdout)
    print_answer(name, found, pd.read_csv(folder / "comparison-ratio.csv"))
    return not found["obstacles"] and not found["failed"]


def print_answer(name: str, found: dict, by_size: pd.DataFrame) -> None:
    """The verdicts, and the medians of the pairs at each size."""
    header(f"{name}, {found['benchmark']}, {found['runs']} runs", "arm; pairs; ratio; interval; verdict")
    for each in [*found["verdicts"], *found["control"]]:
        ends = f"[{digits(each['low'])}, {digits(each['high'])}]"
        row(each["arm"], each["pairs"], digits(each["middle"]), ends, each["standing"])
    for problem in found["obstacles"] + [f"{run['run']}: {run['problem']}" for run in found["failed"]]:
        print(f"\n{problem}")
    wide = by_size.pivot(index="size_bytes", columns="arm", values="median")
    header(f"{name}: median ratios to {found['first']}", "; ".join(["size", *wide.columns]))
    for bytes_, medians in wide.dropna().iterrows():  # sizes of one run alone have no ratio
        row(size(bytes_), *map(digits, medians))


def equal(pairs: int, at_once: int = 20) -> bool:
    """Prints how often arms that differ in nothing are called different, in comparisons of 20 pairs each."""
    from coffeecup.postprocess.benchmarks.registry import benchmarks

    shutil.rmtree(FOLDER / "equal", ignore_errors=True)
    os.environ.update(library(FIRST).environment)
    arms = {"usual": Arm(), "equal": Arm(environment={"NOTHING": "1"})}
    plan = Plan(command=command(FIRST, "b_eff", *SHORT), arms=arms, pairs=pairs, run_limit=60)
    runs, results = Alternation(plan, FOLDER / "equal"), Results(plan)
    for _ in range(pairs):
        if problems := [run.problem for run in runs.block(results.add) if run.problem]:
            print(problems[0])
            return False
    [metric], better = results.judged, benchmarks()["b_eff"].metric("b_eff").better
    header(f"equal arms, {len(runs.runs)} runs", "arm; pairs; ratio; interval; comparisons of 20 pairs; different")
    for arm in ("equal", CONTROL):
        logs = ratios(results.metrics(pairs), metric, arm, "usual")
        parts = [logs[at : at + at_once] for at in range(0, len(logs) - at_once + 1, at_once)]
        wrong = sum(verdict(arm, metric, part, better, plan.minimum, RISK).differs for part in parts)
        whole = verdict(arm, metric, logs, better, plan.minimum, RISK)
        ends = f"[{digits(whole.low)}, {digits(whole.high)}]"
        row(arm, whole.pairs, digits(whole.middle), ends, len(parts), wrong)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = (*QUESTIONS, "equal")
    parser.add_argument(
        "questions", metavar="QUESTION", nargs="*", help=f"{', '.join(names)} (default: the first four)"
    )
    parser.add_argument("--pairs", type=int, default=20, help="the most of each arm")
    options = parser.parse_args()
    if unknown := set(options.questions) - {*names}:
        parser.error(f"no question {', '.join(sorted(unknown))}; valid are {', '.join(names)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    asked = options.questions or QUESTIONS
    answered = [equal(options.pairs) if name == "equal" else answer(name, options.pairs) for name in asked]
    return 0 if all(answered) else 1


if __name__ == "__main__":
    sys.exit(main())
