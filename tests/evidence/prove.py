# SPDX-License-Identifier: Apache-2.0
"""Evidence that takes longer than `make test`: a table of goals with the figure reached. Exits with 1 if a goal is
missed.

    .venv/bin/python tests/evidence/prove.py [GOAL...]

goals:
  lowest, newest   install this project with the lowest or the newest versions that pyproject.toml allows, and run
                   the tests that build no kernel
  centre           `pip install .` beside a ReFrame and a pandas, which must not change, and the same tests
  fuzz             odd options for every command, and sessions, databases, contracts and reference files with
                   anything in any place: none may end with a traceback
  containers       docs/containers.md, followed with an image that this goal makes
  easybuild        the kernels built by EasyBuild, and run from the module that it writes
  long             the tests that are marked `prove` or left out by `in_turn`
  history-bench    histories of which the truth is known: false alarms, detections and the predictions of
                   `coffeecup plan` (bench_history.py)
  real-year        nights drawn from two real years: false alarms and losses found, beside CUSUM (bench_real_year.py)
  compare          `coffeecup compare` in noise of these years: how often it is wrong, and what it finds
                   (bench_compare.py)
  settings         real answers of `coffeecup compare`, known delays and equal arms (bench_settings.py), for hours on
                   a machine that does nothing else
  risk             `coffeecup accept risk` for the contracts in docs/contracts: the stated risks are those observed, and
                   those of 90 nights have intervals that cover; proposals of `accept plan` keep the wanted risks in
                   the mean, or within the stated uncertainty where few records have one (bench_risk.py)
  nodes            slow nodes found and named falsely, on made-up machines (bench_nodes.py) and on machines that
                   SimGrid simulates (bench_simulated_nodes.py)
  hangs            runs that hang for a known reason, in each part of b_eff: what their logs name (bench_hangs.py)
  libraries        short runs of all four kernels with Debian's MPI libraries, those of the wheels, and the MPI ABI
                   (libraries.py)
  logs             200 000 changes of kernels' logs in one place: what contradicts the rest of a log is refused
  mutants          small changes of the modules that decide, by mutmut, and of each number at their top by 10 % (whole
                   numbers by one): counts those that no test notices, in mutants.csv

The name of a module tries its mutants alone; modules of one package are tried together. Mutants take hours, so
`--digits 3` takes a sample. A mutant that ends by time counts as noticed and is counted as such: on a busy machine,
try it again. All output is in build/prove.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

import libraries
from mutants import MUTATED, mutants
from mutator import LOGS, tried
from proofs import OUTPUT, ROOT, TOOLS, ProofError, Result, copy_of_tree, run

# Tests that build no kernel, and what they need besides this project.
TEST_TOOLS = ("pytest", "hypothesis", "otava-test-data", "axe-core-python")
WITHOUT_KERNELS = ("test_*_score*.py", "test_logs*.py", "test_figures*.py", "test_history*.py", "test_site_report*.py")
# What a centre may have: its own ReFrame and pandas, which the installation must leave alone.
OF_A_CENTRE = {"reframe-hpc": "4.9.3", "pandas": "2.2.3", "numpy": "1.26.4"}

MUTATIONS, MUTATIONS_AT_ONCE = 200_000, 250


# --- version ranges ---------------------------------------------------------------------------------------------------


def environment(name: str) -> tuple[Path, Callable]:
    """An empty environment, and a function that installs into it."""
    folder = OUTPUT / name
    shutil.rmtree(folder, ignore_errors=True)
    run(TOOLS / "uv", "venv", "--quiet", "--seed", "--python", sys.executable, folder, log=f"{name}-venv.log")

    def install(*requirements: str) -> None:
        words = ["pip", "install", "--python", folder / "bin" / "python", *requirements]
        run(TOOLS / "uv", *words, log=f"{name}-install.log", cwd=copy_of_tree("sources"))

    return folder, install


def versions(folder: Path) -> dict[str, str]:
    words = [TOOLS / "uv", "pip", "list", "--python", folder / "bin" / "python", "--format", "json"]
    listed = subprocess.run(words, capture_output=True, check=True).stdout
    return {package["name"]: package["version"] for package in json.loads(listed)}


def tested(name: str, folder: Path) -> str:
    """Runs tests with the installed package, not with the sources of this tree; "N tests pass" or what fails."""
    files = [path for pattern in WITHOUT_KERNELS for path in sorted((ROOT / "tests").rglob(pattern))]
    if not all(any(path.match(pattern) for path in files) for pattern in WITHOUT_KERNELS):
        raise ProofError(f"no file in tests/ matches one of {', '.join(WITHOUT_KERNELS)}")
    return outcome(name, folder / "bin" / "pytest", "-k", "not browser", *files)


def outcome(name: str, pytest: Path, *words, **variables: str) -> str:
    """Runs pytest with variables of the environment; "N tests pass" or what fails."""
    report = OUTPUT / f"{name}.xml"
    report.unlink(missing_ok=True)
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | variables
    options = ["-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
    run(pytest, *options, *words, log=f"{name}-tests.log", check=False, cwd=ROOT, env=clean)
    if not report.exists():
        raise ProofError(f"pytest did not run: see {(OUTPUT / f'{name}-tests.log').relative_to(ROOT)}")
    [suite] = ElementTree.parse(report).getroot()
    count = {key: int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")}
    wrong = count["failures"] + count["errors"]
    if count["tests"] == count["skipped"]:
        raise ProofError("no test ran")
    return f"{wrong} of {count['tests']} fail" if wrong else f"{count['tests'] - count['skipped']} pass"


def end_of_ranges(name: str, *requirements: str) -> Result:
    folder, install = environment(name)
    install(*requirements)
    install(*TEST_TOOLS)
    have = versions(folder)
    shown = ", ".join(f"{package} {have[package]}" for package in ("numpy", "pandas", "pandera", "matplotlib", "typer"))
    figure = tested(name, folder)
    return Result(name, "all tests without kernels", f"{figure}; {shown}", figure.endswith("pass"))


def centre() -> Result:
    """`pip install .` as a centre would, in an environment with other packages."""
    folder, install = environment("centre")
    install(*(f"{package}=={version}" for package, version in OF_A_CENTRE.items()))
    run(folder / "bin" / "pip", "install", "--quiet", ".", log="centre-pip.log", cwd=copy_of_tree("sources"))
    have = versions(folder)
    changed = [f"{name} {version} -> {have[name]}" for name, version in OF_A_CENTRE.items() if have[name] != version]
    words = ["-C", "site_configs/local/settings.py", "-c", "reframe_checks", "-r", "--mode=smoke"]
    run(folder / "bin" / "reframe", *words, "--prefix", OUTPUT / "centre-output", log="centre-reframe.log", cwd=ROOT)
    install(*TEST_TOOLS)
    figure = tested("centre", folder)
    kept = f"changes {', '.join(changed)}" if changed else "keeps " + ", ".join(map(" ".join, OF_A_CENTRE.items()))
    reached = figure.endswith("pass") and not changed
    return Result("centre", "its versions stay; all tests", f"{figure}; {kept}", reached)


def fuzz() -> Result:
    """Commands with odd arguments and files, chosen anew each time."""
    examples = "300"
    figure = outcome("fuzz", TOOLS / "pytest", "tests/cli/test_fuzz_commands.py", COFFEECUP_FUZZ=examples)
    return Result("fuzz", f"no traceback in {examples} examples of each kind", figure, figure.endswith("pass"))


def long() -> Result:
    figure = outcome("long", TOOLS / "pytest", "-m", "prove")
    return Result("long", "all tests that are marked `prove`", figure, figure.endswith("pass"))


def some(goal: str, demanded: str, *selection: str) -> Result:
    """Of the tests that are marked `prove`."""
    figure = outcome(goal, TOOLS / "pytest", "-m", "prove", *selection)
    return Result(goal, demanded, figure, figure.endswith("pass"))


def history_bench(name: str = "history") -> Result:
    """False alarms and detections of changes or differences; the tables are in build/prove."""
    log = f"bench_{name}.log"
    missed = run(sys.executable, ROOT / f"tests/evidence/bench_{name}.py", log=log, check=False)
    last = (OUTPUT / log).read_text(encoding="utf-8").strip().splitlines()[-1]
    return Result(f"{name.replace('_', '-')}-bench", f"goals of tests/evidence/bench_{name}.py", last, not missed)


def nodes() -> Iterator[Result]:
    """Slow nodes found and named falsely, on made-up and on simulated machines, by a rolling examination, and
    over sessions; the tables are in build/prove."""
    for name in ("bench_nodes", "bench_simulated_nodes", "bench_rolling", "bench_repeated"):
        missed = run(sys.executable, ROOT / "tests/evidence" / f"{name}.py", log=f"{name}.log", check=False)
        last = (OUTPUT / f"{name}.log").read_text(encoding="utf-8").strip().splitlines()[-1]
        yield Result(name, f"goals of tests/evidence/{name}.py", last, not missed)


# --- contradictions in logs -------------------------------------------------------------------------------------------


def logs() -> list[Result]:
    """A result for each log of tests/kernel_logs; the changes that were wrongly accepted are in build/prove/logs."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    rounds, left = divmod(MUTATIONS, len(LOGS) * MUTATIONS_AT_ONCE)
    counts = [(name, seed) for seed in range(rounds + bool(left)) for name in LOGS]
    found = {name: Counter() for name in LOGS}
    with TemporaryDirectory() as folder, ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        trials = [(name, pool.submit(tried, name, seed, MUTATIONS_AT_ONCE, folder)) for name, seed in counts]
        for name, trial in trials:
            found[name] += trial.result()
    results = []
    for name, tally in found.items():
        wrong = [what for what in tally if what.startswith(f"{name}: ")]
        defects = sum("defect" in what for what in wrong)
        counts = f"{tally['refused']} refused, {defects} defects, {len(wrong) - defects} accepted"
        figure = f"{tally.total()} changes: {counts}"
        results.append(Result(f"logs: {name}", "no defect, no contradiction accepted", figure, not wrong))
    (OUTPUT / "logs").write_text("\n".join(what for tally in found.values() for what in tally) + "\n", encoding="utf-8")
    return results


