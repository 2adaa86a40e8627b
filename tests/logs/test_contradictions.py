# SPDX-License-Identifier: Apache-2.0
"""Every redundancy of a log is checked: the list of docs/log.md, the code, and changes of logs that break each
invariant cannot drift apart."""

import ast
import copy
import re
from functools import cache

import logs_made
import pytest
from builds import ROOT
from contradictions import OF_KERNELS, contradictions, made
from mutator import kernel_log

from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.benchmarks.scoring import score_logs

PAGE = (ROOT / "docs" / "log.md").read_text(encoding="utf-8").split("\n## Invariants\n")[1].split("\n## ")[0]
SECTIONS = dict(re.findall(r"^### (.*?)\n(.*?)(?=^### |\Z)", PAGE, re.MULTILINE | re.DOTALL))
MODULES = {
    "Every log": [
        "logs/rules.py",
        "logs/reader.py",
        "logs/io_options.py",
        "logs/process_times.py",
        "logs/histograms.py",
    ],
    "b_eff invariants": [
        *(
            f"benchmarks/b_eff/{name}.py"
            for name in ("rules", "loops", "timed_loops", "nodes/rules", "memory/rules", "probes/rules")
        )
    ],
    "b_eff_load invariants": ["benchmarks/b_eff_load/rules.py", "benchmarks/load_rules.py"],
    "b_eff_io invariants": [*(f"benchmarks/b_eff_io/{name}.py" for name in ("rules", "passes", "library/door"))],
    "b_eff_io_load invariants": ["benchmarks/b_eff_io_load/rules.py", "benchmarks/load_rules.py"],
    "ftio invariants": ["benchmarks/ftio/rules.py"],
    "priomark invariants": ["benchmarks/priomark/rules.py", "benchmarks/priomark/metadata.py"],
}
ONLY_HUGE = {"size"}  # test_log_limits.py
CASES = list(contradictions())


@cache
def sound(name):
    """The records of a log; copy them before you change them."""
    return kernel_log(name) if name in OF_KERNELS else made()[name]


def documented(section):
    rows = re.findall(r"^\| (`.*?) \|", SECTIONS[section], re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def in_code(path):
    """The first members of what functions `problems...` yield, the names in what is `kept` or `broken`, and what a
    LogError gets as its invariant. What a record has to state is `planned`."""
    tree = ast.parse((ROOT / "postprocess" / path).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "LogError" and len(node.args) == 3:
            yield node.args[2].value
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("problems_of_fields", "Expected"):
            yield "planned"
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "broken":
            yield from names_in(node.args[1])
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "kept":
            yield from names_in(node.value)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("problems"):
            found = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Yield)]
            yield from (value.elts[0].value for value in found if isinstance(value, ast.Tuple))


def names_in(node):
    return [key.value for key in node.keys] if isinstance(node, ast.Dict) else []


CHANGES = [
    pytest.param(log, name, change, words, id=f"{section.split()[0]}-{log}-{name}-{number}")
    for number, (section, log, name, change, words) in enumerate(CASES)
]


def scored(tmp_path, records):
    [score] = score_logs([logs_made.write(tmp_path / "log.jsonl", records)])
    return score


@pytest.mark.parametrize("section", SECTIONS)
def test_page_code_and_changes_name_the_same_invariants(section):
    changed = {name for of, _, name, *_ in CASES if of == section}
    code = {name for path in MODULES[section] for name in in_code(path)}
    assert documented(section) - ONLY_HUGE == changed
    elsewhere = {"memory_fill"} if section != "Every log" else set()
    assert documented(section) == code - elsewhere


@pytest.mark.parametrize("benchmark", dict.fromkeys(log for _, log, *_ in CASES))
def test_logs_that_are_changed_are_sound(tmp_path, benchmark):
    assert isinstance(scored(tmp_path, copy.deepcopy(sound(benchmark))), Score)


@pytest.mark.parametrize(("benchmark", "name", "change", "words"), CHANGES)
def test_log_that_contradicts_itself_is_refused_with_the_name_of_the_invariant(
    tmp_path, benchmark, name, change, words
):
    records = copy.deepcopy(sound(benchmark))
    changed = change(records)
    score = scored(tmp_path, changed if isinstance(changed, bytes) else logs_made.numbered(records))
    assert not isinstance(score, Score), f"scored {score.headline}"
    assert str(score).endswith(f"[{name}]") and words in str(score) and "defect" not in str(score), str(score)
