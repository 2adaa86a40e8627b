# SPDX-License-Identifier: Apache-2.0
"""Mutants: small changes of the modules that decide, by mutmut, and of the numbers at their top; which of them does no
test notice? tests/evidence/mutants.csv has the results."""

import ast
import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from proofs import OUTPUT, ROOT, TOOLS, ProofError, Result, copy_of_tree, run

# Modules that decide, each with the tests that concern it and take seconds.
MUTATED = {
    "postprocess/acceptance/baseline.py": ("test_baseline_parts.py",),
    "postprocess/acceptance/binding.py": ("test_acceptance_of_any_suite.py", "test_binding.py", "test_places.py"),
    "postprocess/acceptance/contract.py": ("test_acceptance_of_any_suite.py", "test_contract.py"),
    "postprocess/acceptance/evaluation.py": (
        *("test_acceptance_of_any_suite.py", "test_evaluation.py", "test_sequential.py", "test_terms.py"),
    ),
    "postprocess/acceptance/ledger.py": ("test_ledger_lines.py",),
    "postprocess/acceptance/packages.py": ("test_software_bill.py",),
    "postprocess/acceptance/plan.py": ("test_contract_plan.py",),
    "postprocess/acceptance/relations.py": ("test_contract.py", "test_terms.py"),
    "postprocess/acceptance/risk.py": ("test_risk.py",),
    "postprocess/acceptance/terms.py": ("test_contract.py", "test_terms.py"),
    "postprocess/benchmarks/directions.py": ("test_directions.py",),
    "postprocess/comparison/causes.py": ("test_comparison_causes.py",),
    "postprocess/comparison/sessions.py": ("test_comparison_sessions.py",),
    "postprocess/comparison/verdicts.py": ("test_comparison_verdicts.py",),
    "postprocess/history/cases.py": ("test_any_suite.py", "test_completeness.py", "test_session_files.py"),
    "postprocess/history/change_points.py": (
        *("test_directions.py", "test_events.py", "test_history.py", "test_levels.py", "test_standing.py"),
    ),
    "postprocess/history/completeness.py": ("test_any_suite.py", "test_completeness.py"),
    "postprocess/history/events.py": ("test_directions.py", "test_events.py", "test_extent.py"),
    "postprocess/history/comparable.py": ("test_levels.py", "test_standing.py"),
    "postprocess/history/levels.py": ("test_levels.py", "test_standing.py"),
    "postprocess/history/looks.py": ("test_levels.py", "test_looks.py"),
    "postprocess/history/explanations.py": ("test_events_of_nodes.py",),
    "postprocess/history/node_kinds.py": ("test_node_life.py",),
    "postprocess/history/nodes.py": ("test_nodes_history.py",),
    "postprocess/history/rolling.py": ("test_rolling.py",),
    "postprocess/history/noise.py": ("test_plan.py",),
    "postprocess/history/plan.py": ("test_plan_choice.py",),
    "postprocess/history/power.py": ("test_plan.py", "test_plan_choice.py"),
    "postprocess/history/site_files.py": ("test_directions.py", "test_events.py"),
    "postprocess/history/suspicions.py": ("test_standing.py",),
    "postprocess/history/standing.py": ("test_completeness.py", "test_site_report.py", "test_standing.py"),
    "postprocess/logs/activity.py": ("test_thresholds.py",),
    "postprocess/logs/counters.py": ("test_counters.py",),
    "postprocess/logs/energy.py": ("test_counters.py",),
    "postprocess/logs/hangs.py": ("test_hang_verdicts.py",),
    "postprocess/logs/histograms.py": ("test_priomark_rules.py",),
    "postprocess/logs/io_options.py": ("test_memory_fill.py", "test_read_shift.py"),
    "postprocess/logs/percentiles.py": ("test_priomark_score.py",),
    "postprocess/logs/placement.py": ("test_placement.py", "test_thresholds.py"),
    "postprocess/logs/process_times.py": ("test_process_times.py",),
    "postprocess/logs/rules.py": ("test_contradictions.py", "test_rule_limits.py"),
    "postprocess/references/gate.py": ("test_gate.py",),
    "postprocess/references/good_runs.py": ("test_good_runs.py",),
    "postprocess/sessions/verdicts.py": ("test_verdicts.py",),
    "postprocess/statistics/means.py": ("test_intervals.py",),
    "postprocess/statistics/medians.py": ("test_intervals.py",),
    "postprocess/statistics/nodes.py": ("test_nodes.py", "test_nodes_of_logs.py"),
    "postprocess/statistics/pairs.py": ("test_comparison_verdicts.py", "test_pairs.py"),
    "postprocess/statistics/ranks.py": ("test_ranks.py",),
    "postprocess/statistics/shares.py": ("test_intervals.py",),
    "postprocess/references/proposals.py": (
        *("test_any_suite.py", "test_good_runs.py", "test_reference_bounds.py", "test_references.py"),
    ),
}
OF_RULES = ("definition", "loops", "passes", "rules", "timed_loops")


