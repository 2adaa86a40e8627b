# SPDX-License-Identifier: Apache-2.0
"""The structure of the sources. Python: imports point downwards, including those inside functions and those by name,
and nothing is cyclic. C: no cyclic includes between modules, and common/ includes no benchmark."""

import ast
import re
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from builds import ROOT, run

from coffeecup.postprocess.benchmarks.registry import ROLES, benchmarks

# From the top. A package imports from those below its own line only.
LAYERS = (
    {"coffeecup.postprocess.cli"},
    {"coffeecup.site_configs"},
    {"coffeecup.postprocess.reports"},
    {"coffeecup.postprocess.acceptance", "coffeecup.postprocess.references"},
    {"coffeecup.reframe_checks"},
    {"coffeecup.postprocess.comparison"},
    {"coffeecup.postprocess.history"},
    {"coffeecup.postprocess.sessions"},
    {"coffeecup.postprocess.benchmarks"},
    {"coffeecup.postprocess.designs"},
    {"coffeecup.postprocess.logs"},
    {"coffeecup.postprocess.show", "coffeecup.postprocess.statistics"},
    {"coffeecup.postprocess", "coffeecup.reference_values"},
    {"coffeecup"},
)
TOPS = ("postprocess", "site_configs", "reframe_checks", "reference_values")


@cache
def modules(root):
    """Module name to file, of all that is tracked in the Python folders."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *(f"{top}/*.py" for top in TOPS)]
    there = [Path(path) for path in run(listing, cwd=root, check=True).stdout.split() if (root / path).exists()]
    names = [".".join(["coffeecup", *path.with_suffix("").parts]).removesuffix(".__init__") for path in there]
    return {name: root / path for name, path in zip(names, there)}


def nodes_of(source):
    return tuple(ast.walk(ast.parse(source)))


@cache
def nodes_in(path):
    """All nodes of the syntax tree of a file."""
    return nodes_of(path.read_text(encoding="utf-8"))


def imported(name, nodes, known, is_package=False):
    """The modules of ours that a module imports anywhere in it, and those that a string in it names."""
    package = name if is_package else name.rpartition(".")[0]
    named = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            above = parts[: len(parts) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            named |= {f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("coffeecup."):
            named.add(node.value.partition(":")[0])
    return {module for module in named if module in known} - {name}


def layer_of(module):
    """The place of a module's layer, 0 at the top."""
    packages = {package: place for place, layer in enumerate(LAYERS) for package in layer}
    while module not in packages:
        module = module.rpartition(".")[0]
    return module, packages[module]


def upward(arrows):
    """The imports that do not point downwards: to a higher layer, or to another package of the same one."""
    for source, targets in arrows.items():
        package, place = layer_of(source)
        for target in targets:
            other, below = layer_of(target)
            if other != package and below <= place:
                yield f"{source} imports {target}"


@pytest.fixture(scope="module")
def arrows():
    known = modules(ROOT)
    return {name: imported(name, nodes_in(path), known, path.stem == "__init__") for name, path in known.items()}


def test_imports_point_downwards(arrows):
    assert len(arrows) > 90
    assert sorted(upward(arrows)) == []


def test_no_import_is_cyclic(arrows):
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def kernel_sources():
    kernels = ROOT / "kernels"
    return [path for path in kernels.rglob("*.[ch]") if path.relative_to(kernels).parts[0] not in ("tests", "serial")]


def folder_of(path):
    return path.relative_to(ROOT / "kernels").parts[0]


def kernel_modules():
    """Folder and name of each C module (a .c file and its header) to the modules that it includes. Where folders have
    the same name, its own comes first, then those that its benchmark uses."""
    sources, includes = kernel_sources(), {}
    for path in sources:
        top = folder_of(path)
        near = ["common", *(benchmarks()[top].uses if top in benchmarks() else ()), top]
        rank = {folder: place for place, folder in enumerate(near)}
        ranked = sorted(sources, key=lambda other, rank=rank: rank.get(folder_of(other), -1))
        found = {other.name: other for other in ranked}
        for name in re.findall(r'^#include "(?:.*/)?([^"/]+)"', path.read_text(encoding="utf-8"), re.MULTILINE):
            if name in found and found[name].with_suffix("") != path.with_suffix(""):
                includes.setdefault(path.with_suffix(""), set()).add(found[name].with_suffix(""))
    return includes


def test_no_include_is_cyclic():
    includes = kernel_modules()
    assert len(includes) > 70
    try:
        TopologicalSorter(includes).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(path.name for path in error.args[1]))


def test_common_modules_include_no_benchmark():
    common = ROOT / "kernels" / "common"
    for module, included in kernel_modules().items():
        assert module.parent != common or {path.parent for path in included} <= {common}, module


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("coffeecup.postprocess.logs.reader", "from coffeecup.postprocess.benchmarks.registry import part"),
        ("coffeecup.postprocess.benchmarks.b_eff.rules", "def f():\n import coffeecup.postprocess.history.table"),
        ("coffeecup.postprocess.history.table", "import_module('coffeecup.postprocess.acceptance.contract')"),
        ("coffeecup.postprocess.acceptance.contract", "import coffeecup.postprocess.references.gate"),
        ("coffeecup.reframe_checks.base", "from coffeecup.site_configs.common import tree"),
        ("coffeecup.site_configs.common.tree", "from coffeecup.postprocess.cli.app import app"),
    ],
)
def test_an_upward_import_is_found(module, line):
    assert len(list(upward({module: imported(module, nodes_of(line), modules(ROOT))}))) == 1


def benchmark_of(module):
    """The benchmark whose folder or check a Python module is; None of all others."""
    for name, benchmark in benchmarks().items():
        own = module in (benchmark.package, f"coffeecup.reframe_checks.{name}")
        if own or module.startswith(f"{benchmark.package}."):
            return name
    return None


