# SPDX-License-Identifier: Apache-2.0
"""A function that another module uses says what it does, without a look at its code."""

import ast

from builds import ROOT

from coffeecup.postprocess.benchmarks.registry import ROLES, benchmarks

FOLDERS = ("postprocess", "reframe_checks", "site_configs")


def modules(folder):
    """The syntax of each module below a folder, by its name."""
    for path in (path for name in FOLDERS for path in sorted((folder / name).rglob("*.py"))):
        parts = path.relative_to(folder).with_suffix("").parts
        yield ".".join(("coffeecup", *parts)).removesuffix(".__init__"), ast.parse(path.read_text(encoding="utf-8"))


def uses(tree):
    """Module and name of what a module imports, or takes from a module that it imports."""
    nodes = tuple(ast.walk(tree))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    names = {alias.asname or alias.name: (node.module, alias.name) for node in imports for alias in node.names}
    yield from names.values()
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            yield ".".join(names[node.value.id]), node.attr


def by_role():
    """The functions of benchmarks that the registry looks up by name."""
    names = [
        (benchmark.package, role, name) for benchmark in benchmarks().values() for role in ROLES for name in ROLES[role]
    ]
    return {(f"{package}.{role}", name) for package, role, name in names}


def undocumented(folder, more=()):
    found = dict(modules(folder))
    used = {use for tree in found.values() for use in uses(tree)} | set(more)
    functions = [
        (name, node) for name, tree in found.items() for node in tree.body if isinstance(node, ast.FunctionDef)
    ]
    public = [(name, node) for name, node in functions if (name, node.name) in used]
    return len(public), [f"{name}.{node.name}" for name, node in public if not ast.get_docstring(node)]


def test_public_functions_have_docstrings():
    count, missing = undocumented(ROOT, by_role())
    assert count > 300
    assert missing == []


def test_functions_without_docstring_are_found(tmp_path):
    (tmp_path / "postprocess").mkdir()
    (tmp_path / "postprocess/a.py").write_text("def f(): ...\ndef g(): ...\ndef own(): ...\ndef h():\n  'Says it.'\n")
    (tmp_path / "postprocess/b.py").write_text(
        "from coffeecup.postprocess import a\nfrom coffeecup.postprocess.a import f, h\na.g()\n"
    )
    assert undocumented(tmp_path) == (3, ["coffeecup.postprocess.a.f", "coffeecup.postprocess.a.g"])