def of_benchmarks() -> dict[str, tuple[str, ...]]:
    """Rules, qualifications and reduction of each benchmark and its optional parts, with the tests of logs or of
    scores."""
    found = {}
    for path in sorted(ROOT.glob("postprocess/benchmarks/*/**/*.py")):
        module = path.relative_to(ROOT)
        names = ["test_counters.py", "test_thresholds.py"]
        of = ("memory_score", "qualifications", "report", "rules", "score")
        if path.stem in OF_RULES:
            names, of = ["test_contradictions.py", "test_rule_limits.py"], ("incomplete_logs", "memory_score", "rules")
        if path.stem in (*OF_RULES, "qualifications", "reduction"):
            names += [f"test_{module.parts[2]}_{what}.py" for what in of]
            found[str(module)] = tuple(name for name in names if any((ROOT / "tests").rglob(name)))
    return found


MUTATED |= of_benchmarks() | {"postprocess/benchmarks/ftio/sizes.py": ("test_ftio_sizes.py",)}

FIGURES = ROOT / "tests" / "evidence" / "mutants.csv"
NOT_EXAMINED = "not examined"
SURVIVED = (0, 33)  # mutmut's exit codes of a mutant that tests pass, and of one that no test reaches
NOTICED = 0.9  # of the changes of a module: the rest is equivalent or concerns the wording of a message


def mutants(*modules: str, digits: str = "0123456789", processes: int | None = None) -> list[Result]:
    """A result for each module; all of MUTATED by default. The survivors are in build/prove/survivors, the figures in
    FIGURES. Of the mutants of a function, which are numbered from 1 on, and of the numbers at the top of a module,
    those are tried whose number ends with one of `digits`."""
    tree = as_installed(copy_of_tree("mutants"))
    (OUTPUT / "survivors").mkdir(exist_ok=True)
    packages = {}
    for module in modules or MUTATED:
        packages.setdefault(str(Path(module).parent), []).append(module)
    return [result for package in packages.values() for result in of_package(tree, package, digits, processes)]


def as_installed(tree: Path) -> Path:
    """Puts the Python folders below coffeecup/, where a wheel has them: mutmut derives the names of modules from paths.
    Tests find their own files at the usual places."""
    for folder in ("postprocess", "reference_values", "reframe_checks", "site_configs"):
        shutil.move(tree / folder, tree / "coffeecup" / folder)
        (tree / folder).symlink_to(Path("coffeecup", folder))
    return tree


def path_of(test: str) -> str:
    [path] = (ROOT / "tests").rglob(test)
    return str(path.relative_to(ROOT))


def in_process(package: Path) -> list[str]:
    """Options of pytest: no test that starts a kernel, ReFrame or a browser, and none of another benchmark."""
    benchmarks, left_out = {Path(path).parts[2] for path in of_benchmarks()}, ["browser"]
    if package.parts[1] == "benchmarks" and len(package.parts) > 2:
        left_out += [name for name in sorted(benchmarks) if name not in package.parts[2]]
    return ["--in-process", "-k", " and ".join(f"not {name}" for name in left_out)]


def of_package(tree: Path, modules: list[str], digits: str, processes: int | None) -> Iterator[Result]:
    """Tries the modules of one package together, with the tests of all of them."""
    tests = sorted({path_of(name) for module in modules for name in MUTATED[module]})
    mutmut(tree, modules, tests, f"*[{digits}]", processes)
    for module in modules:
        results = tree / "mutants" / "coffeecup" / f"{module}.meta"
        codes = json.loads(results.read_text(encoding="utf-8"))["exit_code_by_key"] if results.exists() else {}
        codes = {name: code for name, code in codes.items() if name[-1] in digits}
        if not codes or None in codes.values():
            raise ProofError(f"not all mutants of {module} were tried: see build/prove/mutants.log")
        names = [name for name, code in codes.items() if code in SURVIVED]
        shown = [subprocess.check_output([TOOLS / "mutmut", "show", name], cwd=tree, text=True) for name in names]
        numbers, tried = other_numbers(tree, module, [path_of(name) for name in MUTATED[module]], digits)
        (OUTPUT / "survivors" / module.replace("/", "-")).write_text("\n".join(shown + numbers), encoding="utf-8")
        late = sum(code not in (*SURVIVED, 1, 3) for code in codes.values())
        noticed = len(codes) - len(shown)
        record(FIGURES, (module, digits), (len(codes), noticed, late, tried, tried - len(numbers)))
        figure = f"{noticed} of {len(codes)}, {late} by time; {tried - len(numbers)} of {tried} numbers"
        reached = noticed + tried - len(numbers) >= NOTICED * (len(codes) + tried)
        yield Result(f"mutants of {module}", f"{NOTICED:.0%} noticed", figure, reached)