GOALS: dict[str, Callable] = {
    "lowest": lambda: [end_of_ranges("lowest", "--resolution=lowest-direct", ".")],
    "newest": lambda: [end_of_ranges("newest", ".")],
    "centre": lambda: [centre()],
    "fuzz": lambda: [fuzz()],
    "containers": lambda: [some("containers", "the page is right", "tests/sites/test_containers.py")],
    "easybuild": lambda: [some("easybuild", "its module runs", "tests/checks/test_kernel_modules.py")],
    "long": lambda: [long()],
    "history-bench": lambda: [history_bench()],
    "real-year": lambda: [history_bench("real_year")],
    "compare": lambda: [history_bench("compare")],
    "settings": lambda: [history_bench("settings")],
    "risk": lambda: [history_bench("risk")],
    "nodes": nodes,
    "hangs": lambda: [history_bench("hangs")],
    "libraries": lambda: [libraries.goal()],
    "logs": logs,
    "mutants": mutants,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("goals", metavar="GOAL", nargs="*", help="default: all goals")
    parser.add_argument("--digits", default="0123456789", help="of mutants, only numbers that end with one of these")
    parser.add_argument("--processes", type=int, help="of mutants, so many at once; default: one for each core")
    options = parser.parse_args()
    some = partial(mutants, digits=options.digits, processes=options.processes)
    modules = [name for name in options.goals if name in MUTATED]
    known = GOALS | {"mutants": some} | dict.fromkeys(modules, partial(some, *modules))  # of a package all together
    if unknown := [name for name in options.goals if name not in known]:
        parser.error(f"unknown goal {unknown[0]!r}; valid are {', '.join((*GOALS, *MUTATED))}")
    results = []
    for name in [name for name in options.goals if name not in modules[1:]] or GOALS:
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            results += known[name]()
        except ProofError as error:
            results.append(Result(name, "can be tried", str(error), reached=False))
    print("\n| goal | demanded | reached | |\n|---|---|---|---|")
    for result in results:
        print(f"| {result.goal} | {result.demanded} | {result.figure} | {'yes' if result.reached else 'MISSED'} |")
    return 0 if all(result.reached for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
