# SPDX-License-Identifier: Apache-2.0
"""Every rule that makes a run unofficial is stated in a few words beside the result, by its benchmark."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

from coffeecup.postprocess.benchmarks.benchmark import RULES
from coffeecup.postprocess.benchmarks.registry import benchmarks, part, reasons

# The keys that the functions yield.
OF_RULES = ("breaches", "broken_rules_of")


def keys_of(module):
    """The keys of the pairs that the functions on rules make, its own or imported ones, literal or a constant of the
    module."""
    functions = [
        ast.parse(inspect.getsource(value))
        for name, value in vars(module).items()
        if inspect.isfunction(value) and name.startswith(OF_RULES)
    ]
    pairs = [
        node.elts[0]
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Tuple) and len(node.elts) == 2 and not isinstance(node.ctx, ast.Store)
    ]
    constants = [
        key.value if isinstance(key, ast.Constant) else getattr(module, getattr(key, "id", ""), 0) for key in pairs
    ]
    return {key for key in constants if isinstance(key, str)}


@pytest.mark.parametrize("name", list(benchmarks()))
def test_each_rule_of_a_benchmark_has_words_and_no_other_has(name):
    """In its folder, and in those of its optional parts."""
    package = part(name, "qualifications").__name__.rpartition(".")[0]
    folder = Path(inspect.getfile(import_module(package))).parent
    optional = [path for file in ("qualifications", "door") for path in folder.glob(f"*/{file}.py")]
    modules = ["qualifications", *(f"{path.parent.name}.{path.stem}" for path in optional)]
    found = set().union(*(keys_of(import_module(f"{package}.{module}")) for module in modules))
    assert found - RULES.keys() == benchmarks()[name].rules.keys() and found


def test_rules_are_in_words_each_once_and_an_unknown_one_is_its_key():
    assert reasons("b_eff", "l_max_of_other_memory,simulated") == "L_max of a smaller memory, simulated machine"
    assert reasons("ftio", "cached,cached,of_another_version") == "fits in memory, of_another_version"
    assert reasons("", "") == "" and reasons("stream", "simulated") == "simulated machine"