def may_use(source, target):
    return target == source or (source is not None and target in benchmarks()[source].uses)


def test_a_benchmark_uses_only_those_that_it_states(arrows):
    """What others need lies beside them or below. Nothing else names a benchmark."""
    TopologicalSorter({name: benchmark.uses for name, benchmark in benchmarks().items()}).prepare()
    found = [(source, target) for source, targets in arrows.items() for target in targets if benchmark_of(target)]
    assert [arrow for arrow in found if not may_use(*map(benchmark_of, arrow))] == []
    assert {benchmark_of(target) for _, target in found} == {*benchmarks()}


def test_kernels_include_only_those_that_their_benchmark_states():
    for module, included in kernel_modules().items():
        for other in included:
            source, target = folder_of(module), folder_of(other)
            assert target == "common" or may_use(source, target), f"{module} includes {other}"


@pytest.mark.parametrize("name", benchmarks())
def test_a_benchmark_has_the_files_and_functions_of_every_role(name):
    folder = ROOT / "postprocess" / "benchmarks" / name
    files = {"section.html.j2", "records.py", *(f"{role}.py" for role in ROLES)}
    assert files <= {path.name for path in folder.iterdir()}
    for role, functions in ROLES.items():
        top = ast.parse((folder / f"{role}.py").read_text()).body
        defined = {node.name for node in top if isinstance(node, ast.FunctionDef)}
        defined |= {
            target.id
            for node in top
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        assert set(functions) <= defined, role
    assert (ROOT / "reframe_checks" / f"{name}.py").exists() and (ROOT / "reference_values" / f"{name}.yaml").exists()


def test_no_source_file_is_longer_than_400_lines(arrows):
    del arrows
    sources = [*modules(ROOT).values(), *kernel_sources()]
    long = [path for path in sources if len(path.read_text(encoding="utf-8").splitlines()) > 400]
    assert long == []


def lines_of_functions(nodes):
    """Name and number of lines of each function, without its decorators."""
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    return [(node.name, node.end_lineno - node.lineno + 1) for node in functions]


def test_no_function_is_longer_than_50_lines():
    """ruff counts statements only."""
    found = [(name, *each) for name, path in modules(ROOT).items() for each in lines_of_functions(nodes_in(path))]
    assert len(found) > 1000
    assert [each for each in found if each[2] > 50] == []


@pytest.mark.parametrize("lines", [50, 51])
def test_lines_of_a_function_are_counted(lines):
    source = "@decorated\ndef long(\n    a,\n):\n" + "    a += 1\n" * (lines - 3)
    assert lines_of_functions(nodes_of(source)) == [("long", lines)]


@pytest.mark.parametrize("place", ["Makefile", "site_configs/common", "site_configs/local"])
def test_no_target_and_no_part_of_the_sites_names_a_benchmark(place):
    words = {spelling for name in benchmarks() for spelling in (name, name.replace("_", "-"))}
    paths = [path for path in [ROOT / place, *(ROOT / place).rglob("*")] if path.is_file()]
    texts = {path: path.read_text(encoding="utf-8") for path in paths if path.suffix not in (".py", ".pyc")}
    assert texts
    assert [path for path, text in texts.items() if words & set(re.findall(r"[\w-]+", text))] == []


def test_nothing_else_names_a_benchmark():
    """Not even in a text: whoever adds a benchmark has no other file to change."""
    word = re.compile(rf"\b({'|'.join(benchmarks())})\b")
    for name, path in modules(ROOT).items():
        if benchmark_of(name) or re.match(r"coffeecup\.site_configs\.(?!common)", name):
            continue  # a site may choose among the kernels
        nodes = nodes_in(path)
        with_text = [node for node in nodes if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)]
        constants = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        texts = constants - {ast.get_docstring(node, clean=False) for node in with_text}
        assert [text for text in texts if word.search(text)] == [], path


REGISTRY = "coffeecup.postprocess.benchmarks.registry"
SCORED = "*(all.part(name, role) for role in ('rules', 'reduction', 'qualifications'))"


@pytest.mark.parametrize(
    ("reads", "without"),
    [
        ("coffeecup.postprocess.cli.app", {"pandas", "matplotlib", "reframe"}),
        (f"{REGISTRY}; {REGISTRY}.benchmarks()", {"numpy", "pandas"}),
        (f"{REGISTRY} as all; [(all.functions(name), {SCORED}) for name in all.benchmarks()]", {"matplotlib"}),
    ],
    ids=["command", "session of ReFrame", "score"],
)
def test_nobody_waits_for_what_others_import(reads, without):
    """pandas alone takes longer than `coffeecup --version` needs, numpy a tenth of a session of ReFrame, and matplotlib
    more than a quarter of a score."""
    command = f"import sys, {reads}; print(*{without} & set(sys.modules))"
    done = run([sys.executable, "-c", command], cwd=ROOT, check=True)
    assert done.stdout == "\n"


def test_listing_the_checks_needs_no_pandas():
    """`reframe -L` loads the checks and what the benchmarks state, and nothing that only scoring needs."""
    listed = ["reframe", "-C", "site_configs/local/settings.py", "-c", "reframe_checks", "-L"]
    command = (
        "import atexit, sys; from reframe.frontend.cli import main; "
        f"atexit.register(lambda: print('loaded', *sys.modules)); sys.argv = {listed}; main()"
    )
    done = run([sys.executable, "-c", command], cwd=ROOT)
    *checks, loaded = done.stdout.splitlines()
    assert any("b_eff" in line for line in checks), done.stderr
    assert {"reframe", "msgspec"} <= {*loaded.split()}
    assert {"pandas", "numpy", "matplotlib"}.isdisjoint(loaded.split())