def record(path: Path, sample: tuple[str, str], figures: tuple[int, ...]) -> None:
    """Replaces or adds the row of a module and its sample, and drops modules that are gone. What was written about
    survivors stays as long as the figures are the same; otherwise a person has to look at them again."""
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    before = next((row for row in rows if (row[0], row[1]) == sample), None)
    tried, noticed, _, numbers, numbers_noticed = figures
    reason = NOT_EXAMINED if (noticed, numbers_noticed) != (tried, numbers) else ""
    if before and before[3:8] == list(map(str, figures)):
        reason = before[8]
    kept = [row for row in rows if row is not before and row[0] in MUTATED]
    rows = [*kept, [*sample, datetime.now(UTC).date().isoformat(), *figures, reason]]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *sorted(rows, key=lambda row: (row[0], row[1]))])


def mutmut(tree: Path, modules: list[str], tests: list[str], names: str, processes: int | None) -> None:
    """Runs mutmut on modules of one tree. A busy machine may stop a test for minutes, which is no mutant that hangs."""
    settings = {
        "source_paths": ["coffeecup"],
        "only_mutate": [f"coffeecup/{module}" for module in modules],
        "also_copy": sorted(path.name for path in tree.iterdir() if path.name not in ("coffeecup", "mutants", ".git")),
        "pytest_add_cli_args_test_selection": tests,
        "pytest_add_cli_args": in_process(Path(modules[0]).parent),
        "timeout_constant": 20.0,
        "use_git_change_detection": False,
        "track_dependencies": False,
    }
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    (tree / "pyproject.toml").write_text("\n".join([project, "[tool.mutmut]", *lines, ""]), encoding="utf-8")
    shutil.rmtree(tree / "mutants", ignore_errors=True)
    at_once = ["--max-children", processes] if processes else []
    run(TOOLS / "mutmut", "run", *at_once, names, log="mutants.log", check=False, cwd=tree)


def other_numbers(tree: Path, module: str, tests: list[str], digits: str) -> tuple[list[str], int]:
    """The numbers at the top of a module, thresholds above all, which mutmut leaves as they are: what was put in their
    places without a test that notices it, and how many were tried: 10 % more and less, or one more and less."""
    text = (tree / module).read_text(encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *in_process(Path(module).parent)]
    others = [(node, other) for node in numbers_at_the_top(text) for other in beside(node.value)]
    tried = [change for number, change in enumerate(others, 1) if str(number)[-1] in digits]
    survived = []
    for node, other in tried:
        lines = text.splitlines(keepends=True)
        line = lines[node.lineno - 1]
        lines[node.lineno - 1] = line[: node.col_offset] + repr(other) + line[node.end_col_offset :]
        (tree / module).write_text("".join(lines), encoding="utf-8")
        if not run(*command, *tests, log="mutants-numbers.log", check=False, cwd=tree):
            survived.append(f"{module}, line {node.lineno}: {lines[node.lineno - 1]}")
    (tree / module).write_text(text, encoding="utf-8")
    return survived, len(tried)


def beside(number: int | float) -> tuple[int | float, int | float]:
    return (number + 1, number - 1) if isinstance(number, int) else (number * 1.1, number * 0.9)


def numbers_at_the_top(text: str) -> list[ast.Constant]:
    """The numbers in assignments outside of functions and classes; 0 and 1 say what something is, not how much."""
    made = [node.value for node in ast.parse(text).body if isinstance(node, ast.Assign | ast.AnnAssign) and node.value]
    found = [node for value in made for node in ast.walk(value) if isinstance(node, ast.Constant)]
    return [
        node
        for node in found
        if (type(node.value) is int and node.value not in (0, 1)) or (type(node.value) is float and node.value)
    ]
